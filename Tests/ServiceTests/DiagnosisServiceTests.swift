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

    @Test func `without an interval nothing is examined and nothing sent while all is well`() async throws {
        let far = try Self.connect()
        let (service, _) = try await Self.start("interval: 0, ")
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
            Place.root + "/Tests/EventLogTests/Fixtures/check_events.py", try service.eventSchema(), service.log,
        ])
        #expect(report.contains(" 0 problems"))
        withExtendedLifetime((far, scratch)) {}
    }

    @Test func `a probe that fails has the network examined at once, and one that answers again ends the outage`()
        async throws
    {
        let far = try Self.connect()
        let scratch = try Scratch()
        let text = """
            diagnosis: {enabled: true, anchors: [{name: a, addr4: 198.51.100.80}]}
            probes: {active: {far: {target: 198.51.100.80, interval: 1s, timeout: 1s, threshold: 2}}}

            """
        try scratch.write(text, to: "nwpath.yaml")
        let service = try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch)
        try await Self.waitForRound(service) { $0["complete"]?.bool == true }
        try far.ip("address del 198.51.100.80/32 dev eth1")
        try await service.eventually("verdict.raised")
        func time(_ text: String?) throws -> WallTime { try #require(text.flatMap(WallTime.init)) }
        let failed = try time(try service.records("probe.failed").first?["time"]?.string)
        let raised = try time(try service.records("verdict.raised").first?["verdict"]?["since"]?.string)
        #expect(raised - failed < .seconds(45), "by itself the next round comes a minute after the first")
        #expect(try Self.headline(service) == "no_internet")
        try far.ip("address add 198.51.100.80/32 dev eth1")
        try await service.eventually("verdict.cleared")
        try await Namespace.current.loop.eventually("the Internet") { try Self.headline(service) == "online" }
        withExtendedLifetime((far, scratch)) {}
    }

    /// When a packet filter of the router dropped all that a probe sends; `interval: 0` examines nothing while all is well.
    @Test(arguments: ["interval: 0, ", "interval: 10m, "])
    func `the failing probe starts the examination that names the fault, and the recovering one the end of it`(
        settings: String
    ) async throws {
        let far = try Self.connect()
        let scratch = try Scratch()
        let text = """
            diagnosis: {enabled: true, \(settings)anchors: [{name: a, addr4: 198.51.100.80}]}
            probes: {active: {far: {target: 198.51.100.80, interval: 1s, timeout: 1s, threshold: 2}}}

            """
        try scratch.write(text, to: "nwpath.yaml")
        let service = try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch)
        try await Namespace.current.loop.eventually("the Internet") { try Self.headline(service) == "online" }
        try far.run(["nft", "add table ip cut; add chain ip cut c {type filter hook input priority 0;}"])
        try far.run(["nft", "add rule ip cut c ip daddr 198.51.100.80 drop"])
        try await service.eventually("verdict.raised")
        func time(_ event: String, _ member: String? = nil) throws -> WallTime {
            let record = try service.records(event).last
            return try #require(
                (member.map { record?["verdict"]?[$0] } ?? record?["time"])?.string.flatMap(WallTime.init)
            )
        }
        #expect(try service.records("verdict.raised").last?["verdict"]?["code"]?.string == "wan.down")
        let failed = try time("probe.failed")
        #expect(try time("verdict.raised", "since") - failed < .seconds(20), "the first round that saw it")
        try far.run(["nft", "delete table ip cut"])
        try await service.eventually("verdict.cleared")
        #expect(try time("verdict.cleared") - time("probe.recovered") < .seconds(20))
        try await Namespace.current.loop.eventually("the Internet") { try Self.headline(service) == "online" }
        withExtendedLifetime((far, scratch)) {}
    }

    @Test func `while nothing fails a packet confirms that, and one without an answer begins a round`() async throws {
        let far = try Self.connect()
        let (service, scratch) = try await Self.start("enabled: true, interval: 10s, ")
        try await Self.waitForRound(service) { $0["complete"]?.bool == true }
        await Namespace.current.loop.sleep(for: .seconds(12))
        #expect(try service.get("/metrics").contains("nwpath_diagnosis_rounds_total 1\n"))
        #expect(try Self.headline(service) == "online")
        try far.ip("address del 198.51.100.80/32 dev eth1")
        try await service.eventually("verdict.raised")
        #expect(try Self.headline(service) == "no_internet")
        try far.ip("address add 198.51.100.80/32 dev eth1")
        try await service.eventually("verdict.cleared")
        withExtendedLifetime((far, scratch)) {}
    }

    @Test func `where diagnosis is switched off a failing probe starts none`() async throws {
        let far = try Self.connect()
        let scratch = try Scratch()
        let text = """
            diagnosis: {enabled: false, anchors: [{name: a, addr4: 198.51.100.80}]}
            probes: {active: {far: {target: 198.51.100.80, interval: 1s, timeout: 1s, threshold: 1}}}

            """
        try scratch.write(text, to: "nwpath.yaml")
        try far.ip("address del 198.51.100.80/32 dev eth1")
        let service = try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch)
        try await service.eventually("probe.failed")
        #expect(try service.get("/metrics").contains("nwpath_diagnosis_rounds_total 0\n"))
        #expect(try service.json("/api/v1/diagnosis")["running"] == .null)
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
        try far.set("eth1", isUp: true)
        try await Namespace.current.loop.eventually("the fourth change") { try codes().contains("link.flapping") }
        try far.set("eth1", isUp: false)
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

    private static func ask(_ service: Service) throws -> String {
        try service.code("/api/v1/diagnosis", ["-X", "POST"])
    }

    private static func headline(_ service: Service) throws -> String? {
        try service.json("/api/v1/status")["headline"]?["state"]?.string
    }

    @Test func `where it is off, one examination is made for who asks, and the headline says what it found`()
        async throws
    {
        let far = try Self.connect()
        let (service, scratch) = try await Self.start("enabled: false, ")
        #expect(try Self.headline(service) == "connected")
        #expect(try service.json("/api/v1/diagnosis")["running"] == .null)
        #expect(try Self.ask(service) == "202")
        try await Self.waitForRound(service) { $0["complete"]?.bool == true && $0["running"] == .null }
        let healthy = try service.json("/api/v1/diagnosis")
        #expect(healthy["verdicts"]?.array?.isEmpty == true && healthy["targets"]?.string == "configuration")
        #expect(try Self.headline(service) == "online")
        try far.ip("address del 198.51.100.80/32 dev eth1")
        // The one before took longer than the second that must be between two.
        #expect(try Self.ask(service) == "202")
        // The one that runs is as good.
        #expect(try Self.ask(service) == "202")
        try await Self.waitForRound(service) { $0["severity"]?.string == "broken" }
        #expect(try Self.headline(service) == "no_internet")
        let metrics = try service.get("/metrics")
        #expect(metrics.contains("nwpath_diagnosis_rounds_total 2\n") && !metrics.contains("nwpath_verdict{"))
        // Of another path nobody found anything.
        try Namespace.current.ip("route del default")
        // A route that is back before anybody looked was never gone.
        try await Namespace.current.loop.eventually("the loss") { try Self.headline(service) != "no_internet" }
        try Namespace.current.ip("route add default via 192.0.2.1")
        try await Namespace.current.loop.eventually("the other path") { try Self.headline(service) == "connected" }
        #expect(try service.json("/api/v1/diagnosis")["severity"]?.string == "broken")
        // Nor by the rules of another configuration.
        try scratch.write("diagnosis: {peers: [192.0.2.1]}\n", to: "nwpath.yaml")
        service.process.signal(SIGHUP)
        try await Self.waitForRound(service) { $0["time"] == .null && $0["severity"] == .null }
        #expect(try service.records("verdict.raised").isEmpty)
        withExtendedLifetime((far, scratch)) {}
    }

    @Test func `who waits sees one layer after the other come to its end`() async throws {
        let far = try Self.connect()
        let (service, scratch) = try await Self.start("enabled: false, ")
        var tag = try service.get("/api/v1/diagnosis", ["-o", "/dev/null", "-w", "%header{etag}"])
        #expect(try Self.ask(service) == "202")
        var steps: [[String]] = []
        var value = JSONValue.null
        while value["running"] != .null || steps.isEmpty {
            let arguments = ["-w", "%header{etag}", "-H", "If-None-Match: \(tag)"]
            let answer = try service.get("/api/v1/diagnosis?wait=20s", arguments).lines
            value = try JSONValue(parsing: try #require(answer.first))
            tag = try #require(answer.last)
            let layers = value["running"]?["layers"]?.array?.compactMap(\.string)
            // An event changes the tag as well, such as one that connections of the examination are answered.
            if let layers, layers != steps.last { steps.append(layers) }
            #expect(layers == nil || value["running"]?["started"]?.string != nil)
        }
        #expect(value["complete"]?.bool == true)
        #expect(steps.count > 2, "\(steps)")
        for (earlier, later) in zip(steps, steps.dropFirst()) {
            #expect(later.count < earlier.count && Set(later).isSubset(of: earlier), "\(steps)")
        }
        withExtendedLifetime((far, scratch)) {}
    }

    @Test func `only who may change something starts an examination, and it needs no schedule`() async throws {
        let far = try Self.connect()
        let scratch = try Scratch()
        let text = "diagnosis: {enabled: true, anchors: [{name: a, addr4: 198.51.100.80}]}\n"
        try scratch.write(text, to: "nwpath.yaml")
        let arguments = ["--config", scratch.file("nwpath.yaml"), "--listen", "127.0.0.1:8353"]
        let service = try await Service(arguments, in: scratch)
        try await Self.waitForRound(service) { $0["complete"]?.bool == true && $0["running"] == .null }
        let first = try #require(try service.json("/api/v1/diagnosis")["time"]?.string)
        let url = "http://127.0.0.1:8353/api/v1/diagnosis"
        let words = ["curl", "-s", "-X", "POST", "-o", "/dev/null", "-w", "%{http_code}", url]
        #expect(try Namespace.current.run(words) == "403")
        // The next round of a network in order comes after 54 s at the soonest.
        #expect(try Self.ask(service) == "202")
        try await Namespace.current.loop.eventually(within: .seconds(40), "another round") {
            let value = try service.json("/api/v1/diagnosis")
            return value["time"]?.string != first && value["complete"]?.bool == true
        }
        #expect(try service.json("/api/v1/diagnosis")["verdicts"]?.array?.isEmpty == true)
        withExtendedLifetime(far) {}
    }
}
