// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@Suite struct EventHubTests {
    @Test func `a record is the envelope in its order, then the data, on one line`() throws {
        let hub = try EventHub.sample()
        let event = try #require(hub.publish(Sample(severity: .warning, message: "two\nlines", value: 2.5)))
        let expected =
            #"{"time":"2026-11-20T12:00:00.000000000Z","seq":40,"stream":"7f3a","schema":"nwpath.event/1","#
            + #""event":"path.changed","severity":"warning","host":"edge-17","message":"two\nlines","value":2.5}"#
            + "\n"
        #expect(String(decoding: event.line, as: UTF8.self) == expected)
        #expect(event.position.description == "7f3a.40" && event.name == .pathChanged && event.severity == .warning)
        #expect(event.json.count == event.line.count - 1)
    }

    @Test func `numbers go up by one from where the log ended`() throws {
        let hub = try EventHub.sample(after: 1000)
        #expect((0..<5).compactMap { _ in hub.publish(Sample())?.sequence } == [1001, 1002, 1003, 1004, 1005])
        #expect(hub.position.sequence == 1005)
    }

    @Test func `a hub without a past begins a stream of its own at one`() {
        let hubs = (0..<8).map { _ in EventHub(EventHub.Options(host: "a")) }
        #expect(hubs.allSatisfy { $0.publish(Sample())?.sequence == 1 })
        #expect(Set(hubs.map(\.position.stream)).count > 1)
    }

    @Test func `the journal hears an event before the sinks, and they in the order they came`() throws {
        let hub = try EventHub.sample()
        let journal = FakeJournal()
        hub.attach(journal)
        var heard: [String] = []
        hub.addSink { heard.append("a\($0.sequence) after \(journal.appended.count)") }
        hub.addSink { heard.append("b\($0.sequence)") }
        hub.publish(Sample())
        hub.publish(Sample())
        #expect(heard == ["a40 after 1", "b40", "a41 after 2", "b41"])
    }

    @Test func `what a sink publishes comes after the event in hand, for everybody`() throws {
        let hub = try EventHub.sample()
        let journal = FakeJournal()
        hub.attach(journal)
        var first: [UInt64] = []
        var second: [UInt64] = []
        hub.addSink { [unowned hub] event in
            first.append(event.sequence)
            guard event.sequence < 44 else { return }
            hub.publish(Sample())
            hub.publish(Sample())
        }
        hub.addSink { second.append($0.sequence) }
        hub.publish(Sample())
        #expect(first == Array(40...48) && second == first)
        #expect(journal.appended.map(\.sequence) == first)
    }

    @Test func `what the journal owes comes before the next event, with numbers of its own`() throws {
        let hub = try EventHub.sample()
        let journal = FakeJournal()
        hub.attach(journal)
        var heard: [String] = []
        hub.addSink { heard.append("\($0.sequence) \($0.name)") }
        journal.owed = [Sample(name: .logOpened), Sample(name: .logGap)]
        hub.publish(Sample())
        #expect(heard == ["40 log.opened", "41 log.gap", "42 path.changed"])
        journal.owed = [Sample(name: .logGap)]
        hub.prepareJournal()
        #expect(heard.last == "43 log.gap")
    }

    @Test func `a draft that is not committed leaves no trace`() throws {
        let hub = try EventHub.sample()
        let journal = FakeJournal()
        journal.commits = false
        journal.owed = [Sample(name: .logGap)]
        hub.attach(journal)
        let event = hub.publish(Sample())
        #expect(event?.sequence == 40 && hub.publishedCounts.first { $0.name == .logGap }?.count == 0)
    }

    @Test func `a draft whose number was given away is dropped`() throws {
        let hub = try EventHub.sample()
        let draft = hub.draft(Sample())
        hub.publish(Sample())
        #expect(!hub.commit(draft))
        #expect(hub.position.sequence == 40)
    }

    @Test func `debug events are published only when asked for`() throws {
        let hub = try EventHub.sample()
        #expect(hub.publish(Sample(severity: .debug)) == nil)
        hub.minimumSeverity = .debug
        #expect(hub.publish(Sample(severity: .debug))?.sequence == 40)
        hub.minimumSeverity = .error
        #expect(hub.publish(Sample(severity: .warning)) == nil)
        #expect(hub.publish(Sample(severity: .error))?.sequence == 41)
    }

    @Test func `counts every name of the catalogue, from zero`() throws {
        let hub = try EventHub.sample()
        #expect(hub.publishedCounts.map(\.name) == EventName.allCases)
        #expect(hub.publishedCounts.allSatisfy { $0.count == 0 })
        for _ in 0..<3 { hub.publish(Sample(name: .serviceAdded)) }
        hub.publish(Sample(name: .logGap))
        let counted = hub.publishedCounts.filter { $0.count > 0 }
        #expect(counted.map(\.name) == [.logGap, .serviceAdded] && counted.map(\.count) == [1, 3])
    }

    @Test func `a body that cannot be encoded is published without its data`() throws {
        let hub = try EventHub.sample()
        let event = try #require(hub.publish(Sample(value: .nan)))
        #expect(hub.encodingFailures == 1 && event.sequence == 40)
        #expect(event.value?["message"]?.string == "Sample" && event.value?["value"] == nil)
        #expect(event.value?["encoding_error"]?.string == "value is not a finite number")
    }
}

@Suite struct ReplayTests {
    @Test func `a reader gets what it missed`() throws {
        let hub = try EventHub.sample(after: 0)
        for _ in 0..<10 { hub.publish(Sample()) }
        let replay = hub.events(since: 7)
        #expect(replay.events.map(\.sequence) == [8, 9, 10] && replay.isComplete)
        #expect(hub.events(since: 0).events.count == 10 && hub.events(since: 0).isComplete)
        #expect(hub.events(since: 10).events.isEmpty && hub.events(since: 10).isComplete)
    }

    @Test func `the past is incomplete when it is older than the ring, ahead, or of another stream`() throws {
        let hub = try EventHub.sample(after: 100) { $0.replayCount = 4 }
        #expect(!hub.events(since: 50).isComplete)
        #expect(hub.events(since: 100).isComplete)
        for _ in 0..<10 { hub.publish(Sample()) }
        #expect(!hub.events(since: 105).isComplete)
        #expect(hub.events(since: 105).events.map(\.sequence) == [107, 108, 109, 110])
        #expect(hub.events(since: 106).isComplete)
        #expect(!hub.events(since: 111).isComplete)
    }

    @Test func `bytes bound the ring, and the newest event always stays`() throws {
        let hub = try EventHub.sample(after: 0) { $0.replayBytes = 700 }
        for _ in 0..<50 { hub.publish(Sample()) }
        let kept = hub.events(since: 0).events
        #expect((2...4).contains(kept.count) && kept.last?.sequence == 50)
        #expect(kept.map(\.line.count).reduce(0, +) <= 700)
        hub.publish(Sample(message: String(repeating: "x", count: 2000)))
        #expect(hub.events(since: 0).events.map(\.sequence) == [51])
    }

    @Test(arguments: [1, 2, 15, 16, 17, 40, 1000])
    func `the ring keeps exactly the last events, whatever its size`(count: Int) throws {
        let hub = try EventHub.sample(after: 0) { $0.replayCount = count }
        for published in 1...100 {
            hub.publish(Sample())
            let expected = max(1, published - count + 1)...published
            #expect(hub.events(since: 0).events.map { Int($0.sequence) } == Array(expected))
        }
    }
}
