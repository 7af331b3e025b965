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

    /// The times at which changes are announced when one comes at each of `moments`.
    private func announced(_ moments: [Double]) -> [Double] {
        var announcer = Announcer()
        return moments.flatMap { seconds in
            let before = announcer.run(one, until: seconds)
            announcer.update(one, at: time(seconds))
            return before + announcer.run(one, until: seconds)
        } + announcer.run(one)
    }

    @Test func `P11: the first change of a burst is announced at once, the last one a second later`() {
        #expect(announced((0..<10).map { Double($0) / 10 }) == [0, 1, 2, 4])
    }

    @Test func `P11: ten changes with some time between them are announced at once`() {
        var announcer = Announcer()
        for index in 0..<10 {
            let moment = time(Double(index) * 1.5)
            announcer.update(one, at: moment)
            #expect(announcer.due(at: moment) == [one])
        }
    }

    @Test func `P11: under constant change the latest is out within six seconds, and ten a minute in the long run`() {
        let times = announced((0..<3000).map { Double($0) / 10 }).filter { $0 < 300 }
        for (earlier, later) in zip(times, times.dropFirst()) { #expect((0.999...6.001).contains(later - earlier)) }
        #expect(times.count <= Announcer.updateLimit + 300 / 6)
        for start in times.filter({ (60...240).contains($0) }) {
            #expect(times.count { (start..<start + 59.9).contains($0) } <= 10)
        }
    }

    @Test func `a cancelled set is not announced, but its changes are remembered; a forgotten one's are not`() {
        var announcer = Announcer()
        announcer.update(one, at: time(0))
        #expect(announcer.due(at: time(0)) == [one])
        announcer.cancel(one)
        #expect(announcer.nextDeadline == nil)
        announcer.update(one, at: time(0.5))
        #expect(announcer.nextDeadline == time(1))
        announcer.forget(one)
        #expect(announcer.nextDeadline == nil)
        announcer.update(one, at: time(0.5))
        #expect(announcer.nextDeadline == time(0.5))
    }
}
