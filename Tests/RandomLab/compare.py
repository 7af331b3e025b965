# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""What usual tools say of the composed networks: a careful script of ip, ping, dig and curl, and mtr.

Each answers with a fault domain in the terms of the judge, or with "nothing"; it is right when that is a domain of the
fault. nwpath is counted by its first verdict and by its fault domain.
"""
import json, re, shutil

from judge import DOMAINS
from world import World


class Script:
    """What an experienced operator does, step by step, as a script."""

    def __init__(self, world):
        self.world, self.plan = world, world.plan

    def works(self, *words):
        return self.world.device.run(*self.world.on_device(list(words)), check=False).returncode == 0

    def answer(self):
        """The fault domain that it names."""
        plan, run = self.plan, self.world.device.run
        link = run("ip", "-br", "link", "show", plan.interface, check=False).stdout
        if "LOWER_UP" not in link:
            return "host" if "NO-CARRIER" not in link else "link"
        family = "4" if plan.v4 else "6"
        route = run("ip", f"-{family}", "route", "show", "default").stdout
        if " via " not in route:
            return "host"
        gateway = re.search(r"via (\S+)(?: dev (\S+))?", route)
        where = gateway[1] + (f"%{gateway[2] or plan.interface}" if gateway[1].startswith("fe80") else "")
        if not self.works("ping", "-n", "-c", "2", "-i", "0.2", "-W", "1", where):
            return "gateway"
        anchors = [(plan.public if plan.v4 else plan.public6)[key] for key in plan.anchors]
        answering = [self.works("ping", "-n", "-c", "2", "-i", "0.2", "-W", "1", anchor) for anchor in anchors]
        if not any(answering):
            return "provider"
        look = ["dig", "+time=2", "+tries=1", "+short"] if shutil.which("dig") else ["timeout", "2", "getent", "ahosts"]
        if not self.works(*look, plan.service_name):
            return "remote"
        return self.pages(answering)

    def pages(self, answering):
        codes = []
        for url in (f"http://{self.plan.service_name}/", f"https://{self.plan.service_name}/"):
            codes.append(self.works("curl", "-sS", "-f", "-o", "/dev/null", "--max-time", "3", url))
        if not any(codes):
            return "provider"
        return "nothing" if all(codes) and all(answering) else "remote"


def mtr(world):
    """The fault domain that a trace to an anchor shows: where it ends, or where loss begins."""
    plan = world.plan
    target = (plan.public if plan.v4 else plan.public6)["a"]
    words = world.on_device(["mtr", "-n", "-j", "-c", "5", "-i", "0.3", "-G", "1", target])
    out = world.device.run(*words, check=False).stdout
    try:
        hops = json.loads(out)["report"]["hubs"]
    except (ValueError, KeyError):
        return "host"
    if not hops or hops[-1]["host"] != target:
        known = [hop["count"] for hop in hops if hop["host"] != "???"]
        return "provider" if known and max(known) > plan.routers else "gateway"
    if hops[-1]["Loss%"] >= 5:
        first = next(hop["count"] for hop in hops if hop["Loss%"] >= 5)
        return "link" if first == 1 else "provider"
    return "nothing"


def compare(lab, seeds):
    """One line for each network, and the shares at the end."""
    right, counted = {}, 0
    for seed in seeds:
        result, said = tools_of(lab, seed)
        if result.verdict not in ("RIGHT", "WRONG"):
            continue
        counted += 1
        accepted = {"nothing"} if result.healthy else result.domains
        found = {tool: domain in accepted for tool, domain in said.items()}
        found["nwpath"] = result.verdict == "RIGHT"
        found["nwpath's fault domain"] = (result.domain == "nobody") if result.healthy else bool(
            DOMAINS.get(result.domain, {result.domain}) & result.domains)
        for tool, fine in found.items():
            right[tool] = right.get(tool, 0) + fine
        words = ", ".join(f"{tool} {domain}" for tool, domain in said.items())
        print(f"{seed:6} {', '.join(result.faults) or 'healthy'} ({'/'.join(sorted(accepted))}): {words}, nwpath "
              f"{' '.join(result.verdicts) or 'nothing'} in {result.domain}", flush=True)
    for tool, count in right.items():
        print(f"    {tool}: right in {count} of {counted} = {count / counted:.1%}")
    return 0


def tools_of(lab, seed):
    """What nwpath and, in the same broken network, the tools say."""
    plan, _, faults = lab.compose(seed, None, None)
    with World(plan, lab.certificates) as world:
        result = lab.play(world, False, [each for each in faults if not each.to])
        said = {"script": Script(world).answer()}
        if shutil.which("mtr"):
            said["mtr"] = mtr(world)
    return result, said

