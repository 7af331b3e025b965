// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Documents
import EventHub
import EventLog
import Glibc
import LinuxIO
import Metrics
import OrderedJSON
import PathEngine
import Synchronization
import TestSupport
import Testing

@testable import PathService
@testable import StatusServer

/// Something to publish.
private struct Sample: EventBody {
    var name: EventName { .pathChanged }
    var severity: Severity { .info }
    var message: String { "Sample" }
    func write(to object: inout JSONObjectWriter) {}
}

/// A part with problems of the test's making.
private final class TroubledPart: DaemonPart {
    var problems: [ProblemDocument] = []
}

/// A store over the kernel of the test's namespace.
private final class StoreFixture {
    let clock = ManualClock()
    let hub: EventHub
    let engine: PathEngine
    let store: DocumentStore
    let headline: HeadlineService
    let registry = MetricRegistry()
    private let scratch: Scratch
    private let part = TroubledPart()
    var problems: [ProblemDocument] {
        get { part.problems }
        set { part.problems = newValue }
    }

    init() throws {
        let loop = Namespace.current.loop
        scratch = try Scratch()
        hub = EventHub(EventHub.Options(host: "edge-17"), clock: clock)
        engine = try PathEngine(loop: loop, settings: EngineSettings())
        let daemon = OverviewDocument.Daemon(version: "0", pid: 1, started: clock.wall)
        let probes = ProbeService(engine, loop: loop, hub: hub, clock: clock, stateDirectory: scratch.path)
        let diagnosis = DiagnosisService(engine, loop: loop, hub: hub, clock: clock)
        let traffic = TrafficMonitor(engine, loop: loop, hub: hub, recorder: nil)
        let parts = DaemonParts(registry: registry)
        parts.add(part)
        let hostName = HostNameMonitor(loop: loop)
        headline = HeadlineService(
            engine,
            hub: hub,
            probes: probes,
            diagnosis: diagnosis,
            host: hostName,
            loop: loop
        )
        for part in [probes, diagnosis, traffic, headline] as [any DaemonPart] { parts.add(part) }
        store = DocumentStore(
            hub: hub,
            engine: engine,
            parts: parts,
            services: nil,
            probes: probes,
            diagnosis: diagnosis,
            traffic: traffic,
            linkHealth: LinkHealthMonitor(engine, loop: loop),
            headline: headline,
            clock: clock,
            daemon: daemon,
            host: "edge-17",
            configuration: { .object(JSONObject()) },
            configurationSchema: { .object(JSONObject()) }
        )
        try engine.start()
        hub.publish(Sample())
    }

    deinit { engine.stop() }

    func tag(_ document: StatusDocument = .status) throws -> String {
        try #require(try store.snapshot(of: document)).tag
    }

    func json(_ document: StatusDocument) throws -> JSONValue {
        try JSONValue(parsing: try #require(try store.snapshot(of: document)).content.bytes)
    }

    /// The tag without the stream, which is another one in every run.
    func number(_ document: StatusDocument = .status) throws -> String {
        String(try tag(document).drop { $0 != "." }.dropFirst())
    }
}

@Suite(.inNamespace) struct DocumentStoreTests {
    @Test func `problems that come and go without an event change the tag of the overview, and of nothing else`() throws
    {
        let fixture = try StoreFixture()
        #expect(try fixture.number() == "1" && fixture.number(.dns) == "1")
        let stale = ProblemDocument(part: "NetworkManager", message: "does not answer: timed out")
        fixture.problems = [stale]
        #expect(try fixture.number() == "1.1" && fixture.number() == "1.1" && fixture.number(.dns) == "1")
        #expect(try fixture.json(.status)["problems"]?.array?.first?["part"]?.string == "NetworkManager")
        fixture.problems = []
        // The state of before, but a client that has seen the problem must hear that it is gone.
        #expect(try fixture.number() == "1.2")
        #expect(try fixture.json(.status)["problems"]?.array?.isEmpty == true)
        fixture.problems = [ProblemDocument(part: "NetworkManager", message: "does not answer: no such name")]
        #expect(try fixture.number() == "1.3")
        // The next event has a tag of its own, the problem in it.
        fixture.hub.publish(Sample())
        #expect(try fixture.number() == "2")
        #expect(try fixture.json(.status)["problems"]?.array?.count == 1)
        fixture.problems.append(stale)
        #expect(try fixture.number() == "2.1")
    }

    @Test func `a document, a badge or a scrape evaluates no headline and publishes nothing`() throws {
        let fixture = try StoreFixture()
        var evaluations = 0
        fixture.headline.onEvaluation = { _ in evaluations += 1 }
        fixture.headline.reevaluate()
        let (position, since) = (fixture.hub.position, fixture.headline.current.since)
        for _ in 0..<1000 {
            _ = try fixture.tag()
            _ = fixture.store.badge(of: "default")
            _ = fixture.registry.scrape()
            fixture.store.invalidate()
        }
        #expect(evaluations == 1 && fixture.hub.position == position && fixture.headline.current.since == since)
    }

    @Test func `a change of an ignored interface, which no event tells, changes its tags`() async throws {
        let fixture = try StoreFixture()
        #expect(try fixture.number(.interface(name: "lo")) == "1" && fixture.number(.interfaces) == "1")
        try Namespace.current.ip("link set lo mtu 4242")
        try await Namespace.current.loop.eventually {
            try fixture.json(.interface(name: "lo"))["mtu"]?.uint64 == 4242
        }
        #expect(try fixture.number(.interface(name: "lo")) == "1.1" && fixture.number(.interfaces) == "1.1")
        #expect(try fixture.number(.dns) == "1" && fixture.number() == "1")
        fixture.hub.publish(Sample())
        #expect(try fixture.number(.interface(name: "lo")) == "2")
    }

    @Test func `a problem that another document met first is told by the overview`() throws {
        let fixture = try StoreFixture()
        fixture.problems = [ProblemDocument(part: "log", message: "full")]
        fixture.hub.publish(Sample())
        #expect(try fixture.number(.paths) == "2" && fixture.number() == "2")
        #expect(try fixture.json(.status)["problems"]?.array?.count == 1)
        fixture.store.invalidate()
        #expect(try fixture.number() == "2")
    }

    @Test func `a document is rendered once until something happens`() throws {
        let fixture = try StoreFixture()
        let documents: [StatusDocument] = [.status, .paths, .interfaces, .gateways, .dns, .path(monitor: "default")]
        for document in documents {
            let first = try #require(try fixture.store.snapshot(of: document))
            fixture.clock.advance(by: .seconds(5))
            #expect(try fixture.store.snapshot(of: document) === first)
            fixture.store.invalidate()
            let second = try #require(try fixture.store.snapshot(of: document))
            // What no event told: the same state, rendered again at its own time.
            #expect(second !== first && second.tag == first.tag)
        }
        let before = try fixture.store.snapshot(of: .status)
        fixture.hub.publish(Sample())
        let after = try fixture.store.snapshot(of: .status)
        #expect(before !== after && before?.tag != after?.tag)
    }

    @Test func `every document names the state it shows`() throws {
        let fixture = try StoreFixture()
        let documents: [(StatusDocument, String)] = [
            (.status, "path"), (.paths, "paths"), (.path(monitor: "default"), "message"), (.interfaces, "interfaces"),
            (.interface(name: "lo"), "index"), (.gateways, "gateways"), (.dns, "servers"),
            (.services(type: nil, name: nil, interface: nil), "services"), (.serviceTypes, "types"),
        ]
        for (document, member) in documents {
            let value = try fixture.json(document)
            #expect(value["seq"]?.uint64 == 1 && value["host"]?.string == "edge-17", "\(document)")
            #expect(value["stream"]?.string == "\(fixture.hub.position.stream)", "\(document)")
            #expect(value["time"]?.string == fixture.clock.wall.description, "\(document)")
            #expect(value[member] != nil, "\(document)")
        }
        #expect(try fixture.json(.eventSchema)["$schema"] != nil)
        // Without a census the overview does not pretend to have looked.
        #expect(try fixture.json(.status)["services"] == nil || fixture.json(.status)["services"]?.isNull == true)
    }

    @Test func `every document has the members that are declared, in their order`() throws {
        let fixture = try StoreFixture()
        fixture.problems = [ProblemDocument(part: "log", message: "full")]
        let forms = DocumentForms.all
        for document in [
            .status, .paths, .path(monitor: "default"), .interfaces, .interface(name: "lo"), .gateways, .dns,
            .diagnosis,
            .probes, .services(type: nil, name: nil, interface: nil), .serviceTypes,
            .serviceHistory(type: nil, name: nil, interface: nil),
        ] as [StatusDocument] {
            let value = try fixture.json(document)
            let form = try #require(forms.first { $0.members.first?.form.problems(in: value["schema"] ?? .null) == [] })
            #expect(form.problems(in: value) == [], "\(document)")
        }
    }

    @Test(
        arguments: [
            .path(monitor: "nope"), .interface(name: "nope"), .interface(name: ""),
        ] as [StatusDocument]
    )
    func `what does not exist has no document`(document: StatusDocument) throws {
        let fixture = try StoreFixture()
        #expect(try fixture.store.snapshot(of: document) == nil)
    }

    @Test func `a service that is not there is told with its type`() throws {
        let fixture = try StoreFixture()
        let problem = #expect(throws: Problem.self) {
            try fixture.store.snapshot(of: .service(type: "_x._tcp", name: "x"))
        }
        #expect(problem?.status == 404 && problem?.detail == "There is no service 'x' of type '_x._tcp'.")
    }

    @Test func `strangers cannot make it keep everything they ask for`() throws {
        let fixture = try StoreFixture()
        let first = try fixture.store.snapshot(of: .paths)
        for number in 0..<200 {
            let filtered = StatusDocument.services(type: "_t\(number)._tcp", name: nil, interface: nil)
            #expect(try fixture.json(filtered)["services"]?.array?.isEmpty == true)
        }
        let again = try #require(try fixture.store.snapshot(of: .paths))
        #expect(again !== first && again.tag == first?.tag)
    }
}

@Suite(.inNamespace) struct StatusSourceTests {
    /// What is told to the journal.
    private final class Reports: Sendable {
        let lines = Mutex<[String]>([])
    }

    /// A source with a log of its own, or only memory; the ring holds the last four events.
    private final class Fixture {
        let scratch: Scratch
        let clock = ManualClock()
        let hub: EventHub
        let source: StatusSource
        let reports = Reports()
        private let store: StoreFixture

        init(hasLog: Bool = true) throws {
            scratch = try Scratch()
            var options = EventHub.Options(host: "h")
            options.replayCount = 4
            let path = scratch.file("events.jsonl")
            if hasLog {
                let identity = DaemonIdentity(version: "0", revision: "r", processID: 1, bootID: nil)
                let log = try EventLog(path: path, options: .init(identity: identity), clock: clock)
                hub = EventHub(options, after: log.recovered, clock: clock)
                hub.attach(log)
            } else {
                hub = EventHub(options, clock: clock)
            }
            store = try StoreFixture()
            source = StatusSource(
                hub: hub,
                store: store.store,
                clock: clock,
                logFile: hasLog ? path : nil,
                index: HistoryIndex(loop: Namespace.current.loop),
                worker: Worker(loop: Namespace.current.loop),
                report: { [reports] line in reports.lines.withLock { $0.append(line) } }
            )
        }

        func publish(_ count: Int) {
            for _ in 0..<count {
                clock.advance(by: .seconds(1))
                hub.publish(Sample())
            }
        }

        /// The numbers of up to `limit` events from a place on, in memory or the log.
        func numbers(from place: EventPlace, limit: Int = 100) async throws -> [UInt64] {
            guard case .events(let events) = try await piece(from: place, limit: limit) else { return [] }
            for event in events {
                #expect(event.line.last == 0x0A && event.position.stream == hub.position.stream)
                #expect(try JSONValue(parsing: event.line)["event"]?.string == event.name)
            }
            return events.map(\.sequence)
        }

        func piece(from place: EventPlace, limit: Int = 100) async throws -> EventFeed.Piece {
            let feed = EventFeed(source, from: place, filter: EventFilter())
            var result: Result<EventFeed.Piece, any Error>?
            feed.next(limit: limit) { result = $0 }
            await Namespace.current.loop.eventually("a piece") { result != nil }
            return try #require(result).get()
        }
    }

    @Test func `events come from memory, and older ones from the log`() async throws {
        let fixture = try Fixture()
        fixture.publish(10)
        #expect(fixture.source.position.sequence == 11)
        #expect(try fixture.source.events(after: 6, limit: 9) == .archived(oldest: 8))
        for (after, limit, expected) in [
            (9, 9, [10, 11]), (0, 100, Array(1...11)), (0, 3, [1, 2, 3]), (8, 1, [9]), (11, 9, []), (12, 9, []),
        ] as [(UInt64, Int, [UInt64])] {
            #expect(try await fixture.numbers(from: .after(after), limit: limit) == expected)
        }
    }

    @Test func `without a log the memory is all there is, and says where it begins`() async throws {
        let fixture = try Fixture(hasLog: false)
        #expect(try await fixture.numbers(from: .after(0)) == [])
        fixture.publish(10)
        #expect(try await fixture.numbers(from: .after(6)) == [7, 8, 9, 10])
        #expect(try fixture.source.events(after: 5, limit: 1) == .tooOld(oldest: 7))
        #expect(try fixture.source.events(after: 0, limit: 1) == .tooOld(oldest: 7))
    }

    @Test func `a log whose beginning is gone says where it begins`() async throws {
        let fixture = try Fixture()
        fixture.publish(10)
        try Command.run(["sed", "-i", "1,5d", fixture.scratch.file("events.jsonl")])
        #expect(try await fixture.piece(from: .after(2)) == .cut(oldest: 6))
        #expect(try await fixture.numbers(from: .after(5), limit: 2) == [6, 7])
    }

    @Test(arguments: [true, false])
    func `an age begins with the first event that is younger`(hasLog: Bool) async throws {
        let fixture = try Fixture(hasLog: hasLog)
        fixture.publish(10)
        let last = fixture.source.position.sequence
        // The last event is of this very moment, the one before a second old.
        #expect(try await fixture.numbers(from: .age(.milliseconds(500))) == [last])
        #expect(try await fixture.numbers(from: .age(.milliseconds(2500))) == [last - 2, last - 1, last])
        #expect(try await fixture.numbers(from: .age(.milliseconds(6500))).first == (hasLog ? last - 6 : last - 3))
        #expect(try await fixture.numbers(from: .age(.seconds(3600))).first == (hasLog ? 1 : last - 3))
        fixture.clock.advance(by: .seconds(60))
        #expect(try await fixture.numbers(from: .age(.seconds(1))) == [])
    }

    @Test func `a log that was removed is an error of the request, not of the service`() async throws {
        let fixture = try Fixture()
        fixture.publish(10)
        try Command.run([
            "sh", "-c", "rm \(fixture.scratch.path)/events.jsonl; mkdir \(fixture.scratch.path)/events.jsonl",
        ])
        await #expect(throws: (any Error).self) { try await fixture.piece(from: .after(1)) }
        #expect(try await fixture.numbers(from: .after(9)) == [10, 11])
    }

    @Test func `what goes wrong inside is a line with the name that the client got`() throws {
        let fixture = try Fixture(hasLog: false)
        fixture.source.internalError(Errno(EIO), instance: "urn:nwpath:1")
        #expect(fixture.reports.lines.withLock { $0 } == ["error urn:nwpath:1: Input/output error (EIO)"])
        #expect(fixture.source.health == .ready)
        #expect(try fixture.source.isSatisfied(monitor: "nope") == nil)
    }

    @Test func `the configuration is read again only between the first look at the kernel and the stop`() throws {
        let source = try Fixture(hasLog: false).source
        #expect(source.readiness == .notReady(reason: "the kernel has not been read yet"))
        source.open { Array("done".utf8) }
        #expect(try source.readiness == .ready && source.reload() == Array("done".utf8))
        source.close("the service is stopping")
        #expect(source.readiness == .notReady(reason: "the service is stopping"))
        let problem = #expect(throws: Problem.self) { try source.reload() }
        #expect(problem?.status == 503 && problem?.detail == "The service is not ready: the service is stopping.")
    }
}
