# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""A network namespace as a machine of its own."""
import contextlib, ctypes, os, subprocess, time

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000


def call(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Machine:
    """A network namespace, held open by a descriptor; programs and sockets are made in it by entering it first."""

    def __init__(self):
        call(LIBC.unshare(CLONE_NEWNET))
        self.descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self.set("ipv6/conf/all/accept_dad", 0)
        self.set("ipv6/conf/default/accept_dad", 0)
        self.set("ipv6/conf/default/accept_ra", 0)
        self.set("ipv4/ping_group_range", "0 65535")
        self.batch(["link set lo up"])

    def enter(self):
        call(LIBC.setns(self.descriptor, CLONE_NEWNET))

    def run(self, *words, input=None, check=True):
        self.enter()
        done = subprocess.run(words, capture_output=True, text=True, input=input, check=False)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: {done.stdout.strip()} {done.stderr.strip()} {input or ''}")
        return done

    def ip(self, words):
        self.run("ip", *words.split())

    def batch(self, lines):
        self.run("ip", "-batch", "-", input="\n".join(lines) + "\n")

    def set(self, key, value):
        self.enter()
        with open(f"/proc/sys/net/{key}", "w") as file:
            file.write(f"{value}\n")

    @contextlib.contextmanager
    def running(self, words, kind, port):
        """A program that is ready once it has a socket of a `kind` (`t` or `u`) at a port."""
        self.enter()
        program = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            deadline = time.monotonic() + 10
            while not self.run("ss", f"-Hln{kind}", f"sport = :{port}").stdout:
                if program.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{words[0]} does not start: {program.stderr.read()}")
                time.sleep(0.02)
            yield
        finally:
            program.terminate()
            program.communicate()

    def get(self, key):
        self.enter()
        with open(f"/proc/sys/net/{key}") as file:
            return file.read().strip()

    def filter(self, name, family, hook, rules, kind="filter", priority="0"):
        """Puts rules into a table of their own."""
        body = "\n".join(rules)
        table = f"table {family} {name} {{ chain c {{ type {kind} hook {hook} priority {priority};\n{body}\n}}\n}}\n"
        self.run("nft", "-f", "-", input=table)

    def unfilter(self, name, family):
        self.run("nft", "delete", "table", family, name)

    def close(self):
        os.close(self.descriptor)
