# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Replaces what differs from one run to the next by words that say what stood there, by its shape and its name.

Everything works on text, so that spaces, order, escapes and the kind of each value stay as the program wrote them: a
number of seconds that became a string is a difference, a longer duration is none.
"""
import json, re

TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")
WEEKDAY_TIME = re.compile(r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT\b")
NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"

# Members whose numbers are measured or drawn, by name; `interval_seconds` and the like are settings and stay.
MEASURED = {
    "seq": "seq", "first_seq": "seq", "last_seq": "seq", "previous_seq": "seq", "pid": "pid", "inode": "inode",
    "ttl": "ttl", "ms": "ms", "availability_percent": "percent",
}
SETTINGS = {"interval_seconds", "timeout_seconds", "step_seconds", "audit_interval_seconds", "census_interval_seconds"}
STRINGS = {
    "stream": ("stream", r"[0-9a-f]{4,8}"), "boot_id": ("boot", r"[0-9a-f-]{32,36}"),
    "path_id": ("path id", r"[0-9a-f]{16}"), "next": ("stream>.<seq", r"[0-9a-f]{4,8}\.\d+"),
    "revision": ("revision", r".*"),
}
PROSE = {"message", "sentence", "why", "hint", "detail"}
MEMBER = re.compile(r'"([a-z0-9_]+)"(\s*:\s*)(?:(' + NUMBER + r')|"([^"\\]*)")')
LIST = re.compile(r'"([a-z0-9_]*_seconds)"(\s*:\s*)\[([^\]"{}]*)\]')

CLOCK = re.compile(r"\b(?:\d{4}-\d\d-\d\d )?\d\d:\d\d(?::\d\d)?(?:\.\d+)?\b(?!:)")
ONE_DURATION = r"\d+(?:\.\d+)? (?:ns|µs|us|ms|s|min|h|d)\b"
DURATION = re.compile(rf"(?<![\w.<]){ONE_DURATION}(?: {ONE_DURATION})*")
TAG = re.compile(r'"[0-9a-f]{4,8}\.\d+(?:\.\d+)?(-gzip)?"')
RANGE = re.compile(r"\b[0-9a-f]{4,8}\.1 to [0-9a-f]{4,8}\.\d+")
EVENT_ID = re.compile(r"(?m)^id: [0-9a-f]{4,8}\.\d+$")


def times(text):
    """Moments of the calendar; the number of digits of a second stays."""
    return WEEKDAY_TIME.sub("<date>", TIME.sub(_time, text))


def _time(found):
    digits, zone = found.groups()
    return f"<time{'.' + str(len(digits)) if digits else ''}{'' if zone == 'Z' else ' zone'}>"


def durations(text):
    """What was measured, in sentences such as `Online after 2 min 40 s of Offline`."""
    return DURATION.sub("<duration>", text)


def members(text):
    """Members of JSON objects whose values are measured or drawn, compact or not."""
    return LIST.sub(_list, MEMBER.sub(_member, text))


def _member(found):
    name, colon, number, string = found.groups()
    if number is not None:
        word = MEASURED.get(name)
        if word is None and name.endswith("_seconds") and name not in SETTINGS:
            word = "seconds"
        return f'"{name}"{colon}<{word}>' if word else found[0]
    if name in STRINGS and re.fullmatch(STRINGS[name][1], string):
        return f'"{name}"{colon}"<{STRINGS[name][0]}>"'
    if name in PROSE:
        return f'"{name}"{colon}"{durations(string)}"'
    return found[0]


def _list(found):
    return f'"{found[1]}"{found[2]}[{re.sub(NUMBER, "<seconds>", found[3])}]'


def steps(found):
    """The steps of a history begin at round times of the day, so how many there are and what is in which is chance."""
    cells = re.sub(r'("\w+_seconds":)(?:null|<seconds>)', r"\1<seconds>", found[2])
    cells = re.sub(r'("(?:sent|lost)":)\d+', r"\1<count>", cells)
    return f"{found[1]}[{','.join(dict.fromkeys(re.findall(r'{[^{}]*}', cells)))}]"


def document(text):
    """A JSON document, or lines of them."""
    return re.sub(r'("steps":)\[([^\[\]]*)\]', steps, members(times(text)))


def expand(text):
    """One member a line, so that a difference is one line; the placeholders are put back as they were."""
    quoted = re.sub(r"(?<=[:\[, ])<([a-z ]+)>(?=[,\]}\s])", r'"\\u0001<\1>"', text)
    try:
        value = json.loads(quoted)
    except ValueError:
        return text
    return re.sub(r'"\\u0001(<[a-z ]+>)"', r"\1", json.dumps(value, indent=1, ensure_ascii=False)) + "\n"


def is_compact(text):
    """Whether a JSON text is spelt as the shortest one, apart from its numbers; a line may end after it."""
    text = re.sub(rf"(?<=[:\[,]){NUMBER}(?=[,\]}}])", "0", text.removesuffix("\n"))
    try:
        return json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False) == text
    except ValueError:
        return False


def headers(text, keeps_length):
    """Header fields; a length stays where nothing of the body was replaced."""
    text = times(TAG.sub(r'"<stream>.<place>\1"', text))
    return text if keeps_length else re.sub(r"(?im)^(content-length: )\d+", r"\1<length>", text)


def prose(text):
    """What a command prints for people. Where something was replaced, columns are not wider than two spaces."""
    out = durations(CLOCK.sub("<clock>", document(text)))
    out = re.sub(r"(?<![\w.])\d+(?:\.\d+)? %", "<percent> %", RANGE.sub("<stream>.1 to <stream>.<seq>", out))
    out = re.sub(r"(?<=>,)\d+(?:\.\d+)?(?=,)", "<seconds>", out)
    if text.startswith("NWPATH "):  # A line of a plugin, with performance data.
        out = re.sub(r"(?<=[= ])\d+(?:\.\d+)?s(?=[; ])", "<seconds>s", out)
    out = re.sub(r"[▁▂▃▄▅▆▇█░·]{8,}", "<bars>", out)
    return out if out == text else re.sub(r"(?<=\S) {2,}", "  ", out)


def metrics(text):
    """Names, labels, helps and types; values of information and of states, which are the same in each story."""
    lines = []
    for line in text.splitlines():
        if re.search(r'code="(429|503)"', line):  # Only when the recorder asked too early.
            continue
        if line.startswith("#"):
            lines.append(line)
            continue
        series, _, value = line.rpartition(" ")
        name = series.partition("{")[0]
        series = re.sub(r'(?<=[{,]revision=)"[^"]*"', '"<revision>"', series)
        lines.append(f"{series} {value if is_constant(name) else '<value>'}")
    return "\n".join(lines) + "\n"


def is_constant(name):
    """Whether the value of a series tells a state, not a measurement or a count."""
    measured = "seconds|bytes|total|ratio|sum|count|bucket|fds|threads|created|clients|connections"
    return not re.search(rf"_({measured})$", name)


LANES = [("probe.", "captive_portal."), ("verdict.",), ("service", "census."), ("headline.",),
         ("daemon.stopping", "stream.")]
PROBES, SERVICES = 1, 3


def lane(event):
    """What is told by one part of the program comes in order; parts that do not wait for each other do not."""
    for number, prefixes in enumerate(LANES, 1):
        if event.startswith(prefixes):
            return number
    return 0


def chapter(records):
    """Records of one chapter in an order that does not depend on which part was faster: by part, then as they came.

    What probes tell is ordered by the probe, what is told of services by the service.
    """
    def key(pair):
        number, record = pair
        place = lane(record.get("event", ""))
        if place == PROBES:
            return place, record["probe"]["name"], number
        if place == SERVICES:
            return place, record.get("service_type") or record.get("service", {}).get("name", ""), number
        return place, "", number
    return [record for _, record in sorted(enumerate(records), key=key)]


def printed(text):
    """Lines of events for people, whose third word is the event, in the order of `chapter`."""
    def key(pair):
        number, line = pair
        place = lane((line.split() + [""] * 3)[2])
        return place, line if place in (PROBES, SERVICES) else "", number
    return "".join(line for _, line in sorted(enumerate(text.splitlines(keepends=True)), key=key))
