# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""What an operator's usual tools say of a fault: ping, dig, curl, mtr, and NetworkManager's connectivity."""
import json, os, re, shutil, socket, subprocess, sys, tempfile

from network import until

TOOLS = {"ping": "iputils-ping", "dig": "bind9-dnsutils", "curl": "curl", "mtr": "mtr-tiny",
         "NetworkManager": "network-manager", "nmcli": "network-manager", "dbus-daemon": "dbus"}
CURL = {5: "proxy", 6: "no such name", 7: "cannot connect", 28: "timeout", 35: "TLS fails", 52: "no answer",
        56: "connection broken", 60: "certificate"}
BEGIN, END = "<!-- written by `Tests/Lab/lab compare` -->", "<!-- end of it -->"


def missing():
    """The packages of the tools that are not there."""
    return sorted({package for tool, package in TOOLS.items() if not shutil.which(tool)})


def start(network, *words):
    """A program on the device, as an operator would start it."""
    network.device.enter()
    return subprocess.Popen(network.as_resolver(list(words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ping(done, out, errors):
    counts = re.search(r"(\d+) packets transmitted, (\d+) received", out)
    reason = re.search(r"(?:From \S+|ping): (?:icmp_seq=\d+ )?(.*)", out + errors)
    if counts and counts[2] != "0":
        return f"{counts[2]}/{counts[1]}"
    unreachable = re.search(r"Destination \w+ Unreachable|Time to live exceeded|Network is unreachable", out + errors)
    return unreachable[0] if unreachable else "0/3" if counts else reason[1] if reason else "fails"


def dig(done, out, errors):
    status = re.search(r"status: (\w+)", out)
    if not status:
        return "no answer"
    addresses = re.findall(r"\tA\t(\S+)", out)
    return " ".join(addresses) if addresses else status[1]


def curl(done, out, errors):
    return CURL.get(done, f"error {done}") if done else out


def mtr(done, out, errors):
    try:
        hops = json.loads(out)["report"]["hubs"]
    except (ValueError, KeyError):
        return (errors.strip().split("\n")[0] or "fails").removeprefix("mtr: ")
    known = [hop for hop in hops if hop["host"] != "???"]
    if not known:
        return "no hop answers"
    if hops[-1]["host"] != json.loads(out)["report"]["mtr"]["dst"]:
        return f"nothing after {known[-1]['host']}"
    return f"{len(hops)} hops, {round(known[-1]['Loss%'])} % loss"


def ask(network, manager):
    """What the tools say, all asked at once."""
    plan = network.plan
    page = ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "8"]
    asked = {
        "ping": (ping, ["ping", "-n", "-c", "3", "-i", "0.3", "-W", "2", plan.anchors[0]]),
        "dig": (dig, ["dig", "+time=2", "+tries=1", plan.hosts[0]]),
        "http": (curl, page + [f"http://{plan.hosts[0]}/generate_204"]),
        "https": (curl, page + [f"https://{plan.hosts[0]}/generate_204"]),
        "mtr": (mtr, ["mtr", "-n", "-j", "-c", "3", "-i", "0.5", plan.anchors[0]]),
        "NetworkManager": (lambda done, out, errors: out.strip() or "no answer", manager.check),
    }
    running = {name: (read, start(network, *words)) for name, (read, words) in asked.items()}
    said = {}
    for name, (read, program) in running.items():
        out, errors = program.communicate()
        said[name] = read(program.returncode, out, errors)
    return said


class Manager:
    """NetworkManager on the device, on a bus of its own, in a view of the file system of its own; it changes nothing."""

    def __init__(self, network):
        self.network = network

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="nwpath-manager-")
        for name in ("profiles", "lib"):
            os.mkdir(f"{self.folder}/{name}", 0o700)
        self.bus = f"unix:path={self.folder}/bus"
        self.write("bus.conf", f"""<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
            "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd"><busconfig><listen>{self.bus}</listen>
            <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
            <allow own="*"/></policy></busconfig>""")
        self.write("NetworkManager.conf", f"""[main]
plugins=keyfile
dhcp=internal
dns=none
rc-manager=unmanaged
systemd-resolved=false
auth-polkit=false
no-auto-default=*
[keyfile]
path={self.folder}/profiles
[connectivity]
uri=http://{self.network.plan.hosts[0]}/generate_204
response=
interval=300
""")
        script = f"""mount --bind {self.network.resolver} /etc/resolv.conf
mount --bind {self.network.order} /etc/nsswitch.conf
mount --bind {self.folder}/lib /var/lib/NetworkManager
mount -t tmpfs none /run
mount -t sysfs -o ro sysfs /sys
exec NetworkManager --no-daemon --config={self.folder}/NetworkManager.conf --config-dir={self.folder}/none \
--system-config-dir={self.folder}/none --intern-config={self.folder}/lib/intern.conf \
--state-file={self.folder}/lib/state --pid-file={self.folder}/pid --log-level=WARN"""
        self.network.device.enter()
        bus = ["dbus-daemon", f"--config-file={self.folder}/bus.conf", "--nofork"]
        self.programs = [subprocess.Popen(bus, stderr=subprocess.DEVNULL)]
        until(self.has_bus, "the bus")
        environment = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=self.bus)
        self.programs.append(subprocess.Popen(["unshare", "--mount", "sh", "-ec", script], env=environment,
                                              stderr=subprocess.DEVNULL))
        until(lambda: self.connectivity() == "full", "NetworkManager to find the network in order")
        return self

    def __exit__(self, *_):
        for program in reversed(self.programs):
            program.terminate()
            program.wait()
        shutil.rmtree(self.folder)

    def has_bus(self):
        with socket.socket(socket.AF_UNIX) as connection:
            return connection.connect_ex(f"{self.folder}/bus") == 0

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(text)

    @property
    def check(self):
        """The command that looks at connectivity now."""
        return ["env", f"DBUS_SYSTEM_BUS_ADDRESS={self.bus}", "nmcli", "-w", "30", "networking", "connectivity", "check"]

    def connectivity(self):
        return self.network.device.run(*self.check, check=False).stdout.strip()


def row(name, said, answer):
    """The cells of a line of the table."""
    told = dict.fromkeys(f"`{verdict['code']}`: {verdict['message']}" for verdict in answer["verdicts"])
    own = "; ".join(told) or "no problems found"
    notes = ", ".join(dict.fromkeys(f"`{note['code']}`" for note in answer["info"]))
    usual = f"ping {said['ping']}; dig {said['dig']}; HTTP {said['http']}; HTTPS {said['https']}"
    cells = [name, usual, said["NetworkManager"], said["mtr"], own + (f" (note: {notes})" if notes else "")]
    return [cell.replace("|", "/") for cell in cells]


def line(cells):
    return "| " + " | ".join(cells) + " |"


def table(rows, faults):
    """The table, and what it comes to if the network in order is in it."""
    lines = ["| fault | ping, dig, curl | NetworkManager | mtr | nwpath |", "|---|---|---|---|---|"]
    lines += [line(cells) for cells in rows]
    usual = next((cells for cells in rows if cells[0] == "healthy"), None)
    faulty = [cells for cells in rows if faults[cells[0]].codes]
    sound = [cells for cells in rows if not faults[cells[0]].codes]
    if usual and faulty:
        named = sum(set(re.findall(r"`([a-z0-9.-]+)`: ", cells[4])) == set(faults[cells[0]].codes) for cells in faulty)
        blind = [sum(cells[place] == usual[place] for cells in faulty) for place in (1, 2, 3)]
        alarms = [sum(cells[place] != usual[place] for cells in sound) for place in (1, 2, 3)]
        lines += ["", f"Of {len(faulty)} networks with a fault, ping, dig and curl together see nothing unusual in {blind[0]}, "
                  f"NetworkManager in {blind[1]}, mtr in {blind[2]}; nwpath names what is wrong, all of it and nothing "
                  f"else, in {named}. Of {len(sound)} without a fault, the others see something unusual in {alarms[0]}, {alarms[1]} "
                  f"and {alarms[2]}, nwpath finds a fault in {sum('`: ' in cells[4] for cells in sound)}."]
    return "\n".join(lines)


def replace(file, text):
    """Puts a table between its marks in a document."""
    with open(file) as document:
        old = document.read()
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        sys.exit(f"{file} has no marks for the table")
    with open(file, "w") as document:
        document.write(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
