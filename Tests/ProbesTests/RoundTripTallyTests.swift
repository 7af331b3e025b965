// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Probes

@Suite struct RequestMomentsTests {
    private static let whole = RequestMoments(
        resolved: 1_000,
        connected: 11_000,
        secured: 31_000,
        ready: 31_500,
        answered: 61_500
    )

    @Test func `the steps of a request that is over`() {
        let steps = Self.whole.steps(isSecure: true, isKept: false, age: .seconds(1))
        #expect(steps.tcp == .took(.milliseconds(10)) && steps.tls == .took(.milliseconds(20)))
        #expect(steps.http == .took(.milliseconds(30)))
        let plain = Self.whole.steps(isSecure: false, isKept: false, age: .seconds(1))
        #expect(plain.tls == .none && plain.tcp == steps.tcp)
        let kept = Self.whole.steps(isSecure: true, isKept: true, age: .seconds(1))
        #expect(kept == RequestSteps(http: .took(.milliseconds(30))))
    }

    @Test func `a step that goes on has taken what it took until now`() {
        var moments = RequestMoments(resolved: 1_000)
        #expect(
            moments.steps(isSecure: true, isKept: false, age: .milliseconds(101))
                == RequestSteps(tcp: .longer(.milliseconds(100)))
        )
        moments.connected = 51_000
        let encrypting = moments.steps(isSecure: true, isKept: false, age: .milliseconds(101))
        #expect(encrypting == RequestSteps(tcp: .took(.milliseconds(50)), tls: .longer(.milliseconds(50))))
        (moments.secured, moments.ready) = (91_000, 91_000)
        let waiting = moments.steps(isSecure: true, isKept: false, age: .milliseconds(101))
        #expect(waiting.tls == .took(.milliseconds(40)) && waiting.http == .longer(.milliseconds(10)))
        #expect(RequestMoments().steps(isSecure: true, isKept: true, age: .seconds(1)) == RequestSteps())
    }

    @Test func `clocks that disagree make no negative time`() {
        let moments = RequestMoments(resolved: 500, connected: 400)
        #expect(moments.steps(isSecure: false, isKept: false, age: .zero).tcp == .took(.zero))
        #expect(RequestMoments(resolved: 500).steps(isSecure: false, isKept: false, age: .zero).tcp == .longer(.zero))
    }
}

@Suite struct RoundTripTallyTests {
    private static func took(_ milliseconds: Int) -> StepTime { .took(.milliseconds(milliseconds)) }

    private static func tally(
        _ foreign: [(tcp: Int, tls: Int, http: Int)],
        own: [Int] = []
    ) -> RoundTripTally {
        var tally = RoundTripTally()
        for entry in foreign {
            tally.addForeign(RequestSteps(tcp: took(entry.tcp), tls: took(entry.tls), http: took(entry.http)))
        }
        for entry in own { tally.addOwn(RequestSteps(http: took(entry))) }
        return tally
    }

    /// `(60000 / mean(tcp, tls, http) + 60000 / http_self) / 2`.
    @Test(
        arguments: [
            (20, 30, 40, 50, 1600), (200, 200, 200, 200, 300), (850, 850, 850, 860, 70), (10, 10, 10, 10, 6000),
            (60, 60, 60, 60, 1000),
        ]
    )
    func `the formula of the draft`(tcp: Int, tls: Int, http: Int, own: Int, expected: Int) {
        #expect(Self.tally([(tcp, tls, http)], own: [own]).roundTripsPerMinute == expected)
    }

    @Test func `without encryption two steps count, without a kept connection the others alone`() {
        var tally = RoundTripTally()
        tally.addForeign(RequestSteps(tcp: Self.took(100), http: Self.took(200)))
        #expect(tally.roundTripsPerMinute == 400)
        tally.addOwn(RequestSteps(http: Self.took(300)))
        #expect(tally.roundTripsPerMinute == 300)
    }

    @Test func `nothing was measured where no connection was made`() {
        var tally = RoundTripTally()
        #expect(tally.roundTripsPerMinute == nil && tally.median == nil && tally.count == 0)
        tally.addForeign(RequestSteps(tcp: .longer(.seconds(2))))
        tally.addOwn(RequestSteps(http: Self.took(3)))
        #expect(tally.roundTripsPerMinute == nil && tally.median == nil)
    }

    @Test func `the median is that of connections`() {
        var tally = Self.tally([(5, 900, 900), (9, 1, 1), (7, 1, 1)])
        #expect(tally.median == .milliseconds(7))
        // Those that were still waiting would else be forgotten just because they are slow.
        for age in [2, 300, 400] { tally.addForeign(RequestSteps(tcp: .longer(.milliseconds(age)))) }
        #expect(tally.median == .milliseconds(9) && tally.count == 3)
    }

    @Test func `a step without an end counts when it is longer than usual`() {
        let known = [Self.took(100), Self.took(200)]
        #expect(RoundTripTally.mean(known + [.longer(.milliseconds(120))]) == .milliseconds(150))
        #expect(RoundTripTally.mean(known + [.longer(.milliseconds(900)), .none]) == .milliseconds(400))
        #expect(RoundTripTally.mean([.longer(.seconds(1)), .longer(.seconds(3))]) == .seconds(2))
        #expect(RoundTripTally.mean([.none]) == nil && RoundTripTally.mean([]) == nil)
    }

    @Test func `one in twenty is cut off at the top`() {
        let steps = Array(repeating: Self.took(10), count: 19)
        #expect(RoundTripTally.mean(steps + [Self.took(10_000)]) == .milliseconds(10))
        #expect(RoundTripTally.mean(steps.dropLast() + [Self.took(1_910)]) == .milliseconds(110))
    }

    @Test func `more waiting never makes a line better, whatever was measured`() throws {
        for _ in 0..<2_000 {
            let foreign = (0..<Int.random(in: 1...12)).map { _ in
                (tcp: Int.random(in: 0...900), tls: Int.random(in: 0...900), http: Int.random(in: 0...900))
            }
            var tally = Self.tally(foreign, own: (0..<Int.random(in: 0...12)).map { _ in .random(in: 0...900) })
            let before = try #require(tally.roundTripsPerMinute)
            let median = try #require(tally.median)
            #expect(before >= 60 && tally.count == foreign.count)
            tally.addForeign(RequestSteps(tcp: .longer(.seconds(2)), tls: .none, http: .none))
            tally.addOwn(RequestSteps(http: .longer(.seconds(2))))
            // A twentieth may be cut off, and so the longest of many.
            #expect(try #require(tally.roundTripsPerMinute) <= before)
            #expect(try #require(tally.median) >= median)
        }
    }
}
