# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The network of the lab: namespaces, cables, addresses, servers."""
import contextlib, fcntl, os, shutil, socket, struct, subprocess, tempfile, threading, time

from machine import CLONE_NEWNET, LIBC, Machine, call
from servers import Servers


def until(condition, what, seconds=30):
    """Waits for something that takes a moment."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited in vain for {what}")
        time.sleep(0.05)


class Plan:
    """Addresses and names; the other plan shares none with the usual one."""

    def __init__(self, other=False):
        self.lan, self.lan6 = ("192.168.44", "fd44:44") if other else ("10.77.0", "2001:db8:77")
        self.wan, self.wan6 = ("100.64.9", "fd44:9") if other else ("198.18.0", "2001:db8:18")
        self.net, self.net6 = ("198.51.100", "fd44:ff") if other else ("203.0.113", "2001:db8:ff")
        self.interface = "enp7s0" if other else "eth0"
        self.domain = "probe.example" if other else "anchor.test"
        self.own, self.gateway, self.peer = f"{self.lan}.10", f"{self.lan}.1", f"{self.lan}.20"
        self.own6, self.gateway6, self.peer6 = f"{self.lan6}::10", f"{self.lan6}::1", f"{self.lan6}::20"
        self.anchors = [f"{self.net}.80", f"{self.net}.81"]
        self.anchors6 = [f"{self.net6}::80", f"{self.net6}::81"]
        self.server = f"{self.net}.53"
        self.stray = "192.168.45.10" if other else "10.78.0.10"
        self.nowhere = "203.0.113.7" if other else "192.0.2.7"
        self.hosts = [f"{letter}.{self.domain}" for letter in "ab"]
        self.portal = f"portal.{self.domain}"


class Network:
    """The whole of it; a context that cleans up after itself."""

    def __init__(self, plan):
        self.plan = plan
        self.environment = []  # what stands in the environment of programs, such as http_proxy=…
        self.load = None  # the configuration with which the line is loaded, if it is
        self.home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self.folder = tempfile.mkdtemp(prefix="nwpath-lab-")
        self.device, self.switch, self.router = Machine(), Machine(), Machine()
        self.provider, self.internet, self.neighbor = Machine(), Machine(), Machine()
        self.connect()
        self.certify()
        self.servers = Servers(self)
        self.configure()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.servers.stop()
        call(LIBC.setns(self.home, CLONE_NEWNET))
        for machine in (self.device, self.switch, self.router, self.provider, self.internet, self.neighbor):
            machine.close()
        shutil.rmtree(self.folder)

    # Cables and addresses

    def connect(self):
        plan = self.plan
        for router in (self.router, self.provider):
            router.set("ipv4/ip_forward", 1)
            router.set("ipv6/conf/all/forwarding", 1)
        switch = self.switch
        switch.batch(["link add br0 type bridge mcast_snooping 0", "link set br0 up"])
        ports = [("port-device", self.device, plan.interface), ("port-router", self.router, "lan0"),
                 ("port-peer", self.neighbor, "eth0")]
        for port, machine, name in ports:
            path = f"/proc/{os.getpid()}/fd/{machine.descriptor}"
            switch.batch([f"link add {port} type veth peer name {name} netns {path}",
                          f"link set {port} master br0 up"])
        for near, far, left, right in [(self.router, self.provider, "wan0", "down0"),
                                       (self.provider, self.internet, "up0", "net0")]:
            path = f"/proc/{os.getpid()}/fd/{far.descriptor}"
            near.batch([f"link add {left} type veth peer name {right} netns {path}"])
        self.address()

    def address(self):
        plan = self.plan
        self.router.batch([
            f"addr add {plan.gateway}/24 dev lan0", f"addr add {plan.gateway6}/64 dev lan0 nodad",
            f"addr add {plan.wan}.2/30 dev wan0", f"addr add {plan.wan6}::2/64 dev wan0 nodad",
            "link set lan0 up", "link set wan0 up"])
        self.provider.batch([
            f"addr add {plan.wan}.1/30 dev down0", f"addr add {plan.wan6}::1/64 dev down0 nodad",
            f"addr add {plan.net}.1/24 dev up0", f"addr add {plan.net6}::1/64 dev up0 nodad",
            "link set down0 up", "link set up0 up",
            f"route add {plan.lan}.0/24 via {plan.wan}.2", f"route add {plan.lan6}::/64 via {plan.wan6}::2"])
        addresses = [f"addr add {host}/24 dev net0" for host in plan.anchors + [plan.server]]
        addresses += [f"addr add {host}/64 dev net0 nodad" for host in plan.anchors6]
        self.internet.batch(addresses + ["link set net0 up", f"route add default via {plan.net}.1",
                                         f"route add default via {plan.net6}::1"])
        self.connect_router()
        self.neighbor.batch([f"addr add {plan.peer}/24 dev eth0", f"addr add {plan.peer6}/64 dev eth0 nodad",
                             "link set eth0 up", f"route add default via {plan.gateway}"])
        self.connect_device()

    def connect_router(self):
        """The router's way out, which goes with its cable."""
        plan = self.plan
        self.router.batch(["link set wan0 up", f"addr replace {plan.wan6}::2/64 dev wan0 nodad",
                           f"route replace default via {plan.wan}.1", f"route replace default via {plan.wan6}::1"])

    def connect_device(self):
        """The device as its operator wants it, whatever became of it meanwhile."""
        plan, name = self.plan, self.plan.interface
        self.device.batch([
            f"link set {name} mtu 1500 up", f"addr replace {plan.own}/24 dev {name}",
            f"addr replace {plan.own6}/64 dev {name} nodad", f"route replace default via {plan.gateway}",
            f"route replace default via {plan.gateway6} dev {name}"])

    # Certificates and configuration

    def certify(self):
        """Two authorities, one of which nobody trusts, and a certificate of each for the anchors."""
        names = ",".join([f"DNS:{host}" for host in self.plan.hosts + [self.plan.portal]]
                         + [f"IP:{host}" for host in self.plan.anchors + self.plan.anchors6])
        for authority in ("right", "wrong"):
            base = f"{self.folder}/{authority}"
            self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                         "-keyout", f"{base}-ca.key", "-out", f"{base}-ca.pem", "-subj", f"/CN={authority}",
                         "-days", "2")
            self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                         "-keyout", f"{base}.key", "-out", f"{base}.pem", "-subj", "/CN=anchor", "-days", "2",
                         "-CA", f"{base}-ca.pem", "-CAkey", f"{base}-ca.key", "-addext", f"subjectAltName={names}")
        self.certify_stale(names)

    def certify_stale(self, names):
        """A certificate of the right authority that was good once."""
        base = f"{self.folder}/stale"
        with open(f"{base}.cnf", "w") as file:
            file.write(f"[ca]\ndefault_ca = lab\n[lab]\ndatabase = {base}.txt\nnew_certs_dir = {self.folder}\n"
                       "policy = any\nrand_serial = yes\ndefault_md = sha256\ncopy_extensions = copy\n"
                       "[any]\ncommonName = supplied\n")
        open(f"{base}.txt", "w").close()
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                     f"{base}.key", "-out", f"{base}.csr", "-subj", "/CN=anchor", "-addext", f"subjectAltName={names}")
        right = f"{self.folder}/right-ca"
        self.openssl("ca", "-batch", "-notext", "-config", f"{base}.cnf", "-cert", f"{right}.pem", "-keyfile",
                     f"{right}.key", "-in", f"{base}.csr", "-out", f"{base}.pem", "-startdate", "20200101000000Z",
                     "-enddate", "20200201000000Z")

    def openssl(self, *words):
        subprocess.run(("openssl",) + words, check=True, capture_output=True)

    def configure(self):
        plan = self.plan
        self.resolver = f"{self.folder}/resolv.conf"
        self.order = f"{self.folder}/nsswitch.conf"
        with open(self.order, "w") as file:
            file.write("hosts: files dns\n")
        self.set_servers([plan.gateway, plan.server])
        anchors = [{"name": letter, "host": host, "addr4": v4, "addr6": v6}
                   for letter, host, v4, v6 in zip("ab", plan.hosts, plan.anchors, plan.anchors6)]
        self.targets = {
            "anchors": anchors, "udp_echo_port": 7007, "ntp": [plan.server], "ca": f"{self.folder}/right-ca.pem", "peers": [plan.peer],
            "dns": {"wildcard": f"p.{plan.domain}", "wildcard_a": plan.anchors[0], "nx_zone": f"nx.{plan.domain}",
                    "big_txt": f"big.{plan.domain}"},
        }
        self.configuration = f"{self.folder}/nwpath.yaml"
        with open(self.configuration, "w") as file:
            for key, value in [("dns", {"resolv_conf": self.resolver}), ("diagnosis", self.targets)]:
                file.write(f"{key}: {_flow(value)}\n")

    def as_resolver(self, command):
        """The command, for a machine whose C library asks the name servers of the lab, and that trusts its authority."""
        places = {"/etc/resolv.conf": self.resolver, "/etc/nsswitch.conf": self.order,
                  "/etc/ssl/certs/ca-certificates.crt": f"{self.folder}/right-ca.pem"}
        script = "".join(f"mount --bind {file} {place} && " for place, file in places.items()) + 'exec "$@"'
        return ["env"] + self.environment + ["unshare", "--mount", "sh", "-c", script, "sh"] + command

    def slowed(self, delay):
        """Steps of a fault: the router's way out is a line that carries each packet over after `delay()` seconds."""
        plan = self.plan
        line = Line(self.servers.loop, self.router, self.provider, delay)
        self.router.batch([
            f"addr add {plan.wan}.6/30 dev line0", f"addr add {plan.wan6}:1::2/64 dev line0 nodad", "link set line0 up",
            f"route replace default via {plan.wan}.5", f"route replace default via {plan.wan6}:1::1"])
        self.provider.batch([
            f"addr add {plan.wan}.5/30 dev line0", f"addr add {plan.wan6}:1::1/64 dev line0 nodad", "link set line0 up",
            f"route replace {plan.lan}.0/24 via {plan.wan}.6", f"route replace {plan.lan6}::/64 via {plan.wan6}:1::2"])
        yield
        self.connect_router()
        self.provider.batch([f"route replace {plan.lan}.0/24 via {plan.wan}.2",
                             f"route replace {plan.lan6}::/64 via {plan.wan6}::2"])
        line.close()

    @contextlib.contextmanager
    def portal(self, answer):
        """The interface of a captive portal (RFC 8908) on the router: nginx, with an answer."""
        file = f"{self.folder}/nginx.conf"
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = " ".join(f"{kind}_temp_path {self.folder}/nginx-{kind};" for kind in kinds)
        with open(f"{self.folder}/api", "w") as page:
            page.write(answer)
        with open(file, "w") as text:
            text.write(f"""daemon off; master_process off; pid {self.folder}/nginx.pid; error_log stderr;
                events {{}}
                http {{ access_log off; {temporary} default_type application/captive+json;
                server {{ listen {self.plan.gateway}:443 ssl; root {self.folder}; server_name {self.plan.portal};
                ssl_certificate {self.folder}/right.pem; ssl_certificate_key {self.folder}/right.key;
                location = /api {{ }} location / {{ return 404; }} }} }}""")
        with self.router.running(["nginx", "-e", "stderr", "-c", file], "t", 443):
            yield f"https://{self.plan.portal}/api"

    def handing_out(self, *options):
        """A DHCP server on the router, dnsmasq, with options."""
        plan = self.plan
        return self.router.running(
            ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--user=root", "--group=root", "--no-ping",
             "--interface=lan0", "--bind-dynamic", f"--dhcp-range={plan.lan}.100,{plan.lan}.110,1h",
             "--dhcp-leasefile=/dev/null", "--log-facility=/dev/null", "--pid-file=",
             f"--dhcp-option=option:router,{plan.gateway}"] + [f"--dhcp-option={option}" for option in options],
            "u", 67)

    def flapping(self, port, there=1.0, gone=0.25):
        """Steps of a fault: a port of the switch that is `there` for so many seconds, then `gone`, again and again."""
        ended = threading.Event()

        def flap():
            while not ended.wait(there):
                self.switch.ip(f"link set {port} down")
                ended.wait(gone)
                self.switch.ip(f"link set {port} up")

        thread = threading.Thread(target=flap)
        thread.start()
        yield
        ended.set()
        thread.join()

    def set_servers(self, servers):
        with open(self.resolver, "w") as file:
            file.write("".join(f"nameserver {server}\n" for server in servers))


def tunnel(machine, name):
    """A tunnel of a machine: what it sends there is read from the descriptor."""
    machine.enter()
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(end, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1001))  # TUNSETIFF: IFF_TUN, IFF_NO_PI
    return end


class Line:
    """A cable between two machines over which packets take their time: a tunnel's end on each, and a loop between."""

    def __init__(self, loop, left, right, delay):
        self.loop, self.delay = loop, delay
        self.ends = [tunnel(left, "line0"), tunnel(right, "line0")]
        for near, far in (self.ends, self.ends[::-1]):
            loop.call_soon_threadsafe(loop.add_reader, near, self._carry, near, far)

    def _carry(self, near, far):
        try:
            packet = os.read(near, 65536)
        except OSError:
            return
        self.loop.call_later(self.delay(), self._deliver, far, packet)

    def _deliver(self, far, packet):
        try:
            if far in self.ends:
                os.write(far, packet)
        except OSError:
            pass

    def close(self):
        done = threading.Event()
        self.loop.call_soon_threadsafe(self._close, done)
        done.wait()

    def _close(self, done):
        ends, self.ends = self.ends, []
        for end in ends:
            self.loop.remove_reader(end)
            os.close(end)
        done.set()


def _flow(value):
    """YAML in flow style: JSON, with keys as words."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def listen(machine, address, port, kind):
    """A socket on a machine."""
    machine.enter()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_IP, 15, 1)  # IP_FREEBIND: the address may come later
    made.bind((address, port))
    if kind == socket.SOCK_STREAM:
        made.listen(64)
    made.setblocking(False)
    return made
