// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Glibc
import LinuxIO
@testable import MulticastDNS
import OrderedJSON
import TestSupport
import Testing

@testable import PathService

/// A service of a test; its moments are seconds since boot.
func made(
    _ name: String,
    on interface: String = "eth0",
    first: Int = 900,
    last: Int = 1000,
    type: String = "_ipp._tcp"
) throws -> MulticastDNS.Service {
    let labels = [Array(name.utf8)] + "\(type).local".split(separator: ".").map { Array($0.utf8) }
    return MulticastDNS.Service(
        instance: try DomainName(labels: labels),
        name: SafeText.text(of: Array(name.utf8)),
        type: type,
        domain: "local",
        interface: interface,
        interfaceIndex: 2,
        host: "lamp.local",
        port: 9100,
        addresses: [],
        text: [],
        rawText: [],
        timeToLive: .seconds(120),
        firstSeen: .seconds(first),
        lastSeen: .seconds(last)
    )
}

@Suite struct ServiceHistoryTests {
    private let clock = ManualClock()

    private func entry(_ history: ServiceHistory, _ service: MulticastDNS.Service) throws -> ServiceHistory.Entry {
        try #require(history.entries[.init(service)])
    }

    @Test func `a service that comes, goes and comes again keeps its first moment`() throws {
        var history = ServiceHistory()
        let lamp = try made("Lamp")
        history.take(.added(lamp), clock: clock)
        let first = clock.wall - .seconds(100)
        #expect(try entry(history, lamp) == .init(firstSeen: first, lastSeen: clock.wall, isPresent: true))
        history.take(.removed(lamp, reason: .goodbye, seenFor: .seconds(100)), clock: clock)
        #expect(try entry(history, lamp).removal == .goodbye)
        #expect(try entry(history, lamp).isPresent == false)
        clock.advance(by: .seconds(3600))
        history.take(.added(try made("Lamp", first: 4600, last: 4600)), clock: clock)
        #expect(
            try entry(history, lamp)
                == .init(firstSeen: first, lastSeen: clock.wall, appearances: 2, removal: nil, isPresent: true)
        )
    }

    @Test(arguments: RemovalReason.allCases)
    func `why it went is remembered`(reason: RemovalReason) throws {
        var history = ServiceHistory()
        let lamp = try made("Lamp")
        history.take(.added(lamp), clock: clock)
        history.take(.removed(lamp, reason: reason, seenFor: .zero), clock: clock)
        #expect(try entry(history, lamp).removal == reason)
    }

    @Test func `a restart is no new appearance, and nothing is there before it is heard again`() throws {
        var history = ServiceHistory()
        let lamp = try made("Lamp")
        history.take(.added(lamp), clock: clock)
        var later = ServiceHistory(history.entries)
        #expect(try entry(later, lamp).isPresent == false)
        #expect(!later.hasNews)
        later.take(.added(lamp), clock: clock)
        #expect(try entry(later, lamp).appearances == 1)
        #expect(later.firstSeen(lamp) == history.firstSeen(lamp))
        #expect(later.hasNews)
    }

    @Test func `the same name on another interface is another service; letter case makes none`() throws {
        var history = ServiceHistory()
        for service in [try made("Lamp"), try made("LAMP"), try made("Lamp", on: "wlan0")] {
            history.take(.added(service), clock: clock)
        }
        #expect(history.entries.count == 2)
    }

    @Test func `a calendar that was ahead does not leave a first moment after the last`() throws {
        var history = ServiceHistory()
        let lamp = try made("Lamp")
        history.take(.added(lamp), clock: clock)
        clock.step(wallBy: .seconds(-86_400))
        history.take(.changed(lamp, fields: [.text], previous: lamp), clock: clock)
        let found = try entry(history, lamp)
        #expect(found.firstSeen == found.lastSeen && found.lastSeen == clock.wall)
    }

    @Test func `of what is gone the last seen are kept, and what is there stays`() throws {
        var history = ServiceHistory()
        let honest = try made("Honest")
        history.take(.added(honest), clock: clock)
        for number in 0..<6000 {
            clock.advance(by: .seconds(1))
            let service = try made("n\(number)", first: 1001 + number, last: 1001 + number)
            history.take(.added(service), clock: clock)
            history.take(.removed(service, reason: .expired, seenFor: .zero), clock: clock)
            #expect(history.entries.count <= ServiceHistory.capacity + 512)
        }
        #expect(try entry(history, honest).isPresent)
        #expect(try history.entries[.init(made("n5999"))] != nil)
        #expect(try history.entries[.init(made("n0"))] == nil)
    }

    @Test func `a flood of services that stay is bounded too`() throws {
        var history = ServiceHistory()
        for number in 0..<6000 { history.take(.added(try made("n\(number)")), clock: clock) }
        #expect(history.entries.count == ServiceHistory.capacity)
        let left = try made("n1")
        history.take(.removed(left, reason: .goodbye, seenFor: .zero), clock: clock)
        history.take(.removed(try made("n5999"), reason: .goodbye, seenFor: .zero), clock: clock)
        history.take(.added(try made("late")), clock: clock)
        #expect(try history.entries[.init(made("late"))]?.isPresent == true)
    }

    @Test func `a refresh moves the last moment of what is there`() throws {
        var history = ServiceHistory()
        let lamp = try made("Lamp")
        history.take(.added(lamp), clock: clock)
        history.mark(isSaved: true)
        clock.advance(by: .seconds(60))
        history.refresh([], clock: clock)
        #expect(!history.hasNews)
        history.refresh([try made("Lamp", last: 1060), try made("Unknown")], clock: clock)
        #expect(try entry(history, lamp).lastSeen == clock.wall)
        #expect(history.entries.count == 1 && history.hasNews)
    }
}

@Suite struct ServiceHistoryFormatTests {
    private let clock = ManualClock()

    private func file(_ history: ServiceHistory) -> [UInt8] {
        ServiceHistoryFormat.header(at: clock.wall)
            + history.entries.sorted { $0.key < $1.key }.flatMap { ServiceHistoryFormat.line($0.key, $0.value) }
    }

    private func sample(_ names: [String]) throws -> ServiceHistory {
        var history = ServiceHistory()
        for name in names { history.take(.added(try made(name)), clock: clock) }
        return history
    }

    @Test func `what is written is read back, hostile names included`() throws {
        let names = ["Lamp", "a.b\\c", "\u{1B}[31m\n\u{202E}", "日本語", "\"}{", String(repeating: "x", count: 63)]
        var history = try sample(names)
        history.take(.removed(try made("Lamp"), reason: .unresolvable, seenFor: .zero), clock: clock)
        let bytes = file(history)
        #expect(bytes.count { $0 == 0x0A } == names.count + 1)
        let reading = try #require(ServiceHistoryFormat.read(bytes))
        #expect(reading.badLines == 0)
        #expect(ServiceHistory(reading.entries).entries == ServiceHistory(history.entries).entries)
    }

    @Test func `bytes that are no UTF-8 are read back`() throws {
        let instance = try DomainName(labels: [
            [0xFF, 0x00, 0x2E], Array("_a".utf8), Array("_tcp".utf8), Array("local".utf8),
        ])
        let key = ServiceHistory.Key(instance: instance, interface: "eth0")
        let entry = ServiceHistory.Entry(firstSeen: clock.wall, lastSeen: clock.wall)
        let bytes = ServiceHistoryFormat.header(at: clock.wall) + ServiceHistoryFormat.line(key, entry)
        #expect(ServiceHistoryFormat.read(bytes)?.entries == [key: entry])
    }

    @Test func `a file that was torn anywhere is read as far as it goes`() throws {
        let bytes = file(try sample(["a", "b", "c"]))
        let header = ServiceHistoryFormat.header(at: clock.wall).count
        for length in header...bytes.count {
            let reading = try #require(ServiceHistoryFormat.read(Array(bytes.prefix(length))))
            let whole = bytes[header..<length].count { $0 == 0x0A }
            // A line that lacks its line feed only is whole.
            #expect((whole...whole + 1).contains(reading.entries.count))
            #expect(reading.badLines <= 1)
        }
    }

    @Test(
        arguments: [
            "", "\n", "{}", "[1]", "hello\nworld", "{\"schema\":\"nwpath.event/1\"}\n", "{\"schema\":1}\n",
            "{\"schema\":\"nwpath.services/2\"}\n", "\u{0}\u{0}",
        ]
    )
    func `a foreign file is not ours`(text: String) {
        #expect(ServiceHistoryFormat.read(Array(text.utf8)) == nil)
    }

    @Test(
        arguments: [
            ("\"instance\":\"a._ipp._tcp.local\"", "\"instance\":\"local\""),
            ("\"interface\":\"eth0\"", "\"interface\":\"\""),
            ("\"interface\":\"eth0\"", "\"interface\":\"0123456789abcdef\""),
            ("\"first_seen\":\"", "\"first_seen\":\"9"),
            ("\"first_seen\":\"2026", "\"first_seen\":\"2027"), ("\"last_seen\"", "\"last\""), ("{", "["),
            ("\"instance\":\"a", "\"instance\":\"a\\\\"), ("\"instance\":\"a", "\"instance\":\"\\\\999"),
        ]
    )
    func `a line that says nonsense is left out, and the others count`(right: String, wrong: String) throws {
        let bytes = file(try sample(["a", "b"]))
        var lines = String(decoding: bytes, as: UTF8.self).lines
        lines[1] = replace(right, by: wrong, in: lines[1])
        let reading = try #require(ServiceHistoryFormat.read(Array(lines.joined(separator: "\n").utf8)))
        #expect(reading.badLines == 1 && reading.entries.count == 1)
    }

    @Test(arguments: [("\"appearances\":1", "\"appearances\":-3"), ("\"appearances\":1", "\"x\":\"y\"")])
    func `what else is odd is mended`(right: String, wrong: String) throws {
        var lines = String(decoding: file(try sample(["a"])), as: UTF8.self).lines
        lines[1] = replace(right, by: wrong, in: lines[1])
        let reading = try #require(ServiceHistoryFormat.read(Array(lines.joined(separator: "\n").utf8)))
        #expect(reading.entries.values.map(\.appearances) == [1])
    }

    /// Replaces the first occurrence, which must exist.
    private func replace(_ old: String, by new: String, in text: String) -> String {
        guard let range = text.firstRange(of: old) else {
            Issue.record("\(old) is not in \(text)")
            return text
        }
        return text[..<range.lowerBound] + new + text[range.upperBound...]
    }
}
