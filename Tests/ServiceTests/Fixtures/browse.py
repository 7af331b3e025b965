#!/usr/bin/env python3
"""Prints what python-zeroconf hears of the services of one type: added, updated or removed, name, port and text.

Usage: browse.py TYPE
"""
import sys, time
from zeroconf import IPVersion, ServiceBrowser, Zeroconf

kind = sys.argv[1] + ".local."
zeroconf = Zeroconf(ip_version=IPVersion.All)


class Listener:
    def show(self, what, name):
        info = zeroconf.get_service_info(kind, name, 10000)
        if info is None:
            return print("unresolved", name, flush=True)
        text = sorted(key.decode() + "=" + (value or b"-").decode() for key, value in info.properties.items())
        print(what, name[: -len(kind) - 1], info.port, *sorted(info.parsed_addresses()), *text, flush=True)

    def add_service(self, zeroconf, kind, name):
        self.show("added", name)

    def update_service(self, zeroconf, kind, name):
        self.show("updated", name)

    def remove_service(self, zeroconf, kind, name):
        print("removed", name[: -len(kind) - 1], flush=True)


browser = ServiceBrowser(zeroconf, kind, Listener())
while True:
    time.sleep(1)
