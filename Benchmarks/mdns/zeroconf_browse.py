# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Browses every type with python-zeroconf: a line for each service once it is resolved (=).

With the word `changes` it says what is found (+) and removed (-) as well, and resolves anew what has changed.
ServiceBrowser follows the types that the enumeration names, and each instance is resolved by async_request, as its
documentation shows.
"""
import asyncio, signal, sys

from zeroconf import IPVersion, ServiceStateChange
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

TELLS_CHANGES = "changes" in sys.argv[1:]


async def main():
    zeroconf = AsyncZeroconf(ip_version=IPVersion.V4Only)
    browsers, tasks, known = [], set(), set()

    async def resolve(kind, name):
        for _ in range(3):
            info = AsyncServiceInfo(kind, name)
            if await info.async_request(zeroconf.zeroconf, 3000) and info.parsed_addresses() and info.text:
                version = (info.properties.get(b"v") or b"").decode()
                print("=", name.partition(".")[0], info.port, version, flush=True)
                return

    def is_new(name, state_change):
        if state_change is not ServiceStateChange.Added or name in known:
            return False
        known.add(name)
        return True

    def changed(zeroconf, service_type, name, state_change):
        if TELLS_CHANGES:
            if state_change is not ServiceStateChange.Updated:
                print("+" if state_change is ServiceStateChange.Added else "-", name.partition(".")[0], flush=True)
            if state_change is ServiceStateChange.Removed:
                return
        elif not is_new(name, state_change):
            return
        task = asyncio.ensure_future(resolve(service_type, name))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def named(zeroconf, service_type, name, state_change):
        if is_new(name, state_change):
            browsers.append(AsyncServiceBrowser(zeroconf, [name], handlers=[changed]))

    browsers.append(AsyncServiceBrowser(zeroconf.zeroconf, ["_services._dns-sd._udp.local."], handlers=[named]))
    done = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, done.set)
    await done.wait()


sys.exit(asyncio.run(main()))
