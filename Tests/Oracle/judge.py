# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Holds what is published against what was measured. Nothing here knows what a situation is about."""
import collections, json, re

from measure import REFUSED

# what: which member disagrees. sent: what packets did. said: what was published.
Disagreement = collections.namedtuple("Disagreement", "what sent said")

# How a refusal that the forwarding table does not know may be told, and how that datagrams fare otherwise.
SIGNS = re.compile(r"firewall|blocked|filter|nftables|xfrm|ipsec|policy|refus|prohibit|EPERM|permitted", re.I)
OTHER_SIGNS = re.compile(SIGNS.pattern + r"|datagram|udp|tcp|protocol|dport", re.I)
GATEWAY_SIGNS = re.compile(r"gateway_un|unresolved|neighbour|neighbor|did not answer|does not answer|unreachable", re.I)


def bare(addresses):
    return {address.split("%")[0] for address in addresses}


class Verdict:
    """What disagrees, and what would but for something that cannot be known."""

    def __init__(self):
        self.disagreements, self.limits = [], []
        # Whether something fails although it is said to work, with a warning that tells of it.
        self.is_excused = False

    def wrong(self, what, sent, said):
        self.disagreements.append(Disagreement(what, str(sent), str(said)))


def told(status, whys, signs=SIGNS):
    """Whether a path's warnings, gateways or reason, or an explanation, tell of a refusal."""
    path = status["path"]
    words = [json.dumps(path["warnings"]), path.get("unsatisfied_reason") or "", path.get("message") or "",
             json.dumps(status.get("problems", []))]
    words += [json.dumps(why.get("broken")) + " " + why["message"] for why in whys if why["verdict"] != "ok"]
    words += ["unresolved" for gateway in status.get("gateways", []) if gateway.get("reachable") is False]
    return any(signs.search(text) for text in words)


def judge_path(measured, status, whys=(), privileged=True):
    """Compares one daemon's status with what was sent. Returns a verdict."""
    verdict, path = Verdict(), status["path"]
    satisfied = path["status"] == "satisfied"
    works = {family: measured.works(family) for family in (4, 6)}
    if not satisfied and not path["unsatisfied_reason"]:
        verdict.wrong("reason", "nothing leaves", "no reason given")
    excused = set()
    for family, supported in ((4, path["supports_ipv4"]), (6, path["supports_ipv6"])):
        if works[family] == supported:
            continue
        if supported:
            excused |= judge_unsent(measured, family, status, whys, privileged, verdict)
        elif works[family]:
            verdict.wrong(f"ipv{family}", "works", f"supports_ipv{family} false")
    known = [works[family] for family in works if works[family] is not None and family not in excused]
    if len(known) == 2 and any(known) != satisfied:
        verdict.wrong("status", "works" if any(known) else "nothing leaves", f"{path['status']}/{path['unsatisfied_reason']}")
    if satisfied:
        judge_ways(measured, status, whys, verdict, works, excused, privileged)
    if not excused and not measured.failed:
        listed = [one["name"] for one in path["interfaces"]]
        for interface, usable in measured.bound.items():
            if usable is False and interface in listed:
                verdict.wrong("interfaces", f"a packet bound to {interface} gets no answer", f"{interface} is listed")
    judge_names(measured, status, whys, privileged, excused, verdict)
    verdict.is_excused = verdict.is_excused or bool(excused)
    if not excused:
        judge_other_ways(measured, status, whys, verdict, works, privileged)
    return verdict


def judge_unsent(measured, family, status, whys, privileged, verdict):
    """A family that is said to work and does not. Returns the family if there is an excuse that was told, or a limit."""
    if measured.mixed(family) and status["path"]["warnings"]:
        return {family}
    kind = excuse(measured, family)
    if kind == "inbound":
        verdict.limits.append(f"v{family}: packets leave, answers do not come in")
        return {family}
    if kind == "gateway" and told(status, whys, GATEWAY_SIGNS):
        return {family}
    if kind == "firewall" and told(status, whys):
        return {family}
    if kind == "firewall" and not knowable(measured, family) and not privileged:
        verdict.limits.append(f"v{family}: {measured.errors(family)}")
        return {family}
    verdict.wrong(f"ipv{family}", f"fails {measured.errors(family)}", f"supports_ipv{family} true")
    return set()


def judge_names(measured, status, whys, privileged, excused, verdict):
    supports = status["path"]["supports_dns"]
    if measured.names_work() == supports:
        return
    if supports:
        if measured.dead and told(status, whys, GATEWAY_SIGNS) or excused and told(status, whys):
            return
        errors = {outcome.error for outcome in measured.names.values()}
        if errors & (REFUSED | {"EACCES"}) and told(status, whys):
            verdict.is_excused = True
            return
        remote = not any(outcome.left for outcome in measured.names.values())
        unseen = remote and errors <= {"not seen"} and measured.filtered and not measured.failed
        if (unseen or excused) and not privileged:
            verdict.limits.append(f"dns: {measured.brief_names()}")
            return
    verdict.wrong("dns", measured.brief_names(), f"supports_dns {supports}")


def excuse(measured, family):
    """Why packets that the table would let out do not arrive, as far as it shows."""
    outcomes = [outcome for outcome in measured.of(family) if not outcome.works]
    # A router that datagrams pass is there, whatever else the kernel did not find.
    silent = all(outcome.error in ("EHOSTUNREACH", "not seen", "no answer") for outcome in outcomes)
    if silent and measured.dead and not measured.works(family, "udp", 443):
        return "gateway"
    if all(outcome.error == "no answer" and not outcome.captive for outcome in outcomes):
        return "inbound"
    return "firewall" if measured.filtered and {outcome.error for outcome in outcomes} <= REFUSED else None


def knowable(measured, family):
    """Whether a process without privileges could have seen it: its own datagrams to the same port are refused."""
    tables = {"EAGAIN", "ENETUNREACH"}
    return all(error.startswith("E") and error not in tables for protocol in ("udp", "datagram")
               for error in measured.errors(family, protocol) or ["not refused"])


def judge_ways(measured, status, whys, verdict, works, excused, privileged):
    """Interface, gateways and sources, of the families that work."""
    path = status["path"]
    families = [family for family in (4, 6) if works[family] is not False and family not in excused]
    families = [family for family in families if any(outcome.works for outcome in measured.of(family))]
    if not families:
        return
    listed = [one["name"] for one in path["interfaces"]]
    seen = [outcome for family in families for outcome in measured.of(family) if outcome.works]
    gateways, sources = bare(path["gateways"]), set(path["sources"])
    if excused:
        # What is said of the family that does not work cannot be seen.
        gateways &= {outcome.gateway for outcome in seen}
        sources &= {outcome.source for outcome in seen}
    wrong = Verdict()
    # Where a filter takes some of the ways of a multipath route, which is the first is not said.
    is_told = measured.mixed(families[0]) and told(status, whys)
    if 4 not in excused and not is_told and (not listed or listed[0] not in measured.ways("interface", families[0])):
        wrong.wrong("interface", f"packets leave by {sorted(measured.ways('interface', families[0]))}", f"interfaces {listed}")
    for interface in sorted({outcome.interface for outcome in seen} - set(listed)):
        wrong.wrong("interface", f"packets leave by {interface}", f"interfaces {listed}")
    if {outcome.gateway for outcome in seen} - {None} != gateways:
        wrong.wrong("gateways", sorted({outcome.gateway for outcome in seen} - {None}), sorted(gateways))
    ways = {(outcome.flow.destination.count(":") > 0, outcome.interface, outcome.gateway): set() for outcome in seen}
    for outcome in seen:
        ways[(":" in outcome.flow.destination, outcome.interface, outcome.gateway)].add(outcome.source)
    every = {outcome.source for outcome in seen}
    if sources - every or not all(of & sources for of in ways.values()):
        wrong.wrong("sources", sorted(every), sorted(sources))
    if wrong.disagreements and rerouted(measured, families) and not privileged:
        verdict.limits.append("packets are routed again: " + "; ".join(one.what for one in wrong.disagreements))
    else:
        verdict.disagreements += wrong.disagreements


def rerouted(measured, families):
    """Whether packets go another way than the forwarding table says, as a chain that sets a mark makes them."""
    return measured.filtered and any((outcome.interface, outcome.gateway) != measured.table[family]
                                     for family in families for outcome in measured.of(family)[:1] if outcome.works)


def judge_other_ways(measured, status, whys, verdict, works, privileged):
    """Datagrams that do not leave where connections do must be told."""
    for family in (4, 6):
        if not works[family] or measured.failed or measured.mixed(family):
            continue
        for protocol in ("udp", "datagram"):
            other = measured.works(family, protocol, 443)
            if other is not False or told(status, whys, OTHER_SIGNS):
                continue
            verdict.wrong(f"{protocol} of IPv{family}", f"tcp works, {protocol} fails {measured.errors(family, protocol)}",
                          f"nothing of it: {path_brief(status)}")


def path_brief(status):
    path = status["path"]
    return (f"{path['status']}/{path['unsatisfied_reason']} v4={path['supports_ipv4']} v6={path['supports_ipv6']} "
            f"dns={path['supports_dns']} {[one['name'] for one in path['interfaces']]} {path['gateways']} "
            f"{path['sources']} {path['warnings']}")


def broken_element(chain):
    return next((step["element"] for step in chain["steps"] if step["verdict"] == "broken"), None)


def judge_why(measured, outcome, why, privileged=True):
    """`nwpath why HOST` against a connection to that host."""
    verdict = Verdict()
    chain = (why["chains"] or [{}])[0]
    family = 6 if ":" in outcome.flow.destination else 4
    what = f"why {outcome.flow.destination}"
    if outcome.works:
        if why["verdict"] == "broken":
            verdict.wrong(what, f"connected by {outcome.interface}", why["message"])
        elif (chain["interface"] or {}).get("name") not in measured.ways("interface", family) | {None, outcome.interface}:
            if rerouted(measured, [family]) and not privileged:
                verdict.limits.append(f"{what}: routed again")
            else:
                verdict.wrong(what, f"connected by {outcome.interface}", f"by {chain.get('interface')}")
    elif why["verdict"] == "ok" and not (measured.mixed(family) and len(measured.ways("interface", family)) > 0):
        if limited(measured, family, privileged):
            verdict.limits.append(f"{what}: {outcome.error}")
        else:
            verdict.wrong(what, f"fails: {outcome.error}", why["message"])
    return verdict


def limited(measured, family, privileged):
    kind = excuse(measured, family)
    return kind == "inbound" or kind == "firewall" and not knowable(measured, family) and not privileged


def judge_internet(measured, why, privileged=True):
    """`nwpath why` against connections to everywhere."""
    verdict = Verdict()
    works = {family: measured.works(family) for family in (4, 6)}
    for chain in why["chains"]:
        family = 4 if chain["family"] == "ipv4" else 6
        element = broken_element(chain)
        if works[family] and chain["verdict"] == "broken" and not (element == "dns" and not measured.names_work()):
            verdict.wrong("why", f"IPv{family} connects", why["message"])
    if not any(works.values()) and None not in works.values() and why["verdict"] == "ok":
        if any(limited(measured, family, privileged) for family in works):
            verdict.limits.append("why")
        else:
            verdict.wrong("why", f"nothing works: {measured.errors(4)} {measured.errors(6)}", why["message"])
    return verdict


def conditions(measured):
    """What `nwpath wait` must say holds."""
    words = [name for name, family in (("ipv4", 4), ("ipv6", 6)) if measured.works(family)]
    words += ["dns"] if measured.names_work() else []
    return words + ["satisfied" if measured.works(4) or measured.works(6) else "unsatisfied"]


# What a daemon that saw the change and one that did not must say alike.
COMPARED = ("status", "unsatisfied_reason", "supports_ipv4", "supports_ipv6", "supports_dns", "gateways", "sources",
            "warnings", "message", "hint")


def judge_pair(live, fresh):
    verdict = Verdict()
    for member in COMPARED:
        mine, other = live["path"].get(member), fresh["path"].get(member)
        if mine != other:
            verdict.wrong(f"live and fresh: {member}", f"fresh {other}", f"live {mine}")
    names = [[one["name"] for one in status["path"]["interfaces"]] for status in (live, fresh)]
    if names[0] != names[1]:
        verdict.wrong("live and fresh: interfaces", f"fresh {names[1]}", f"live {names[0]}")
    return verdict
