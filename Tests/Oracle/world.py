# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""A machine with three cables, in namespaces that end with the process that made it, and the steps that change it.

A step is one line: a command of ip(8) or nft(8), or one of the words of `World.WORDS`.
"""
import ctypes, fcntl, os, signal, socket, struct, subprocess, time

from measure import destinations
from sender import Flow, Sender
from wire import Wire, answer_to, binary

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
CABLES = ("v0", "w0", "b0")
UNPRIVILEGED = 65534


class StepError(Exception):
    """A step that the kernel, ip(8) or nft(8) refused."""


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def daemon_user():
    """Nobody; in a user namespace that maps root alone, root without capabilities."""
    with open("/proc/self/uid_map") as file:
        maps = [[int(word) for word in line.split()] for line in file]
    return UNPRIVILEGED if any(first <= UNPRIVILEGED < first + count for first, _, count in maps) else 0


class World:
    """The machine: its network namespace, its resolv.conf, and the other end of its cables."""

    def __init__(self, folder, user):
        self.folder, self.user = folder, user
        check(LIBC.unshare(CLONE_NEWNET | CLONE_NEWNS), "unshare")
        check(LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mount")
        self.resolver = f"{folder}/resolv.conf"
        self.write_resolver("nameserver 8.8.4.4")
        check(LIBC.mount(self.resolver.encode(), b"/etc/resolv.conf", None, MS_BIND, None), "bind resolv.conf")
        self.prepare_settings()
        self.sender = Sender(self.user)
        self.wire = Wire()
        self.tunnels = {}
        self.listeners = {}
        self.lay_cables()

    # The machine

    SETTINGS = {
        "ipv6/conf/default/accept_dad": 0, "ipv6/conf/all/accept_dad": 0, "ipv6/conf/default/router_solicitations": 0,
    }
    # A neighbour that does not answer is given up after 0.2 s instead of 3.
    NEIGHBOURS = {"retrans_time_ms": 60, "delay_first_probe_time": 1, "base_reachable_time_ms": 500}

    def prepare_settings(self):
        for key, value in self.SETTINGS.items():
            self.set(key, value)

    @staticmethod
    def set(key, value):
        with open(f"/proc/sys/net/{key}", "w") as file:
            file.write(f"{value}\n")

    def lay_cables(self):
        far = f"/proc/{os.getpid()}/fd/{self.wire.descriptor}"
        lines = ["link set lo up"]
        for number, name in enumerate(CABLES):
            # The ends have different indices: the kernel announces the carrier of a link that is its own lower one late.
            lines.append(f"link add {name} index {10 + number} address 02:10:00:00:00:0{number} type veth "
                         f"peer name p{name} index {30 + number} netns {far}")
        self.batch(lines)
        for name in CABLES:
            self.hasten(name)
            self.wire.add_port(f"p{name}")

    def hasten(self, device):
        for family in ("ipv4", "ipv6"):
            for key, value in self.NEIGHBOURS.items():
                self.set(f"{family}/neigh/{device}/{key}", value)

    def batch(self, lines):
        done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", capture_output=True, text=True)
        if done.returncode != 0:
            raise StepError(f"{' ; '.join(lines)}: {done.stderr.strip()}")

    # Steps

    def play(self, steps):
        """Makes the changes in order; neighbouring commands of ip(8) in one run of it."""
        pending = []
        for step in steps:
            word, _, rest = step.replace("{user}", str(self.user)).partition(" ")
            if word == "ip" and not rest.startswith(("-", "xfrm")):
                pending.append(rest)
                continue
            if pending:
                self.batch(pending)
                pending = []
            try:
                self.act(word, rest)
            except (StepError, OSError) as error:
                raise StepError(f"{step}: {error}") from error
        if pending:
            self.batch(pending)

    def act(self, word, rest):
        """One step that is not of a batch."""
        if word == "ip":
            family, _, command = rest.partition(" ")
            if family in ("-6", "-4"):
                done = subprocess.run(["ip", family, "-batch", "-"], input=command + "\n", capture_output=True, text=True)
            else:
                done = subprocess.run(["ip", *rest.split()], capture_output=True, text=True)
            if done.returncode != 0:
                raise StepError(done.stderr.strip())
        elif word in self.WORDS:
            self.WORDS[word](self, *rest.split(" ", 1 if word in ("nft", "many") else -1) if rest else ())
        else:
            raise StepError(f"no such step: {word}")

    def nft(self, *words):
        done = subprocess.run(["nft", "-f", "-"], input=" ".join(words) + "\n", capture_output=True, text=True)
        if done.returncode != 0:
            raise StepError(done.stderr.strip())

    def wg(self, *words):
        self.program("wg", "set", *words)

    def teamnl(self, *words):
        self.program("teamnl", *words)

    @staticmethod
    def program(*words):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            raise StepError(done.stderr.strip() or f"exit status {done.returncode}")

    def far(self, cable, state):
        self.wire.batch([f"link set p{cable} {state}"])

    def sysctl(self, setting):
        key, _, value = setting.partition("=")
        self.set(key, value)

    def advertise(self, cable, router, lifetime, *options):
        named = dict(option.split("=", 1) for option in options)
        valid = named.pop("valid", None)
        self.wire.advertise(f"p{cable}", router, int(lifetime), valid=None if valid is None else int(valid), **named)
        time.sleep(0.02)

    def silence(self, *addresses):
        self.wire.silent.update(addresses)

    def speak(self, *addresses):
        self.wire.silent.difference_update(addresses)

    def permanent(self, address, device):
        """A neighbour entry by hand: nobody needs to answer for it."""
        self.act("ip", f"neigh replace {address} dev {device} lladdr {self.wire.hardware(binary(address)).hex(':')} "
                 "nud permanent")

    def duplicate(self, *addresses):
        self.wire.duplicates.update(addresses)

    def tun(self, name):
        descriptor = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(descriptor, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1001))
        self.tunnels[name] = descriptor
        self.batch([f"link set {name} up"])
        self.wire.add_tunnel(name, descriptor)

    def untun(self, name):
        self.wire.remove_tunnel(self.tunnels.pop(name))

    def write_resolver(self, content):
        with open(self.resolver, "w") as file:
            file.write(content.replace("|", "\n") + "\n")
        os.chmod(self.resolver, 0o644)

    def resolver_step(self, *words):
        self.write_resolver(" ".join(words))

    def listen(self, address, port="53", *options):
        """A name server on this machine that finds an address of each name; options: tcp, v6only, device=NAME."""
        is_stream = "tcp" in options
        one = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET,
                            socket.SOCK_STREAM if is_stream else socket.SOCK_DGRAM)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if ":" in address:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int("v6only" in options))
        for option in options:
            if option.startswith("device="):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, option[7:].encode())
        one.bind((address, int(port)))
        if is_stream:
            one.listen()
        process = os.fork()
        if process == 0:
            while True:
                if is_stream:
                    one.accept()[0].close()
                    continue
                query, client = one.recvfrom(4096)
                one.sendto(answer_to(query), client)
        self.listeners[address] = process
        one.close()

    def unlisten(self, address):
        """Ends the name server at an address."""
        process = self.listeners.pop(address)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)

    def mode(self, bits):
        """Sets the mode of resolv.conf."""
        os.chmod(self.resolver, int(bits, 8))

    def many(self, command, template):
        """A full table: `many add|del ROUTE` with {n} for each of the 223 first octets of unicast addresses."""
        lines = [f"route {command} " + template.replace("{n}", str(number)) for number in range(1, 224) if number != 127]
        self.batch(lines)

    WORDS = {"nft": nft, "far": far, "sysctl": sysctl, "advertise": advertise, "silence": silence, "speak": speak,
             "duplicate": duplicate, "permanent": permanent, "tun": tun, "untun": untun, "resolver": resolver_step,
             "listen": listen, "unlisten": unlisten, "mode": mode, "many": many, "wg": wg, "teamnl": teamnl,
             "sleep": lambda self, seconds: time.sleep(float(seconds)),
             "send": lambda self: self.traffic()}

    def traffic(self):
        """Some packets, so that the kernel knows its neighbours."""
        self.sender.send([Flow("tcp", destination, 443) for family in (4, 6) for destination in destinations(family)[:3]])

    # Programs

    def as_user(self, capabilities=()):
        grant = ",".join(["-all"] + [f"+{name}" for name in capabilities])
        words = ["setpriv", "--no-new-privs", "--bounding-set", grant, "--inh-caps", grant]
        if self.user:
            words += ["--reuid", str(self.user), "--regid", str(self.user), "--clear-groups"]
        return words + (["--ambient-caps", grant] if capabilities else [])
