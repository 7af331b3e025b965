// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import Diagnosis
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// The way out as a whole, on the real service: every surface says the same, and it is what packets find.
@Suite(.inNamespace) struct HeadlineServiceTests {
    private let namespace = Namespace.current
    private let peer: Namespace

    /// A router, and a host beyond it that is in the same namespace.
    init() throws {
        peer = try Namespace()
        try namespace.connect("v0", to: peer, as: "v1")
        try peer.ipBatch(["addr add 192.0.2.1/24 dev v1", "addr add 198.51.100.7/32 dev lo", "link set lo up"])
        try namespace.ipBatch(["addr add 192.0.2.7/24 dev v0", "route add default via 192.0.2.1 dev v0"])
        try namespace.waitUntilRunning("v0")
        try peer.waitUntilRunning("v1")
    }

    private func start(probing: Bool) async throws -> Service {
        let scratch = try Scratch()
        let probe = "probes:\n  active:\n    far:\n      target: 198.51.100.7\n      interval: 1s\n      threshold: 2\n"
        try scratch.write(probing ? probe : "audit_interval: 1s\n", to: "nwpath.yaml")
        return try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch)
    }

    private func state(_ service: Service) throws -> String? {
        try service.json("/api/v1/status")["headline"]?["state"]?.string
    }

    private func letters(_ status: JSONValue) -> String {
        let letters = ["good": "+", "degraded": "~", "broken": "x", "not_reached": ".", "not_asked": "?"]
        return (status["chain"]?.array ?? []).compactMap { letters[$0["condition"]?.string ?? ""] }.joined()
    }

    /// Waits for a state, and holds every surface against it.
    private func expect(_ state: Headline.State, _ chain: String, exit: Int32, _ service: Service) async throws {
        try await namespace.loop.eventually("\(state)") { try self.state(service) == state.rawValue }
        let status = try service.json("/api/v1/status")
        #expect(letters(status) == chain, "\(status["chain"] ?? .null)")
        let metrics = try service.get("/metrics")
        #expect(metrics.contains("nwpath_headline{state=\"\(state.rawValue)\"} 1\n"))
        #expect(metrics.contains("nwpath_headline_seconds_total{state=\"\(state.rawValue)\"} "))
        let words = ["--socket", service.socket]
        let message = try #require(status["headline"]?["message"]?.string)
        let text = try namespace.run([try Place.program, "status"] + words)
        #expect(text.hasPrefix("\(state.level.symbol) \(state.word), for ") && text.contains("\n  \(message)\n"))
        #expect(try service.get("/api/v1/badge/default.svg").contains("\(state.level.symbol) \(state.word)</text>"))
        #expect(try service.code("/api/v1/online") == (state.isGood ? "200" : "503"))
        let check = try service.check("path")
        #expect(check.hasSuffix("\n\(exit)\n"), "\(check)")
        // Not satisfied, the reason stands there already.
        if !state.isGood, status["path"]?["status"]?.string == "satisfied" { #expect(check.contains(message)) }
    }

    @Test func `without anybody asked it is connected, and neither a cable nor a route is more than that`() async throws
    {
        let service = try await start(probing: false)
        try await expect(.connected, "++???", exit: 0, service)
        try namespace.ip("route del default")
        try await expect(.localOnly, "++x..", exit: 2, service)
        try peer.set("v1", isUp: false)
        try await expect(.offline, "+x...", exit: 2, service)
    }

    @Test func `a host beyond the router answers, falls silent, and answers again`() async throws {
        let service = try await start(probing: true)
        let program = try Place.program
        try namespace.run([program, "wait", "online", "--timeout", "60s", "--socket", service.socket])
        try await expect(.online, "++++?", exit: 0, service)
        let far = try service.json("/api/v1/status")["chain"]?.array?[3]
        #expect(far?["round_trip_seconds"]?.double ?? 0 > 0)
        // The router still answers.
        try peer.ip("addr del 198.51.100.7/32 dev lo")
        try await expect(.noInternet, "++?x.", exit: 2, service)
        try await namespace.loop.eventually("the outage in the log") {
            let event = try service.records("headline.changed").last
            let message = event?["message"]?.string ?? ""
            return message.hasPrefix("No Internet: nothing beyond 192.0.2.1 answers (")
                && event?["severity"]?.string == "error" && event?["previous"]?["state"]?.string == "online"
        }
        let tag = try service.get("/api/v1/status", ["-o", "/dev/null", "-D", "-"])
        try peer.ip("addr add 198.51.100.7/32 dev lo")
        try await expect(.online, "++++?", exit: 0, service)
        #expect(try service.get("/api/v1/status", ["-o", "/dev/null", "-D", "-"]) != tag)
        // What answered before the outage is no evidence.
        try namespace.ip("route del default")
        try await expect(.localOnly, "++x..", exit: 2, service)
        try await namespace.loop.eventually("the loss in the log") {
            try service.records("headline.changed").last?["headline"]?["state"]?.string == "local_only"
        }
        try namespace.ip("route add default via 192.0.2.1 dev v0")
        try await expect(.online, "++++?", exit: 0, service)
        try await namespace.loop.eventually("the recovery in the log") {
            let message = try service.records("headline.changed").last?["message"]?.string ?? ""
            return message.hasPrefix("Online after ") && message.contains(" s of Local only: all tests answer")
        }
        let outcome = service.stop()
        #expect(outcome.code == 0)
        try expectGood(service.log)
        let changes = try service.records("headline.changed").map { record in
            let (headline, previous) = (try #require(record["headline"]), try #require(record["previous"]))
            let clock = try #require(headline["since"]?.string).dropFirst(11).prefix(8)
            let words = try [previous, headline].map { document in
                try #require(document["state"]?.string.flatMap(Headline.State.init(rawValue:))).word
            }
            let change = words[0] == words[1] ? words[1] : words.joined(separator: " -> ")
            return "nwpath: \(change) since \(clock): \(try #require(headline["message"]?.string))"
        }
        #expect(changes.contains { $0.hasPrefix("nwpath: Online -> No Internet since ") })
        #expect(outcome.output.lines.filter { $0.contains(" since ") } == changes)
    }

    @Test func `no read and no scrape causes an event or a line`() async throws {
        let service = try await start(probing: true)
        try await expect(.online, "++++?", exit: 0, service)
        // The line of the first state is out, and a change that has not stood for a second is over.
        await namespace.loop.sleep(for: .seconds(2))
        let before = try service.scratch.text("events.jsonl")
        let paths = [
            "status", "badge/default.svg", "online", "diagnosis", "history", "probes", "traffic", "interfaces",
        ]
        for _ in 0..<20 {
            for path in paths { _ = try service.get("/api/v1/" + path) }
            _ = try service.get("/metrics")
        }
        #expect(try service.scratch.text("events.jsonl") == before)
        let outcome = service.stop()
        let changes = try service.records("headline.changed")
        #expect(outcome.code == 0 && outcome.output.lines.count { $0.contains(" since ") } == changes.count)
    }

    /// Where what the log has is to be seen already.
    enum Reader: CaseIterable {
        case journal, standardOutput

        var arguments: [String] { self == .journal ? [] : ["--log-file", "-"] }
        /// Without a journal of the machine that the tests run on.
        var wrapper: [String] {
            let start = "mount -t tmpfs tmpfs /run; JOURNAL_STREAM=$(stat -L -c %d:%i /dev/stderr) exec \"$@\""
            return self == .journal ? ["unshare", "--mount", "sh", "-c", start, "sh"] : []
        }
    }

    @Test(arguments: Reader.allCases)
    func `a change that the journal or standard output has already is not repeated`(reader: Reader) async throws {
        let service = try await Service(reader.arguments, inside: reader.wrapper)
        try await namespace.loop.eventually("connected") { try self.state(service) == "connected" }
        try namespace.ip("route del default")
        try await namespace.loop.eventually("the change") {
            try service.get("/metrics").contains("nwpath_events_published_total{event=\"headline.changed\"} 1\n")
        }
        let outcome = service.stop()
        #expect(outcome.code == 0 && outcome.output.contains("nwpath: listening on "))
        #expect(!outcome.output.contains(" -> "))
    }

    @Test func `a router that is gone leaves the local network`() async throws {
        let service = try await start(probing: true)
        try await expect(.online, "++++?", exit: 0, service)
        try peer.ip("addr flush dev v1")
        try namespace.ip("neigh flush dev v0")
        try await expect(.localOnly, "++x..", exit: 2, service)
        let message = try service.json("/api/v1/status")["headline"]?["message"]?.string
        #expect(message == "192.0.2.1 on v0 does not answer")
    }

    private func waitForWord(_ state: String, _ service: Service) async throws -> JSONValue {
        try await namespace.loop.eventually("the word of \(state)") {
            try service.records("headline.changed").last?["headline"]?["state"]?.string == state
        }
        return try #require(try service.records("headline.changed").last)
    }

    @Test func `its history tells the outages that the path does not have, after a crash too`() async throws {
        let service = try await start(probing: true)
        try await expect(.online, "++++?", exit: 0, service)
        try peer.ip("addr del 198.51.100.7/32 dev lo")
        let lost = try await waitForWord("no_internet", service)
        try peer.ip("addr add 198.51.100.7/32 dev lo")
        let back = try await waitForWord("online", service)
        func check() throws {
            let path = try service.json("/api/v1/history?since=1h&state=path")
            #expect(path["outages"]?.array?.isEmpty == true && path["state"]?.string == "path")
            let (program, socket) = (try Place.program, ["--socket", service.socket])
            #expect(try namespace.run([program, "history"] + socket).contains("\n1 outage, "))
            #expect(try namespace.run([program, "history", "--state", "path"] + socket).hasSuffix("no outages\n"))
            #expect(try namespace.run([program] + socket).contains(" %, 1 outage, "))
            let file = try JSONValue(
                parsing: namespace.run([program, "history", "--file", service.log, "--json"])
            )
            #expect(file["outages"]?.array?.map { $0["reason"]?.string } == ["no_internet"])
            let document = try service.json("/api/v1/history?since=1h&step=10m")
            #expect(document["state"]?.string == "headline" && document["step_seconds"]?.int == 600)
            let outages = document["outages"]?.array ?? []
            #expect(outages.count == 1 && outages.first?["reason"]?.string == "no_internet", "\(document)")
            // The calendars of two runs differ by what NTP made of them meanwhile.
            for (moment, word) in [("start", lost), ("end", back)] {
                let shown = try #require(outages.first?[moment]?.string.flatMap(WallTime.init))
                let since = try #require(word["headline"]?["since"]?.string.flatMap(WallTime.init))
                #expect((-50...50).contains((shown - since) / .milliseconds(1)), "\(moment): \(shown), \(since)")
            }
            #expect(outages.first?["message"] == lost["message"])
            let steps = document["steps"]?.array ?? []
            let down = steps.reduce(0) { $0 + ($1["down_seconds"]?.double ?? 0) }
            #expect(steps.count >= 6 && abs(down - (outages.first?["duration_seconds"]?.double ?? 0)) < 0.0025)
        }
        try check()
        #expect(service.stop(SIGKILL).code != 0)
        try await service.restart()
        try await namespace.loop.eventually("the log of before") { try service.code("/api/v1/history") == "200" }
        try check()
    }
}
