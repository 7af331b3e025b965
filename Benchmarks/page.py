# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The status page in a real browser: how soon it shows something and a change, and what an open page costs."""
import pathlib, sys, time

import measure
from measure import Failed, Nwpath, PORT, ip, until

UNTESTED = "untested"  # the headline of a path that works, as far as is known
PACKAGES = pathlib.Path(__file__).resolve().parent.parent / ".build/venv"


def browser():
    """Chromium with windows that are not shown; the tests of the page use chromium-headless-shell, which has none.

    `make test-dependencies` installs both."""
    sys.path[:0] = [str(path) for path in PACKAGES.glob("lib/python*/site-packages")]
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        raise Failed("the page needs selenium: make test-dependencies") from None
    options = webdriver.ChromeOptions()
    for word in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                 "--no-first-run"]:
        options.add_argument(word)
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def services(count):
    """As many services as the census could find, in the place of those it found."""
    types = ["_ipp._tcp", "_http._tcp", "_ssh._tcp", "_hap._tcp", "_smb._tcp", "_test._tcp"]
    return [{"name": f"Thing {index}", "type": types[index % len(types)], "domain": "local.", "interface": {"name": "v0", "index": 2},
             "host": f"host-{index % 41}.local", "port": 631, "addresses": [f"192.0.2.{index % 41 + 10}"], "txt": {"path": "/"},
             "txt_raw": ["path=/"], "ttl_seconds": 4500, "first_seen": "2026-11-20T12:00:00Z", "last_seen": "2026-11-20T12:00:00Z"}
            for index in range(count)]


def paints(driver):
    """When something was painted first, in milliseconds; a browser tells it some time after the script has run."""
    return driver.execute_script("return performance.getEntriesByType('paint').map(entry => entry.startTime)")


def shown(driver):
    return driver.execute_script("return document.querySelector('#hero').dataset.state")


def page(bench):
    """First paint, a change on the screen after it was made, the longest frame with 500 services, an open page's cost."""
    if bench.baseline:
        return
    enter_new_namespace()
    # Tests of the connection could only fail here, and would change the headline at times of their own.
    with Nwpath(connectivity="off") as unseen:
        enter_new_namespace()
        with Nwpath(connectivity="off") as nwpath:
            yield from visit(bench, nwpath, unseen)


def enter_new_namespace():
    measure.enter_new_namespace()
    # Nothing answers for the router; what the browser sends by itself must not find out.
    ip("neigh replace 10.1.0.1 dev v0 lladdr 02:00:00:00:00:01 nud permanent")


def visit(bench, nwpath, unseen):
    """A browser has the page of one service open, and none that of the other."""
    size = len(nwpath.get("/")[1].encode())
    bench.record("page, uncompressed", "kB", {"nwpath": size / 1000}, most=70)
    driver = browser()
    try:
        # The first page of a browser waits for the browser.
        driver.get(f"http://127.0.0.1:{PORT}/metrics")
        for _ in range(bench.rounds):
            driver.get("about:blank")
            driver.get(f"http://127.0.0.1:{PORT}/")
            until(lambda: shown(driver) == UNTESTED, 10, "the page")
            until(lambda: paints(driver), 10, "the first paint")
            bench.record("first paint", "ms", {"nwpath": max(paints(driver))}, most=300)
            time.sleep(1)
            bench.record("change on the screen", "ms", {"nwpath": change(driver)}, most=300)
        bench.record("longest task with 500 services", "ms", {"nwpath": crowd(driver)}, most=50)
        driver.get(f"http://127.0.0.1:{PORT}/")
        yield bench.settling_seconds
        used, begin = [measure.cpu(each.pid) for each in (unseen, nwpath)], time.monotonic()
        yield bench.idle_seconds
        seconds = time.monotonic() - begin
        for each, before, title, most in zip((unseen, nwpath), used, ("no page open", "one page open"), (None, 5)):
            bench.record(f"CPU, {title}", "ms per s", {"nwpath": (measure.cpu(each.pid) - before) / seconds * 1000}, most=most)
    finally:
        driver.quit()


def change(driver):
    """Milliseconds from just before a carrier is lost until the page says so; the browser notes the moment itself."""
    driver.execute_script("""
        window.seen = null;
        new MutationObserver(() => { if (document.querySelector('#hero').dataset.state === 'bad') window.seen ??= Date.now(); })
            .observe(document.querySelector('#hero'), { attributes: true });""")
    begin = time.time() * 1000
    ip("link set v1 down")
    until(lambda: driver.execute_script("return window.seen") is not None, 10, "the change")
    seen = driver.execute_script("return window.seen")
    ip("link set v1 up")
    ip("route replace default via 10.1.0.1 dev v0 metric 100")
    until(lambda: shown(driver) == UNTESTED, 10, "the recovery")
    return seen - begin


def crowd(driver):
    """The longest task in milliseconds while 500 services come, the drawer opens and is searched; 0 when none took 50 ms."""
    return driver.execute_async_script("""
        const done = arguments[1];
        let longest = 0;
        new PerformanceObserver((list) => { for (const entry of list.getEntries()) longest = Math.max(longest, entry.duration); }).observe({ type: 'longtask' });
        const pause = () => new Promise((go) => setTimeout(go, 100));
        (async () => {
          state.services = arguments[0];
          show(); await pause();
          location.hash = 'services'; await pause();
          for (const text of ['t', 'th', 'thing 4']) {
            document.querySelector('#drawer-search').value = text;
            document.querySelector('#drawer-search').dispatchEvent(new Event('input')); await pause();
          }
          document.querySelector('#drawer-search').value = '';
          document.querySelector('#drawer-more').click(); await pause();
          done(longest);
        })();""", services(500))
