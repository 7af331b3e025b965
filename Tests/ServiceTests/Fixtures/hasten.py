# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Copies configurations and rules with every duration divided by sixty. Usage: hasten.py DIRECTORY FILE…"""
import pathlib
import re
import sys

MILLISECONDS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def hastened(text):
    # Not the digits of a name such as increase15m.
    pattern = r"(?<![\w.])(\d+)([smhd])\b"
    return re.sub(pattern, lambda found: f"{int(found[1]) * MILLISECONDS[found[2]] // 60}ms", text)


for path in map(pathlib.Path, sys.argv[2:]):
    (pathlib.Path(sys.argv[1]) / path.name).write_text(hastened(path.read_text("utf-8")), "utf-8")
