# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Follows every type with python-zeroconf: a line for each service found (+), resolved (=) or removed (-)."""
import asyncio, signal, sys

from zeroconf import IPVersion, ServiceStateChange
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf


async def main():
    zeroconf = AsyncZeroconf(ip_version=IPVersion.V4Only)
    browsers, tasks, types = [], set(), set()

    async def resolve(kind, name):
        for _ in range(3):
            info = AsyncServiceInfo(kind, name)
            if await info.async_request(zeroconf.zeroconf, 3000) and info.parsed_addresses():
                version = (info.properties.get(b"v") or b"").decode()
                print("=", name.partition(".")[0], info.port, version, flush=True)
                return

    def changed(zeroconf, service_type, name, state_change):
        if state_change is ServiceStateChange.Removed:
            print("-", name.partition(".")[0], flush=True)
            return
        if state_change is ServiceStateChange.Added:
            print("+", name.partition(".")[0], flush=True)
        task = asyncio.ensure_future(resolve(service_type, name))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def named(zeroconf, service_type, name, state_change):
        if state_change is ServiceStateChange.Added and name not in types:
            types.add(name)
            browsers.append(AsyncServiceBrowser(zeroconf, [name], handlers=[changed]))

    browsers.append(AsyncServiceBrowser(zeroconf.zeroconf, ["_services._dns-sd._udp.local."], handlers=[named]))
    done = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, done.set)
    await done.wait()


sys.exit(asyncio.run(main()))
