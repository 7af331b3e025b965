# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""What nwpath says: a daemon's status, `nwpath why` and `nwpath wait`."""
import http.client, json, os, socket, subprocess, time

CONFIGURATION = """\
providers: {networkmanager: false, resolved: false, modemmanager: false}
"""


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=20)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self.path)


class Daemon:
    """A running service without debounce; ready when its first status is known."""

    def __init__(self, world, binary, name, capabilities=(), audit=None, configuration="", seconds=20):
        self.folder = f"{world.folder}/{name}"
        os.mkdir(self.folder)
        os.chown(self.folder, world.user, world.user)
        with open(f"{self.folder}/nwpath.yaml", "w") as file:
            file.write(CONFIGURATION + configuration + (f"audit_interval: {audit}s\n" if audit else ""))
        self.path = f"{self.folder}/api.sock"
        words = world.as_user(capabilities) + [
            binary, "serve", "--config", f"{self.folder}/nwpath.yaml", "--listen", f"unix:{self.path}", "--log-file",
            f"{self.folder}/events.jsonl", "--state-dir", self.folder, "--no-mdns", "--debounce", "0"]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        env={"HOME": self.folder, "PATH": os.environ["PATH"]})
        end = time.monotonic() + seconds
        while not self.ready():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"nwpath serve does not start: {self.process.stderr.read()}")
            time.sleep(0.005)

    def ready(self):
        if not os.path.exists(self.path):
            return False
        try:
            return self.get("/api/v1/status") is not None
        except OSError:
            return False

    def get(self, route):
        connection = UnixConnection(self.path)
        connection.request("GET", route)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return json.loads(body) if answer.status == 200 else None

    def status(self):
        return self.get("/api/v1/status")

    def stop(self):
        """Ends the daemon; False if it had to be killed."""
        self.process.terminate()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return False
        return True


class Tool:
    """The commands `why` and `wait`, run as the daemon's user."""

    def __init__(self, world, binary, capabilities=(), seconds=20):
        self.seconds = seconds
        self.prefix = world.as_user(capabilities) + [binary]
        self.environment = {"HOME": world.folder, "PATH": os.environ["PATH"]}

    def run(self, *words):
        done = subprocess.run(self.prefix + list(words), capture_output=True, text=True, env=self.environment,
                              timeout=self.seconds)
        return done.returncode, done.stdout, done.stderr

    def why(self, *hosts):
        code, out, err = self.run("why", *hosts, "--json")
        try:
            return json.loads(out)
        except ValueError:
            raise RuntimeError(f"nwpath why {' '.join(hosts)}: exit {code}: {err.strip()}") from None

    def wait(self, daemon, *conditions):
        """Whether all hold; with what is missing."""
        code, out, err = self.run("wait", *conditions, "--timeout", "5s", "--socket", daemon.path, "--json")
        return code == 0, out.strip() or err.strip()
