// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import MulticastDNS

private let one = RecordSet.ID(rawValue: 1)
private let two = RecordSet.ID(rawValue: 2)

extension Announcer {
    /// The times at which a set is announced, in seconds.
    fileprivate mutating func run(_ id: RecordSet.ID, until limit: Double = 100_000) -> [Double] {
        var times: [Double] = []
        while let deadline = nextDeadline, deadline <= time(limit) {
            if due(at: deadline).contains(id) { times.append((deadline - time(0)) / .seconds(1)) }
        }
        return times
    }
}

@Suite struct AnnouncerTests {
    @Test func `P9: at least twice, a second apart, then with doubled gaps, and never again by itself`() {
        var announcer = Announcer()
        announcer.start(one, at: time(0))
        let times = announcer.run(one)
        #expect((2...8).contains(times.count) && times[0] == 0 && times[1] == 1)
        for index in times.indices.dropFirst(2) {
            #expect(times[index] - times[index - 1] >= 2 * (times[index - 1] - times[index - 2]))
        }
        #expect(announcer.nextDeadline == nil)
    }

    @Test func `sets keep their own time`() {
        var announcer = Announcer()
        announcer.start(one, at: time(0))
        announcer.start(two, at: time(0.5))
        #expect(announcer.due(at: time(0)) == [one])
        #expect(announcer.due(at: time(0.5)) == [two])
        #expect(announcer.due(at: time(1.5)) == [one, two])
    }

    @Test func `P11: a change begins the announcements anew`() {
        var announcer = Announcer()
        announcer.start(one, at: time(0))
        #expect(announcer.run(one, until: 1) == [0, 1])
        announcer.update(one, at: time(2))
        #expect(announcer.run(one) == [2, 3, 5])
    }

    @Test func `P11: ten changes a minute are announced at once, what comes then waits`() {
        var announcer = Announcer()
        for index in 0..<10 {
            announcer.update(one, at: time(Double(index)))
            #expect(announcer.due(at: time(Double(index))) == [one])
        }
        announcer.update(one, at: time(10))
        announcer.update(one, at: time(11))
        #expect(announcer.run(one) == [60, 61, 63])
    }

    @Test func `P11: whatever a program does, a minute never sees more than ten changes announced`() {
        var announcer = Announcer()
        var changes: [Double] = []
        for tick in 0..<3000 {
            let seconds = Double(tick) / 10
            announcer.update(one, at: time(seconds))
            if announcer.due(at: time(seconds)) == [one] { changes.append(seconds) }
        }
        for start in changes { #expect(changes.count { (start..<start + 60).contains($0) } <= 10) }
        #expect(changes.count >= 30)
    }

    @Test func `a cancelled set is not announced, but its changes are remembered; a forgotten one's are not`() {
        var announcer = Announcer()
        for _ in 0..<10 { announcer.update(one, at: time(0)) }
        announcer.cancel(one)
        #expect(announcer.nextDeadline == nil)
        announcer.update(one, at: time(1))
        #expect(announcer.nextDeadline == time(60))
        announcer.forget(one)
        #expect(announcer.nextDeadline == nil)
        announcer.update(one, at: time(1))
        #expect(announcer.nextDeadline == time(1))
    }
}
