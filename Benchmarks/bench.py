#!/usr/bin/env python3
# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Measures nwpath beside `ip monitor` and prints medians, spreads and ratios. docs/benchmarks.md tells the method."""
import argparse, json, os, pathlib, platform, shutil, signal, statistics, sys, time

import discovery, measure, scenarios

NAMES = ("nwpath", "ip monitor")


class Bench:
    """The options of a run and everything it measured."""

    def __init__(self, options):
        self.rounds, self.scale, self.baseline = options.rounds, options.scale, options.baseline
        self.idle_seconds, self.without = options.idle_seconds, options.without or []
        self.current, self.rows, self.failures, self.noise = "", {}, [], {}

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

    def run(self, name):
        self.current = name
        print(f"bench: {name} …", file=sys.stderr, flush=True)
        begin, (busy, stolen) = time.monotonic(), measure.busy_seconds()
        own = sum(os.times()[:4])
        try:
            scenarios.ALL[name](self)
        except (measure.Failed, OSError, measure.subprocess.TimeoutExpired) as problem:
            self.failures.append({"benchmark": name, "problem": str(problem)})
        seconds = time.monotonic() - begin
        later, stolen_later = measure.busy_seconds()
        self.noise[name] = {"seconds": seconds, "stolen_cpu": (stolen_later - stolen) / seconds,
                            "foreign_cpu": max(0.0, (later - busy) - (sum(os.times()[:4]) - own)) / seconds}

    def results(self):
        for row in self.rows.values():
            judge(row)
        return {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "kernel": platform.release(),
                "processors": os.cpu_count(), "iproute2": measure.run("ip", "-V").strip(), "scale": self.scale,
                "rounds": self.rounds, "load_average": os.getloadavg(), "noise": self.noise,
                "rows": list(self.rows.values()), "failures": self.failures}


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
    parser.add_argument("--idle-seconds", type=float, default=60, help="how long to watch an idle process (default 60)")
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
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    is_interrupted = False
    try:
        for name in options.only or scenarios.ALL:
            bench.run(name)
    except KeyboardInterrupt:
        is_interrupted = True
        bench.failures.append({"benchmark": bench.current, "problem": "interrupted; what was measured stands above"})
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
