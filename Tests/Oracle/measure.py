# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""What becomes of the next packet, found out by sending it."""
import collections, json, os, stat, subprocess

from sender import Flow

# Far apart, none of them an address that is looked up by default, and in both halves of each family's space.
DESTINATIONS = {4: ["23.45.67.89", "93.184.216.34", "142.250.74.78", "185.199.108.153", "52.95.110.1", "203.0.113.9"],
                6: ["2001:4860:4802:32::15", "2400:cb00:2048:1::6814", "2606:2800:220:1::1946", "2a00:1450:4001::5e",
                    "2c0f:fb50:4002::65", "2801:80:1::7"]}
ARRIVAL = 0.3
# What becomes of a connection that the forwarding table lets out and a filter or policy does not.
REFUSED = {"not seen", "ECONNREFUSED", "EPERM", "EAGAIN"}

# How one destination is reached: the interface, the source, the gateway, and the error where it is not. left: the packet
# was seen at the other end. captive: by an interface that belongs to a master, which gets the answers.
Outcome = collections.namedtuple("Outcome", "flow works error interface source gateway left captive")


def destinations(family):
    return DESTINATIONS[family]


def default_flows(family):
    flows = [Flow("tcp", destination, 443) for destination in destinations(family)]
    for destination in destinations(family)[:3]:
        flows += [Flow(protocol, destination, port) for protocol in ("udp", "datagram") for port in (443, 53)]
    return flows


class Measurement:
    """The outcomes of one round, by family, protocol and port."""

    def __init__(self, outcomes, names, bound, failed, dead, table, filtered):
        # names: the query to each name server. bound: whether packets bound to an interface are answered.
        # failed: neighbours that the kernel did not find. dead: those of them that do not answer. table: where the
        # forwarding table leads the first connection of a family. filtered: whether there is any filter or policy.
        self.outcomes, self.names, self.bound, self.failed, self.dead = outcomes, names, bound, failed, dead
        self.table, self.filtered = table, filtered

    def of(self, family, protocol="tcp", port=443):
        return [outcome for outcome in self.outcomes if outcome.flow.protocol == protocol and outcome.flow.port == port
                and (":" in outcome.flow.destination) == (family == 6)]

    def works(self, family, protocol="tcp", port=443):
        """True or False by the majority; None where it is a draw."""
        outcomes = self.of(family, protocol, port)
        good = sum(outcome.works for outcome in outcomes)
        return None if good * 2 == len(outcomes) else good * 2 > len(outcomes)

    def ways(self, what, family=None):
        """The interfaces, sources or gateways that were seen, of the families that work."""
        families = [family] if family else [4, 6]
        return {getattr(outcome, what) for one in families if self.works(one) is not False
                for outcome in self.of(one) if outcome.works} - {None, ""}

    def errors(self, family, protocol="tcp", port=443):
        return sorted({outcome.error for outcome in self.of(family, protocol, port) if not outcome.works})

    def mixed(self, family):
        """Some destinations are reached and some are not."""
        return len({outcome.works for outcome in self.of(family)}) == 2

    def names_work(self):
        return any(outcome.works for outcome in self.names.values())

    def brief(self):
        words = []
        for family in (4, 6):
            for protocol, port in (("tcp", 443), ("udp", 443), ("udp", 53), ("datagram", 443), ("datagram", 53)):
                outcomes = self.of(family, protocol, port)
                kinds = collections.Counter(
                    "/".join(str(part) for part in (outcome.interface, outcome.source, outcome.gateway or "on-link"))
                    if outcome.works else str(outcome.error) for outcome in outcomes)
                words.append(f"v{family} {protocol}:{port} " + ", ".join(f"{kind} ×{count}" for kind, count in
                                                                       sorted(kinds.items())))
        words.append("name servers " + self.brief_names())
        return "; ".join(words)


    def brief_names(self):
        return ", ".join(f"{server} {'reached' if outcome.works else outcome.error}"
                         for server, outcome in self.names.items())


class Prober:
    """Sends packets in a world and looks at the other end of its cables which of them came."""

    def __init__(self, world):
        self.world = world

    def links(self):
        """By hardware address: the interface, and whether it belongs to a master."""
        done = subprocess.run(["ip", "-j", "link", "show"], capture_output=True, text=True)
        return {link["address"]: (link["ifname"], "master" in link) for link in json.loads(done.stdout or "[]")
                if "address" in link}

    def table(self, outcomes):
        """What the forwarding table alone says of the first connection of each family: interface and gateway."""
        found = {}
        for family in (4, 6):
            outcome = next(one for one in outcomes if (":" in one.flow.destination) == (family == 6))
            words = ["ip", "-j", "route", "get", outcome.flow.destination, "ipproto", "tcp", "dport", "443",
                     "uid", str(self.world.user)]
            done = subprocess.run(words + (["from", outcome.source] if outcome.source else []), capture_output=True, text=True)
            entry = (json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else [{}])[0]
            found[family] = (entry.get("dev"), entry.get("gateway") or entry.get("via", {}).get("host"))
        return found

    def failed_neighbours(self):
        """The neighbours that the kernel did not find: address and interface."""
        done = subprocess.run(["ip", "-j", "neigh", "show", "nud", "failed", "nud", "incomplete"],
                              capture_output=True, text=True)
        return {(entry["dst"], entry["dev"]) for entry in json.loads(done.stdout or "[]")}

    def dead_neighbours(self):
        """Those of them that do not answer. The other end of a cable would have: there this machine could not ask or hear."""
        done = subprocess.run(["ip", "-j", "link", "show"], capture_output=True, text=True)
        plugged = {link["ifname"] for link in json.loads(done.stdout or "[]")
                   if "LOWER_UP" in link["flags"] and f"p{link['ifname']}" in self.world.wire.sockets}
        return silent(self.failed_neighbours(), plugged, self.world.wire.silent)

    @staticmethod
    def filtered():
        """Whether there is a packet filter or an IPsec policy at all."""
        commands = (["nft", "list", "ruleset"], ["ip", "xfrm", "policy"], ["ip", "xfrm", "policy", "getdefault"])
        said = [subprocess.run(command, capture_output=True, text=True).stdout for command in commands]
        return bool(said[0].strip() or said[1].strip() or "block" in said[2])

    def resolver_lines(self):
        """The words of resolv.conf; none where the daemon's user must not read it."""
        if self.world.user and not os.stat(self.world.resolver).st_mode & stat.S_IROTH:
            return []
        with open(self.world.resolver) as file:
            return [line.split() for line in file]

    def name_servers(self):
        return [line[1] for line in self.resolver_lines() if len(line) > 1 and line[0] == "nameserver"] or ["127.0.0.1"]

    def name_protocol(self):
        """What the C library queries name servers by."""
        return "tcp" if ["options", "use-vc"] in self.resolver_lines() else "udp"

    def send(self, flows):
        """Sends all, and waits until all that the kernel took were seen, or long enough."""
        wire = self.world.wire
        wire.clear()
        sent = self.world.sender.send(flows)

        def seen():
            return {(frame.protocol, frame.destination, frame.dport, frame.sport): frame for frame in wire.frames}

        def key(one):
            return ("tcp" if one.flow.protocol == "tcp" else "udp", one.flow.destination.split("%")[0], one.flow.port,
                    one.port)
        wanted = [key(one) for one in sent if one.error is None and not self.is_local(one)]
        wire.wait_for(lambda: all(one in seen() for one in wanted), ARRIVAL)
        frames, links = seen(), self.links()
        return [self.outcome(one, frames.get(key(one)), links) for one in sent]

    @staticmethod
    def is_local(one):
        return one.answered and one.source in (one.flow.destination, "::1") or one.flow.destination.startswith("127.")

    @staticmethod
    def outcome(sent, frame, links):
        left = frame is not None
        works = sent.answered and left if sent.flow.protocol == "tcp" else left
        error = sent.error or (None if works else "answered by this machine" if sent.answered else
                               "no answer" if left else "not seen")
        if not left:
            return Outcome(sent.flow, False, error, None, sent.source, None, False, False)
        interface, captive = links.get(frame.sender, (frame.sender, False))
        if not routable(frame):
            works, error = False, f"from {frame.source} to {frame.destination}, which no router forwards"
        return Outcome(sent.flow, works, error, interface, frame.source, frame.gateway, True, captive)

    def measure(self, interfaces=(), more=()):
        flows = default_flows(4) + default_flows(6) + list(more)
        servers = self.name_servers()
        queries = [Flow(self.name_protocol(), server, 53) for server in servers]
        bound = [Flow("tcp", destination, 443, interface) for interface in interfaces for family in (4, 6)
                 for destination in destinations(family)[:1]]
        outcomes = self.send(flows + queries + bound)
        count = len(flows)
        # What connections from an address show: no answer to it is taken.
        deaf = {one.source for one in outcomes[:count] if one.error == "no answer"} - {
            one.source for one in outcomes[:count] if one.works and one.flow.protocol == "tcp"}
        names = {server: outcome._replace(works=False, error="no answer") if outcome.left and outcome.source in deaf
                 else self.local_answer(server, outcome)
                 for server, outcome in zip(servers, outcomes[count:count + len(servers)])}
        usable = {interface: self.usable([outcome for outcome in outcomes[count + len(servers):]
                                          if outcome.flow.interface == interface]) for interface in interfaces}
        failed = {address for address, _ in self.failed_neighbours()}
        return Measurement(outcomes[:count], names, usable, failed, self.dead_neighbours(), self.table(outcomes[:count]),
                           self.filtered())

    @staticmethod
    def usable(outcomes):
        """Whether packets bound to an interface are answered; None where something behind the table takes them, or the
        answers do not come in."""
        if any(outcome.works for outcome in outcomes):
            return True
        return None if any(outcome.error in REFUSED | {"no answer"} for outcome in outcomes) else False

    def local_answer(self, server, outcome):
        """A name server of this machine is not seen at the other end; it counts when it answers."""
        if outcome.left or outcome.error is not None and outcome.error != "answered by this machine":
            return outcome
        sent = self.world.sender.send([outcome.flow])[0]
        return outcome._replace(works=True, error=None) if sent.answered and sent.error is None else outcome


def silent(failed, plugged, dead):
    """The neighbours that do not answer, of those that the kernel did not find; dead: who is silent on a cable."""
    return {address for address, device in failed if device not in plugged or address in dead}


def routable(frame):
    """Whether a router may forward a packet with this source (RFC 4291 section 2.5.6), or answer one from nobody; one to
    loopback it drops (RFC 1122 section 3.2.1.3)."""
    if frame.source in ("0.0.0.0", "::") or frame.destination.startswith("127."):
        return False
    return not frame.source.startswith("fe80:") or frame.destination.startswith("fe80:")
