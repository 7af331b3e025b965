# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""One network from its seed to its judgement: built, measured, broken, measured again beside nwpath."""
import json, os, select, shutil, signal, socket, subprocess, time

import clients
from faults import FAULTS, choose, choose_destination
from judge import Result
from plan import Plan, missing
from world import World

PYTHON = shutil.which("python3", path=os.defpath) or "python3"
HEAD_START = 0.7  # seconds that the clients have before nwpath starts
LIMIT = 25


class Unfit(RuntimeError):
    """A fault that does not fit the network of a seed."""


class Lab:
    def __init__(self, binary, certificates):
        self.binary, self.certificates = binary, certificates
        with open(clients.__file__) as file:
            self.source = file.read()

    def compose(self, seed, name, healthy):
        plan = Plan(seed, missing())
        to_destination, faults = choose(plan, healthy)
        if name:
            faults = [FAULTS[name]]
            if not faults[0].when(plan):
                raise Unfit(f"{name} does not fit the network of {seed}")
            to_destination = bool(faults[0].to)
        return plan, to_destination, faults

    def fitting(self, seed, name, healthy, step=100_000):
        """Composes a seed, or the first one of a row that a given fault fits."""
        for attempt in range(1000):
            try:
                return self.compose(seed + attempt * step, name, healthy)
            except Unfit:
                pass
        raise Unfit(f"{name} fits no network here")

    def judge(self, seed, name=None, healthy=None):
        """Plays a seed; where a fault is given, the next network that it fits."""
        plan, to_destination, faults = self.fitting(seed, name, healthy)
        with World(plan, self.certificates) as world:
            return self.play(world, to_destination, faults)

    def play(self, world, to_destination, faults, report=lambda *words: None):
        settle(world)
        baseline = self.clients(world, 1)
        baseline = json.loads(baseline.finish()[0])
        if to_destination:
            world.destination = choose_destination(world, faults)
        if world.plan.forwarder:
            world.forwarder.process.send_signal(signal.SIGHUP)  # it forgets the names of the measurement before
        for each in faults:
            each.break_it(world)
        report(world, baseline)
        measuring = self.clients(world, 2)
        try:
            measuring.wait_for_round(HEAD_START)
            start = time.monotonic()
            status, document, complaint = self.diagnose(world)
            seconds = time.monotonic() - start
            rounds = [json.loads(line) for line in measuring.finish()]
        finally:
            measuring.end()
        return Result(world, faults, baseline, rounds, status, document, seconds, complaint)

    def clients(self, world, rounds):
        user = world.client_user
        words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        return Clients(world, words + [PYTHON, "-c", self.source, json.dumps(clients.tasks_of(world)), str(rounds)])

    def diagnose(self, world, *more):
        """The exit status of nwpath, its object, and what it said beside."""
        words = [self.binary, "diagnose", "--json", "--config", world.configuration, *more]
        program = world.start(words + ([world.destination] if world.destination else []))
        try:
            out, error = program.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return -1, {}, f"runs for more than {LIMIT} seconds"
        finally:
            program.kill()
            program.wait()
        try:
            return program.returncode, json.loads(out), error.strip()[-200:]
        except ValueError:
            return program.returncode, {}, f"no object: {error.strip()[-300:]}"

    def show(self, seed, name, healthy):
        """Prints everything about a network."""
        plan, to_destination, faults = self.fitting(seed, name, healthy)
        print(f"seed {plan.seed}: {plan.features()}\nfaults: {', '.join(each.name for each in faults) or 'none'}")
        with World(plan, self.certificates) as world:
            def report(world, baseline):
                print(f"destination: {world.destination}\nconfiguration:\n{open(world.configuration).read()}")
                print(f"resolv.conf:\n{open(world.resolver).read()}")
                for title, machine in (("device", world.device), ("gateway", world.gateway)):
                    for words in ("ip -br addr", "ip route", "ip -6 route", "nft list ruleset"):
                        words = words.split()
                        print(f"--- {title}: {' '.join(words)}\n{machine.run(*words).stdout.rstrip()}")
                print("--- before the fault: " + (", ".join(
                    f"{name} {found[2]}" for name, found in baseline.items() if not found[0]) or "all clients work"))

            result = self.play(world, to_destination, faults, report)
            print(f"--- clients that fail: {result.why or 'none'}; in part: {result.flaky}; slow: {result.slow}")
            words = [self.binary, "diagnose", "--no-color", "--config", world.configuration]
            program = world.start(words + ([world.destination] if world.destination else []))
            out, error = program.communicate(timeout=LIMIT)
            print(f"--- nwpath, once more, as text:\n{out}{error}")
            print(f"--- its object:\n{json.dumps(result.document, indent=1, ensure_ascii=False)}")
            print(result.line())
        return 0


class Clients:
    """The program `clients.py` on the device, which prints one line for each round."""

    def __init__(self, world, words):
        self.process = world.start(words, start_new_session=True)
        self.lines = []

    def wait_for_round(self, seconds):
        """Waits for the end of the first round, but no longer than some seconds."""
        if select.select([self.process.stdout], [], [], seconds)[0]:
            self.lines.append(self.process.stdout.readline())

    def finish(self):
        """The lines of all rounds."""
        try:
            out, error = self.process.communicate(timeout=15)
        except BaseException:
            self.end()
            raise
        self.lines += out.splitlines()
        if not self.lines or self.process.returncode:
            raise RuntimeError(f"clients failed: {error[-500:]}")
        return self.lines

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def settle(world):
    """Waits until the new cables carry packets: the peer rejects a datagram, an anchor returns one by each family."""
    plan = world.plan
    wait_for_packets(world, plan.peer if plan.v4 else plan.peer6, 9)
    for address in [plan.public["a"]] * plan.v4 + [plan.public6["a"]] * plan.v6:
        wait_for_packets(world, address, 7007)


def wait_for_packets(world, address, port, seconds=2):
    world.device.enter()
    deadline = time.monotonic() + seconds
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.settimeout(0.05)
        while time.monotonic() < deadline:
            try:
                made.connect((address, port))
                made.send(b"settle")
                made.recv(100)
                return
            except ConnectionRefusedError:
                return
            except OSError:
                time.sleep(0.01)
