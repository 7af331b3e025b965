#!/usr/bin/env python3
"""Looks at the status page with a real browser. Usage: browser.py CHECK URL DIRECTORY

The checks are the functions below. A check that needs the world to change while it looks writes an empty file into the
directory and waits for what it shall see. It fails by an exception, and a file `failed`; what the browser's console
says is a failure too. One browser serves all checks of a run.
"""
import base64, contextlib, http.client, http.server, os, re, subprocess, sys, threading, time
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
    for word in ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
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

    def rows(self, table):
        """The text of each cell of each row."""
        script = "return [...document.querySelectorAll(`${arguments[0]} tbody tr`)].map(r => [...r.cells].map(c => c.innerText))"
        return self.run(script, table)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def is_shown(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector).is_displayed()

    def wait(self, what, condition):
        end = time.monotonic() + patience
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"{what} did not happen; console: {self.console()}; page: {self.text('body')[:3000]}")
            time.sleep(0.02)

    def wait_for(self, selector, text):
        self.wait(f"{text!r} in {selector}", lambda: text in self.text(selector))

    def ready(self):
        self.wait_for("#live", "live: connected")
        self.wait("a verdict", lambda: ": " in self.text("#banner-text"))
        self.wait("a history", lambda: self.count("#timeline rect.ok, #timeline rect.bad") > 0)

    def console(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

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
        page.wait("the services", lambda: len(page.rows("#services")) == 4)
        same(page.text("#banner-text"), "Connected: the kernel would send through up0 to 192.0.2.1; nobody beyond was asked")
        same(page.run("return document.querySelector('#banner').dataset.state"), "ok")
        assert page.driver.title.startswith("✓ "), page.driver.title
        tiles = dict(page.run("return [...document.querySelectorAll('#tiles li')].map(d => [d.children[0].textContent,"
                              "[...d.children].slice(1).map(c => c.innerText).join(' ')])"))
        for name, start in [("IPv4", "✓ yes"), ("IPv6", "no"), ("Expensive", "no"), ("Constrained", "no"),
                            ("Captive portal", "– not checked"), ("Available 24 h", "99."), ("Available 7 d", "99."),
                            ("Available 30 d", "99.")]:
            assert tiles[name].startswith(start), (name, tiles[name])
        assert "of 25 d 23 h known" in tiles["Available 30 d"] and "known" not in tiles["Available 7 d"], tiles
        timeline(page)
        same([row[:3] for row in page.rows("#paths")], [["default", "✓ satisfied", "up0"], ["wifi", "✗ unsatisfied\n" + page.text("#paths tr:nth-child(2) div"), "–"]])
        link = page.rows("#interfaces")[0]
        same(link[0], "up0")
        assert link[2] == "✓ usable" and link[3].startswith("yes") and "192.0.2.2/24" in link[4], link
        same(link[5], "192.0.2.1")
        same(page.rows("#gateways")[0][:2], ["192.0.2.1", "up0"])
        assert page.text("#dns").startswith("Usable"), page.text("#dns")
        assert not page.is_shown("#probes-section") and not page.is_shown("#diagnosis") and not page.is_shown("#problems")
        search(page)
        recent(page)
        same(page.run("return [...document.querySelectorAll('footer a')].filter(a => !a.hidden).map(a => a.getAttribute('href'))")[:2],
             ["metrics", "api/v1/status"])
        assert page.text("#snapshot").startswith("State "), page.text("#snapshot")
        keyboard(page)
        accessible(page)
        narrow(page)
        page.expect_quiet()
        mark("seen")
        page.wait("the services went", lambda: page.count("#services tr.gone") == 4)
        assert all("gone" in row[-1] and "goodbye" in row[-1] for row in page.rows("#services")), page.rows("#services")
        page.driver.refresh()
        page.wait("they are remembered", lambda: page.count("#services tr.gone") == 4)
        page.expect_quiet()


def timeline(page):
    same(page.count("#timeline > svg rect"), 96)
    text = page.text("#timeline-text")
    assert text.startswith("2 outages, 5 min 12 s; 1 h"), text
    assert text in page.run("return document.querySelector('#timeline > svg').getAttribute('aria-label')")
    assert 2 <= page.count("#timeline > svg rect.bad") <= 4, page.count("#timeline > svg rect.bad")
    assert 3 <= page.count("#timeline > svg rect.unknown") <= 5, page.count("#timeline > svg rect.unknown")
    assert "down" in page.text("#timeline rect.bad title"), page.text("#timeline rect.bad title")
    same([row[1:] for row in page.rows("#outages")], [["1 min 12 s", "eth0 has no carrier"], ["4 min", "eth0 has no carrier"]])


def search(page):
    field = page.driver.find_element(By.ID, "services-search")
    field.send_keys("office")
    same([row[0] for row in page.rows("#services")], ["Office Printer"])
    same(page.text("#services-count"), "1 of 4 services")
    field.clear()
    field.send_keys("nothing like it")
    same(page.rows("#services"), [["Nothing matches"]])
    field.clear()
    field.send_keys(Keys.SPACE, Keys.BACKSPACE)
    kinds = Select(page.driver.find_element(By.ID, "services-type"))
    same([option.text for option in kinds.options], ["all types", "_airplay._tcp", "_http._tcp", "_ipp._tcp"])
    kinds.select_by_visible_text("_ipp._tcp")
    same([row[0] for row in page.rows("#services")], ["Office Printer", "日本語プリンタ"])
    kinds.select_by_index(0)


def recent(page):
    everything = page.rows("#events")
    assert 5 < len(everything) <= 50, len(everything)
    kinds = Select(page.driver.find_element(By.ID, "events-kind"))
    kinds.select_by_visible_text("path")
    rows = page.rows("#events")
    assert rows and all(row[1].startswith("path.") for row in rows), rows
    kinds.select_by_index(0)


def keyboard(page):
    """Everything that can be used is reached by Tab, in order, and shows it."""
    page.driver.refresh()
    page.ready()
    page.wait("the services", lambda: len(page.rows("#services")) == 4)
    reached = []
    for _ in range(40):
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
        name, outline = page.run(
            "const e = document.activeElement; const s = getComputedStyle(e);"
            "return [e.id || e.getAttribute('href') || e.className, `${s.outlineStyle} ${s.outlineWidth}`]")
        if not name or name in reached:
            break
        reached.append(name)
        assert outline.startswith(("solid", "auto")) and not outline.endswith(" 0px"), (name, outline)
    wanted = ["#main", "services-search", "services-type", "events-kind", "api/v1/events", "metrics", "api/v1/status"]
    same([name for name in reached if name in wanted], wanted)
    skip = page.driver.find_element(By.CSS_SELECTOR, ".skip")
    page.run("arguments[0].focus()", skip)
    skip.send_keys(Keys.ENTER)
    same(page.run("return document.activeElement.id"), "main")
    same(page.run("return document.querySelectorAll('h1').length + document.querySelectorAll('main').length"), 2)
    same(page.run("return [...document.querySelectorAll('th')].filter(h => !h.scope).length"), 0)


def accessible(page):
    for scheme in ["light", "dark"]:
        page.scheme(scheme)
        background = page.run("return getComputedStyle(document.body).backgroundColor")
        brightness = sum(int(part) for part in background[4:-1].split(","))
        assert (brightness < 120) == (scheme == "dark"), (scheme, background)
        page.axe()
        picture(page, f"page-{scheme}.png")
    page.scheme("light")


def picture(page, name):
    """From the top down to the services; the recent changes are left out."""
    height = page.run("document.activeElement.blur(); scrollTo(0, 0);"
                      "return Math.ceil(document.querySelector('#services-section').getBoundingClientRect().bottom) + 20")
    clip = {"x": 0, "y": 0, "width": page.run("return innerWidth"), "height": height, "scale": 1}
    shot = page.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    with open(os.path.join(directory, name), "wb") as file:
        file.write(base64.b64decode(shot["data"]))


def narrow(page):
    """On the narrowest telephone nothing is cut off: tables scroll by themselves, and by keyboard."""
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                {"width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": False})
    page.wait("narrow tables scroll", lambda: page.count(".scroll[tabindex='0'][role=group][aria-label]") > 1)
    width = page.run("return document.scrollingElement.scrollWidth")
    assert width <= 320, (width, page.run(
        "return [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > 320 && !e.closest('.scroll'))"
        ".map(e => e.tagName + '#' + e.id + '.' + e.className)"))
    page.axe()
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    page.wait("wide tables do not", lambda: page.count(".scroll[tabindex]") == 0)


# What changes while somebody looks.

def live(driver):
    with Page(driver) as page:
        page.ready()
        same(page.run("return document.querySelector('#banner').dataset.state"), "ok")
        kinds = page.driver.find_element(By.ID, "events-kind")
        Select(kinds).select_by_visible_text("path")
        page.run("arguments[0].focus()", kinds)
        ip("link set peer0 down")
        page.wait("the loss", lambda: page.run("return document.querySelector('#banner').dataset.state") == "bad")
        page.wait_for("#banner-text", "Offline: up0 has no carrier")
        page.wait("the title", lambda: page.driver.title.startswith("✗ ") and "no carrier" in page.driver.title)
        page.wait_for("#paths tbody", "✗ unsatisfied")
        page.wait_for("#events tbody", "path.changed")
        page.wait_for("#timeline-text", "1 outage")
        page.wait_for("#outages tbody", "so far")
        for scheme in ["light", "dark"]:
            page.scheme(scheme)
            page.axe()
        ip("link set peer0 up")
        ip("route replace default via 192.0.2.1")
        page.wait("the recovery", lambda: page.run("return document.querySelector('#banner').dataset.state") == "ok")
        page.wait("the title", lambda: page.driver.title.startswith("✓ "))
        page.wait("the end of the outage", lambda: "so far" not in page.text("#outages tbody"))
        same(kinds.get_attribute("value"), "path")
        same(page.run("return document.activeElement.id"), "events-kind")
        assert all("path." in row[1] for row in page.rows("#events")), page.rows("#events")
        Select(kinds).select_by_index(0)
        page.expect_quiet()
        mark("steady")
        page.wait("the loss of the service", lambda: page.text("#live") == "live: disconnected")
        page.wait_for("#retry", "reconnecting in")
        same(page.run("return document.querySelector('#banner').classList.contains('stale')"), True)
        gone = re.compile(r"No contact for \d+ s, last seen connected at \d\d:\d\d")
        page.wait("what is known", lambda: gone.fullmatch(page.text("#banner-text")))
        same(page.run("return document.querySelector('#banner').dataset.state"), "lost")
        same(page.driver.title, "? office")
        ages = "return [...document.querySelectorAll('time[data-age]')].map(age => age.textContent)"
        before, said = page.run(ages), page.text("#banner-text")
        page.wait("the time without contact grows", lambda: page.text("#banner-text") != said)
        same(page.run(ages), before)
        for scheme in ["light", "dark"]:
            page.scheme(scheme)
            page.axe()
        mark("lost")
        page.wait_for("#live", "live: connected")
        page.wait("it is fresh", lambda: not page.run("return document.querySelector('#banner').classList.contains('stale')"))
        page.wait_for("#events tbody", "daemon.started")


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
            page.wait_for("#banner-text", "Offline: up0 has no carrier")
        ip("link set peer0 up")
        ip("route replace default via 192.0.2.1")
        # Whoever goes on has the stream soon.
        for page in reversed(pages[1:]):
            driver.switch_to.window(page.handle)
            page.driver.close()
        driver.switch_to.window(pages[0].handle)
        pages[0].wait_for("#banner-text", "Connected: ")
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
        page.wait("the services", lambda: len(page.rows("#services")) == len(names))
        shown = page.run("return [...document.querySelectorAll('#services tbody th')].map(h => h.textContent)")
        same(sorted(shown), sorted(names))
        page.wait("the changes", lambda: all(name in page.text("#events tbody") for name in names))
        same(page.count("img, iframe, object, embed, base, form"), 0)
        same(page.count("script"), 1)
        same(page.run("return [typeof window.hacked, document.querySelectorAll('[onerror], [onload], [onclick], [style]').length]"),
             ["undefined", 0])
        same(page.run("return [...document.querySelectorAll('main a')].map(a => a.getAttribute('href'))"), ["api/v1/events"])
        page.axe()
        page.expect_quiet()


# Between the page and the service.

class Between(http.server.BaseHTTPRequestHandler):
    """Hands on what is asked below a prefix, changed by `change(path, body)`, and answers what `extra` has."""
    prefix, change, extra = "", staticmethod(lambda path, body: body), {}
    protocol_version = "HTTP/1.0"

    def do_GET(self):
        if not self.path.startswith(self.prefix + "/"):
            return self.send_error(404)
        path = self.path[len(self.prefix):]
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
        page.wait_for("#banner-text", "no carrier")
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
        same(page.text("#banner-text"), "Asking the service")
    with Page(driver, between(change=staticmethod(lambda path, body: body.replace(b"#main", b"#mein", 1)))) as page:
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


def later(driver):
    """Probes and a diagnosis are shown where the service has them, and no others are asked for."""
    probes = ('{"probes":[{"name":"<b>gateway</b>","target":"192.0.2.1","last":{"success":true,"duration_seconds":0.0042},'
              '"loss_percent":1.5,"p95_seconds":0.012,"recent_seconds":[0.004,0.005,null,0.012]},'
              '{"name":"web","target":"example.test","last":{"success":false,"reason":"timeout"}}]}')
    diagnosis = '{"verdicts":[{"code":"gateway.silent","message":"The gateway does not answer.","hint":"Look at the router."}]}'
    behaviour = {"extra": {"/api/v1/probes": probes, "/api/v1/diagnosis": diagnosis}, "change": staticmethod(
        lambda path, body: body.replace(b'data-routes="', b'data-routes="/api/v1/probes /api/v1/diagnosis ', 1))}
    with Page(driver, between(**behaviour)) as page:
        page.ready()
        page.wait("the probes", lambda: page.is_shown("#probes-section") and page.is_shown("#diagnosis"))
        same([row[:5] for row in page.rows("#probes")], [["<b>gateway</b>", "192.0.2.1", "✓ 4 ms", "1.50 %", "12 ms"],
                                                         ["web", "example.test", "✗ timeout", "–", "–"]])
        same(page.count("#probes .spark polyline"), 1)
        assert "Look at the router." in page.text("#diagnosis")
        page.axe()
        page.expect_quiet()


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
