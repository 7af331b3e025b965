# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The service under test on the device, as nobody and without capabilities, and what it reports."""
import calendar, json, os, subprocess, time

import measure
from network import _flow

NOBODY = "65534"
UNPRIVILEGED = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--bounding-set=-all",
                "--inh-caps=-all", "--no-new-privs"]


def moment(event):
    """The `time` of a record, as time.time() counts."""
    whole, _, rest = event["time"].rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{rest or 0}")


class Service(measure.Nwpath):
    """nwpath on the device; with `diagnosis`, it examines the network against the servers of the lab."""

    def __init__(self, world, diagnosis=False, traffic=True):
        super().__init__()
        self.world, self.diagnosis, self.reads_traffic = world, diagnosis, traffic

    def start(self):
        world = self.world
        os.chmod(self.directory, 0o755)
        home = self.directory / "home"
        home.mkdir()
        os.chown(home, int(NOBODY), int(NOBODY))
        targets = {"dns": {"resolv_conf": world.resolver}}
        if self.diagnosis:
            targets["diagnosis"] = dict(world.targets, enabled="true")
        if not self.reads_traffic:
            targets["traffic"] = {"enabled": "false"}
        configuration = self.directory / "nwpath.yaml"
        configuration.write_text("".join(f"{key}: {_flow(value)}\n" for key, value in targets.items())
                                 .replace('"true"', "true").replace('"false"', "false"))
        words = [self.binary, "serve", "--config", configuration, "--listen", f"unix:{self.socket}",
                 "--log-file", self.log, "--state-dir", home / "state", "--no-mdns", "--connectivity", "off"]
        world.device.enter()
        with open(self.directory / "stderr", "wb") as errors:
            self.process = subprocess.Popen([str(word) for word in world.as_resolver(UNPRIVILEGED + words)],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)

    @property
    def log(self):
        return self.directory / "home" / "events.jsonl"

    @property
    def socket(self):
        return self.directory / "home" / "api.sock"

    def traffic(self):
        """The document of the connections; None when this program has none, or no time to answer."""
        try:
            status, body = self.get("/api/v1/traffic?addresses=true")
        except OSError:
            return None
        return json.loads(body) if status == 200 else None


class Watch:
    """The records from now on."""

    def __init__(self, service):
        self.service, self.begin = service, len(service.events())

    def events(self):
        return self.service.events()[self.begin:]

    def first(self, wanted, seconds):
        """The first record that is wanted, or None."""
        end = time.monotonic() + seconds
        while True:
            found = next(filter(wanted, self.events()), None)
            if found or time.monotonic() > end:
                return found
            time.sleep(0.05)
