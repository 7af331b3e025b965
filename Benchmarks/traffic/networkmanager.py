# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""NetworkManager on the device, which checks connectivity by itself, and what it reports of that over D-Bus."""
import os, re, subprocess, threading, time

import measure
from compare import Manager

TIMEOUT = 120  # seconds
PROGRAMS = ("NetworkManager", "nmcli", "dbus-daemon")


def connectivity_of(line):
    """The word of a line of `nmcli monitor` that is about connectivity; None of any other."""
    found = re.fullmatch(r"Connectivity is now '(\w+)'", line.strip())
    return found and found[1]


class NetworkManager(Manager):
    """That of Tests/Lab with an interval in seconds; it sees eth0 as configured by others, and manages nothing else."""

    def __init__(self, world, interval):
        super().__init__(world)
        self.interval, self.changes, self.programs, self.monitor = interval, [], [], None

    def write(self, name, text):
        if name == "NetworkManager.conf":
            # Of two values of a key the last one counts.
            text += (f"interval={self.interval}\n[device]\nkeep-configuration=yes\n"
                     f"[keyfile]\nunmanaged-devices=*,except:interface-name:{self.network.plan.interface}\n")
        super().write(name, text)

    def __enter__(self):
        self.before = self.configuration()
        try:
            super().__enter__()
            self.start_monitor()
            self.must_be_unchanged()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *what):
        if self.monitor:
            self.monitor.kill()
            self.monitor.wait()
            self.thread.join()
        super().__exit__(*what)

    def start_monitor(self):
        environment = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=self.bus, LC_ALL="C")
        self.monitor = subprocess.Popen(["nmcli", "monitor"], env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.monitor.stdout:
            if word := connectivity_of(line):
                self.changes.append((time.time(), word))

    def reach_interval(self):
        """At first it checks after 1, 2, 4 s and so on; after a cut was found and mended, once in an interval."""
        begin = time.time()
        with self.network.beyond():
            measure.until(lambda: self.connectivity() != "full", TIMEOUT, "a cut that NetworkManager finds")
        self.must_be_full(begin)

    def must_be_full(self, begin):
        """Waits for connectivity after it was lost since then."""
        if not self.first("full".__eq__, begin, TIMEOUT):
            raise measure.Failed(f"NetworkManager does not find the network in order within {TIMEOUT} s")

    def configuration(self):
        """Links, addresses, routes and rules of the device."""
        return [self.network.device.run("ip", *words.split()).stdout
                for words in ("-o link", "-o address", "-4 route show table all", "-6 route show table all", "rule")]

    def must_be_unchanged(self):
        for before, now in zip(self.before, self.configuration()):
            if before != now:
                raise measure.Failed(f"NetworkManager changed the device:\n{before}\nis now\n{now}")

    def version(self):
        return measure.run("NetworkManager", "--version").split("-")[0].strip()

    def first(self, wanted, begin, seconds):
        """When connectivity first was one that is wanted, of all changes since then; None when it was not."""
        end = time.monotonic() + seconds
        while True:
            found = next((moment for moment, word in list(self.changes) if moment >= begin and wanted(word)), None)
            if found or time.monotonic() > end:
                return found
            time.sleep(0.05)
