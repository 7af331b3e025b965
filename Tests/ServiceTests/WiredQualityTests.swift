// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// What a cable tells about the path (rule S39), from the kernel to the document.
@Suite(.inNamespace) struct WiredQualityTests {
    private let namespace = Namespace.current
    private let loop = Namespace.current.loop

    private func quality(_ service: Service) throws -> String? {
        try service.json("/api/v1/status")["path"]?["link_quality"]?.string
    }

    @Test func `a fast cable is good from the first path on, and its return needs no second event`() async throws {
        try Uplink.make()
        try Uplink.connect()
        let service = try await Service()
        #expect(try quality(service) == "good")
        #expect(try service.records("path.snapshot").first?["path"]?["link_quality"]?.string == "good")
        try namespace.set("peer0", isUp: false)
        try await service.eventually("path.changed")
        try namespace.set("peer0", isUp: true)
        try await service.eventually("path.changed", count: 2)
        try await loop.eventually { try quality(service) == "good" }
        // Longer than the service waits before it asks about interfaces that changed.
        await loop.sleep(for: .milliseconds(1300))
        let changes = try service.records("path.changed")
        let good = changes.last?["path"]?["link_quality"]?.string == "good"
        let told = try service.records().compactMap { $0["message"]?.string }
        #expect(changes.count == 2 && good, "\(changes.map { $0["changed"] ?? .null }) \(told)")
    }

    @Test func `a slow cable is minimal, and the status stays what it is (S39, S51)`() async throws {
        // A tap works while a program holds it.
        let script = """
            import fcntl, struct, sys, time
            tap = open('/dev/net/tun', 'r+b', buffering=0)
            fcntl.ioctl(tap, 0x400454ca, struct.pack('16sH', b'tap0', 0x1002))
            time.sleep(600)
            """
        let holder = try RunningCommand(["nsenter", "--net=\(namespace.path)", "python3", "-c", script])
        await loop.eventually { (try? namespace.ip("link show tap0")) != nil }
        try namespace.run("ethtool -s tap0 speed 10 duplex half")
        try namespace.ipBatch([
            "link set tap0 addrgenmode none", "link set tap0 up", "addr add 192.0.2.2/24 dev tap0",
            "route add default via 192.0.2.1",
        ])
        let scratch = try Scratch()
        try scratch.write("interfaces: {tap0: {type: wiredEthernet}}\n", to: "nwpath.yaml")
        let service = try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch)
        #expect(try quality(service) == "minimal")
        #expect(try service.json("/api/v1/status")["path"]?["status"]?.string == "satisfied")
        // Set by hand, it is heard without a change of any link.
        try namespace.run("ethtool -s tap0 speed 1000 duplex full")
        try await loop.eventually { try quality(service) == "good" }
        let change = try #require(try service.records("path.changed").last)
        #expect(change["path"]?["status"]?.string == "satisfied")
        #expect(change["changed"]?.array?.compactMap(\.string) == ["link_quality"])
        withExtendedLifetime(holder) {}
    }
}
