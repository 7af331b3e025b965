# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Runs a program for which socket(AF_NETLINK) fails with EAFNOSUPPORT, as in a sandbox: a seccomp(2) filter.

Usage: without_netlink.py [--protocol=NUMBER] PROGRAM ARGUMENT...; with --protocol only for that protocol of netlink(7).
"""
import ctypes
import os
import platform
import struct
import sys

SOCKET = {"x86_64": 41, "aarch64": 198}[platform.machine()]
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
protocol = None
if sys.argv[1].startswith("--protocol="):
    protocol = int(sys.argv.pop(1).split("=")[1])
refusing = [(LOAD, 0, 0, 32), (EQUAL, 0, 1, protocol)] if protocol is not None else []
program = b"".join(
    struct.pack("HBBI", *line)
    for line in [
        (LOAD, 0, 0, 0),
        (EQUAL, 0, 3 + len(refusing), SOCKET),
        (LOAD, 0, 0, 16),
        (EQUAL, 0, 1 + len(refusing), 16),
        *refusing,
        (RETURN, 0, 0, ERRNO | 97),
        (RETURN, 0, 0, ALLOW),
    ]
)


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_char_p)]


libc = ctypes.CDLL(None, use_errno=True)
rules = Filter(len(program) // 8, program)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(rules)):
    sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[1], sys.argv[1:])
