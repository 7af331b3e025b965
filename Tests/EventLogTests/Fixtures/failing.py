# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Runs a program in which a system call fails as on a bad disk: a seccomp(2) filter.

Arguments: the error's name; write, ftruncate or fdatasync; the number of the argument that is looked at, and the least
and the greatest value with which the call fails; the program with its arguments, which inherits no descriptor but 0 to 2.
"""
import ctypes
import errno
import os
import platform
import struct
import sys

CALLS = {
    "x86_64": {"write": 1, "ftruncate": 77, "fdatasync": 75},
    "aarch64": {"write": 64, "ftruncate": 46, "fdatasync": 83},
}[platform.machine()]
LOAD, EQUAL, AT_LEAST, ABOVE, RETURN = 0x20, 0x15, 0x35, 0x25, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
error, call, argument, least, greatest = sys.argv[1:6]
program = b"".join(
    struct.pack("HBBI", *line)
    for line in [
        (LOAD, 0, 0, 0),
        (EQUAL, 0, 4, CALLS[call]),
        (LOAD, 0, 0, 16 + 8 * int(argument)),
        (AT_LEAST, 0, 2, int(least)),
        (ABOVE, 1, 0, int(greatest)),
        (RETURN, 0, 0, ERRNO | getattr(errno, error)),
        (RETURN, 0, 0, ALLOW),
    ]
)


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_char_p)]


libc = ctypes.CDLL(None, use_errno=True)
rules = Filter(len(program) // 8, program)
os.closerange(3, 1 << 16)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(rules)):
    sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[6], sys.argv[6:])
