# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The table of a run, what is a known limit, and what came out of the whole. Pure."""
import fnmatch, pathlib

LIMITS = pathlib.Path(__file__).with_name("limits")
WIDTHS = (60, 11, 42)


def read_limits(text=None):
    """By the pattern of a row's name ("scenario: step"): why it may be wrong."""
    lines = (LIMITS.read_text() if text is None else text).splitlines()
    pairs = [line.split(" | ", 1) for line in lines if line.strip() and not line.startswith("#")]
    return {pattern.strip(): reason.strip() for pattern, reason in pairs}


def row(*cells):
    return "  ".join([f"{cell:{width}}" for cell, width in zip(cells, WIDTHS)] + list(cells[len(WIDTHS):]))


class Table:
    """Takes the records of the guest; `add` returns the lines to print for one."""

    def __init__(self, limits, verbose=False):
        self.limits, self.verbose, self.met = limits, verbose, set()
        self.right = self.wrong = self.limited = self.scenarios = 0
        self.left_out, self.broken, self.latest = [], [], 0.0

    def heading(self):
        return [row("scenario: step", "packets", "nwpath", "verdict")]

    def limit(self, name):
        return next((pattern for pattern in self.limits if fnmatch.fnmatchcase(name, pattern)), None)

    def add(self, record):
        return getattr(self, f"add_{record['record']}")(record)

    def add_step(self, record):
        name, limit = f"{record['scenario']}: {record['label']}", None
        if record["wrong"]:
            limits = {self.limit(name) or self.limit(f"{name}: {what}") for what, _, _ in record["wrong"]}
            self.met |= limits - {None}
            limit = None if None in limits else sorted(limits)[0]
            self.wrong, self.limited = self.wrong + (limit is None), self.limited + (limit is not None)
        else:
            self.right += 1
        if record["latency"] is not None and not limit:
            self.latest = max(self.latest, record["latency"])
        lines = [row(name, record["sent"], record["said"], "limit" if limit else "WRONG" if record["wrong"] else "right")]
        lines += [f"    limit: {self.limits[limit]}"] if limit else []
        if self.verbose or record["wrong"] and not limit:
            lines += [f"    {what}: right: {right}; said: {said}" for what, right, said in record["wrong"]]
        if self.verbose:
            lines += [f"    {line}" for line in record["details"]]
        return lines

    def add_left_out(self, record):
        self.left_out.append(record["scenario"])
        return [row(record["scenario"], "", "", f"left out: {record['reason']}")]

    def add_end(self, record):
        self.scenarios += 1
        if not record["error"]:
            return [f"    ({record['scenario']}: {record['seconds']:.0f} s)"] if self.verbose else []
        self.broken.append(record["scenario"])
        return [row(record["scenario"], "", "", "BROKEN")] + [f"    {line}" for line in record["error"].strip().splitlines()]

    def add_oracle(self, record):
        if record["status"] == 0:
            return [record["line"]] if record["line"] else []
        self.broken.append("oracle")
        return ["oracle: FAILED"]

    def add_text(self, record):
        return [record["text"]]

    @property
    def failed(self):
        return bool(self.wrong or self.broken or not self.scenarios)

    def summary(self, kernel, seconds):
        lines = [f"right now, to be taken out of Tests/KernelLab/limits: {name}" for name in self.limits
                 if name not in self.met and self.complete]
        lines += [f"broken: {', '.join(self.broken)}"] if self.broken else []
        lines += [f"left out: {len(self.left_out)} ({', '.join(self.left_out)})"] if self.left_out else []
        return [f"kernel-lab: {line}" for line in lines + [
            f"{kernel}: {self.scenarios} scenarios in {seconds:.0f} s: {self.right} right, {self.limited} limits, {self.wrong} "
            f"wrong; events {self.latest:.1f} s after the kernel's message at most"]]

    # Whether all scenarios ran, so that a limit that was not met is met no more.
    complete = False
