// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Judgement
import Testing

@Suite struct HeadlineSecondsTests {
    private func all(_ seconds: inout HeadlineSeconds, at time: Duration) -> [Headline.State: Double] {
        var all: [Headline.State: Double] = [:]
        for state in Headline.State.allCases { all[state] = seconds.seconds(of: state, at: time) }
        return all.filter { $0.value != 0 }
    }

    @Test func `each state counts while it is the present one`() {
        var seconds = HeadlineSeconds()
        #expect(all(&seconds, at: .seconds(90)).isEmpty)
        seconds.note(.connected, at: .seconds(100))
        seconds.note(.connected, at: .seconds(105))
        seconds.note(.online, at: .seconds(110))
        #expect(all(&seconds, at: .milliseconds(115_500)) == [.connected: 10, .online: 5.5])
        seconds.note(.offline, at: .seconds(120))
        #expect(all(&seconds, at: .seconds(120)) == [.connected: 10, .online: 10])
    }

    @Test func `a state counts from when it began, not from when it was noted`() {
        var seconds = HeadlineSeconds()
        seconds.note(.online, at: .zero)
        seconds.note(.checking, at: .seconds(100))
        // Until here nobody knows what the tests will find.
        #expect(all(&seconds, at: .seconds(100)) == [.online: 100])
        seconds.note(.noInternet, since: .seconds(100), at: .seconds(125))
        #expect(all(&seconds, at: .seconds(130)) == [.online: 100, .noInternet: 30])
    }

    @Test func `the time the machine is suspended counts for no state`() {
        var seconds = HeadlineSeconds()
        seconds.note(.online, at: .zero)
        seconds.note(.online, at: .seconds(10))
        seconds.note(.online, at: .seconds(3620), asleep: .seconds(3600))
        #expect(all(&seconds, at: .seconds(3620)) == [.online: 20])
        seconds.note(.offline, since: .seconds(3625), at: .seconds(3630), asleep: .seconds(3600))
        #expect(all(&seconds, at: .seconds(3640)) == [.online: 25, .offline: 15])
    }

    @Test func `what was counted stays, whatever a later state says of it`() {
        var seconds = HeadlineSeconds()
        seconds.note(.online, at: .zero)
        #expect(all(&seconds, at: .seconds(50)) == [.online: 50])
        seconds.note(.noInternet, since: .seconds(30), at: .seconds(60))
        #expect(all(&seconds, at: .seconds(60)) == [.online: 50, .noInternet: 10])
        #expect(all(&seconds, at: .seconds(40)) == [.online: 50, .noInternet: 10])
    }

    @Test func `no counter falls, and together they are the time that passed`() {
        var seconds = HeadlineSeconds()
        let states = Headline.State.allCases
        seconds.note(.connected, at: .zero)
        var (now, before) = (Duration.zero, [Headline.State: Double]())
        for step in 1...500 {
            now += .seconds(step % 4)
            seconds.note(states[step * 7 % states.count], since: now - .seconds(step * 5 % 23), at: now)
            let after = all(&seconds, at: now - .seconds(step % 6))
            for (state, total) in before { #expect(after[state] ?? 0 >= total) }
            before = after
        }
        #expect(all(&seconds, at: now).values.reduce(0, +) == now / .seconds(1))
    }
}
