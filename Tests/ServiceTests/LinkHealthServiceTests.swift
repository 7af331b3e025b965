// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Diagnosis
import EventHub
import LinuxIO
import OrderedJSON
import PathEngine
import TestSupport
import Testing

@testable import PathService

/// Counters of the running kernel, from a queue that is too small to the verdict.
@Suite(.inNamespace) struct LinkHealthServiceTests {
    private let namespace = Namespace.current

    private static func connect() throws {
        try Namespace.current.ipBatch([
            "link add eth0 type veth peer name far0", "link set far0 up", "link set eth0 up",
            "address add 192.0.2.10/24 dev eth0", "route add default via 192.0.2.1",
            "neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev eth0",
        ])
        try Namespace.current.waitUntilRunning("eth0")
    }

    @Test func `a queue that drops is a verdict, and none after it is gone`() async throws {
        try Self.connect()
        try namespace.run("tc qdisc add dev eth0 root tbf rate 64kbit burst 3k limit 6k")
        let engine = try PathEngine(loop: namespace.loop)
        try engine.start()
        let monitor = LinkHealthMonitor(engine, loop: namespace.loop, interval: .milliseconds(50))
        var verdicts: [Verdict] = []
        monitor.start { verdicts = $0 }
        let sender = try PrintingProgram(
            python: """
                import socket, time
                sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                print("sending", flush=True)
                while True:
                    try: sender.sendto(bytes(1000), ("192.0.2.1", 9))
                    except OSError: pass
                    time.sleep(0.001)
                """,
            in: namespace
        )
        await namespace.loop.eventually("the verdict") { verdicts.map(\.code) == [.linkQueueDrops] }
        #expect(verdicts.first?.say.hasPrefix("the queue of eth0 (tbf) dropped ") == true)
        #expect(verdicts.first?.action.contains("raise its rate or its limit") == true)
        try namespace.run("tc qdisc del dev eth0 root")
        await namespace.loop.eventually("the end") { verdicts.isEmpty }
        #expect(monitor.problems.isEmpty)
        monitor.stop()
        engine.stop()
        withExtendedLifetime(sender) {}
    }

    @Test func `the service shows what it read, in the API and as metrics`() async throws {
        try Self.connect()
        try namespace.run("tc qdisc add dev eth0 root pfifo limit 100")
        let scratch = try Scratch()
        let service = try await Service([], in: scratch)
        try await namespace.loop.eventually("counters") {
            try service.json("/api/v1/interfaces/eth0")["counters"]?["queue"]?.string == "pfifo"
        }
        let counters = try service.json("/api/v1/interfaces/eth0")["counters"]
        #expect(counters?["rx_crc_errors"]?.int == 0 && counters?["duplex"]?.string == "full")
        #expect(try service.json("/api/v1/status")["interfaces"]?.array?.allSatisfy { $0["counters"] == nil } == true)
        let metrics = try service.get("/metrics")
        #expect(metrics.contains("nwpath_interface_queue_drops_total{device=\"eth0\"} 0\n"))
        #expect(metrics.contains("nwpath_interface_receive_crc_errors_total{device=\"eth0\"} 0\n"))
    }
}
