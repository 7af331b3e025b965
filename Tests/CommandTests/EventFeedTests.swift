// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import OrderedJSON
import Spelling
import Testing

@testable import nwpath

@Suite struct EventFeedTests {
    private func line(_ name: String, _ number: Int) -> String {
        "{\"seq\":\(number),\"stream\":\"7f3a\",\"event\":\"\(name)\"}"
    }

    private func globs(_ texts: String...) -> [Glob] { texts.compactMap { Glob($0) } }

    @Test func `shows what is asked for and remembers where it is`() throws {
        var feed = EventFeed(patterns: globs("path.*"))
        #expect(feed.position == nil)
        #expect(feed.receive(line("path.changed", 5)) == .show(try JSONValue(parsing: line("path.changed", 5))))
        #expect(feed.receive(line("dns.changed", 6)) == .skip)
        #expect(feed.position == "7f3a.6")
    }

    @Test func `has enough after its number of events`() {
        var feed = EventFeed(patterns: globs("path.*"), limit: 2)
        _ = feed.receive(line("path.changed", 1))
        _ = feed.receive(line("dns.changed", 2))
        _ = feed.receive(line("stream.reset", 2))
        #expect(!feed.isDone)
        _ = feed.receive(line("path.snapshot", 3))
        #expect(feed.isDone)
        #expect(!EventFeed().isDone)
    }

    @Test func `a reset is shown whatever was asked for, and moves the place`() throws {
        var feed = EventFeed(patterns: globs("path.*"), position: "aaaa.9")
        let reset = "{\"seq\":2,\"stream\":\"bbbb\",\"event\":\"stream.reset\",\"reset\":{\"reason\":\"other_stream\"}}"
        #expect(feed.receive(reset) == .show(try JSONValue(parsing: reset)))
        #expect(feed.position == "bbbb.2")
    }

    @Test func `the end of a stream does not move the place`() {
        var feed = EventFeed(position: "7f3a.3")
        let end = "{\"seq\":9,\"stream\":\"7f3a\",\"event\":\"stream.closed\",\"closed\":{\"reason\":\"stopping\"}}"
        #expect(feed.receive(end) == .ended(reason: "stopping"))
        #expect(feed.position == "7f3a.3")
    }

    @Test(arguments: [
        "", "x", "[]", "{}", "{\"event\":\"a\"}", "{\"event\":\"a\",\"seq\":-1,\"stream\":\"x\"}",
        "{\"seq\":1,\"stream\":\"x\"}",
    ])
    func `what is no event is left out`(line: String) {
        var feed = EventFeed(position: "7f3a.3")
        #expect(feed.receive(line) == .malformed)
        #expect(feed.position == "7f3a.3")
    }

    @Test(
        arguments: [
            ([], nil), (["path.*", "dns.changed"], "path.*,dns.changed"), (["path.*", "d?s.*"], nil), (["[ad]*"], nil),
        ] as [([String], String?)]
    )
    func `the daemon filters what it understands`(patterns: [String], filter: String?) {
        #expect(EventFeed(patterns: patterns.compactMap { Glob($0) }).serverFilter == filter)
    }
}

@Suite struct BackoffTests {
    @Test func `pauses grow to a bound, and start again`() {
        var backoff = Backoff()
        let pauses = (0..<7).map { _ in backoff.next() }
        #expect(pauses == [50, 100, 200, 400, 800, 1000, 1000].map { .milliseconds($0) })
        backoff.reset()
        #expect(backoff.next() == .milliseconds(50))
    }
}

@Suite struct ServiceSelectionTests {
    @Test(arguments: [
        (ServiceSelection(), true), (ServiceSelection(type: "_ipp._tcp"), true),
        (ServiceSelection(type: "_ssh._tcp"), false),
        (ServiceSelection(name: Glob("Off*")), true), (ServiceSelection(name: Glob("off*")), false),
        (ServiceSelection(name: Glob("Offic[xyz]")), false), (ServiceSelection(name: Glob("Offic[e]")), true),
        (ServiceSelection(interface: "eth0"), true), (ServiceSelection(type: "_ipp._tcp", interface: "eth1"), false),
    ])
    func `selects by type, name and interface`(selection: ServiceSelection, isIncluded: Bool) throws {
        let service = try JSONValue(parsing: "{\"name\":\"Office\",\"type\":\"_ipp._tcp\",\"interface\":\"eth0\"}")
        #expect(selection.includes(service) == isIncluded)
        var event = JSONObject()
        event["service"] = service
        #expect(selection.concerns(.object(event)) == isIncluded)
        var answer = JSONObject()
        answer["seq"] = .integer(3)
        answer["services"] = .array([service])
        let kept = selection.applied(to: .object(answer))
        #expect(kept.list("services").count == (isIncluded ? 1 : 0))
        #expect(kept["seq"]?.int == 3)
    }

    @Test func `a type's coming and going is selected by type alone`() throws {
        let event = try JSONValue(parsing: "{\"service_type\":\"_ipp._tcp\"}")
        #expect(ServiceSelection(type: "_ipp._tcp").concerns(event))
        #expect(!ServiceSelection(type: "_ssh._tcp").concerns(event))
        #expect(ServiceSelection(name: Glob("x")).concerns(event))
    }
}

@Suite struct MomentTests {
    private let now = WallTime(nanoseconds: 1_000_000_000_000)

    @Test func `a moment is an age or a time`() throws {
        let age = try #require(TimePoint("10s"))
        #expect(age.time(before: now) == WallTime(nanoseconds: 990_000_000_000))
        #expect(age.description == "10s")
        let time = try #require(TimePoint("1970-01-01T00:01:00Z"))
        #expect(time.time(before: now) == WallTime(nanoseconds: 60_000_000_000))
        #expect(TimePoint("") == nil)
        #expect(TimePoint("yesterday") == nil)
    }
}
