// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import PathService

private let noon = WallTime(nanoseconds: 1_795_176_000_000_000_000)

private extension SeededRandom {
    /// A moment of up to half a minute in multiples of `unit`.
    mutating func pause(_ unit: Duration) -> Duration {
        unit * Int.random(in: 0...Int(Duration.seconds(30) / unit), using: &self)
    }
}

/// Marks of any kind in a random order, on a calendar that is stepped now and then.
private func marks(_ numbers: inout SeededRandom, unit: Duration) -> (marks: [OutageMark], end: WallTime) {
    var now = noon
    var marks: [OutageMark] = []
    for _ in 0..<Int.random(in: 0...40, using: &numbers) {
        let pause = numbers.pause(unit)
        let before = now
        now = now + pause
        let isGood = Bool.random(using: &numbers)
        let reason = isGood ? "" : "bad"
        switch Int.random(in: 0..<12, using: &numbers) {
        case 0..<6:
            marks.append(.status(now, monitor: "default", isSatisfied: isGood, reason: reason, message: reason))
        case 6..<8:
            marks.append(.headline(now, since: now - numbers.pause(unit), isBad: !isGood, reason: reason, message: ""))
        case 8: marks.append(.stopped(now))
        case 9: marks.append(.started(now, lastHeard: before, unwatched: Bool.random(using: &numbers) ? pause : nil))
        case 10: marks.append(.unwatched(for: pause, at: now))
        default:
            let step = numbers.pause(unit) * (isGood ? 100 : -1)
            now = now + step
            marks.append(.stepped(by: step, at: now))
        }
    }
    return (marks, now + .seconds(20))
}

@Suite struct OutageStepsTests {
    private static func document(
        _ marks: [OutageMark],
        _ state: OutageHistory.State,
        from since: WallTime,
        to until: WallTime,
        step: Duration? = nil
    ) -> OutageHistory.Document {
        var history = OutageHistory(monitor: "default", since: since, until: until, state: state, step: step)
        for mark in marks { history.take(mark) }
        return history.document(at: until)
    }

    private static func milliseconds(_ seconds: Double) -> Int { Int((seconds * 1000).rounded()) }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `steps add up to the whole, to the millisecond`(seed: UInt64) throws {
        var numbers = SeededRandom(seed: seed)
        let (marks, end) = marks(&numbers, unit: .nanoseconds(1_234_567))
        let step = Duration.seconds(Int.random(in: 1...60, using: &numbers))
        let since = max(noon - .seconds(10), end - step * 500)
        for state in [OutageHistory.State.path, .headline] {
            let document = Self.document(marks, state, from: since, to: end, step: step)
            let steps = try #require(document.steps)
            let known = steps.reduce(0) { $0 + Self.milliseconds($1.knownSeconds) }
            let down = steps.reduce(0) { $0 + Self.milliseconds($1.downSeconds) }
            #expect(known == Self.milliseconds(document.knownSeconds))
            #expect(known - down == Self.milliseconds(document.satisfiedSeconds))
            #expect(document.stepSeconds.map { .seconds($0) } == step)
            for (index, shown) in steps.enumerated() {
                #expect(shown.start == (since + step * index).description)
                #expect((0...step.seconds).contains(shown.knownSeconds))
                #expect((0...shown.knownSeconds).contains(shown.downSeconds))
            }
            let count = (end - since) / step
            #expect(steps.count == Int(count.rounded(.up)))
            // All else is what it is without steps, where each stretch may be rounded.
            let whole = Self.document(marks, state, from: since, to: end)
            #expect(document.outages == whole.outages && document.unknown == whole.unknown)
            #expect(abs(document.knownSeconds - whole.knownSeconds) <= 0.0005 * Double(2 + whole.unknown.count * 2))
        }
    }

    @Test(arguments: 0..<60 as Range<UInt64>)
    func `a step is what a history of its time alone says`(seed: UInt64) throws {
        var numbers = SeededRandom(seed: seed)
        let (marks, end) = marks(&numbers, unit: .milliseconds(1))
        let since = max(noon - .seconds(10), end - .seconds(900))
        for state in [OutageHistory.State.path, .headline] {
            let document = Self.document(marks, state, from: since, to: end, step: .seconds(30))
            for (index, step) in try #require(document.steps).enumerated() {
                let start = since + .seconds(30 * index)
                let alone = Self.document(marks, state, from: start, to: min(end, start + .seconds(30)))
                #expect(step.knownSeconds == alone.knownSeconds)
                let down = Self.milliseconds(alone.knownSeconds) - Self.milliseconds(alone.satisfiedSeconds)
                #expect(Self.milliseconds(step.downSeconds) == down)
            }
        }
    }

    @Test func `a history without steps does not speak of them`() throws {
        let document = Self.document([], .path, from: noon, to: noon + .seconds(90))
        let keys = try JSONValue(parsing: try OrderedJSONEncoder().encode(document)).object?.keys
        let usual = [
            "schema", "monitor", "state", "since", "until", "known_seconds", "satisfied_seconds",
            "availability_percent", "outages", "unknown",
        ]
        #expect(keys == usual)
        let stepped = Self.document([], .headline, from: noon, to: noon + .seconds(90), step: .seconds(60))
        let value = try JSONValue(parsing: try OrderedJSONEncoder().encode(stepped))
        #expect(value.object?.keys == usual + ["step_seconds", "steps"])
        #expect(value["step_seconds"]?.int == 60 && value["steps"]?.array?.count == 2)
        #expect(value["steps"]?.array?.last?["start"]?.string == (noon + .seconds(60)).description)
        #expect(value["steps"]?.array?.last?.object?.keys == ["start", "known_seconds", "down_seconds"])
    }

    @Test func `a time without length has no step`() throws {
        let document = Self.document([], .path, from: noon, to: noon, step: .seconds(60))
        #expect(try #require(document.steps).isEmpty)
    }
}
