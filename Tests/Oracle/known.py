# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""What is known to be wrong, from the file `known`, and what came out of a run in its light."""
import collections, pathlib

FILE = pathlib.Path(__file__).with_name("known")


def read(text=None):
    """The number of the kind by the name of the situation."""
    lines = (FILE.read_text() if text is None else text).splitlines()
    pairs = [line.split(" ", 1) for line in lines if line and not line.startswith("#")]
    return {name: int(kind) for kind, name in pairs}


class Account:
    """What came out of all situations."""

    # So many situations may be wrong beside others and right alone: a machine that is busy runs some of them late.
    FLAKY = 3

    def __init__(self, listed):
        # listed: the number of the kind, by the name of a situation that is known to be wrong.
        self.listed, self.count, self.limited, self.slowest = listed, 0, 0, 0.0
        self.wrong, self.known, self.right, self.flaky = [], collections.Counter(), [], []

    def add(self, result):
        """Counts a result. Returns whether it is wrong and not known to be."""
        name = result.situation.name
        self.count += 1
        self.limited += bool(result.limits)
        if not result.is_wrong:
            self.slowest = max(self.slowest, result.delay)
            self.right += [name] if name in self.listed else []
            return False
        # That a situation cannot be set up, or a program breaks down, is never what is known.
        if name in self.listed and not result.error:
            self.known[self.listed[name]] += 1
            return False
        self.wrong.append(name)
        return True

    def add_again(self, result):
        """Takes what came out of one that was wrong, run alone. Returns whether it is wrong again."""
        if result.is_wrong:
            return True
        self.wrong.remove(result.situation.name)
        self.flaky.append(result.situation.name)
        return False

    @property
    def failed(self):
        return bool(self.wrong) or not self.count or len(self.flaky) > self.FLAKY

    def summary(self):
        kinds = ", ".join(f"{count} of kind {kind}" for kind, count in sorted(self.known.items()))
        lines = [f"right now, to be taken out of Tests/Oracle/known: {name}" for name in self.right]
        lines += [f"flaky: {name} (wrong beside others, right alone)" for name in self.flaky]
        lines += [f"known wrong: {self.known.total()}" + (f" ({kinds})" if kinds else "")]
        return lines + [f"{self.limited} within a limit of what can be known, the running daemon was wrong for "
                        f"{self.slowest:.2f} s at most", f"wrong: {len(self.wrong)}"]
