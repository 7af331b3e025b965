# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""In the guest: plays scenarios, several at once, each in a process of its own, and writes a record a line."""
import argparse, fcntl, json, math, os, re, signal, subprocess, sys, time, traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from scenarios import SCENARIOS  # noqa: E402

RESULTS = "/out/results.jsonl"
LOCK = "/run/results.lock"
DEADLINE = 200
ORACLE = os.path.join(os.path.dirname(HERE), "Oracle/oracle")
# What a machine without these modules leaves out: all of it is played first.
ORACLE_NAMES = ("bond/", "team/", "vrf/", "wireguard/")


def report(record):
    """Appends a record, whole: several processes do."""
    # Writes that only append overwrite one another on 9p.
    with open(LOCK, "w") as lock, open(RESULTS, "ab", buffering=0) as file:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file.write(json.dumps(record).encode() + b"\n")


def loaded(module):
    return subprocess.run(["modprobe", module], capture_output=True).returncode == 0


def playable(names):
    """The names whose modules this kernel has; the others are reported."""
    has = {}
    for name in names:
        for module in SCENARIOS[name].needs:
            if module not in has and module != "mac80211_hwsim":
                has[module] = loaded(module)
    radios = sum(SCENARIOS[name].radios for name in names)
    has["mac80211_hwsim"] = not radios or subprocess.run(["modprobe", "mac80211_hwsim", f"radios={radios}"],
                                                         capture_output=True).returncode == 0
    for name in names:
        missing = [module for module in SCENARIOS[name].needs if not has[module]]
        if missing:
            report({"record": "left_out", "scenario": name, "reason": f"this kernel has no {', '.join(missing)}"})
        else:
            yield name


def radios():
    """The simulated radios: (name, interface)."""
    said = subprocess.run(["iw", "dev"], capture_output=True, text=True).stdout
    found = re.findall(r"phy#(\d+)\n\s+Interface (\S+)", said)
    return sorted((f"phy{number}", interface) for number, interface in found)


def folder(name):
    """Where a scenario writes: not in /out, for sockets cannot be made on 9p."""
    return "/run/lab/" + re.sub("[^A-Za-z0-9.-]+", "_", name)


def play(name, binary, air, slow):
    """One scenario, in the process that was forked for it."""
    from scene import Scene
    began, error = time.monotonic(), None
    try:
        scene = Scene(name, folder(name), binary, report, air, slow)
        SCENARIOS[name].play(scene)
        scene.close()
    except Exception:
        error = traceback.format_exc()
    report({"record": "end", "scenario": name, "seconds": time.monotonic() - began, "error": error})


def start(name, binary, air, slow):
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            play(name, binary, air, slow)
        finally:
            os._exit(0)
    return child


def end(child, name):
    """Ends a scenario with all its programs, and its namespaces with them; keeps what they wrote."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        pass
    subprocess.run(["sh", "-c", f'cd "$1" && tar -cf - $(find . -type f) | tar -xf - -C /out --one-top-level="${{1##*/}}"', "sh",
                    folder(name)], stderr=subprocess.DEVNULL)


def play_all(names, binary, width, slow):
    import scene  # noqa: F401 - once, before processes are forked
    waiting, running, air = list(playable(names)), {}, radios()
    while waiting or running:
        while waiting and len(running) < width:
            name = waiting.pop(0)
            own = [air.pop(0) for _ in range(SCENARIOS[name].radios)]
            running[start(name, binary, own, slow)] = (name, time.monotonic() + DEADLINE * slow)
        child, _ = os.waitpid(-1, os.WNOHANG)
        if child in running:
            end(child, running.pop(child)[0])
        for one, (name, over) in running.items():
            if time.monotonic() > over:
                report({"record": "end", "scenario": name, "seconds": DEADLINE * slow,
                        "error": f"not over after {DEADLINE * slow:.0f} s"})
                end(one, name)
                running[one] = (name, math.inf)
        time.sleep(0.1)


def oracle(binary, seconds, slow):
    """The oracle's situations with these modules, and a random choice of the others; a program starts slowly here."""
    for words in ([*ORACLE_NAMES], ["--seconds", str(seconds), "--seed", "2"]):
        done = subprocess.Popen([sys.executable, ORACLE, "--binary", binary, "--width", "2", "--slow", str(3 * slow), *words],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in done.stdout:
            report({"record": "text", "text": line.rstrip()})
        report({"record": "oracle", "status": done.wait(), "line": ""})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--width", type=int, default=3)
    parser.add_argument("--slow", type=float, default=1)
    parser.add_argument("--oracle", type=int, default=0)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    play_all(options.names, options.binary, options.width, options.slow)
    if options.oracle:
        oracle(options.binary, options.oracle, options.slow)


if __name__ == "__main__":
    main()
