# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""One situation from set-up to verdict, in a process of its own."""
import os, pickle, random, select, shutil, signal, subprocess, tempfile, time, traceback

from judge import Verdict, conditions, judge_internet, judge_pair, judge_path, judge_why, path_brief
from measure import Prober, destinations
from published import Daemon, Tool
from sender import Flow
from world import StepError, World, daemon_user

# How long after a change the published answer may differ, beside the audit where only that can see it: a debounce of 0,
# and room for a machine that is loaded.
LIMIT = 2.0
DEADLINE = 60
# How long a program may take to start.
START = 20
# A daemon that has just said its first status still reads, and would see what it is not told.
SETTLED = 0.3


class Result:
    """What came out of a situation: disagreements, limits met, how long the running daemon was wrong."""

    def __init__(self, situation):
        self.situation, self.disagreements, self.limits = situation, [], []
        self.delay = self.seconds = 0.0
        self.error, self.sent, self.said = None, "", ""

    @property
    def is_wrong(self):
        return bool(self.disagreements or self.error)

    def add(self, who, verdict):
        self.disagreements += [one._replace(what=f"{who}{one.what}") for one in verdict.disagreements]
        self.limits += [f"{who}{limit}" for limit in verdict.limits]


def spread(seed, count=24):
    """More destinations, for a choice among several gateways is by hash."""
    rng = random.Random(seed)
    four = [f"{rng.choice([23, 45, 62, 93, 104, 142, 151, 185, 199, 209])}.{rng.randrange(1, 250)}."
            f"{rng.randrange(1, 250)}.{rng.randrange(1, 250)}" for _ in range(count)]
    six = [f"{rng.choice(['2001:4860', '2400:cb00', '2606:2800', '2a00:1450', '2c0f:fb50', '2801:80'])}:"
           f"{rng.randrange(1, 65535):x}::{rng.randrange(1, 65535):x}" for _ in range(count)]
    return [Flow("tcp", destination, 443) for destination in four + six]


class Run:
    """The set-up, the running daemon, the change, the fresh daemon, and what is asked of both."""

    def __init__(self, situation, binary, world, slow=1.0):
        self.situation, self.binary, self.world, self.slow = situation, binary, world, slow
        self.result = Result(situation)
        self.prober = Prober(self.world)
        self.tool = Tool(self.world, binary, situation.capabilities, START * slow)
        self.privileged = bool(situation.capabilities)
        self.destinations = [destinations(4)[0], destinations(6)[0]]
        self.excused = False

    def go(self):
        """Everything in order; the result is in self.result."""
        situation = self.situation
        self.world.play(situation.setup)
        live = self.daemon("live")
        time.sleep(SETTLED)
        self.world.play(situation.change)
        changed = time.monotonic()
        measured, status, whys, verdict = self.hold(live, changed)
        self.result.delay = self.late
        self.result.add("live: ", verdict)
        fresh = self.daemon("fresh")
        measured, other, whys, verdict = self.hold(fresh, time.monotonic())
        self.result.add("fresh: ", verdict)
        self.result.add("", self.pair(live, fresh))
        self.ask(measured, live, whys)
        self.result.sent, self.result.said = measured.brief(), path_brief(other)
        if situation.limit and self.result.disagreements:
            self.result.limits += [f"{situation.limit}: {one.what}" for one in self.result.disagreements]
            self.result.disagreements = []
        for name, daemon in (("live", live), ("fresh", fresh)):
            if not daemon.stop():
                self.result.error = f"the {name} daemon does not end"

    def daemon(self, name):
        situation = self.situation
        return Daemon(self.world, self.binary, name, situation.capabilities, situation.audit, seconds=START * self.slow)

    def whys(self):
        return [self.tool.why(destination) for destination in self.destinations] + [self.tool.why()]

    def hold(self, daemon, since):
        """Measures and reads until both agree, or for as long as is allowed."""
        more, whys, self.late = [], [], 0.0
        while True:
            status = daemon.status()
            measured = self.prober.measure([one["name"] for one in status["path"]["interfaces"]], more)
            status = daemon.status()
            verdict = judge_path(measured, status, whys, self.privileged)
            if not whys and (verdict.disagreements or verdict.limits):
                whys = self.whys()
                verdict = judge_path(measured, status, whys, self.privileged)
            self.excused = verdict.is_excused
            if not verdict.disagreements and not verdict.limits:
                return measured, status, whys, verdict
            self.late = time.monotonic() - since
            if self.late > LIMIT * self.slow + (self.situation.audit or 0):
                return measured, status, whys, verdict
            if any(one.what in ("gateways", "sources") for one in verdict.disagreements) and not more:
                more = spread(7)
            else:
                time.sleep(0.1)
                whys = self.whys()

    def pair(self, live, fresh):
        """The running daemon against the fresh one."""
        end = time.monotonic() + self.slow + (self.situation.audit or 0)
        while True:
            verdict = judge_pair(live.status(), fresh.status())
            if not verdict.disagreements or time.monotonic() > end:
                failed = sorted(address for address, _ in self.prober.failed_neighbours())
                verdict.disagreements = [one._replace(sent=f"{one.sent}, the kernel finds no {failed}") if failed else one
                                         for one in verdict.disagreements]
                return verdict
            time.sleep(0.1)

    def ask(self, measured, daemon, whys):
        """`why` and `wait` against the same measurement."""
        for attempt in (1, 2):
            whys = self.whys()
            verdicts = [judge_why(measured, outcome, why, self.privileged)
                        for destination, why in zip(self.destinations, whys)
                        for outcome in measured.outcomes
                        if outcome.flow.destination == destination and outcome.flow.protocol == "tcp"]
            verdicts.append(judge_internet(measured, whys[-1], self.privileged))
            if not any(verdict.disagreements for verdict in verdicts):
                break
            measured = self.prober.measure()
        for verdict in verdicts:
            self.result.add("", verdict)
        # Where what fails is told by a warning, measured conditions are not those that are published.
        if not self.result.disagreements and not self.result.limits and not measured.failed and not self.excused:
            holds, missing = self.tool.wait(daemon, *conditions(measured))
            if not holds:
                verdict = Verdict()
                verdict.wrong("wait", " ".join(conditions(measured)), missing)
                self.result.add("", verdict)


def run_in_child(situation, binary, folder, pipe, slow):
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    began = time.monotonic()
    result, run = Result(situation), None
    try:
        os.chmod(folder, 0o755)
        run = Run(situation, binary, World(folder, daemon_user()), slow)
        result = run.result
        run.go()
    except StepError as error:
        result.error = f"cannot be set up: {error}"
    except Exception:
        result.error = traceback.format_exc()
    result.seconds = time.monotonic() - began
    with os.fdopen(pipe, "wb") as stream:
        pickle.dump(result, stream)


def within_reach(binary, folder, user):
    """The program, or a copy of it where the daemon's user cannot get at it."""
    as_user = ["setpriv", "--reuid", str(user), "--clear-groups"] if user else []
    if subprocess.run(as_user + ["test", "-x", binary]).returncode == 0:
        return binary
    return shutil.copy(binary, f"{folder}/nwpath")


class Pool:
    """Runs situations in several processes at once, each in namespaces of its own."""

    def __init__(self, binary, width, slow=1.0):
        self.binary, self.width, self.slow, self.running = binary, width, slow, {}

    def start(self, situation, folder):
        folder = tempfile.mkdtemp(dir=folder)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            try:
                run_in_child(situation, self.binary, folder, writing, self.slow)
            finally:
                os._exit(1)
        os.close(writing)
        self.running[reading] = (child, situation, folder, time.monotonic())

    def finish(self, descriptor):
        child, situation, folder, began = self.running.pop(descriptor)
        # Its programs hold the other end too: the result says itself where it ends.
        with os.fdopen(descriptor, "rb") as stream:
            try:
                result = pickle.load(stream)
            except (EOFError, pickle.UnpicklingError):
                result = Result(situation)
                result.error = f"its process ended without a result after {time.monotonic() - began:.0f} s"
        self.end(child, folder)
        return result

    @staticmethod
    def end(child, folder):
        """Ends a situation with all its programs, and its namespaces with them."""
        try:
            os.killpg(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass  # it has not got that far
        os.waitpid(child, 0)
        shutil.rmtree(folder, ignore_errors=True)

    def run(self, situations):
        """Yields results as they come."""
        with tempfile.TemporaryDirectory(prefix="nwpath-oracle-") as folder:
            os.chmod(folder, 0o755)
            self.binary = within_reach(self.binary, folder, daemon_user())
            try:
                yield from self.results(iter(situations), folder)
            finally:
                for child, _, inner, _ in self.running.values():
                    self.end(child, inner)

    def results(self, situations, folder):
        more = True
        while more or self.running:
            while more and len(self.running) < self.width:
                situation = next(situations, None)
                more = situation is not None
                if more:
                    self.start(situation, folder)
            ready, _, _ = select.select(list(self.running), [], [], 1)
            for descriptor in ready:
                yield self.finish(descriptor)
            for child, _, _, began in self.running.values():
                if time.monotonic() - began > DEADLINE * self.slow:
                    os.killpg(child, signal.SIGKILL)
