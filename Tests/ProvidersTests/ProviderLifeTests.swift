// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import PathModel
import TestSupport
import Testing

@testable import Providers

/// Providers that are started, stopped and refreshed in any order.
@Suite(.inNamespace) struct ProviderLifeTests {
    private let loop = Namespace.current.loop

    @Test func `a radio device that goes away leaves what it said, as stale, and comes back`() async throws {
        let scratch = try Scratch()
        try Command.run(["mkfifo", scratch("rfkill")])
        let provider = RadioSwitchProvider(loop: loop, device: scratch("rfkill"), sysfs: scratch("none"))
        var writer: Int32 = unsafe open(scratch("rfkill"), O_RDWR)
        #expect(write(to: writer, [0, 0, 0, 0, 1, 0, 1, 0]) == 8)
        provider.start()
        #expect(provider.facts.isWifiBlocked)
        // The last writer closes: the end of the pipe stands for a device that was removed.
        close(writer)
        await loop.eventually { provider.health.isStale }
        #expect(provider.facts.isWifiBlocked)
        writer = unsafe open(scratch("rfkill"), O_RDWR)
        #expect(write(to: writer, [0, 0, 0, 0, 1, 0, 0, 0]) == 8)
        provider.refresh()
        #expect(provider.health.state == .active && !provider.facts.isWifiBlocked)
        provider.stop()
        close(writer)
    }

    private func write(to descriptor: Int32, _ bytes: [UInt8]) -> Int {
        unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    @Test func `stopping twice, or before the start, does nothing`() throws {
        let bus = try PrivateBus(running: false)
        let connection = bus.connect(loop)
        connection.stop()
        connection.stop()
        let wireless = WirelessProvider(loop: loop)
        wireless.stop()
        wireless.refresh()
        wireless.start()
        wireless.start()
        wireless.stop()
        let scratch = try Scratch()
        let watcher = ResolverConfigurationMonitor(loop: loop, path: scratch("resolv.conf"))
        watcher.stop()
        watcher.start()
        watcher.start()
        watcher.stop()
        #expect(watcher.configuration.servers.count == 1 && !connection.isReady)
    }

    @Test func `a connection that was stopped does not come back by itself`() async throws {
        let bus = try PrivateBus(running: false)
        let connection = bus.connect(loop)
        await loop.eventually { connection.lastError != nil }
        connection.stop()
        try bus.start()
        await loop.sleep(for: .milliseconds(150))
        #expect(!connection.isReady)
        connection.start()
        await loop.eventually { connection.isReady }
        connection.stop()
    }

    @Test(arguments: ["", "nonsense", "unix:path=", "tcp:host=", "unix:path=/", "unix:path=/dev/null"])
    func `a bad address is an error, not a crash`(address: String) async {
        let timing = BusConnection.Timing(limit: .milliseconds(50), shortestPause: .seconds(60))
        let connection = BusConnection(loop: loop, address: address, timing: timing)
        connection.start()
        await loop.eventually { connection.lastError != nil }
        #expect(!connection.isReady)
        connection.stop()
    }

    @Test func `a peer that speaks no D-Bus is left in time`() async throws {
        let scratch = try Scratch()
        let peer = try RunningCommand([
            "/usr/bin/python3", "-c",
            """
            import socket
            s = socket.socket(socket.AF_UNIX); s.bind('\(scratch("bus"))'); s.listen(8)
            kept = []
            while True:
                c, _ = s.accept()
                kept.append(c)
                try:
                    c.send(b'HTTP/1.1 400 Bad Request' + bytes([13, 10, 13, 10]))
                except OSError:
                    pass
            """,
        ])
        await loop.eventually(within: .seconds(15)) { unsafe access(scratch("bus"), F_OK) == 0 }
        let timing = BusConnection.Timing(limit: .milliseconds(100), shortestPause: .milliseconds(20))
        let connection = BusConnection(loop: loop, address: "unix:path=\(scratch("bus"))", timing: timing)
        connection.start()
        await loop.eventually { connection.lastError != nil }
        #expect(!connection.isReady)
        connection.stop()
        _ = peer.processID
    }
}
