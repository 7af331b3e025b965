// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()

/// Events of one instance, in short: what a directory tells.
private struct Story {
    var list: BrowseList
    let service: Service
    let announcement: ServiceAnnouncement

    init(_ subscription: Subscription = Subscription(pointers: [lamp.typeName])) throws {
        list = BrowseList(subscription)
        var directory = LinkDirectory(index: 2, name: "eth0", settings: .init(), random: RandomSource(seed: 1))
        directory.open(.ipv4, mtu: 1500, at: time(0))
        directory.add(Subscription(census: CensusSettings()), of: 1, at: time(0))
        let bytes = try #require(Message(flags: .response, answers: lamp.all).encoded())
        _ = directory.receive(bytes.span, .ipv4, from: PacketOrigin(source: .v4(1), port: 5353), at: time(0))
        service = try #require(directory.services.first)
        announcement = ServiceAnnouncement(service)
    }

    private func event(_ word: Substring) -> DirectoryEvent {
        var moved = service
        moved.port = 81
        return switch word {
        case "a": .announced(announcement, by: [lamp.typeName])
        case "o": .announced(announcement, by: [lamp.subtypeName])
        case "w": .withdrawn(announcement, reason: .goodbye, seenFor: .zero)
        case "r": .resolved(service)
        case "m": .resolved(moved)
        case "c": .changed(moved, fields: [.port], previous: service)
        case "x": .removed(service, reason: .unresolvable, seenFor: .zero)
        default: .recordAdded(lamp.pointer)
        }
    }

    mutating func tell(_ words: String) -> String {
        words.split(separator: " ").flatMap { list.apply(event($0)) }.map { event in
            switch event {
            case .found: "found"
            case .resolved: "resolved"
            case .changed: "changed"
            case .unresolved: "unresolved"
            case .lost(_, let last, let reason, _): "lost-\(reason.rawValue)\(last == nil ? "" : "-known")"
            }
        }.joined(separator: " ")
    }
}

@Suite struct BrowseListTests {
    @Test(arguments: [
        ("a r w", "found resolved lost-goodbye-known"), ("a w", "found lost-goodbye"), ("a a r r", "found resolved"),
        ("r c x w", ""), ("o r w", ""), ("a o", "found lost-goodbye"), ("a r c", "found resolved changed"),
        ("a r m", "found resolved changed"), ("a c", "found resolved"), ("w a", "found"), ("a q r", "found resolved"),
        // Announced but not there: lost once, and found again when it is back.
        ("a r x w", "found resolved lost-unresolvable-known"),
        ("a r x r w", "found resolved lost-unresolvable-known found resolved lost-goodbye-known"),
        ("a r x a w a", "found resolved lost-unresolvable-known found"), ("a x x", "found lost-unresolvable"),
    ])
    func `tells one ordered story, whatever the order of events`(events: String, expected: String) throws {
        var story = try Story()
        #expect(story.tell(events) == expected)
    }

    @Test(arguments: [
        ("a r w", "resolved"), ("r x r", "resolved lost-unresolvable-known resolved"),
        ("r c x x", "resolved changed lost-unresolvable-known"),
        ("a w", ""), ("r r", "resolved"), ("c", ""),
    ])
    func `an instance that is followed by name does not depend on announcements`(
        events: String,
        expected: String
    ) throws {
        var story = try Story(Subscription(instances: [lamp.instance]))
        #expect(story.tell(events) == expected)
    }

    @Test func `keeps what is present`() throws {
        var story = try Story()
        _ = story.tell("a")
        #expect(story.list.announcements == [story.announcement] && story.list.services.isEmpty)
        _ = story.tell("r")
        #expect(story.list.services == [story.service])
        _ = story.tell("x")
        #expect(story.list.announcements.isEmpty && story.list.services.isEmpty)
        _ = story.tell("r w")
        #expect(story.list.announcements.isEmpty && story.list.services.isEmpty)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `found and lost take turns, whatever is told`(seed: UInt64) throws {
        var random = RandomSource(seed: seed)
        var story = try Story()
        let words = (0..<500).map { _ in ["a", "o", "w", "r", "m", "c", "x"].randomElement(using: &random) ?? "a" }
        var isPresent = false
        var isResolved = false
        for word in story.tell(words.joined(separator: " ")).split(separator: " ") {
            switch word {
            case "found":
                #expect(!isPresent)
                isPresent = true
            case "resolved":
                #expect(isPresent && !isResolved)
                isResolved = true
            case "changed": #expect(isResolved)
            default:
                #expect(isPresent && word.hasSuffix("known") == isResolved)
                (isPresent, isResolved) = (false, false)
            }
        }
    }
}
