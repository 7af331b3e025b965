#!/usr/bin/env python3
"""Looks at the status page with a real browser. Usage: browser.py CHECK URL DIRECTORY

The checks are the functions below. A check that needs the world to change while it looks writes an empty file into the
directory and waits for what it shall see. It fails by an exception, and a file `failed`; what the browser's console
says is a failure too. One browser serves all checks of a run.
"""
import base64, contextlib, http.client, http.server, json, os, re, subprocess, sys, threading, time
import urllib.parse, urllib.request

from axe_core_python.selenium import Axe
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

url, directory = sys.argv[2], sys.argv[3]
patience = 240


def browser():
    options = webdriver.ChromeOptions()
    # The build of Chromium without windows, which takes half the processor time of the usual one.
    options.binary_location = "/usr/bin/chromium-headless-shell"
    for word in ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                 "--disable-background-networking", "--no-first-run", "--disable-lcd-text",
                 "--disable-font-subpixel-positioning", "--window-size=1000,1300"]:
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    made.set_script_timeout(patience)
    return made


class Page:
    """A tab of the browser; a light one until told otherwise."""

    def __init__(self, driver, address=url):
        self.driver, self.address = driver, address

    def __enter__(self):
        self.first = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        self.console()
        self.scheme("light")
        self.driver.get(self.address)
        return self

    def __exit__(self, *_):
        self.driver.close()
        self.driver.switch_to.window(self.first)

    def scheme(self, name):
        features = [{"name": "prefers-color-scheme", "value": name}, {"name": "prefers-reduced-motion", "value": "reduce"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def is_shown(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector).is_displayed()

    def wait(self, what, condition):
        end = time.monotonic() + patience
        while True:
            began = time.monotonic()
            if condition():
                return
            if began > end:
                raise AssertionError(f"{what} did not happen; console: {self.console()}; page: {self.text('body')[:3000]}")
            # Pauses three times as long as the check took: each check keeps Python, chromedriver and Chromium busy.
            time.sleep(max(0.02, min(3 * (time.monotonic() - began), 0.2)))

    def wait_for(self, selector, text):
        self.wait(f"{text!r} in {selector}", lambda: text in self.text(selector))

    def ready(self):
        self.wait("a stream", lambda: self.text("#live") == "live")
        self.wait("a headline", lambda: self.text("#word") != "…")
        self.wait("a history", lambda: self.count("#lanes rect") > 0)

    def state(self):
        return self.run("return document.querySelector('#hero').dataset.state")

    def click(self, selector):
        """Finds and clicks in one go: what is shown may be drawn anew at any moment."""
        self.run("document.querySelector(arguments[0]).click()", selector)

    def chain(self):
        """Of each node of the first chain its condition, name and figure."""
        return self.run("return [...document.querySelectorAll('.chain')[0].children].map(n => "
                        "[n.className, n.querySelector('b').textContent, n.querySelector('i').textContent])")

    def facts(self, selector):
        """The values of a list of pairs, by name."""
        return dict(self.run("return [...document.querySelectorAll(`${arguments[0]} dt`)].map(t => "
                             "[t.textContent, t.nextElementSibling.innerText])", selector))

    def items(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(n => n.innerText)", selector)

    def size(self, width, height=900):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def console(self):
        """What the browser printed, but for requests that it gave up while the test changed its interfaces."""
        return [entry["message"] for entry in self.driver.get_log("browser") if "ERR_NETWORK_CHANGED" not in entry["message"]]

    def expect_quiet(self):
        said = self.console()
        assert said == [], said

    def axe(self):
        result = Axe().run(self.driver)
        found = [(fault["id"], [node["html"] + ": " + node["failureSummary"] for node in fault["nodes"]])
                 for fault in result["violations"]]
        assert found == [], found
        assert len(result["passes"]) >= 20, len(result["passes"])


def mark(name):
    open(os.path.join(directory, name), "w").close()


def ip(words):
    subprocess.run(["ip", *words.split()], check=True)


def same(found, wanted):
    assert found == wanted, f"{found!r} is not {wanted!r}"


# What the page shows.

def content(driver):
    with Page(driver) as page:
        page.ready()
        page.wait("the services", lambda: page.text("#nearby-count").startswith("4 services on "))
        same([page.text("#word"), page.state()], ["Connected", "untested"])
        assert page.text("#cause").startswith("The route via up0 and 192.0.2.1 looks fine; nothing beyond the gateway has been tested. "), page.text("#cause")
        assert page.driver.title == "? office: Connected, the route via up0 and 192.0.2.1 looks fine; nothing beyond the gateway has been tested", page.driver.title
        assert page.text("#more").startswith("Last outage ") and page.text("#more").endswith("for 1 min 12 s."), page.text("#more")
        same([node[1] for node in page.chain()], ["office", "up0", "192.0.2.1", "Internet", "DNS"])
        same([page.chain()[index][0] for index in [0, 1, 3, 4]], ["good", "good", "not_asked", "not_asked"])
        days(page)
        time_axis(page)
        nodes(page)
        facts = page.facts("#machine")
        assert facts["up0"].startswith("up, ") and "192.0.2.2/24" in facts["up0"], facts
        same(facts["Gateways"], "192.0.2.1")
        assert "default ✓" in facts["Monitors"] and "wifi ✗" in facts["Monitors"], facts
        assert page.is_shown("#unmeasured") and not page.is_shown("#diagnosis") and page.text("#problems") == ""
        outage(page)
        drawer(page)
        events(page)
        same(page.run("return [...document.querySelectorAll('footer a')].map(a => a.getAttribute('href'))")[:2], ["metrics", "api/v1/status"])
        assert page.text("#snapshot").startswith("state "), page.text("#snapshot")
        keyboard(page)
        accessible(page)
        narrow(page)
        page.expect_quiet()
        page.driver.get(url + "#services")
        page.wait("the drawer", lambda: page.count("#services li") == 4)
        mark("seen")
        page.wait("the services went", lambda: page.count("#services li.gone") == 4)
        assert all("gone" in row and "goodbye" in row for row in page.items("#services li")), page.items("#services li")
        page.driver.refresh()
        page.wait("they are remembered", lambda: page.count("#services li.gone") == 4)
        page.expect_quiet()


def days(page):
    """Of ninety days each says for how long it was down; those before the log began are not recorded."""
    page.wait("the days", lambda: page.count("#days li") == 90)
    said = page.run("return [...document.querySelectorAll('#days [title]')].map(n => n.title)")
    same([re.fullmatch(r"\w{3} \d{4}-\d\d-\d\d: not recorded", words) is not None for words in (said[0], said[-1])], [True, False])
    assert 62 <= page.count("#days .unknown") <= 64, page.count("#days .unknown")
    # Two hours ten days ago, four minutes and 72 seconds in the last day.
    found = [words.split(": ")[1] for words in said if "outage" in words and "no outage" not in words]
    assert 2 <= len(found) <= 4 and any(words.startswith("down 2 h") or words.startswith("down 1 h") for words in found), found
    assert re.fullmatch(r"99\.\d % online in 2[67] days", page.text("#month-summary")), page.text("#month-summary")
    same(page.text("#day"), "90 daystoday")
    # A tab in the background gets no event for what has the focus.
    focused = page.run("document.querySelector('#days a').dispatchEvent(new Event('focus')); return document.querySelector('#day').textContent")
    assert "outage" in focused, focused
    page.run("document.querySelector('#days a').dispatchEvent(new Event('blur'))")
    same(page.text("#day"), "90 daystoday")
    page.size(320)
    same(page.run("return [...document.querySelectorAll('#days li')].filter(n => n.offsetWidth > 0).length"), 30)
    page.wait("the words of thirty days", lambda: page.text("#day") == "30 daystoday")
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def time_axis(page):
    """A day is shown where half of it is known; an outage is red by its share, and what nobody knows is grey."""
    same(page.text("#spans [aria-pressed=true]"), "24 h")
    text = page.text("#summary")
    assert re.match(r"99\.\d % online · 2 outages, 5 min 12 s · 1 h.* not recorded", text), text
    assert 144 <= page.count("#lanes g rect.known, #lanes svg > rect") <= 146, page.count("#lanes svg > rect")
    assert 2 <= page.count("#lanes rect.down") <= 4, page.count("#lanes rect.down")
    assert 5 <= page.count("#lanes rect.unknown") <= 8, page.count("#lanes rect.unknown")
    heights = page.run("return [...document.querySelectorAll('#lanes rect.down')].map(r => Number(r.getAttribute('height')))")
    assert all(height <= 12 for height in heights), heights
    # The log begins 26 days ago, and so does the axis.
    for span, cells in [("30d", 156), ("7d", 168), ("1h", 120), ("24h", 144)]:
        page.click(f"#spans [data-key='{span}']")
        page.wait(f"the cells of {span}", lambda: cells <= page.count("#lanes rect.known, #lanes rect.unknown") <= cells + 2)
    plots = page.driver.find_element(By.ID, "plots")
    page.run("arguments[0].focus()", plots)
    plots.send_keys(Keys.END)
    assert "online" in page.text("#readout"), page.text("#readout")
    same(page.count("#rule:not([hidden]) line[x1]"), 1)
    for _ in range(8 * 6 + 3):
        plots.send_keys(Keys.ARROW_LEFT)
    page.wait("what was not recorded", lambda: "not recorded" in page.text("#readout"))
    page.run("document.activeElement.blur()")
    same(page.text("#readout"), "")


def nodes(page):
    """Each node opens what is known of it, and keeps the focus."""
    for index, name, value in [(1, "Type", "wired, veth"), (2, "Metric", "0"), (4, "Servers", "192.0.2.1"), (0, "default", "satisfied")]:
        page.driver.find_elements(By.CSS_SELECTOR, ".chain button")[index].click()
        assert value in page.facts("#node")[name], page.facts("#node")
        same(page.run("return document.activeElement.getAttribute('aria-expanded')"), "true")
    page.axe()
    page.driver.find_elements(By.CSS_SELECTOR, ".chain button")[0].click()
    assert not page.is_shown("#node")


def outage(page):
    """An outage opens into its cause and its events, at a place of its own."""
    page.click("#more a")
    page.wait("its events", lambda: page.count("#happened .detail ol li") >= 2)
    assert "eth0 has no carrier" in page.text("#happened .detail"), page.text("#happened .detail")
    assert "1 min 12 s" in page.text("#happened .detail > p"), page.text("#happened .detail > p")
    place = page.driver.current_url
    assert "#outage=" in place, place
    page.driver.refresh()
    page.ready()
    page.wait("the outage of the address", lambda: page.count("#happened .detail ol li") >= 2)
    page.axe()
    page.click("#happened [aria-expanded=true]")
    same([page.count("#happened .detail"), "#" in page.driver.current_url], [0, False])
    page.driver.find_element(By.CSS_SELECTOR, "#lanes g[data-outage]").click()
    page.wait("the cell's outage", lambda: page.count("#happened .detail ol li") >= 2)
    page.driver.get(url)
    page.ready()


def drawer(page):
    page.wait("the chips", lambda: sorted(page.items("#types a")) == ["AirPlay 1", "Printer 2", "Web page 1"])
    page.driver.find_element(By.PARTIAL_LINK_TEXT, "Printer").click()
    page.wait("the printers", lambda: page.text("#drawer-count") == "2 of 4 services")
    assert page.driver.current_url.endswith("#services=_ipp._tcp"), page.driver.current_url
    same(page.items("#services li b"), ["Office Printer", "日本語プリンタ"])
    page.click("#services summary")
    same(page.items("#services dt"), ["ty", "Color", "constructor"])
    same(page.items("#services dd"), ["HP LaserJet model", "T colour: yes", "x"])
    kinds = Select(page.driver.find_element(By.ID, "drawer-type"))
    same([option.text for option in kinds.options], ["all types", "Printer", "AirPlay", "Web page"])
    kinds.select_by_index(0)
    field = page.driver.find_element(By.ID, "drawer-search")
    field.send_keys("office")
    same([page.items("#services li b"), page.text("#drawer-count")], [["Office Printer"], "1 of 4 services"])
    place = page.run("return document.querySelector('#services a').href")
    assert re.fullmatch(r"http://[0-9.:\[\]a-f]+:631/?", place), place
    field.clear()
    field.send_keys("nothing like it")
    same(page.items("#services"), ["Nothing matches"])
    page.axe()
    field.send_keys(Keys.ESCAPE, Keys.ESCAPE)
    page.wait("the end of the drawer", lambda: not page.run("return document.querySelector('#drawer').open"))
    assert "#" not in page.driver.current_url, page.driver.current_url


def events(page):
    page.driver.find_element(By.PARTIAL_LINK_TEXT, "all events").click()
    page.wait("all events", lambda: page.count("#every-list li") > 8)
    same([page.is_shown("#overview"), page.is_shown("#every")], [False, True])
    kinds = Select(page.driver.find_element(By.ID, "every-kind"))
    kinds.select_by_visible_text("path")
    rows = page.items("#every-list li")
    assert rows and all("path." in row for row in rows), rows
    kinds.select_by_index(0)
    page.driver.find_element(By.ID, "every-search").send_keys("daemon.started")
    assert all("daemon.started" in row for row in page.items("#every-list li")), page.items("#every-list li")
    Select(page.driver.find_element(By.ID, "every-since")).select_by_index(2)
    page.wait("a month", lambda: page.text("#every-count").startswith("3 of "))
    page.axe()
    page.driver.find_element(By.PARTIAL_LINK_TEXT, "overview").click()
    page.wait("the overview", lambda: page.is_shown("#overview"))


def keyboard(page):
    """Everything that can be used is reached by Tab, in order, and shows it."""
    page.driver.get("about:blank")
    page.driver.get(url)
    page.ready()
    page.wait("the services", lambda: page.count("#types a") == 3)
    reached = []
    for _ in range(44):
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
        name, outline = page.run(
            "const e = document.activeElement; const s = getComputedStyle(e);"
            "return [e.dataset.key || e.id || e.getAttribute('href') || e.className, `${s.outlineStyle} ${s.outlineWidth}`]")
        if not name or name in reached:
            break
        reached.append(name)
        assert outline.startswith(("solid", "auto")) and not outline.endswith(" 0px"), (name, outline)
    wanted = ["#main", "1h", "30d", "0 host", "0 dns", "copy", "plots", "#events", "#services", "_ipp._tcp", "metrics", "api/v1/status"]
    same([name for name in reached if name in wanted], wanted)
    skip = page.driver.find_element(By.CSS_SELECTOR, ".skip")
    page.run("arguments[0].focus()", skip)
    skip.send_keys(Keys.ENTER)
    same(page.run("return document.activeElement.id"), "main")
    same(page.run("return document.querySelectorAll('#overview h1').length + document.querySelectorAll('main').length"), 2)


def accessible(page):
    for scheme in ["light", "dark"]:
        page.scheme(scheme)
        background = page.run("return getComputedStyle(document.body).backgroundColor")
        brightness = sum(int(part) for part in background[4:-1].split(","))
        assert (brightness < 120) == (scheme == "dark"), (scheme, background)
        page.axe()
    page.scheme("light")


def narrow(page):
    """Nothing is cut off or scrolled sideways at any width."""
    for width in [320, 390, 768, 1280, 2560]:
        page.size(width)
        fits(page, width)
        if width in (320, 768):
            page.axe()
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def fits(page, width):
    wide = page.run("return document.scrollingElement.scrollWidth")
    assert wide <= width, (wide, page.run(
        "return [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > arguments[0])"
        ".map(e => e.tagName + '#' + e.id + '.' + e.getAttribute('class'))", width))


def picture(page, name, isWhole):
    """The whole page as it is, or what a reader sees of it at once."""
    page.run("document.activeElement.blur(); scrollTo(0, 0)")
    width, height = page.run("return [innerWidth, arguments[0] ? document.documentElement.scrollHeight : innerHeight]", isWhole)
    clip = {"x": 0, "y": 0, "width": width, "height": min(height, 3000), "scale": 1}
    shot = page.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    with open(os.path.join(directory, name + ".png"), "wb") as file:
        file.write(base64.b64decode(shot["data"]))


def every_view(page, name, isWhole=True):
    """In light and dark, on a telephone and wide: nothing is cut off, everybody can read it, and a picture if wanted."""
    for width, scheme, isRead in [(320, "light", True), (390, "dark", False), (1280, "dark", True), (1280, "light", False)]:
        page.size(width)
        page.scheme(scheme)
        fits(page, width)
        scales(page)
        if isRead:
            page.axe()
        if "NWPATH_TEST_SCREENSHOTS" in os.environ:
            picture(page, f"{name}-{width}-{scheme}", isWhole)


def pictures(driver):
    """The pictures of the documentation; online also with the services nearby."""
    def nearby(page, word):
        if word == "Online":
            page.click("#nearby h2 a")
            page.wait("the services", lambda: page.count("#services li") == 10)
            every_view(page, "docs-nearby", isWhole=False)
            page.click("#drawer-close")

    states(driver, "docs", nearby)


def states(driver, kind="state", then=lambda page, word: None):
    """Looks at each state that the test brings about, until there is none any more."""
    look = os.path.join(directory, "look")
    with Page(driver) as page:
        page.ready()
        while not os.path.exists(look + ".end"):
            if not os.path.exists(look):
                time.sleep(0.02)
                continue
            name, word = open(look, encoding="utf-8").read().split("\n")
            os.remove(look)
            page.wait(word, lambda: page.text("#word") == word)
            every_view(page, f"{kind}-{name}")
            then(page, word)
            page.console()
            mark("looked-" + name.split("-")[0])


def scales(page):
    """Each latency lane has a scale, in the unit of its figures, and no two labels touch."""
    lanes = page.run("return [...document.querySelectorAll('.lane')].filter(n => n.querySelector('.scale')).map(n => "
                     "[n.querySelector('p span')?.textContent ?? '', n.querySelector('.scale span').textContent])")
    for figure, top in lanes:
        assert re.fullmatch(r"[0-9.]+ (µs|ms|s|%)", top), top
        assert figure == "" or figure.split()[-1] == top.split()[1] and len(re.findall("µs|ms|s|%", figure)) == 1, (figure, top)
    touching = page.run("""
        const boxes = [...document.querySelectorAll('.lane p *, .scale span, .axis span')].filter(n => n.offsetWidth > 0)
            .map(n => [n.textContent, n.getBoundingClientRect()]);
        return boxes.flatMap(([text, box], index) => boxes.slice(index + 1).filter(([, other]) => box.left < other.right - 0.5
            && other.left < box.right - 0.5 && box.top < other.bottom - 0.5 && other.top < box.bottom - 0.5)
            .map(([other]) => `${text} and ${other}`));""")
    same(touching, [])


def folding(page):
    """One line a cause: what came first, what became of the way out, and what went with it."""
    def event(second, seq, name, message, severity="info", **members):
        return dict(members, time=f"2026-11-26T12:00:{second:04.1f}Z", seq=seq, stream="7f3a", event=name, message=message, severity=severity)

    cause = {"kind": "kernel"}
    lost = event(1, 1, "interface.changed", "eth0 lost carrier", "warning", interface={"name": "eth0"}, cause=cause)
    path = event(1.1, 2, "path.changed", "Path default is unsatisfied: eth0 has no carrier", "error", cause={"seq": 1})
    gone = [event(1.2, 3 + index, "service.removed", "x went away", service={"name": f"s{index}", "type": "_ipp._tcp", "interface": {"name": "eth0"}})
            for index in range(3)]
    offline = event(2.1, 6, "headline.changed", "Offline: eth0 has no carrier", "error",
                    headline={"state": "offline", "message": "eth0 has no carrier"}, previous={"state": "online", "duration_seconds": 7})
    failed = event(4, 7, "probe.failed", "Probe far failed 2 times: timeout", "warning", probe={"name": "far"})
    online = event(40, 8, "headline.changed", "Online after 38 s", headline={"state": "online", "message": "what was asked answers"},
                   previous={"state": "offline", "duration_seconds": 38})
    again = event(41, 9, "probe.recovered", "Probe far succeeds again", probe={"name": "far"})
    alone = event(58, 10, "probe.failed", "Probe far failed 2 times: timeout", "warning", probe={"name": "far"})
    come = [event(59, 11 + index, "service.added", f"Thing {index} appeared on eth0", service={"name": f"t{index}", "type": "_ipp._tcp",
                                                                                              "interface": {"name": "eth0"}}) for index in range(4)]
    lines = page.run("return fold(arguments[0]).map(group => [tone(group), ...line(group)])",
                     [lost, path, *gone, offline, failed, online, again, alone, *come])
    same(lines, [["", "4 services found", "(on eth0)"], ["warn", "Probe far failed 2 times: timeout", ""],
                 ["ok", "Online again", "after 38 s offline"], ["bad", "eth0 lost carrier", "Offline (3 services)"]])


def crowd(driver):
    with Page(driver) as page:
        page.ready()
        folding(page)
        page.wait("the services", lambda: page.text("#nearby-count") == "500 services on 41 hosts")
        same([page.count("#types a"), page.count(".chain")], [6, 1])
        assert page.count("#machine dt") <= 11, page.items("#machine dt")
        every_view(page, "crowd")
        page.driver.find_element(By.CSS_SELECTOR, "#machine button").click()
        same(len([name for name in page.items("#machine dt") if name.startswith("wan")]), 11)
        page.click("#nearby h2 a")
        page.wait("the first fifty", lambda: page.count("#services li") == 50)
        hosts = page.items("#services h3")
        assert hosts[0].startswith("host-0.local") and hosts[2].startswith("host-2.local"), hosts
        every_view(page, "crowd-drawer", isWhole=False)
        page.click("#drawer-more")
        same(page.count("#services li"), 250)
        page.expect_quiet()


def lost_services(page):
    """Of services that went with their link, and of those that the history alone knows, the host is not known."""
    page.run("location.hash = 'services'")
    page.wait("both", lambda: page.count("#services li.gone") == 2)
    same(page.items("#services h3"), ["Host unknown"])
    assert re.fullmatch(r"Lamp Internet printer, on eth0\s+· gone .* ago \(last known\)", page.items("#services li")[0]), page.items("#services li")
    assert re.fullmatch(r"Radio _http._tcp, on eth1\s+· gone .* ago \(unknown\)", page.items("#services li")[1]), page.items("#services li")


def rare(driver):
    """States that no network of a test brings about: documents of a stand-in, changed from the real ones."""
    status = json.load(urllib.request.urlopen(url + "api/v1/status"))
    diagnosis = json.load(urllib.request.urlopen(url + "api/v1/diagnosis"))
    slow = dict(status, headline=dict(status["headline"], state="slow", message="answers take 420 ms instead of 12 ms while the line is filled",
                                      hint="limit what uploads, or let the router manage its queue"))
    slow["chain"] = [dict(node, condition="degraded" if node["element"] == "internet" else "good") for node in status["chain"]]
    portal = dict(status, headline=dict(status["headline"], state="login_needed", message="a portal answers the probe web", hint="open a web page and log in"))
    probe = {"name": "web", "target": "http://example.test/", "interval_seconds": 30, "captive_portal": True,
             "last": {"success": False, "reason": "redirected", "location": "http://portal.example.test/login?from=up0"}}
    hostile = dict(probe, last=dict(probe["last"], location="javascript:alert(1)"))
    first = dict(status, services={"count": 0, "types": 0, "last_census": None})
    second = dict(status["monitors"][0], monitor="lte")
    second["path"] = dict(second["path"], interfaces=[{"name": "wwan0", "index": 9, "type": "cellular"}], gateways=["10.64.0.1"])
    two = dict(status, monitors=status["monitors"] + [second])
    wireless = {"associated": True, "ssid": "office-7", "bssid": "02:00:00:00:01:00", "frequency_mhz": 5180, "band": "5", "signal_dbm": -47,
                "rx_bits_per_second": 866700000, "tx_bits_per_second": None, "authorized": True}
    radio = dict(status, interfaces=[dict(link, wifi=wireless) if link["name"] == "up0" else link for link in status["interfaces"]])
    past = {"name": "Lamp", "type": "_ipp._tcp", "type_name": "Internet printer", "domain": "local.", "interface": {"name": "eth0", "index": 2},
            "present": False, "first_seen": status["time"], "last_seen": status["time"], "appearances": 1, "removed": {"reason": "goodbye"}}
    lost = dict(next=None, events=[
        {"event": "services.lost", "time": status["time"], "seq": 9, "stream": "7f3a", "severity": "info", "message": "1 service lost with eth1",
         "interface": {"name": "eth1", "index": 3}, "count": 1, "names": ["Radio (_http._tcp)"], "types": [], "cause": {"kind": "link"}}])
    for name, extra, check in [
            ("lost-services", {"/api/v1/services": {"services": []}, "/api/v1/services/history": {"services": [past]},
                               "/api/v1/events?since=10m&event=service.removed,services.lost&limit=1000": lost}, lost_services),
            ("wifi", {"/api/v1/status": radio}, lambda page: same(
                page.facts("#machine")["up0"].split("\n")[0], "up, wired, office-7, -47 dBm, 02:00:00:00:01:00, 5 GHz, 866 Mbit/s in")),
            ("two-uplinks", {"/api/v1/status": two}, lambda page: same(
                [page.count(".chain"), page.items(".chain:last-child b")], [2, [status["host"], "wwan0", "10.64.0.1", "Internet", "DNS"]])),
            ("slow", {"/api/v1/status": slow}, lambda page: same([page.state(), page.chain()[3][0]], ["warn", "degraded"])),
            ("portal", {"/api/v1/status": portal, "/api/v1/probes": {"probes": [probe]}},
             lambda page: same([page.text("#more"), page.run("return document.querySelector('#more a').href")],
                               ["It is at portal.example.test.", "http://portal.example.test/login?from=up0"])),
            ("hostile-portal", {"/api/v1/status": portal, "/api/v1/probes": {"probes": [hostile]}}, lambda page: same(page.is_shown("#more"), False)),
            ("first-minute", {"/api/v1/status": first, "/api/v1/services": {"services": []}},
             lambda page: same(page.text("#types"), "Looking for services; none found yet."))]:
        extra["/api/v1/probes/web/history?since=1h&step=30s"] = {"steps": []}
        with Page(driver, between(extra={path: json.dumps(body) for path, body in extra.items()})) as page:
            page.ready()
            page.wait(name, lambda: page.text("#host") == status["host"])
            check(page)
            every_view(page, "rare-" + name)
            page.expect_quiet()
    progress(driver, diagnosis)
    refused(driver)


def progress(driver, diagnosis):
    """With a token one click starts a test; its progress is shown, and then its result, as `nwpath diagnose` prints it."""
    asked = dict(diagnosis, running={"started": "2026-11-26T12:00:00Z", "layers": ["wan", "dns"]})
    found = dict(diagnosis, running=None, time="2026-11-26T12:00:00Z", duration_seconds=2.1, verdicts=[
        {"code": "wan.unreachable", "message": "192.0.2.1 answers, and nothing beyond it does", "hint": "check the modem and the provider"}],
        ladder=[{"layer": "gateway", "state": "ok", "codes": [], "message": None}, {"layer": "wan", "state": "faulty", "codes": ["wan.unreachable"], "message": None},
                {"layer": "dns", "state": "not_assessed", "codes": [], "message": "hidden by wan.unreachable"}])
    extra = {"/api/v1/diagnosis": json.dumps(dict(diagnosis, running=None)), "/api/v1/config": TOKEN}
    afterwards = {path: json.dumps(asked) for path in ["/api/v1/diagnosis", "/api/v1/diagnosis?wait=20s"]}
    with Page(driver, between(extra=extra, writes={"/api/v1/diagnosis": [202]}, afterwards=afterwards)) as page:
        page.ready()
        give(page, "secret")
        page.wait("the progress", lambda: page.text("#asking") == "Testing: wan, dns")
        page.axe()
        extra["/api/v1/diagnosis"] = extra["/api/v1/diagnosis?wait=20s"] = json.dumps(found)
        page.wait("what was found", lambda: page.is_shown("#diagnosis") and "and nothing beyond it does. Check the modem" in page.text("#diagnosis"))
        same(page.items("#diagnosis li"), ["✓ gateway sound", "✗ wan wan.unreachable", "○ dns hidden by wan.unreachable"])
        every_view(page, "rare-diagnosed")


def traffic_document(state="proved", **more):
    figures = {"state": state, "connections": 212, "unanswered": 3, "last_answer_seconds": 0.04, "retransmit_ratio": 0.002,
               "rtt_seconds": {"p50": 0.018, "p90": 0.04, "p99": 0.07}} | more
    path = figures | {"interface": {"name": "up0"}, "gateway": "192.0.2.1", "family": "ipv4", "range": "public", "destinations": 17, "groups": []}
    return figures | {"enabled": True, "paths": [path] if figures["connections"] else []}


def traffic_history():
    """An hour: four minutes in which the service did not run, and two stalls of ten and of twenty seconds."""
    end = time.time() // 10 * 10
    steps = [{"start": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(end - 3600 + 10 * index)), "connections": 12,
              "rtt_seconds": None if index in (300, 301) else 0.018 + 0.004 * (index % 7) / 7, "retransmit_ratio": 0.002 * (index % 3),
              "stalled": index in (90, 300, 301)} for index in range(360) if not 200 <= index < 224]
    return {"step_seconds": 10, "steps": steps}


def traffic(driver):
    """Round trips and what was sent again in the last hour, and the state in words; at most one request in ten seconds."""
    def change(found, history):
        extra.update({"/api/v1/traffic": json.dumps(found), "/api/v1/traffic/history": json.dumps(history)})

    def shows(words, kind=""):
        page.run("traffic.at = 0")
        page.wait_for("#traffic h2", words)
        same([page.text("#traffic h2"), page.is_shown("#traffic"), page.run(
            "return document.querySelector('#traffic h2 span').className")], ["Traffic " + words, True, kind])

    requests = "return performance.getEntriesByType('resource').filter(one => one.name.endsWith('/api/v1/traffic')).length"
    extra = {}
    change(traffic_document(), traffic_history())
    with Page(driver, between(extra=extra)) as page:
        page.ready()
        shows("212 connections answered within 40 ms, 0.2 % sent again")
        same(page.items("#traffic .lane b"), ["Round trip", "Sent again"])
        same(page.items("#traffic .lane p span"), ["19 ms", "0.4 %"])
        same(page.items("#traffic .scale span:first-child"), ["30 ms", "1 %"])
        same([page.count("#traffic rect.down"), page.count("#traffic polyline")], [6, 5])
        assert re.fullmatch(r"Stalled for up to 30 s, last at \d\d:\d\d:\d\d\.", page.text("#traffic p.bad")), page.text("#traffic")
        every_view(page, "traffic")
        change(traffic_document("stalled", connections=150, unanswered=148, last_answer_seconds=1.4), traffic_history())
        shows("stalled: 148 of 150 connections via 192.0.2.1 without answer for 1 s", "bad")
        every_view(page, "traffic-stalled")
        change(traffic_document("lossy", retransmit_ratio=0.05), traffic_history())
        shows("lossy: 212 connections via 192.0.2.1 answered within 40 ms, 5.0 % sent again", "warn")
        seen = page.run(requests)
        for _ in range(3):
            page.driver.execute_async_script("const done = arguments[0]; traffic.at = Date.now(); want(true); setTimeout(done, 500)")
        same(page.run(requests), seen)
        page.run("Object.defineProperty(document, 'hidden', { value: true, configurable: true }); traffic.at = 0")
        time.sleep(2.5)
        same(page.run(requests), seen)
        page.run("delete document.hidden")
        page.wait("the next one", lambda: page.run(requests) > seen)
        change(traffic_document("unknown", connections=0, rtt_seconds=None, last_answer_seconds=None), {"step_seconds": 10, "steps": []})
        shows("no connections")
        same(page.count("#traffic .lane"), 0)
        change({"enabled": False, "state": "unknown", "connections": 0, "paths": []}, {"step_seconds": 10, "steps": []})
        page.run("traffic.at = 0")
        page.wait("nothing", lambda: not page.is_shown("#traffic"))
        page.expect_quiet()


TOKEN = json.dumps({"token_file": "/etc/nwpath/token"})


def give(page, token):
    """Opens the form for the token, and gives one."""
    page.click("#asking [data-key=token]")
    page.driver.find_element(By.ID, "token").send_keys(token, Keys.ENTER)


def refused(driver):
    """Without a token there is a command to copy; a wrong token is reported."""
    with Page(driver, between()) as page:
        page.ready()
        page.wait("the command", lambda: page.text("#asking").startswith("Test now: sudo nwpath diagnose"))
        same(page.items("#asking button"), ["Copy"])
        assert not page.is_shown("#rights")
        every_view(page, "rare-no-token")
    with Page(driver, between(extra={"/api/v1/config": TOKEN}, writes={"/api/v1/diagnosis": [401, 429, 202]})) as page:
        page.ready()
        page.wait("the token's button", lambda: page.items("#asking button") == ["Copy", "Use a token"])
        give(page, "secret")
        page.wait_for("#refusal", "That is not the token.")
        same(page.run("return document.activeElement.id"), "token")
        every_view(page, "rare-refused")
        page.driver.find_element(By.ID, "token").send_keys("other", Keys.ENTER)
        page.wait_for("#asking", "The last test ended a moment ago.")
        assert not page.is_shown("#rights")
        same(page.items("#asking button"), ["Test now"])
        same(Between.shown[-2:], ["Bearer secret", "Bearer other"])
    denied = []
    with Page(driver, between(denied=denied)) as page:
        page.ready()
        denied.append("from now on")
        page.run("want(true)")
        page.wait("the refusal", lambda: page.text("#word") == "Not allowed")
        page.wait_for("#cause", "Load this page again and log in. Last seen: Connected")
        every_view(page, "rare-not-allowed")
        denied.clear()
        page.wait("to be let in", lambda: page.text("#word") == "Connected")


# What changes while somebody looks.

def link(driver):
    """A link of `nwpath page` may start tests, from the tab that opened it first."""
    made = subprocess.run(["curl", "-sSf", "--unix-socket", os.path.join(directory, "api.sock"), "-X", "POST",
                           "http://localhost/api/v1/page/links"], check=True, capture_output=True, text=True).stdout
    address = f"{url}#link={json.loads(made)['secret']}"
    with Page(driver, address) as page:
        page.ready()
        page.wait("the session", lambda: page.items("#asking button") == ["Test now"])
        same(page.run("return location.hash"), "")
        page.click("#asking button")
        page.wait("the result", lambda: page.is_shown("#diagnosis") and "Diagnosis " in page.text("#diagnosis"))
        page.expect_quiet()
    with Page(driver, address) as page:
        page.ready()
        page.wait_for("#asking", "This link was used")
        same(page.items("#asking button"), ["Copy"])


def live(driver):
    with Page(driver) as page:
        page.ready()
        same(page.state(), "untested")
        node = page.driver.find_elements(By.CSS_SELECTOR, ".chain button")[1]
        node.click()
        ip("link set peer0 down")
        page.wait("the loss", lambda: page.state() == "bad")
        page.wait_for("#cause", "up0 has no carrier. ")
        same(page.text("#word"), "Offline")
        page.wait("the title", lambda: page.driver.title.startswith("✗ ") and "no carrier" in page.driver.title)
        same([node[0] for node in page.chain()], ["good", "broken", "not_reached", "not_reached", "not_reached"])
        page.wait_for("#node", "no carrier")
        same(page.run("return document.activeElement.dataset.key"), "0 interface")
        page.wait_for("#happened", "Offline")
        page.wait_for("#summary", "1 outage")
        page.wait("the outage", lambda: page.count("#happened .row") == 1)
        page.click("#happened .row")
        page.wait_for("#happened .detail", "so far")
        for scheme in ["light", "dark"]:
            page.scheme(scheme)
            page.axe()
        ip("link set peer0 up")
        ip("route replace default via 192.0.2.1")
        page.wait("the recovery", lambda: page.state() == "untested")
        page.wait("the title", lambda: page.driver.title.startswith("? office: Connected"))
        page.wait("the end of the outage", lambda: "so far" not in page.text("#happened"))
        page.wait_for("#happened", "again after")
        page.expect_quiet()
        mark("steady")
        page.wait("the loss of the service", lambda: page.text("#word") == "No contact")
        page.wait_for("#retry", "trying again in")
        same(page.run("return document.body.classList.contains('stale')"), True)
        page.wait("what is known", lambda: re.search(r"Last seen: Connected, at \d\d:\d\d:\d\d\.", page.text("#cause")))
        same([page.state(), page.driver.title], ["lost", "? office"])
        ages = "return [...document.querySelectorAll('time[data-age]')].map(age => age.textContent)"
        before, said = page.run(ages), page.text("#since")
        page.wait("the time without contact grows", lambda: page.text("#since") != said)
        same(page.run(ages), before)
        for scheme in ["light", "dark"]:
            page.scheme(scheme)
            page.axe()
        mark("lost")
        page.wait("contact", lambda: page.text("#live") == "live" and page.text("#word") == "Connected")
        same(page.run("return document.body.classList.contains('stale')"), False)
        page.wait_for("#happened", "started")


def tabs(driver):
    """A browser opens six connections to a server: more tabs than that share one stream."""
    def streams():
        with urllib.request.urlopen(url + "metrics") as answer:
            return re.findall(r'^nwpath_event_stream_clients\{transport="sse"\} (\d+)$', answer.read().decode(), re.M)

    with contextlib.ExitStack() as stack:
        pages = []
        for _ in range(8):
            pages.append(stack.enter_context(Page(driver)))
            pages[-1].ready()
            pages[-1].handle = driver.current_window_handle
        same(streams(), ["1"])
        ip("link set peer0 down")
        for page in reversed(pages):
            driver.switch_to.window(page.handle)
            page.wait_for("#cause", "up0 has no carrier")
        ip("link set peer0 up")
        ip("route replace default via 192.0.2.1")
        # Whoever goes on has the stream soon.
        for page in reversed(pages[1:]):
            driver.switch_to.window(page.handle)
            page.driver.close()
        driver.switch_to.window(pages[0].handle)
        pages[0].wait_for("#word", "Connected")
        pages[0].ready()
        page.wait("a stream", lambda: streams() == ["1"])
        pages[0].expect_quiet()
        stack.pop_all()
        driver.close()
        driver.switch_to.window(pages[0].first)


# What strangers say.

def hostile(driver):
    with Page(driver) as page:
        page.ready()
        names = [line for line in open(os.path.join(directory, "names"), encoding="utf-8").read().split("\0") if line]
        page.wait("the services", lambda: page.text("#nearby-count").startswith(f"{len(names)} services"))
        page.click("#nearby h2 a")
        page.wait("the drawer", lambda: page.count("#services li") == len(names))
        same(sorted(page.run("return [...document.querySelectorAll('#services li > b')].map(b => b.textContent)")), sorted(names))
        page.axe()
        page.driver.get(url + "#events")
        page.wait("the changes", lambda: all(name in page.text("#every-list") for name in names))
        same(page.count("img, iframe, object, embed, base"), 0)
        same(page.count("script"), 1)
        same(page.run("return [typeof window.hacked, document.querySelectorAll('[onerror], [onload], [onclick], [style]').length]"),
             ["undefined", 0])
        places = page.run("return [...document.querySelectorAll('main a, dialog a')].map(a => a.getAttribute('href'))")
        assert all(place.startswith(("#", "api/v1/")) for place in places), places
        page.axe()
        page.expect_quiet()


# Between the page and the service.

class Between(http.server.BaseHTTPRequestHandler):
    """Hands on what is asked below a prefix, changed by `change(path, body)`, and answers what `extra` has."""
    prefix, change, extra, writes, shown = "", staticmethod(lambda path, body: body), {}, {}, []
    afterwards, denied = {}, []
    protocol_version = "HTTP/1.0"

    def do_POST(self):
        """Answers with the next status that `writes` has for the path, and remembers the credentials.

        From then on `extra` has what is in `afterwards`.
        """
        self.extra.update(self.afterwards)
        if self.headers.get("Authorization"):
            self.shown.append(self.headers["Authorization"])
        self.send_response(self.writes[self.path].pop(0))
        self.end_headers()

    def do_HEAD(self):
        self.send_response(200)
        self.end_headers()

    def do_GET(self):
        if not self.path.startswith(self.prefix + "/"):
            return self.send_error(404)
        path = self.path[len(self.prefix):]
        if self.denied and path.startswith("/api/"):
            return self.send_error(401)
        if path in self.extra:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            return self.wfile.write(self.extra[path].encode())
        behind = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=patience)
        behind.request("GET", path, headers={"Accept": self.headers.get("Accept", "*/*")})
        answer = behind.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "date"):
                self.send_header(name, value)
        self.end_headers()
        if path == "/":
            return self.wfile.write(self.change(path, answer.read()))
        while data := answer.read1(65536):
            self.wfile.write(data)
            self.wfile.flush()

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass

    def log_message(self, *_):
        pass


def between(**behaviour):
    handler = type("Handler", (Between,), behaviour)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}{behaviour.get('prefix', '')}/"


def prefix(driver):
    asked = []

    def note(path, body):
        asked.append(path)
        return body

    with Page(driver, between(prefix="/machines/one", change=staticmethod(note))) as page:
        page.ready()
        same(asked, ["/"])
        ip("link set peer0 down")
        page.wait_for("#cause", "no carrier")
        page.expect_quiet()
        page.driver.find_element(By.LINK_TEXT, "Status").click()
        page.wait("the link below the prefix", lambda: page.driver.current_url.endswith("/machines/one/api/v1/status"))
        ip("link set peer0 up")
        ip("route replace default via 192.0.2.1")


def policy(driver):
    """A script with one more byte is refused, and the right one can talk to nobody else."""
    changed = between(change=staticmethod(lambda path, body: body.replace(b"'use strict';", b"'use strict'; ", 1)))
    with Page(driver, changed) as page:
        page.wait("the refusal", lambda: any("Content Security Policy" in line for line in page.console()))
        same(page.text("#message"), "Reading the status.")
    with Page(driver, between(change=staticmethod(lambda path, body: body.replace(b"\"#main\"", b"\"#mein\"", 1)))) as page:
        page.ready()
    with Page(driver) as page:
        page.ready()
        other = between()
        answer = page.driver.execute_async_script(
            "const done = arguments[1]; fetch(arguments[0]).then(() => done('came'), () => done('refused'))", other)
        same(answer, "refused")
        assert any("connect-src" in line or "Content Security Policy" in line for line in page.console())
        same(page.driver.execute_async_script(
            "const done = arguments[0]; const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
            "document.body.append(s); setTimeout(() => done(typeof window.hacked), 50)"), "undefined")


def without_script(driver):
    with Page(driver) as page:
        page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        page.driver.refresh()
        link = page.driver.find_element(By.CSS_SELECTOR, "noscript a")
        assert link.is_displayed() and link.get_attribute("href") == url + "api/v1/status"


try:
    with browser() as driver:
        for check in sys.argv[1].split(","):
            globals()[check](driver)
except BaseException:
    mark("failed")
    raise
