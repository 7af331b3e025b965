// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Diagnosis
import Testing

@Suite struct HeadlineSecondsTests {
    private func all(
        _ seconds: HeadlineSeconds,
        at time: Duration,
        asleep: Duration = .zero
    ) -> [Headline.State: Double] {
        var all: [Headline.State: Double] = [:]
        for state in Headline.State.allCases { all[state] = seconds.seconds(of: state, at: time, asleep: asleep) }
        return all.filter { $0.value != 0 }
    }

    @Test func `each state counts while it is the present one`() {
        var seconds = HeadlineSeconds()
        #expect(all(seconds, at: .seconds(90)).isEmpty)
        seconds.record(.connected, at: .seconds(100))
        seconds.record(.connected, at: .seconds(105))
        seconds.record(.online, at: .seconds(110))
        #expect(all(seconds, at: .milliseconds(115_500)) == [.connected: 10, .online: 5.5])
        seconds.record(.offline, at: .seconds(120))
        #expect(all(seconds, at: .seconds(120)) == [.connected: 10, .online: 10])
    }

    @Test func `while tests decide no state counts, and then the one that they show from when it began`() {
        var seconds = HeadlineSeconds()
        seconds.record(.online, at: .zero)
        seconds.record(.checking, at: .seconds(100))
        #expect(all(seconds, at: .seconds(124)) == [.online: 100])
        seconds.record(.noInternet, since: .seconds(100), at: .seconds(125))
        #expect(all(seconds, at: .seconds(130)) == [.online: 100, .noInternet: 30])
    }

    @Test func `the time the machine is suspended counts for no state`() {
        var seconds = HeadlineSeconds()
        seconds.record(.online, at: .zero)
        seconds.record(.online, at: .seconds(10))
        #expect(all(seconds, at: .seconds(3615), asleep: .seconds(3600)) == [.online: 15])
        seconds.record(.online, at: .seconds(3620), asleep: .seconds(3600))
        #expect(all(seconds, at: .seconds(3620), asleep: .seconds(3600)) == [.online: 20])
        seconds.record(.offline, at: .seconds(3625), asleep: .seconds(3600))
        #expect(all(seconds, at: .seconds(3640), asleep: .seconds(3600)) == [.online: 25, .offline: 15])
    }

    @Test func `what a scrape showed stays, whatever a later state says of it`() {
        var seconds = HeadlineSeconds()
        seconds.record(.online, at: .zero)
        #expect(all(seconds, at: .seconds(50)) == [.online: 50])
        seconds.record(.noInternet, since: .seconds(30), at: .seconds(60))
        #expect(all(seconds, at: .seconds(65)) == [.online: 60, .noInternet: 5])
    }

    @Test func `no counter falls, and together they are the time that passed`() {
        var seconds = HeadlineSeconds()
        let states = Headline.State.allCases
        seconds.record(.connected, at: .zero)
        var (now, before) = (Duration.zero, [Headline.State: Double]())
        for step in 1...500 {
            for _ in 0..<(step % 4) {
                now += .seconds(1)
                let after = all(seconds, at: now)
                for (state, total) in before { #expect(after[state] ?? 0 >= total) }
                before = after
            }
            seconds.record(states[step * 7 % states.count], since: now - .seconds(step * 5 % 23), at: now)
        }
        seconds.record(.online, at: now)
        #expect(all(seconds, at: now).values.reduce(0, +) == now / .seconds(1))
    }
}
