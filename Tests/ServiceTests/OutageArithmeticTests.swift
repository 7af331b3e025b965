// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport
import Testing

@testable import PathService

private let noon = WallTime(nanoseconds: 1_795_176_000_000_000_000)

private func at(_ second: Int) -> WallTime { noon + .seconds(second) }

/// What a log tells, at a second.
private enum Told: Equatable, Sendable {
    case up, down, alive, stopping, started
}

/// The marks of a story; a start remembers when the daemon before it was heard last.
private func marks(_ story: [(second: Int, told: Told)], monitor: String = "default") -> [OutageMark] {
    var last: WallTime?
    return story.map { second, told in
        defer { last = at(second) }
        switch told {
        case .up, .down:
            let isUp = told == .up
            let reason = isUp ? "" : "no_carrier"
            return .status(at(second), monitor: monitor, isSatisfied: isUp, reason: reason, message: reason)
        case .alive: return .alive(at(second))
        case .stopping: return .stopped(at(second))
        case .started: return .started(at(second), lastHeard: last)
        }
    }
}

/// Counts second by second what the history works out at once.
private struct Ledger {
    var known = 0
    var satisfied = 0
    var outages: [ClosedRange<Int>] = []
    var unknown: [Range<Int>] = []
    /// Whether the last outage lasts.
    var isOpen = false

    init(_ story: [(second: Int, told: Told)], since: Int, until: Int) {
        var states = [Bool?](repeating: nil, count: max(until, 0) + 1)
        var state: Bool?
        for (index, (second, told)) in story.enumerated() {
            switch told {
            case .up: state = true
            case .down: state = false
            case .alive: break
            case .stopping, .started: state = nil
            }
            let next = index + 1 < story.count ? story[index + 1] : nil
            // Before a start nobody knows anything since the record before.
            let reach = next?.told == .started ? second : next?.second ?? until
            for moment in second..<max(second, min(reach, until)) { states[moment] = state }
        }
        var begun: Int?
        for moment in since..<until {
            if states[moment] != nil { known += 1 }
            if states[moment] == true { satisfied += 1 }
            if states[moment] == nil {
                let start = unknown.last?.upperBound == moment ? unknown.removeLast().lowerBound : moment
                unknown.append(start..<moment + 1)
            }
            if states[moment] == false {
                begun = begun ?? moment
            } else if let start = begun {
                outages.append(start...moment)
                begun = nil
            }
        }
        // What is told at the very end ends an outage, too.
        isOpen = begun != nil && !story.contains { $0.second == until && [.up, .stopping].contains($0.told) }
        if let begun { outages.append(begun...until) }
    }
}

@Suite struct OutageArithmeticTests {
    private func history(
        _ story: [(second: Int, told: Told)],
        since: Int,
        until: Int
    ) -> OutageHistory.Document {
        var history = OutageHistory(monitor: "default", since: at(since), until: at(until))
        for mark in marks(story) { history.take(mark) }
        return history.document(at: at(until))
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `any story gives what counting second by second gives`(seed: UInt64) {
        var numbers = SeededRandom(seed: seed)
        var second = 0
        let kinds: [Told] = [.up, .up, .down, .down, .alive, .alive, .stopping, .started]
        let story = (0..<Int.random(in: 0...25, using: &numbers)).map { _ in
            second += Int.random(in: 1...30, using: &numbers)
            return (second: second, told: kinds.randomElement(using: &numbers) ?? .up)
        }
        let end = second + 20
        let since = Int.random(in: 0..<end, using: &numbers)
        let until = Int.random(in: since...end, using: &numbers)
        let document = history(story, since: since, until: until)
        let ledger = Ledger(story, since: since, until: until)
        #expect(document.knownSeconds == Double(ledger.known), "\(story) \(since) \(until)")
        #expect(document.satisfiedSeconds == Double(ledger.satisfied), "\(story) \(since) \(until)")
        // An outage that was seen to begin and never again has no length.
        let found = document.outages.filter { $0.durationSeconds > 0 }
        #expect(
            found.map(\.durationSeconds) == ledger.outages.map { Double($0.count - 1) },
            "\(story) \(since) \(until)"
        )
        #expect(found.map(\.start) == ledger.outages.map { at($0.lowerBound).description })
        #expect((found.last.map { $0.end == nil } ?? false) == ledger.isOpen)
        #expect(
            document.unknown
                == ledger.unknown.map { .init(start: "\(at($0.lowerBound))", end: "\(at($0.upperBound))") },
            "\(story) \(since) \(until)"
        )
        let share = ledger.known == 0 ? nil : Double(ledger.satisfied) / Double(ledger.known) * 100
        #expect(abs((document.availabilityPercent ?? -1) - (share ?? -1)) <= 0.0005)
    }

    @Test func `nothing is known before the first word of a monitor, and other monitors say nothing of it`() {
        var history = OutageHistory(monitor: "default", since: at(0))
        for mark in marks([(5, .down), (10, .up)], monitor: "vpn") { history.take(mark) }
        let other = history.document(at: at(20))
        #expect(other.knownSeconds == 0 && other.availabilityPercent == nil && other.outages.isEmpty)
        for mark in marks([(30, .up)]) { history.take(mark) }
        #expect(history.document(at: at(40)).knownSeconds == 10)
    }

    @Test func `the reason of an outage is the one it began with`() {
        var history = OutageHistory(monitor: "m", since: at(0))
        for (second, reason) in [(1, "no_carrier"), (5, "no_address"), (9, "")] {
            let isUp = reason.isEmpty
            history.take(.status(at(second), monitor: "m", isSatisfied: isUp, reason: reason, message: reason + "!"))
        }
        let outage = history.document(at: at(10)).outages.first
        #expect(outage?.reason == "no_carrier" && outage?.message == "no_carrier!" && outage?.durationSeconds == 8)
        #expect(outage?.start == at(1).description && outage?.end == at(9).description)
    }

    @Test func `what comes after the end is not looked at, and asking twice changes nothing`() {
        var history = OutageHistory(monitor: "default", since: at(0), until: at(50))
        for mark in marks([(10, .up), (40, .down), (60, .up), (70, .down)]) { history.take(mark) }
        let first = history.document(at: at(50))
        #expect(first == history.document(at: at(50)))
        #expect(first.outages.map(\.end) == [nil] && first.outages.map(\.durationSeconds) == [10])
        #expect(first.knownSeconds == 40 && first.availabilityPercent == 75)
    }

    @Test func `a calendar that was stepped back takes nothing away`() {
        let story: [(second: Int, told: Told)] = [(100, .up), (200, .down), (150, .up), (160, .down), (300, .up)]
        let document = history(story, since: 0, until: 400)
        // 100 s up until 200, 10 s from 150 on, 140 s down, and 100 s up.
        #expect(document.knownSeconds == 350)
        #expect(document.outages.allSatisfy { $0.durationSeconds >= 0 })
        #expect(document.satisfiedSeconds <= document.knownSeconds)
    }

    @Test(arguments: [(1, 3, 33.333), (2, 3, 66.667), (999_999, 1_000_000, 99.999), (0, 7, 0)])
    func `availability has three digits, and is 100 only when nothing was down`(up: Int, known: Int, percent: Double) {
        let story: [(second: Int, told: Told)] = up == 0 ? [(0, .down)] : [(0, .up), (up, .down)]
        #expect(history(story, since: 0, until: known).availabilityPercent == percent)
    }

    @Test func `fractions of a second are kept to the millisecond`() {
        var history = OutageHistory(monitor: "m", since: at(0))
        let start = at(0) + .microseconds(1_234_567)
        history.take(.status(start, monitor: "m", isSatisfied: false, reason: "r", message: ""))
        history.take(.status(at(2), monitor: "m", isSatisfied: true, reason: "", message: ""))
        #expect(history.document(at: at(3)).outages.map(\.durationSeconds) == [0.765])
        #expect(history.document(at: at(3)).knownSeconds == 1.765)
    }
}
