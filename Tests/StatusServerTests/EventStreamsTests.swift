// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import LinuxIO
import Metrics
import OrderedJSON
import TestSupport
import Testing

@testable import StatusServer

/// An event as a browser hands it to a page (the HTML standard, section 9.2.6).
private struct BrowserEvent: Equatable {
    var id = ""
    var type = "message"
    var data = ""

    /// Reads a stream as a browser does; what is not ended by an empty line is no event.
    static func parse(_ text: String) -> [BrowserEvent] {
        var events: [BrowserEvent] = []
        var (id, type, data) = ("", "", [Substring]())
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            guard !line.isEmpty else {
                if !data.isEmpty {
                    let words = data.joined(separator: "\n")
                    events.append(BrowserEvent(id: id, type: type.isEmpty ? "message" : type, data: words))
                }
                (type, data) = ("", [])
                continue
            }
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            var value = line[colon...].dropFirst()
            if value.first == " " { value.removeFirst() }
            switch line[..<colon] {
            case "id": id = String(value)
            case "event": type = String(value)
            case "data": data.append(value)
            default: break
            }
        }
        return events
    }
}

/// Streams over a fake daemon, without sockets.
private final class StreamsFixture {
    let provider = FakeProvider()
    let metrics = EventStreamMetrics()
    private(set) var grace: [() -> Void] = []
    private(set) lazy var streams = EventStreams(provider: provider, limit: limit, metrics: metrics) { [unowned self] in
        grace.append($0)
    }
    private let limit: OutgoingStream.Limit

    init(events: Int = 0, limit: OutgoingStream.Limit = OutgoingStream.Limit()) {
        self.limit = limit
        for number in 0..<events { provider.add(number.isMultiple(of: 2) ? "path.changed" : "service.added") }
    }

    func open(_ format: StreamFormat = .lines, since: String? = nil, event: String? = nil) throws -> OutgoingStream {
        let filter = (try? EventFilter(event)) ?? EventFilter()
        return streams.open(format, from: since.flatMap { EventCursor($0) }, filter: filter)
    }

    func publish(_ name: String = "path.changed", padding: Int = 0) {
        streams.broadcast(provider.add(name, padding: padding))
    }
}

/// The numbers of JSON lines, and the names of those that are no events of the log.
private func numbers(_ lines: String) throws -> [String] {
    try lines.split(separator: "\n").map { line in
        let value = try JSONValue(parsing: String(line))
        let name = value["event"]?.string ?? ""
        let reason = (value["reset"] ?? value["closed"])?["reason"]?.string
        return reason.map { "\(name) \($0)" } ?? "\(value["seq"]?.int ?? 0)"
    }
}

@Suite struct EventStreamsTests {
    @Test(arguments: [1, 7, 64, 100_000])
    func `what happens while a client catches up comes after that, once`(size: Int) throws {
        let fixture = StreamsFixture(events: 200)
        let stream = try fixture.open(since: "0")
        var text = stream.text(size: size, limit: 3)
        fixture.publish()
        text += stream.text(size: size, limit: 3)
        fixture.publish()
        text += stream.text(size: size)
        fixture.publish()
        text += stream.text(size: size)
        #expect(try numbers(text) == (1...203).map { "\($0)" })
        #expect(stream.end == .wait)
    }

    @Test(
        arguments: [
            ("path.*", 0), ("service.*", 1), ("path.*,service.*", nil), ("nothing.*", -1),
        ] as [(String, Int?)]
    )
    func `a filter holds for the past and the present`(pattern: String, rest: Int?) throws {
        let fixture = StreamsFixture(events: 300)
        let stream = try fixture.open(since: "0", event: pattern)
        var text = stream.text()
        for name in ["path.changed", "service.added", "path.changed", "service.added"] { fixture.publish(name) }
        text += stream.text()
        let expected = (0..<304).filter { rest == nil || $0 % 2 == rest }.map { "\($0 + 1)" }
        #expect(try numbers(text) == expected)
    }

    @Test func `a log that is cut while a client reads it resets the client, which then goes on`() throws {
        let fixture = StreamsFixture(events: 200)
        let stream = try fixture.open(since: "0")
        let first = try numbers(stream.text(limit: 1))
        fixture.provider.oldest = 150
        var rest = try numbers(stream.text())
        #expect((first + rest).last == "stream.reset too_old" || rest.contains("stream.reset too_old"))
        fixture.publish()
        rest += try numbers(stream.text())
        #expect(rest.suffix(2) == ["stream.reset too_old", "201"])
    }

    @Test func `a log that cannot be read breaks the stream off, and no other`() throws {
        let fixture = StreamsFixture(events: 100)
        let now = try fixture.open()
        #expect(now.text() == "")
        let past = try fixture.open(since: "0")
        var broken = 0
        past.breakOff = { broken += 1 }
        fixture.provider.logFailure = Breakdown()
        _ = past.text()
        #expect(past.end == .broken && broken == 1)
        fixture.publish()
        #expect(try numbers(now.text()) == ["101"])
        let later = try fixture.open(since: "5")
        _ = later.text()
        #expect(later.end == .broken)
    }

    @Test(
        arguments: [
            (nil, .after(20), nil), ("20", .after(20), nil), ("19", .after(19), nil), ("0", .after(0), nil),
            ("21", .after(20), .otherStream), ("7f3a.12", .after(12), nil), ("7F3A.12", .after(12), nil),
            ("beef.12", .after(20), .otherStream), ("2h", .age(.seconds(7200)), nil),
        ] as [(String?, EventPlace, StreamReset.Reason?)]
    )
    func `a place is where the client was, or now with the reason`(
        since: String?,
        place: EventPlace,
        reset: StreamReset.Reason?
    ) {
        let fixture = StreamsFixture(events: 20)
        let start = fixture.streams.resolve(since.flatMap { EventCursor($0) })
        #expect(start.place == place && start.reset == reset)
    }

    @Test(arguments: [("9", 10), ("8", 0), ("7f3a.8", 0), ("2h", 10), ("1s", 21)])
    func `what the log no longer has is a reset, and the stream goes on from now`(since: String, first: Int) throws {
        let fixture = StreamsFixture(events: 20)
        fixture.provider.oldest = 10
        let stream = try fixture.open(since: since)
        var told = try numbers(stream.text())
        fixture.publish()
        told += try numbers(stream.text())
        let events = first > 0 ? (first...21).map { "\($0)" } : ["stream.reset too_old", "21"]
        #expect(told == events)
    }

    @Test func `older events are read in one pass beside the loop, then those of memory, then what happens`() throws {
        let fixture = StreamsFixture(events: 300)
        fixture.provider.memoryBegins = 250
        let stream = try fixture.open(since: "7f3a.20")
        #expect(stream.text() == "", "nothing waits for the archive")
        fixture.publish()
        var told: [String] = []
        for _ in 0..<20 {
            fixture.provider.read()
            told += try numbers(stream.text())
        }
        fixture.publish()
        told += try numbers(stream.text())
        #expect(told == (21...302).map { "\($0)" })
        #expect(fixture.provider.archives == 1)
    }

    @Test func `a client that leaves while the archive is read gets nothing, and ends the reading`() throws {
        let fixture = StreamsFixture(events: 300)
        fixture.provider.memoryBegins = 250
        let stream = try fixture.open(since: "0")
        _ = stream.text()
        #expect(fixture.provider.reads.count == 1)
        stream.close()
        fixture.provider.read()
        #expect(fixture.streams.count == 0 && fixture.provider.reads.isEmpty)
    }

    @Test func `what neither the archive nor memory has is passed over`() throws {
        let fixture = StreamsFixture(events: 20)
        fixture.provider.memoryBegins = 30
        let stream = try fixture.open(since: "0")
        _ = stream.text()
        fixture.provider.read()
        var told = try numbers(stream.text())
        fixture.provider.memoryBegins = 20
        told += try numbers(stream.text())
        fixture.publish()
        told += try numbers(stream.text())
        #expect(told == (1...21).map { "\($0)" })
    }

    @Test func `the farewell names its reason in the form of each stream`() throws {
        let fixture = StreamsFixture(events: 3)
        let (sse, lines) = (try fixture.open(.serverSent), try fixture.open(.lines))
        fixture.streams.close(reason: "daemon_stopping")
        #expect(fixture.streams.count == 0)
        #expect(fixture.metrics.clients(.sse) == 0 && fixture.metrics.clients(.ndjson) == 0)
        #expect(try numbers(lines.text()) == ["stream.closed daemon_stopping"])
        let events = BrowserEvent.parse(sse.text())
        #expect(events.map(\.type) == ["stream.closed"] && events[0].id == "7f3a.3")
        let notice = try JSONValue(parsing: events[0].data)
        // The state may be looked up; a stream that ends in order has lost nothing.
        #expect(notice["snapshot"] == nil && notice["schema"]?.string == "nwpath.event/1")
        for stream in [sse, lines] { #expect(stream.end == .end) }
        fixture.publish()
        #expect(fixture.metrics.drops(.sse) == 0)
    }

    @Test(arguments: [StreamFormat.serverSent, .lines])
    func `a client that reads too slowly is told, counted and cut`(format: StreamFormat) throws {
        let fixture = StreamsFixture(limit: OutgoingStream.Limit(chunks: 4, bytes: 10_000))
        let slow = try fixture.open(format)
        _ = slow.text()
        for _ in 0..<5 { fixture.publish() }
        #expect(fixture.streams.count == 0 && fixture.metrics.drops(format.transport) == 1)
        #expect(fixture.metrics.clients(format.transport) == 0)
        var isCut = false
        slow.breakOff = { isCut = true }
        let text = slow.text()
        #expect(text.contains("slow_client") && text.contains("\"snapshot\":{\"path\":{\"status\":\"satisfied\"}}"))
        #expect(slow.end == .end && !isCut)
        #expect(fixture.grace.count == 1)
        fixture.grace[0]()
        #expect(isCut)
    }

    @Test func `one that takes nothing from one ping to the next is dropped, one that takes a little stays`() throws {
        let fixture = StreamsFixture()
        let (idle, slow) = (try fixture.open(.serverSent), try fixture.open(.lines))
        let stuck = try fixture.open(.webSocket)
        for stream in [idle, slow, stuck] { _ = stream.text() }
        fixture.streams.ping()
        #expect(idle.text() == ": ping\n\n")
        for _ in 0..<9 { fixture.publish() }
        for _ in 0..<3 {
            _ = (idle.text(), slow.text(size: 10, limit: 1))
            fixture.streams.ping()
        }
        #expect(fixture.metrics.drops(.websocket) == 1 && stuck.text().contains("slow_client"))
        #expect(fixture.streams.count == 2 && fixture.metrics.drops(.sse) + fixture.metrics.drops(.ndjson) == 0)
    }

    @Test func `one event that is larger than a stream may hold drops its clients only`() throws {
        let fixture = StreamsFixture(limit: OutgoingStream.Limit(chunks: 100, bytes: 1000))
        let (all, few) = (try fixture.open(), try fixture.open(event: "path.*"))
        _ = all.text() + few.text()
        fixture.publish("service.added", padding: 2000)
        fixture.publish()
        #expect(fixture.streams.count == 1)
        #expect(try numbers(all.text()) == ["stream.reset slow_client"])
        #expect(try numbers(few.text()) == ["2"])
    }

    @Test func `pings are nothing to either reader`() throws {
        let fixture = StreamsFixture(events: 1)
        let (sse, lines) = (try fixture.open(.serverSent, since: "0"), try fixture.open(.lines, since: "0"))
        var (first, second) = (sse.text(), lines.text())
        fixture.streams.ping()
        fixture.publish()
        first += sse.text()
        second += lines.text()
        fixture.streams.ping()
        first += sse.text()
        second += lines.text()
        #expect(BrowserEvent.parse(first).map(\.id) == ["7f3a.1", "7f3a.2"])
        #expect(try numbers(second) == ["1", "2"])
        #expect(first.contains(": ping\n\n") && second.contains("\n\n"))
    }

    @Test func `a closed stream is forgotten and never written to again`() throws {
        let fixture = StreamsFixture()
        let stream = try fixture.open(.serverSent)
        #expect(fixture.metrics.clients(.sse) == 1)
        stream.close()
        #expect(fixture.streams.count == 0 && fixture.metrics.clients(.sse) == 0)
        fixture.publish()
        fixture.streams.ping()
        fixture.streams.close(reason: "x")
        #expect(stream.queuedBytes == 0 && fixture.metrics.drops(.sse) == 0)
    }
}

@Suite struct ServerSentFrameTests {
    @Test func `every frame is one event to a browser, with the id to resume from`() throws {
        let fixture = StreamsFixture(events: 3)
        fixture.provider.oldest = 3
        let stream = try fixture.open(.serverSent, since: "1")
        var text = stream.text()
        for name in ["service.added", "dns.changed"] { fixture.publish(name, padding: 500) }
        text += stream.text()
        #expect(text.hasPrefix("retry: 2000\n\n"))
        let events = BrowserEvent.parse(text)
        #expect(events.map(\.type) == ["stream.reset", "service.added", "dns.changed"])
        #expect(events.map(\.id) == ["7f3a.3", "7f3a.4", "7f3a.5"])
        for (event, number) in zip(events, 3...) {
            #expect(try JSONValue(parsing: event.data)["seq"]?.int == number)
        }
        // The snapshot of several lines is on one.
        let reset = try JSONValue(parsing: events[0].data)
        #expect(reset["snapshot"]?["path"]?["status"]?.string == "satisfied" && reset["stream"]?.string == "7f3a")
    }

    @Test func `without a state a reset is still whole`() throws {
        let fixture = StreamsFixture(events: 2)
        fixture.provider.documents = [:]
        let reset = try numbers(try fixture.open(since: "beef.1").text())
        #expect(reset == ["stream.reset other_stream"])
        fixture.provider.failure = Breakdown()
        #expect(try numbers(try fixture.open(since: "99").text()) == ["stream.reset other_stream"])
    }
}

@Suite(.inNamespace) struct EventPageTests {
    private func page(_ fixture: APIFixture, _ query: String) throws -> (numbers: [Int], next: String) {
        let answer = try fixture.get("/api/v1/events?\(query)", ["Accept": "application/json"])
        #expect(answer.status == 200 && answer.field("Cache-Control") == "no-store")
        let page = try JSONValue(parsing: answer.text)
        #expect(page["schema"]?.string == "nwpath.events/1" && page["stream"]?.string == "7f3a")
        return (page["events"]?.array?.compactMap { $0["seq"]?.int } ?? [], page["next"]?.string ?? "")
    }

    @Test(arguments: [
        ("", Array(10...20), 20), ("limit=3", [18, 19, 20], 20), ("since=15&limit=2", [16, 17], 17),
        ("since=20", [], 20), ("since=2h", Array(10...20), 20), ("since=9&limit=1000", Array(10...20), 20),
        ("since=7f3a.18", [19, 20], 20), ("limit=1&since=9", [10], 10), ("since=9&event=none.*", [], 20),
        ("since=1s", [], 20),
    ])
    func `a page begins where it should and says where the next one does`(
        query: String,
        expected: [Int],
        next: Int
    ) throws {
        let fixture = APIFixture()
        for _ in 0..<20 { fixture.provider.add() }
        fixture.provider.oldest = 10
        let page = try page(fixture, query)
        #expect(page.numbers == expected && page.next == "7f3a.\(next)")
    }

    @Test func `an empty log has an empty page`() throws {
        let page = try page(APIFixture(), "")
        #expect(page.numbers.isEmpty && page.next == "7f3a.0")
    }

    @Test func `a page of old events is read in one pass beside the loop, and the rest comes from memory`() throws {
        let fixture = APIFixture()
        for number in 0..<500 { fixture.provider.add(number.isMultiple(of: 2) ? "path.changed" : "verdict.raised") }
        fixture.provider.memoryBegins = 400
        for (query, expected, next) in [
            ("since=0&limit=1000&event=verdict.raised", Array(stride(from: 2, through: 500, by: 2)), 500),
            ("since=30&limit=3&event=verdict.raised", [32, 34, 36], 36), ("since=2h&limit=2", [1, 2], 2),
        ] {
            let before = fixture.provider.archives
            let asked = try fixture.ask("/api/v1/events?\(query)", ["Accept": "application/json"])
            #expect(asked.answers.isEmpty, "nobody waits for the archive")
            fixture.provider.read()
            let page = try JSONValue(parsing: asked.answer.text)
            #expect(page["events"]?.array?.compactMap { $0["seq"]?.int } == expected)
            #expect(page["next"]?.string == "7f3a.\(next)" && fixture.provider.archives == before + 1)
        }
    }

    @Test func `a client that leaves while its page is read ends the reading`() throws {
        let fixture = APIFixture()
        for _ in 0..<50 { fixture.provider.add() }
        fixture.provider.memoryBegins = 40
        let asked = try fixture.ask("/api/v1/events?since=0", ["Accept": "application/json"])
        #expect(fixture.api.pages.count == 1)
        asked.onCancelled?()
        fixture.provider.read()
        #expect(asked.answers.isEmpty && fixture.api.pages.isEmpty)
    }

    @Test func `what the archive no longer has, and one that fails, is an answer`() throws {
        let fixture = APIFixture()
        for _ in 0..<50 { fixture.provider.add() }
        fixture.provider.memoryBegins = 40
        let socket = [
            "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        ]
        for (target, fields) in [("/api/v1/events", ["Accept": "application/json"]), ("/api/v1/events/ws", socket)] {
            fixture.provider.oldest = 20
            let cut = try fixture.ask("\(target)?since=3", fields)
            let held = try fixture.ask("\(target)?since=25", fields)
            fixture.provider.read()
            #expect(try cut.answer.status == 410)
            #expect(try held.answer.status == (fields == socket ? 101 : 200))
            fixture.provider.logFailure = Breakdown()
            let failed = try fixture.ask("\(target)?since=25", fields)
            fixture.provider.read()
            #expect(try failed.answer.status == 500)
            fixture.provider.logFailure = nil
        }
        #expect(fixture.api.pages.isEmpty)
    }

    @Test func `a filter that nothing passes leads to the newest`() throws {
        let fixture = APIFixture()
        for _ in 0..<7000 { fixture.provider.add() }
        let page = try page(fixture, "since=0&event=dns.*")
        #expect(page.numbers.isEmpty && page.next == "7f3a.7000")
    }

    @Test(arguments: [
        ("application/json", 200), ("text/event-stream", 200), ("application/x-ndjson", 200), ("text/html", 406),
        ("application/json;q=0", 406), ("text/html, application/*;q=0.1", 200),
    ])
    func `a form that there is not is refused with those there are`(accept: String, status: Int) throws {
        let answer = try APIFixture().get("/api/v1/events", method: "HEAD", ["Accept": accept])
        #expect(answer.status == status)
        if status == 406 { #expect(answer.text.contains("text/event-stream, application/x-ndjson, application/json")) }
    }

    @Test func `a stream is only opened by who will read it`() throws {
        let fixture = APIFixture { $0.streams = 1 }
        let head = try fixture.get("/api/v1/events", method: "HEAD")
        #expect(head.field("Content-Type") == "text/event-stream" && head.field("X-Accel-Buffering") == "no")
        #expect(fixture.api.streams.count == 0)
        let open = try fixture.get("/api/v1/events", ["Last-Event-ID": ""])
        #expect(open.status == 200 && open.closes && fixture.api.streams.count == 1)
        let refused = try fixture.get("/api/v1/events")
        #expect(refused.status == 429 && refused.field("Retry-After") == "10")
        // Pages need no place, and neither does looking at the head.
        #expect(try page(fixture, "").numbers.isEmpty)
        #expect(try fixture.get("/api/v1/events", method: "HEAD").status == 200)
    }
}
