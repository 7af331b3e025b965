// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Testing

@testable import Providers

/// When name servers on this machine are queried without an event (S35).
@Suite struct LocalServerScheduleTests {
    private let server = IPAddress.v4(0x7F00_0001)

    /// The intervals between queries with this outcome, in seconds.
    private func intervals(_ outcome: LocalServerQuery.Outcome, isListening: Bool, count: Int = 6) -> [Int?] {
        var schedule = LocalServerSchedule()
        var now = Duration.seconds(100)
        return (0..<count).map { _ in
            schedule.record(outcome, of: server, isListening: isListening, at: now)
            guard let next = schedule.next(lacksSocket: false, at: now) else { return nil }
            defer { now = next }
            #expect(!schedule.isDue(server, isKnown: true, at: next - .milliseconds(1)))
            #expect(schedule.isDue(server, isKnown: true, at: next))
            return Int((next - now).components.seconds)
        }
    }

    @Test func `a server that keeps silent is queried at growing intervals`() {
        #expect(intervals(.silent, isListening: true) == [2, 4, 8, 16, 30, 30])
        #expect(intervals(.silent, isListening: false) == [2, 4, 5, 5, 5, 5])
        #expect(intervals(.withoutUpstream, isListening: true) == [2, 4, 5, 5, 5, 5])
    }

    @Test func `a query under way is not repeated, one that could not be sent is after a while`() {
        var schedule = LocalServerSchedule()
        #expect(schedule.isDue(server, isKnown: false, at: .zero), "nothing is known of it")
        schedule.record(.silent, of: server, isListening: true, at: .zero)
        schedule.begin(server)
        #expect(schedule.next(lacksSocket: false, at: .seconds(2)) == nil)
        #expect(!schedule.isDue(server, isKnown: true, at: .seconds(60)))
        schedule.postpone(server, at: .seconds(2))
        #expect(schedule.next(lacksSocket: false, at: .seconds(2)) == .seconds(7))
        #expect(!schedule.isDue(server, isKnown: false, at: .seconds(6)))
    }

    @Test func `one that answers from its socket, or elsewhere, waits for an audit`() {
        #expect(intervals(.answered, isListening: true, count: 1) == [nil])
        #expect(intervals(.redirected, isListening: false, count: 1) == [nil])
        #expect(intervals(.answered, isListening: false) == [5, 5, 5, 5, 5, 5])
    }

    @Test func `an answer, and an event, end the growth`() {
        for isEvent in [false, true] {
            var schedule = LocalServerSchedule()
            for _ in 0..<4 { schedule.record(.silent, of: server, isListening: true, at: .zero) }
            #expect(schedule.next(lacksSocket: false, at: .zero) == .seconds(16))
            if isEvent {
                schedule.restart(isOther: false)
            } else {
                schedule.record(.answered, of: server, isListening: true, at: .zero)
            }
            schedule.record(.silent, of: server, isListening: true, at: .zero)
            #expect(schedule.next(lacksSocket: false, at: .zero) == .seconds(2))
        }
    }

    @Test(arguments: [(false, 30), (true, 600)])
    func `a missing socket is looked for every second at first`(wasThere: Bool, limit: Int) {
        var schedule = LocalServerSchedule()
        if wasThere { schedule.update(isSomeServed: true, isSomeMissing: false, at: .zero) }
        #expect(schedule.next(lacksSocket: false, at: .zero) == nil)
        for (age, interval) in [(0, 1), (limit - 1, 1), (limit, 5)] {
            schedule.update(isSomeServed: false, isSomeMissing: true, at: .seconds(age))
            #expect(schedule.next(lacksSocket: true, at: .seconds(age)) == .seconds(age + interval))
        }
        schedule.restart(isOther: false)
        schedule.update(isSomeServed: false, isSomeMissing: true, at: .seconds(9000))
        #expect(schedule.next(lacksSocket: true, at: .seconds(9000)) == .seconds(9001))
    }
}
