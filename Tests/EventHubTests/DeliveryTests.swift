// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@Suite struct DeliveryTests {
    @Test func `a sink that is added while an event is delivered hears the next one`() throws {
        let hub = try EventHub.sample(after: 0)
        var late: [UInt64] = []
        var isAdded = false
        hub.addSink { [unowned hub] _ in
            guard !isAdded else { return }
            isAdded = true
            hub.addSink { late.append($0.sequence) }
        }
        hub.publish(Sample())
        hub.publish(Sample())
        #expect(late.last == 2 && late.count <= 2)
        hub.publish(Sample())
        #expect(late.last == 3)
    }

    @Test func `every sink gets the same line, encoded once`() throws {
        let hub = try EventHub.sample()
        var lines: [[UInt8]] = []
        for _ in 0..<3 { hub.addSink { lines.append($0.line) } }
        let event = try #require(hub.publish(Sample(message: "é \u{2028} \"x\"")))
        #expect(lines == [event.line, event.line, event.line])
        #expect(event.line.last == 0x0A && event.line.filter { $0 == 0x0A }.count == 1)
        #expect(event.value?["message"]?.string == "é \u{2028} \"x\"")
    }

    @Test func `without a journal nothing is owed`() throws {
        let hub = try EventHub.sample()
        hub.prepareJournal()
        #expect(hub.position.sequence == 39)
        #expect(hub.publish(Sample())?.sequence == 40)
    }

    @Test func `a draft of another stream is never committed`() throws {
        let hub = try EventHub.sample()
        let other = EventHub(EventHub.Options(host: "h"), after: try EventPosition("abcd.39"), clock: ManualClock())
        #expect(!hub.commit(other.draft(Sample())))
        #expect(hub.position.sequence == 39 && hub.publishedCounts.allSatisfy { $0.count == 0 })
    }

    @Test func `a draft is committed once`() throws {
        let hub = try EventHub.sample()
        var heard: [UInt64] = []
        hub.addSink { heard.append($0.sequence) }
        let draft = hub.draft(Sample())
        #expect(hub.commit(draft) && !hub.commit(draft))
        #expect(heard == [40])
    }

    @Test(arguments: Severity.allCases)
    func `what is below the least severity has no number and no trace`(minimum: Severity) throws {
        let hub = try EventHub.sample(after: 0) { $0.minimumSeverity = minimum }
        var heard: [Severity] = []
        hub.addSink { heard.append($0.severity) }
        for severity in Severity.allCases { hub.publish(Sample(severity: severity)) }
        #expect(heard == Severity.allCases.filter { $0 >= minimum })
        #expect(hub.position.sequence == UInt64(heard.count))
        #expect(hub.events(since: 0).events.count == heard.count)
    }

    @Test func `times are those of the clock, also when it is stepped back`() throws {
        let clock = ManualClock()
        let hub = EventHub(EventHub.Options(host: "h"), clock: clock)
        let first = try #require(hub.publish(Sample()))
        clock.step(wallBy: .seconds(-3600))
        let second = try #require(hub.publish(Sample()))
        #expect(second.time == first.time - .seconds(3600))
        #expect(second.sequence == first.sequence + 1)
        #expect(second.value?["time"]?.string == second.time.description)
    }
}

@Suite struct RandomReplayTests {
    /// Numbers that are the same in every run, so that a failure can be repeated.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `the ring agrees with a list that keeps everything`(seed: UInt64) throws {
        var numbers = Numbers(state: seed)
        let count = Int.random(in: 1...40, using: &numbers)
        let bytes = Int.random(in: 300...8000, using: &numbers)
        let hub = try EventHub.sample(after: 0) {
            $0.replayCount = count
            $0.replayBytes = bytes
        }
        var all: [Event] = []
        for _ in 0..<300 {
            let message = String(repeating: "m", count: Int.random(in: 0...400, using: &numbers))
            all.append(try #require(hub.publish(Sample(message: message))))
            let since = UInt64.random(in: 0...UInt64(all.count), using: &numbers)
            let replay = hub.events(since: since)
            // What is kept is an unbroken end of all that was, within both bounds, and never less than the newest.
            let kept = hub.events(since: 0).events
            #expect(kept.map(\.sequence) == all.suffix(kept.count).map(\.sequence))
            #expect(kept.count <= count && !kept.isEmpty)
            #expect(kept.count == 1 || kept.map(\.line.count).reduce(0, +) <= bytes)
            #expect(replay.events.map(\.sequence) == kept.map(\.sequence).filter { $0 > since })
            let isWhole = since == UInt64(all.count) || (kept.first?.sequence ?? 0) <= since + 1
            #expect(replay.isComplete == isWhole)
        }
    }
}
