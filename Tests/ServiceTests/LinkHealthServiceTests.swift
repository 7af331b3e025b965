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
        #expect(verdicts.first?.action.contains("raise the rate or the limit of its `tbf`") == true)
        try namespace.run("tc qdisc del dev eth0 root")
        await namespace.loop.eventually("the end") { verdicts.isEmpty }
        #expect(monitor.problems.isEmpty)
        monitor.stop()
        engine.stop()
        withExtendedLifetime(sender) {}
    }

    @Test func `metrics have the sentences of all faults of a code, as they were first found`() {
        func fault(_ subject: String, _ figure: Int, isDegraded: Bool = false) -> VerdictTracker.Standing {
            let verdict = Verdict(
                .linkErrors,
                isDegraded ? .degraded : .warning,
                .likely,
                about: subject,
                say: "\(subject) received \(figure) frames with errors",
                action: "replace the cable"
            )
            return VerdictTracker.Standing(verdict, since: .seconds(1), lastSeen: .seconds(1))
        }
        let metrics = DiagnosisMetrics()
        func says(_ standing: VerdictTracker.Standing...) -> [String] {
            metrics.record(standing)
            return metrics.sentences.map(\.say)
        }
        #expect(says(fault("eth0", 20)) == ["eth0 received 20 frames with errors"])
        let both = "eth0 received 20 frames with errors; eth1 received 40 frames with errors"
        #expect(says(fault("eth0", 30), fault("eth1", 40)) == [both])
        #expect(metrics.sentences.first?.action == "replace the cable")
        #expect(says(fault("eth1", 50)) == ["eth1 received 40 frames with errors"])
        metrics.record((1...5).map { fault("eth\($0)", 7, isDegraded: true) })
        let many = metrics.sentences
        #expect(many.count == 1 && many[0].severity == .degraded)
        #expect(many[0].say.hasSuffix("eth3 received 7 frames with errors; and 2 more"), "\(many[0].say)")
        #expect(says() == [])
    }

    @Test func `a link that was made anew has none of the old one's counters`() async throws {
        try Self.connect()
        let scratch = try Scratch()
        let service = try await Service([], in: scratch)
        try await namespace.loop.eventually("counters") {
            try service.json("/api/v1/interfaces/eth0")["counters"]?.object != nil
        }
        let old = try service.json("/api/v1/interfaces/eth0")["index"]?.int
        try namespace.ip("link del eth0")
        try namespace.ip("link add eth0 index 4000 type veth peer name far0")
        try await namespace.loop.eventually("the new link") {
            try service.json("/api/v1/interfaces/eth0")["index"]?.int == 4000
        }
        #expect(old != 4000)
        #expect(try service.json("/api/v1/interfaces/eth0")["counters"]?.object == nil)
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
