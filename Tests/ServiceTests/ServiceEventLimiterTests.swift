// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Documents
import EventHub
import EventLog
import Glibc
import LinuxIO
import MulticastDNS
import OrderedJSON
import PathModel
import TestSupport
import Testing

@testable import PathService

/// A service of a test with a text.
private func made(_ name: String, saying text: String) throws -> MulticastDNS.Service {
    var service = try made(name)
    service.rawText = [Array(text.utf8)]
    return service
}

/// How much of what neighbours do is published.
@Suite struct ServiceEventLimiterTests {
    /// A publisher whose events have 1,000 bytes each.
    private struct Publisher {
        var limiter = ServiceEventLimiter()

        /// What is published for an event at a time.
        mutating func handle(_ event: ServiceEvent? = nil, at seconds: Int) -> [ServiceEventLimiter.Update] {
            let now = Duration.seconds(seconds)
            if let event { limiter.handle(event, at: now) }
            var updates: [ServiceEventLimiter.Update] = []
            while let update = limiter.next(at: now) {
                updates.append(update)
                limiter.charge(1000, at: now)
            }
            return updates
        }
    }

    @Test func `of changes in a minute the first is published, and then the last with a count`() throws {
        var publisher = Publisher()
        let services = try (0...300).map { try made("Lamp", saying: "n=\($0)") }
        #expect(publisher.handle(.added(services[0]), at: 0) == [.init(event: .added(services[0]), suppressed: 0)])
        var updates: [ServiceEventLimiter.Update] = []
        for number in 1...300 {
            let event = ServiceEvent.changed(services[number], fields: [.text], previous: services[number - 1])
            updates += publisher.handle(event, at: 1 + number / 20)
        }
        let first = ServiceEvent.changed(services[1], fields: [.text], previous: services[0])
        #expect(updates == [.init(event: first, suppressed: 0)])
        #expect(publisher.limiter.nextDeadline == .seconds(61))
        #expect(publisher.handle(at: 60).isEmpty)
        let last = ServiceEvent.changed(services[300], fields: [.text], previous: services[1])
        #expect(publisher.handle(at: 61) == [.init(event: last, suppressed: 298)])
        #expect(publisher.limiter.nextDeadline == nil)
        // What is as it was published needs no event.
        _ = publisher.handle(.changed(services[5], fields: [.text], previous: services[300]), at: 62)
        _ = publisher.handle(.changed(services[300], fields: [.text], previous: services[5]), at: 63)
        #expect(publisher.handle(at: 300).isEmpty)
    }

    @Test func `one that comes and goes is told once a minute each way, and is right in the end`() throws {
        var publisher = Publisher()
        let service = try made("Lamp")
        let gone = ServiceEvent.removed(service, reason: .goodbye, seenFor: .seconds(1))
        #expect(publisher.handle(.added(service), at: 0).count == 1)
        #expect(publisher.handle(gone, at: 1) == [.init(event: gone, suppressed: 0)])
        for second in 2...30 { #expect(publisher.handle(second % 2 == 0 ? .added(service) : gone, at: second).isEmpty) }
        #expect(publisher.handle(at: 60) == [.init(event: .added(service), suppressed: 28)])
        // It is there although it was removed last: the last event counts.
        #expect(publisher.handle(.typeAdded("_ipp._tcp"), at: 60).count == 1)
        #expect(publisher.handle(.typeRemoved("_ipp._tcp"), at: 61).count == 1)
        #expect(publisher.handle(.typeAdded("_ipp._tcp"), at: 62).isEmpty)
        #expect(publisher.handle(.typeRemoved("_ipp._tcp"), at: 63).isEmpty)
        #expect(publisher.handle(at: 500).isEmpty)
    }

    @Test func `all of them together are limited, and states wait for their turn`() throws {
        var publisher = Publisher(limiter: ServiceEventLimiter(bucket: TokenBucket(capacity: 10_000, perSecond: 100)))
        let services = try (0..<50).map { try made("Lamp \($0)") }
        var updates: [ServiceEventLimiter.Update] = []
        for service in services { updates += publisher.handle(.added(service), at: 0) }
        #expect(updates.count == 10)
        #expect(publisher.limiter.nextDeadline.map { $0 > .zero && $0 < .seconds(1) } == true)
        // One that goes before it was published was never there for readers.
        #expect(publisher.handle(.removed(services[49], reason: .goodbye, seenFor: .zero), at: 0).isEmpty)
        for second in 1...400 { updates += publisher.handle(at: second) }
        #expect(updates.map(\.event) == services[..<49].map { .added($0) })
        #expect(publisher.limiter.nextDeadline == nil)
    }

    @Test func `a bucket lets one more pass than it has tokens for, and is paid back`() {
        var bucket = TokenBucket(capacity: 100, perSecond: 10)
        bucket.spend(90, at: .zero)
        #expect(bucket.hasTokens(at: .zero) && bucket.refilled <= .zero)
        bucket.spend(50, at: .zero)
        #expect(!bucket.hasTokens(at: .seconds(4)) && bucket.hasTokens(at: .seconds(5)))
        #expect(bucket.refilled > .seconds(4) && bucket.refilled <= .milliseconds(4101))
        bucket.spend(0, at: .seconds(1000))
        bucket.spend(100, at: .seconds(1000))
        #expect(!bucket.hasTokens(at: .seconds(1000)))
    }
}

/// Outages outlive the log that told of them.
@Suite(.inNamespace) struct OutageLogTests {
    private let loop = Namespace.current.loop
    private let clock = ManualClock()
    private let scratch: Scratch
    private let identity = DaemonIdentity(version: "0", revision: "r", processID: 1, bootID: nil)
    private var path: String { scratch.file("events.jsonl") }

    init() throws { scratch = try Scratch() }

    /// One run of a daemon with a log of two small files, in which neighbours' events follow an outage.
    private func run(_ body: (EventHub) throws -> Void) throws -> OutageLog {
        var options = EventLog.Options(identity: identity)
        options.rotation = RotationPolicy(size: 4096, keep: 1)
        let log = try EventLog(path: path, options: options, clock: clock)
        let hub = EventHub(EventHub.Options(host: "h"), after: log.recovered, clock: clock)
        hub.attach(log)
        let outages = OutageLog(directory: scratch.path, limit: 8192)
        hub.addSink { if MarkList.isKept($0.name.rawValue) { outages.append($0) } }
        hub.publish(DaemonStarted(identity: identity, configuration: nil, digest: nil))
        try body(hub)
        hub.publish(DaemonStopping(signal: "SIGTERM", uptime: .seconds(1)))
        log.synchronize()
        return outages
    }

    private func tell(_ path: Path, to hub: EventHub) {
        hub.publish(PathSnapshot(monitor: "default", path: PathDocument(path), sentence: "is so"))
        clock.advance(by: .seconds(10))
    }

    private func outages(since begin: WallTime, _ outages: OutageLog) async throws -> [OutageHistory.Outage] {
        let index = HistoryIndex(loop: loop, clock: clock)
        // All that was written is of earlier runs.
        index.read(log: path, outages: outages.path, upTo: EventPosition(stream: .random(), sequence: 0))
        await loop.eventually("the end of the log") { index.reading == .complete }
        return index.history(monitor: "default", since: begin, until: clock.wall).document(at: clock.wall).outages
    }

    @Test func `a neighbour's events push no outage out of the history, over restarts`() async throws {
        let begin = clock.wall
        var kept = try run { hub in
            tell(Path(status: .satisfied, reason: nil), to: hub)
            tell(Path(reason: .noCarrier), to: hub)
            tell(Path(status: .satisfied, reason: nil), to: hub)
        }
        #expect(try await outages(since: begin, kept).map(\.durationSeconds) == [10])
        let firstRun = scratch.read("events.jsonl")
        kept = try run { hub in
            for number in 0..<100 {
                let service = try made("Lamp \(number)", saying: String(repeating: "x", count: 200))
                hub.publish(ServiceAdded(ServiceDocument(service, clock: clock, firstSeen: nil)))
            }
        }
        #expect(!scratch.read("events.jsonl").contains("no_carrier"))
        #expect(!scratch.read("events.jsonl.1").contains("no_carrier"))
        #expect(try await outages(since: begin, kept).map(\.durationSeconds) == [10])
        #expect(kept.problem == nil)
        // An old copy beside the log begins with the oldest record, and what followed is missing.
        let oldest = firstRun.split(separator: "\n").prefix(2).map { $0 + "\n" }.joined()
        try scratch.write(oldest, to: "events.jsonl.bak")
        #expect(try await outages(since: begin, kept).map(\.durationSeconds) == [10])
        #expect(try await outages(since: begin, kept).map(\.reason) == ["no_carrier"])
    }

    @Test func `it is bounded, and goes on after it was removed or cannot be written`() throws {
        let kept = try run { hub in
            for _ in 0..<50 { tell(Path(reason: .noCarrier), to: hub) }
        }
        let sizes = try Command.run(["stat", "-c", "%s", kept.path, kept.path + ".1"]).lines.compactMap { Int($0) }
        #expect(sizes.count == 2 && sizes.allSatisfy { $0 < 16_384 })
        #expect(!scratch.exists("outages.jsonl.2"))
        try Command.run(["rm", kept.path, kept.path + ".1"])
        let again = try run { hub in
            tell(Path(reason: .noCarrier), to: hub)
            try Command.run(["rm", scratch.file("outages.jsonl")])
            tell(Path(status: .satisfied, reason: nil), to: hub)
        }
        #expect(again.problem == nil)
        #expect(scratch.read("outages.jsonl").lines.count == 2)
        try Command.run(["rm", again.path])
        try scratch.write("a letter\n", to: "outages.jsonl")
        let foreign = try run { hub in tell(Path(reason: .noCarrier), to: hub) }
        #expect(foreign.problem?.contains("is not an nwpath event log") == true)
        #expect(try scratch.text("outages.jsonl") == "a letter\n")
    }
}

/// A real neighbour, whose service says something else every 50 ms.
@Suite(.inNamespace) struct RestlessNeighbourTests {
    @Test func `it neither fills the log nor pushes an outage out of the history`() async throws {
        let scratch = try Scratch()
        try scratch.write("log:\n  max_size: 64KiB\n  keep: 1\n", to: "nwpath.yaml")
        let neighbour = try Neighbour()
        let options = ["--config", scratch.file("nwpath.yaml")]
        // Without a default route: an outage from the start.
        let service = try await Service(options, in: scratch, takesCensus: true)
        let peer = try neighbour.run(["python3", Place.fixtures + "/change_text.py", "peer0"])
        func awaitChanges(_ count: Double) async {
            let counter = "nwpath_mdns_service_events_total{service_type=\"_ipp._tcp\",event=\"changed\"} "
            await Namespace.current.loop.eventually(within: .seconds(60), "\(count) changes") {
                let line = (try? service.get("/metrics"))?.lines.first { $0.hasPrefix(counter) }
                return line.flatMap { Double($0.dropFirst(counter.count)) }.map { $0 >= count } ?? false
            }
        }
        await awaitChanges(10)
        let files = scratch.read("events.jsonl") + scratch.read("events.jsonl.1")
        #expect(files.lines.count { $0.contains("\"event\":\"service.changed\"") } <= 1)
        #expect(service.stop().code == 0)
        for _ in 0..<2 {
            try await service.restart(options, takesCensus: true)
            await awaitChanges(2)
            #expect(service.stop().code == 0)
        }
        try await service.restart(options)
        var outages: [JSONValue] = []
        await Namespace.current.loop.eventually(within: .seconds(20), "the history") {
            outages = (try? service.json("/api/v1/history"))?["outages"]?.array ?? []
            return !outages.isEmpty
        }
        #expect(outages.count == 4)
        peer.signal(SIGKILL)
        #expect(service.stop().code == 0)
    }
}
