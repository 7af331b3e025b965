# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Asks the program for everything that it can say, and lays the answers out as files."""
import concurrent.futures, gzip, http.client, json, re, shutil, subprocess, time

import normalise
from streams import SocketReader, TextReader, number
from world import ANCHOR, BINARY, CONFIGURATION, LOG, PLACE, Story, World, ask, until

EXAMPLES = {"monitor": "default", "type": "_ipp._tcp"}
NAMES = {"interfaces": "eth0", "probes": "gateway", "services": "Office%20Printer", "schema": "status"}
QUERIES = {
    "services": ["type=_ipp._tcp", "name=Off*", "interface=eth0", "type=_none._tcp"],
    "services/history": ["type=_ssh._tcp"],
    "sd/prometheus": ["type=_ipp._tcp", "type=_ipp._tcp&family=ipv6"],
    "history": ["state=path", "monitor=wired", "since=1h&step=1h"],
    "probes/gateway/history": ["since=1h&step=1h"],
    "events": ["since=1&limit=3", "since=1&event=config.*"],
}
REST = 0.3  # Seconds; metrics that were asked for a tenth of a second ago may be given once more.
PAGE = {"Accept": "application/json"}
ERRORS = [
    ("GET", "/nowhere", {}), ("GET", "/api/v1/nowhere", {}), ("GET", "/api/v1/paths/none", {}),
    ("GET", "/api/v1/interfaces/none", {}), ("GET", "/api/v1/probes/none", {}),
    ("GET", "/api/v1/probes/none/history", {}),
    ("GET", "/api/v1/badge/none.svg", {}), ("GET", "/api/v1/services/_ipp._tcp/Ofice%20Printer", {}),
    ("GET", "/api/v1/schema/none.json", {}), ("GET", "/api/v1/history?monitor=none", {}),
    ("GET", "/api/v1/history?since=x", {}), ("GET", "/api/v1/status?wait=x", {}),
    ("GET", "/api/v1/services?kind=x", {}),
    ("GET", "/api/v1/events", {"Accept": "image/png"}), ("GET", "/api/v1/events?since=99999", PAGE),
    ("GET", "/api/v1/events?limit=0", PAGE), ("GET", "/api/v1/events/ws?since=x", {"Upgrade": "websocket"}),
    ("GET", "/metrics", {"Accept": "image/png"}), ("GET", "/api/v1/status", {"Accept": "image/png"}),
    ("GET", "/api/v1/status", {"Host": "evil.example"}), ("POST", "/api/v1/diagnosis", {}),
    ("POST", "/api/v1/probes/gateway", {}), ("POST", "/-/reload", {}),
    ("POST", "/-/reload", {"Origin": "http://evil.example"}),
    ("BREW", "/api/v1/status", {}), ("GET", "/" + "x" * 9000, {}), ("GET", "/api/v1/status", {"X-Large": "x" * 9000}),
]
# Commands that only read, at the end of the story. Those that have --json are run with it, too.
READING = [
    "", "status", "status --monitor wired", "status --monitor none", "interfaces", "interfaces --all",
    "interfaces none",
    "gateways", "dns", "probe", "services", "services -v", "services --types", "services --past", "history",
    "history --outages", f"why {ANCHOR}", "why", "config show", "config show --effective", "wait satisfied",
    "wait interface=none --timeout 2s", "diagnose --offline", "diagnose --explain upstream.loop",
    "diagnose --explain list",
    "browse --once --timeout 10s", "resolve printer.local", "replay none.rec", "no-such-command",
]
# What watch folds into one line depends on what came first, so for people there are single lines only.
WATCHING = "watch --since 1 --no-follow"
PLAIN = [
    f"{WATCHING} --all", "history --csv", "check", "check diagnosis", "check interface eth0",
    "check service _ipp._tcp", "check daemon", "config check", "config check --file none.yaml", "log verify",
    f"log verify {LOG}", "version", "version --json", "completions interfaces", "completions monitors",
    "status --socket /none", "status --no-such",
]
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(PLACE / "none"), "TZ": "UTC", "LC_ALL": "C.UTF-8"}


def record(binary, keep=False):
    """Plays the story with a program and returns the files of the tree by their names."""
    story, out = Story(World(binary)), {}
    try:
        with open(PLACE / "output", "w") as output:
            streams = {}
            for moment in story.play(output):
                if moment == "start":
                    out["config/default.yaml"] = command("serve --print-default-config").stdout
                    streams = follow()
                elif moment in ("up", "lost"):
                    out |= documents(f"http-{moment}", paths(), brief=True)
                else:
                    out |= documents("http", paths()) | errors(paths()) | metrics() | commands()
            out |= reloads(story)
            out["daemon/exit.txt"] = f"{story.stop()}\n"
        out["daemon/output.txt"] = normalise.prose((PLACE / "output").read_text())
        out |= log(story) | told(story, streams) | helps()
    finally:
        if keep and LOG.exists():
            shutil.copy(LOG, "events.jsonl")
    return out


# HTTP

def request(method, route, **fields):
    """The answer as status, header fields as a text, and body; over TCP."""
    connection = http.client.HTTPConnection("localhost", 8353, timeout=30)
    try:
        connection.putrequest(method, route, skip_host="Host" in fields, skip_accept_encoding=True)
        for name, value in fields.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        lines = [f"{answer.status} {answer.reason}"] + [f"{name}: {value}" for name, value in answer.getheaders()]
        return answer, "\n".join(lines) + "\n", answer.read()
    except (OSError, http.client.HTTPException) as error:
        return None, f"{type(error).__name__}\n", b""
    finally:
        connection.close()


def paths():
    """The paths of the OpenAPI document of the program itself, with their methods and examples put in."""
    found = {}
    for path, methods in ask("/api/v1/openapi.json")[1]["paths"].items():
        first = path.removeprefix("/api/v1/").partition("/")[0]
        route = path.replace("{name}", NAMES.get(first, "none"))
        for name, value in EXAMPLES.items():
            route = route.replace("{" + name + "}", value)
        found[route] = [method.upper() for method in methods]
    schemas = ask("/api/v1/openapi.json")[1]["components"]["schemas"]
    return found | {f"/api/v1/schema/{name.lower()}.json": ["GET"] for name in schemas}


def place(route):
    name = route.removeprefix("/api/v1/").removeprefix("/").replace("%20", "-")
    return re.sub(r"[^\w./=-]", "_", name) or "page"


def documents(folder, routes, brief=False):
    """Every document, and how it is asked for; briefly only those of the state."""
    out = {}
    for route, methods in routes.items():
        if "GET" not in methods or route == "/api/v1/events" or (brief and not is_state(route)):
            continue
        for query in [""] + [f"?{one}" for one in QUERIES.get(place(route), []) if not brief]:
            if route == "/api/v1/diagnosis":
                until(lambda: ask(route)[1]["running"] is None, "the end of an examination")
            answer, head, body = request("GET", route + query)
            body = body.decode()
            is_json = "json" in answer.getheader("Content-Type", "")
            text = normalise.metrics(body) if route == "/metrics" else normalise.document(body)
            exchange = [f"GET {route}{query}\n" + normalise.headers(head, text == body)]
            if is_json:
                exchange.append(f"the document is {'' if normalise.is_compact(body) else 'no '}compact JSON\n")
            if not query and not brief:
                exchange += variants(route, methods, answer, text)
            base = f"{folder}/{place(route + query)}"
            out[f"{base}.exchange.txt"] = "\n".join(exchange)
            if route != "/metrics":
                out[base + suffix(base, answer)] = normalise.expand(text) if is_json else text
    if not brief:
        out |= pages(folder)
    return out


def is_state(route):
    """Whether the document tells the state of the machine."""
    return not re.search(r"schema|openapi|config|events|^/(metrics|-/.*)?$", route)


def suffix(base, answer):
    if base.endswith((".json", ".svg")):
        return ""
    kind = answer.getheader("Content-Type", "")
    return ".json" if "json" in kind else ".html" if "html" in kind else ".txt"


def pages(folder):
    """Events as a page."""
    out = {}
    for query in ["", *(f"?{one}" for one in QUERIES["events"])]:
        _, head, body = request("GET", "/api/v1/events" + query, Accept="application/json")
        text = normalise.document(body.decode())
        if query:  # Without a query it holds the last hundred, whose order the log tells.
            out[f"{folder}/{place('events' + query)}.json"] = normalise.expand(text)
        out[f"{folder}/{place('events' + query)}.exchange.txt"] = normalise.headers(head, text == body.decode())
    return out


def variants(route, methods, answer, text):
    """HEAD, OPTIONS, a method that is not there, an unknown parameter, a condition, compression."""
    out = []
    asked = [("HEAD", route, {}), ("OPTIONS", route, {}), ("DELETE", route, {}), ("GET", route + "?pretty", {})]
    asked += [] if "POST" in methods else [("POST", route, {})]
    tag = answer.getheader("ETag") if answer else None
    asked += [("GET", route, {"If-None-Match": tag})] if tag else []
    asked.append(("GET", route, {"Accept-Encoding": "gzip"}))
    for method, path, fields in asked:
        got, head, body = request(method, path, **fields)
        words = [f"{method} {path}" + "".join(f" [{name}]" for name in fields), ""]
        is_packed = bool(got) and got.getheader("Content-Encoding") == "gzip"
        plain = (gzip.decompress(body) if is_packed else body).decode()
        same = normalise.metrics(plain) if route == "/metrics" and method == "GET" else normalise.document(plain)
        words[1] = normalise.headers(head, same == plain and not is_packed and method != "HEAD")
        is_scrape = route == path == "/metrics" and method == "GET"  # Each request is counted, so no two are the same.
        note = "" if not plain or is_scrape else "the same document\n" if same == text else same + "\n"
        out.append("\n".join(words) + note)
    return out


def errors(routes):
    """What is refused."""
    out = []
    for method, route, fields in ERRORS:
        _, head, body = request(method, route, **fields)
        shown = "".join(f" [{name}: {value[:40]}]" for name, value in fields.items())
        text = normalise.document(body.decode()) if len(body) < 2000 else "a document"
        out.append(f"{method} {route[:120]}{shown}\n{normalise.headers(head, text == body.decode())}\n{text}\n")
    return {"http/errors.txt": "\n".join(out),
            "http/routes.txt": "".join(f"{' '.join(methods)} {route}\n" for route, methods in routes.items())}


def reloads(story):
    texts = [f"{status}\n{json.dumps(answer, indent=1)}\n" for status, answer in story.answers]
    return {"http/reload.json": normalise.document("".join(texts))}


def metrics():
    """Metrics in both formats; `names.txt` has each family with the labels of its series."""
    out = {}
    for name, accept in [("text", "text/plain"), ("openmetrics", "application/openmetrics-text")]:
        time.sleep(REST)
        _, head, body = request("GET", "/metrics", Accept=accept)
        out[f"metrics/{name}.txt"] = normalise.metrics(body.decode())
        out[f"metrics/{name}.exchange.txt"] = normalise.headers(head, False)
    found = {}
    for line in out["metrics/text.txt"].splitlines():
        if not line.startswith("#"):
            series = line.rpartition(" ")[0]
            labels = ", ".join(re.findall(r'(\w+)="', series))
            found.setdefault(f"{series.partition('{')[0]}{{{labels}}}", 0)
    out["metrics/names.txt"] = "".join(f"{one}\n" for one in sorted(found))
    return out


# Commands

def command(line):
    """Runs one through a shell, in an empty folder."""
    return subprocess.run(["sh", "-c", f"exec {BINARY} {line}"], capture_output=True, text=True, timeout=60,
                          cwd=PLACE / "work", stdin=subprocess.DEVNULL, env=ENVIRONMENT)


def shown(line):
    done = command(line)
    text = normalise.prose(done.stdout)
    text = f"$ nwpath {line}".rstrip() + "\n" + (normalise.printed(text) if line.startswith("watch") else text)
    text += f"\nstandard error:\n{normalise.prose(done.stderr)}" if done.stderr else ""
    return text + f"\nexit status {done.returncode}\n"


def file_of(line):
    return re.sub(r"[^\w.=-]+", "-", line).strip("-") or "nwpath"


def commands():
    """Commands that read, for people and for programs, some at once."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        texts = pool.map(lambda line: (f"commands/run/{file_of(line)}.txt", shown(line)), READING + PLAIN)
        objects = pool.map(lambda line: (f"commands/run/{file_of(line)}.json", printed(line)), [*READING, WATCHING])
        return dict([*texts, *objects])


def printed(line):
    """What a command prints as JSON, one object or lines of them."""
    done = command(f"{line} --json")
    lines = done.stdout.splitlines()
    if line.startswith("watch"):
        lines = [one[""] for one in normalise.chapter([json.loads(one) | {"": one} for one in lines])]
    lines = normalise.document("\n".join(lines)).splitlines()
    text = "".join(map(normalise.expand, lines)) if all(one[:1] in "{[" for one in lines) else "\n".join(lines)
    problems = f"standard error:\n{normalise.prose(done.stderr)}" if done.stderr else ""
    return f"{text}{problems}exit status {done.returncode}\n"


def helps():
    """What each command says of itself, and what is printed for other programs; no daemon runs."""
    out = {"commands/help.txt": command("--help").stdout}
    listed = out["commands/help.txt"].partition("Commands:\n")[2].partition("\n\n")[0]
    for name in re.findall(r"(?m)^  (\S+(?: \S+)?)  ", listed):
        done = command(f"{name} --help")
        out[f"commands/help/{file_of(name)}.txt"] = done.stdout + done.stderr
    for shell in ("bash", "zsh", "fish"):
        out[f"commands/completions/{shell}.txt"] = command(f"completions {shell}").stdout
    out["config/schema.json"] = command("config schema").stdout
    out["log/schema.json"] = command("log schema").stdout
    for line in ("status", "status --json", "services", "check", "metrics", "config show --effective"):
        out[f"commands/without-daemon/{file_of(line)}.txt"] = shown(line)
    return out


# The log and the streams

def log(story):
    """The records of each chapter."""
    out, begin = {}, 0
    lines = story.lines()
    for place, (name, end) in enumerate(story.chapters, 1):
        records = normalise.chapter([json.loads(line) | {"": line} for line in lines[begin:end]])
        out[f"log/{place}-{name}.jsonl"] = "".join(normalise.expand(normalise.document(one[""])) for one in records)
        out[f"log/{place}-{name}.txt"] = "".join(
            f"{one['event']}: {normalise.durations(one['message'])}\n" for one in records)
        begin = end
    spelt = all(normalise.is_compact(line) for line in lines)
    out["log/form.txt"] = f"every line is compact JSON: {spelt}\n"
    return out


def follow():
    """All streams from the first event on; they are open before the story goes on."""
    events, readers = "/api/v1/events?since=1", {}
    for name, kind, route, accept in [("sse", TextReader, events, "text/event-stream"),
                                      ("jsonl", TextReader, events, "application/x-ndjson"),
                                      ("sse-path", TextReader, events + "&event=path.*", "text/event-stream"),
                                      ("websocket", SocketReader, events.replace("?", "/ws?"), None)]:
        readers[name] = kind(route, **({"Accept": accept} if accept else {}))
        until(lambda: readers[name].head or readers[name].end, f"the stream {name}")
    return readers


def told(story, readers):
    """The frames of each stream, the record replaced by its name where it is the very line of the log."""
    lines = story.lines()
    by_number = {number(line): line for line in lines}
    order, begin = {}, 0
    for _, end in story.chapters:
        records = normalise.chapter([json.loads(line) for line in lines[begin:end]])
        order |= {record["seq"]: begin + place for place, record in enumerate(records)}
        begin = end
    out = {}
    for name, reader in readers.items():
        until(lambda: not reader.is_alive(), f"the end of the stream {name}")
        comments = sorted({frame for frame in reader.frames if not number(frame)})
        frames = sorted(filter(number, reader.frames), key=lambda one: order.get(number(one), len(lines)))
        numbers = [number(frame) for frame in reader.frames if number(frame)]
        texts = [normalise.headers(reader.head, False)] + comments
        for frame in frames:
            line = by_number.get(number(frame))
            if line and line in frame:
                frame = frame.replace(line, f"<the line of the log: {json.loads(line)['event']}>")
            texts.append(normalise.EVENT_ID.sub("id: <stream>.<seq>", normalise.document(frame)))
        texts.append(f"numbers rise: {numbers == sorted(set(numbers))}\nthe end: {normalise.document(reader.end)}")
        out[f"streams/{name}.txt"] = "\n\n".join(texts) + "\n"
    return out
