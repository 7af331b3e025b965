// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// The real service with continuous diagnosis, a router that answers, and faults that come and go.
@Suite(.inNamespace) struct DiagnosisServiceTests {
    /// A router behind a cable, which has the anchor's address too.
    private static func connect() throws -> Namespace {
        let far = try Namespace()
        try Namespace.current.connect("eth0", to: far, as: "eth1")
        try far.ipBatch(["address add 192.0.2.1/24 dev eth1", "address add 198.51.100.80/32 dev eth1"])
        try Namespace.current.ipBatch(["address add 192.0.2.10/24 dev eth0", "route add default via 192.0.2.1"])
        try Namespace.current.waitUntilRunning("eth0")
        return far
    }

    private static func start(_ settings: String = "enabled: true, ") async throws -> (Service, Scratch) {
        let scratch = try Scratch()
        let text = "diagnosis: {\(settings)anchors: [{name: a, addr4: 198.51.100.80}]}\n"
        try scratch.write(text, to: "nwpath.yaml")
        return (try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch), scratch)
    }

    private static func waitForRound(_ service: Service, _ condition: @escaping (JSONValue) -> Bool) async throws {
        try await Namespace.current.loop.eventually("a round") {
            condition(try service.json("/api/v1/diagnosis"))
        }
    }

    @Test func `by default nothing is examined and nothing sent`() async throws {
        let far = try Self.connect()
        let (service, _) = try await Self.start("")
        let value = try service.json("/api/v1/diagnosis")
        #expect(value["verdicts"]?.array?.isEmpty == true && value["time"] == .null)
        let text = try service.get("/metrics")
        #expect(text.contains("nwpath_diagnosis_rounds_total 0\n") && !text.contains("nwpath_verdict{"))
        withExtendedLifetime(far) {}
    }

    @Test func `a fault is raised and cleared in log, API and metrics`() async throws {
        let far = try Self.connect()
        let (service, scratch) = try await Self.start()
        try await Self.waitForRound(service) { $0["complete"]?.bool == true }
        let healthy = try service.json("/api/v1/diagnosis")
        #expect(healthy["verdicts"]?.array?.isEmpty == true, "\(healthy)")
        #expect(healthy["path"]?["gateways"]?.array == [.string("192.0.2.1")])
        #expect(healthy["bytes"]?.int ?? 0 > 0 && healthy["targets"]?.string == "configuration")
        try Namespace.current.ip("route del default")
        try await service.eventually("verdict.raised")
        let raised = try #require(try service.records("verdict.raised").first)
        #expect(raised["state"]?.string == "raised" && raised["severity"]?.string == "error")
        #expect(raised["verdict"]?["code"]?.string == "route.no-default")
        #expect(raised["message"]?.string == "there is no default route")
        let shown = try service.json("/api/v1/diagnosis")
        #expect(shown["verdicts"]?.array?.first?["code"]?.string == "route.no-default")
        #expect(shown["severity"]?.string == "broken")
        let check = try service.check("diagnosis")
        #expect(check.hasPrefix("NWPATH CRITICAL - route.no-default: ") && check.hasSuffix("\n2\n"), "\(check)")
        let sample = #"nwpath_verdict{code="route.no-default",layer="local"} 1"#
        #expect(try service.get("/metrics").contains(sample + "\n"))
        // What alerts show.
        let told =
            #"nwpath_verdict_text_info{code="route.no-default",layer="local",severity="broken",say="there is no default route""#
        #expect(try service.get("/metrics").contains(told))
        try Namespace.current.ip("route add default via 192.0.2.1")
        try await service.eventually("verdict.cleared")
        let cleared = try #require(try service.records("verdict.cleared").last)
        #expect(cleared["state"]?.string == "cleared" && cleared["severity"]?.string == "info")
        #expect(cleared["verdict"]?["since"] == raised["verdict"]?["since"])
        let quiet = try service.get("/metrics")
        #expect(!quiet.contains("nwpath_verdict{") && !quiet.contains("nwpath_verdict_text_info{"))
        let report = try Place.python([
            Place.root + "/Tests/EventLogTests/Fixtures/check_events.py", Place.root + "/docs/schema/event.json",
            service.log,
        ])
        #expect(report.contains(" 0 problems"))
        withExtendedLifetime((far, scratch)) {}
    }

    @Test func `a carrier that goes once is gone, and one that comes and goes is told as that`() async throws {
        let far = try Self.connect()
        let (service, scratch) = try await Self.start()
        func codes() throws -> [String] {
            try service.json("/api/v1/diagnosis")["verdicts"]?.array?.compactMap { $0["code"]?.string } ?? []
        }
        try await Self.waitForRound(service) { $0["complete"]?.bool == true }
        for isUp in [false, true, false] {
            try far.ip("link set eth1 \(isUp ? "up" : "down")")
            try await Namespace.current.loop.eventually("a verdict") {
                try codes().contains("link.no-carrier") != isUp
            }
            #expect(try !codes().contains("link.flapping"))
        }
        try far.ip("link set eth1 up")
        try await Namespace.current.loop.eventually("the fourth change") { try codes().contains("link.flapping") }
        try far.ip("link set eth1 down")
        try await Namespace.current.loop.eventually("the fifth") {
            try service.json("/api/v1/diagnosis")["severity"]?.string == "broken"
        }
        #expect(try codes() == ["link.flapping"])
        withExtendedLifetime((far, scratch)) {}
    }

    @Test func `the service makes no load test, whatever is configured`() async throws {
        let far = try Self.connect()
        let page = "http://198.51.100.80/"
        let (service, _) = try await Self.start("enabled: true, nq: {download: '\(page)', upload: '\(page)'}, ")
        try await Self.waitForRound(service) { $0["complete"]?.bool == true }
        let value = try service.json("/api/v1/diagnosis")
        #expect(value["load"] == nil && value["verdicts"]?.array?.isEmpty == true, "\(value)")
        // Nobody serves the page: an attempt would leave the layer open.
        let rung = value["ladder"]?.array?.first { $0["layer"]?.string == "performance" }
        #expect(rung?["state"]?.string == "ok", "\(value)")
        withExtendedLifetime(far) {}
    }

    @Test func `what is switched off takes its verdicts back`() async throws {
        let far = try Self.connect()
        try Namespace.current.ip("route del default")
        let (service, scratch) = try await Self.start()
        try await service.eventually("verdict.raised")
        try scratch.write("diagnosis: {enabled: false}\n", to: "nwpath.yaml")
        service.process.signal(SIGHUP)
        try await service.eventually("verdict.cleared")
        #expect(try service.records("verdict.cleared").last?["state"]?.string == "cleared")
        #expect(try service.json("/api/v1/diagnosis")["verdicts"]?.array?.isEmpty == true)
        withExtendedLifetime(far) {}
    }
}
