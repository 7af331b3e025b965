# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Browses every type with python-zeroconf and prints the name of each service once it is resolved.

ServiceBrowser follows the types that the enumeration names, and each instance is resolved by async_request, as its
documentation shows.
"""
import asyncio, signal, sys

from zeroconf import IPVersion, ServiceStateChange
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf


async def main():
    zeroconf = AsyncZeroconf(ip_version=IPVersion.V4Only)
    browsers, tasks, known = [], set(), set()

    async def resolve(kind, name):
        for _ in range(3):
            info = AsyncServiceInfo(kind, name)
            if await info.async_request(zeroconf.zeroconf, 3000) and info.parsed_addresses() and info.text:
                print(name, flush=True)
                return

    def found(zeroconf, service_type, name, state_change):
        if state_change is ServiceStateChange.Added and name not in known:
            known.add(name)
            task = asyncio.ensure_future(resolve(service_type, name))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    def named(zeroconf, service_type, name, state_change):
        if state_change is ServiceStateChange.Added and name not in known:
            known.add(name)
            browsers.append(AsyncServiceBrowser(zeroconf, [name], handlers=[found]))

    browsers.append(AsyncServiceBrowser(zeroconf.zeroconf, ["_services._dns-sd._udp.local."], handlers=[named]))
    done = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, done.set)
    await done.wait()


sys.exit(asyncio.run(main()))
