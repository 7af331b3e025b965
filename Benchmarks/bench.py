#!/usr/bin/env python3
# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Measures nwpath beside `ip monitor` and prints medians, spreads and ratios. docs/benchmarks.md tells the method."""
import argparse, contextlib, heapq, json, os, pathlib, platform, shutil, signal, statistics, sys, time

import discovery, measure, scenarios

NAMES = ("nwpath", "ip monitor")
MOST_SECONDS = 600  # a whole run may take


class Bench:
    """The options of a run and everything it measured."""

    def __init__(self, options):
        self.rounds, self.scale, self.baseline = options.rounds, options.scale, options.baseline
        self.idle_seconds, self.without = options.idle_seconds, options.without or []
        # After a start a service examines its paths: that is not what it costs at rest.
        self.settling_seconds = min(20, self.idle_seconds)
        self.current, self.rows, self.failures, self.noise = "", {}, [], {}
        self.begin, self.namespaces = time.monotonic(), {}

    def scaled(self, count, least=1):
        return max(least, round(count * self.scale))

    def record(self, what, unit, values, *, ratio=None, least=None, most=None, names=NAMES):
        row = self.rows.setdefault((self.current, what), {
            "benchmark": self.current, "what": what, "unit": unit, "names": names,
            "limit": {"ratio": ratio, "least": least, "most": most}, "rounds": []})
        row["rounds"].append(values)
        # At once: a benchmark takes minutes, and may be interrupted.
        figures = ", ".join(f"{name} {figure(value)}" for name, value in values.items())
        print(f"bench: {self.current}: {what} ({unit}): {figures}", file=sys.stderr, flush=True)

    def prepare(self, names):
        """Compiles what is measured; a problem is that of the benchmark, which compiles again."""
        for name in names:
            if name in scenarios.PROGRAMS and not self.baseline:
                print(f"bench: {name}: compiling …", file=sys.stderr, flush=True)
                with contextlib.suppress(measure.Failed, OSError, measure.subprocess.TimeoutExpired):
                    scenarios.PROGRAMS[name]()
        self.begin = time.monotonic()

    def run(self, *names):
        """Runs benchmarks. One that waits yields for how many seconds, and the others go on in that time."""
        title = ", ".join(names)
        print(f"bench: {title} … (after {time.monotonic() - self.begin:.0f} s)", file=sys.stderr, flush=True)
        begin, (busy, stolen), own = time.monotonic(), measure.busy_seconds(), sum(os.times()[:4])
        queue = [(0.0, place, name, self.work(name)) for place, name in enumerate(names)]
        try:
            while queue:
                due, place, name, work = queue[0]
                if due < measure.OTHERS:
                    time.sleep(max(0.0, due - time.monotonic()))
                self.enter(name)
                pause = next(work, None)
                heapq.heappop(queue)
                if pause is not None:
                    self.namespaces[name] = measure.namespace()
                    heapq.heappush(queue, (time.monotonic() + pause, place, name, work))
        finally:
            for _, _, name, work in queue:
                self.enter(name)
                work.close()
            self.current = ", ".join(name for _, _, name, _ in queue)
            seconds = time.monotonic() - begin
            later, stolen_later = measure.busy_seconds()
            self.noise[title] = {"seconds": seconds, "stolen_cpu": (stolen_later - stolen) / seconds,
                                 "foreign_cpu": max(0.0, (later - busy) - (sum(os.times()[:4]) - own)) / seconds}

    def work(self, name):
        """One benchmark; what it yields is how long it waits."""
        with self.failing():
            waits = scenarios.ALL[name](self)
            if waits is not None:
                yield from waits

    @contextlib.contextmanager
    def failing(self, what=None):
        """A part that may fail, which is reported, without an end of the rest."""
        try:
            yield
        except (measure.Failed, OSError, measure.subprocess.TimeoutExpired) as problem:
            text = f"{what}: {problem}" if what else str(problem)
            self.failures.append({"benchmark": self.current, "problem": text})

    def enter(self, name):
        """Makes a benchmark the current one, in the network namespace where it waited."""
        self.current = name
        if (namespace := self.namespaces.pop(name, None)) is not None:
            try:
                measure.enter_namespace(namespace)
            finally:
                os.close(namespace)

    def results(self):
        order = list(scenarios.ALL)
        rows = sorted(self.rows.values(), key=lambda row: order.index(row["benchmark"]))
        for row in rows:
            judge(row)
        return {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "kernel": platform.release(),
                "processors": os.cpu_count(), "iproute2": measure.run("ip", "-V").strip(), "scale": self.scale,
                "rounds": self.rounds, "load_average": os.getloadavg(), "noise": self.noise,
                "seconds": time.monotonic() - self.begin, "rows": rows, "failures": self.failures}


def judge(row):
    """Adds medians, spreads, the median of the rounds' ratios, and the verdict where there is a limit."""
    for name in row["names"]:
        values = [each[name] for each in row["rounds"] if name in each]
        if values:
            row[name] = {"median": statistics.median(values), "least": min(values), "most": max(values)}
    other = row["names"][1]
    ratios = [each["nwpath"] / each[other] for each in row["rounds"]
              if other in ("ip monitor", "nginx", "sockets", "Python") and "nwpath" in each and each.get(other)]
    row["ratio"] = statistics.median(ratios) if ratios else None
    limit, verdicts = row["limit"], []
    if limit["ratio"] is not None and row["ratio"] is not None:
        verdicts.append(row["ratio"] <= limit["ratio"])
    if limit["least"] is not None and row["ratio"] is not None:
        verdicts.append(row["ratio"] >= limit["least"])
    if limit["most"] is not None and "nwpath" in row:
        verdicts.append(row["nwpath"]["median"] <= limit["most"])
        # What must never happen must not happen in any round.
        if limit["most"] == 0:
            verdicts[-1] = row["nwpath"]["most"] == 0
    row["met"] = all(verdicts) if verdicts else None


def figure(value):
    if value is None:
        return "–"
    if value == 0 or (float(value).is_integer() and abs(value) < 1e6):
        return f"{value:.0f}"
    return f"{value:.4f}" if abs(value) < 0.1 else f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def cell(summary):
    if summary is None:
        return "–"
    spread = "" if summary["least"] == summary["most"] else f" [{figure(summary['least'])}–{figure(summary['most'])}]"
    return figure(summary["median"]) + spread


def rows_table(names, rows):
    head = ["benchmark", "what", "unit", *(f"{name} [least–most]" for name in names), "ratio", "limit", "met"]
    lines = [head]
    for row in rows:
        limit = row["limit"]
        wanted = [f"≤ {figure(limit['ratio'])}×"] if limit["ratio"] is not None else []
        wanted += [f"≥ {figure(limit['least'])}×"] if limit["least"] is not None else []
        wanted += [f"≤ {figure(limit['most'])}"] if limit["most"] is not None else []
        lines.append([row["benchmark"], row["what"], row["unit"], *(cell(row.get(name)) for name in names),
                      "–" if row["ratio"] is None else figure(row["ratio"]) + "×", " ".join(wanted) or "–",
                      {True: "yes", False: "NO", None: "–"}[row["met"]]])
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = ["| " + " | ".join(word.ljust(width) for word, width in zip(line, widths)) + " |" for line in lines]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return text + [""]


def table(results):
    """A table for each set of programs that were measured beside each other, and how quiet the machine was."""
    text = []
    for names in dict.fromkeys(tuple(row["names"]) for row in results["rows"]):
        text += rows_table(names, [row for row in results["rows"] if tuple(row["names"]) == names])
    for name, noise in results["noise"].items():
        text.append(f"{name}: {noise['seconds']:.0f} s; other programs and the kernel used "
                    f"{noise['foreign_cpu']:.2f} processors, {noise['stolen_cpu']:.2f} were stolen")
    text.append(f"in all: {results['seconds']:.0f} s (a whole run: at most {MOST_SECONDS} s on a quiet machine)")
    text += [f"FAILED {failure['benchmark']}: {failure['problem']}" for failure in results["failures"]]
    return "\n".join(text)


def arguments():
    parser = argparse.ArgumentParser(prog="Benchmarks/run", description=__doc__)
    parser.add_argument("--binary", metavar="PATH", help="the nwpath to measure (default: this package's release build)")
    parser.add_argument("--baseline", action="store_true", help="measure `ip monitor` alone")
    parser.add_argument("--only", metavar="NAME", action="append", choices=scenarios.ALL,
                        help=f"one of {', '.join(scenarios.ALL)}; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="rounds per benchmark (default 3)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full counts (default 1; 0.1 is quick)")
    parser.add_argument("--idle-seconds", type=float, default=30, help="how long to watch an idle process (default 30)")
    parser.add_argument("--without", metavar="NAME", action="append", choices=discovery.NAMES[1:],
                        help="leave out avahi-browse or python-zeroconf; may be repeated")
    parser.add_argument("--json", action="store_true", help="print the results as JSON instead of a table")
    parser.add_argument("--output", metavar="FILE", type=pathlib.Path, help="also write the results as JSON to FILE")
    options = parser.parse_args()
    if not 1 <= options.rounds <= 100 or not 0 < options.scale <= 1 or not 1 <= options.idle_seconds <= 3600:
        parser.error("--rounds is 1 to 100, --scale above 0 to 1, --idle-seconds 1 to 3600")
    if not options.baseline:
        found = shutil.which(options.binary or "")
        if not found:
            parser.error(f"no program at '{options.binary}'; build it, name it with --binary, or use --baseline")
        measure.Nwpath.binary = str(pathlib.Path(found).resolve())
    return options


def main():
    options = arguments()
    bench = Bench(options)
    # A shell starts a program in the background with SIGINT ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    is_interrupted = False
    names = list(dict.fromkeys(options.only or scenarios.ALL))
    together = [name for name in scenarios.TOGETHER if name in names]
    try:
        bench.prepare(names)
        for name in names:
            if name not in together:
                bench.run(name)
        if together:
            bench.run(*together)
    except KeyboardInterrupt:
        is_interrupted = True
        bench.failures.append({"benchmark": bench.current, "problem": "interrupted; what was measured stands above"})
    # Nothing may take away what was measured.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    results = bench.results()
    text = json.dumps(results, indent=2)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text + "\n")
    print(text if options.json else table(results))
    if is_interrupted:
        return 130
    return 1 if results["failures"] or any(row["met"] is False for row in results["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
