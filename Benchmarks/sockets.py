#!/usr/bin/env python3
# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""sockets.py setup PORT COUNT: connections one after another, as generators/peer.c makes them: microseconds each."""
import socket, sys, time


def main():
    address, count = ("127.0.0.1", int(sys.argv[2])), int(sys.argv[3])
    begin = time.monotonic()
    for _ in range(count):
        socket.create_connection(address).close()
    print((time.monotonic() - begin) / count * 1e6)


if __name__ == "__main__":
    main()
