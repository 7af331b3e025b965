// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import PathModel
import TestSupport
import Testing

/// Coalescing (rule S42).
@Suite struct DebounceStateTests {
    @Test func `nothing pending is nothing to do`() {
        var debounce = DebounceState()
        #expect(debounce.next(at: .seconds(5)) == .idle)
        #expect(!debounce.isPending)
    }

    @Test func `one trigger is evaluated after the quiet window (S42)`() {
        var debounce = DebounceState()
        debounce.trigger(at: .seconds(1))
        #expect(debounce.isPending)
        #expect(debounce.next(at: .seconds(1)) == .wait(.milliseconds(100)))
        #expect(debounce.next(at: .milliseconds(1060)) == .wait(.milliseconds(40)))
        #expect(debounce.next(at: .milliseconds(1100)) == .evaluate)
        #expect(debounce.next(at: .milliseconds(1100)) == .idle)
    }

    @Test func `a further trigger extends the window (S42)`() {
        var debounce = DebounceState()
        debounce.trigger(at: .zero)
        debounce.trigger(at: .milliseconds(4))
        #expect(debounce.next(at: .milliseconds(100)) == .wait(.milliseconds(4)))
        #expect(debounce.next(at: .milliseconds(104)) == .evaluate)
    }

    @Test func `a burst that never ends is cut at the cap (S42)`() {
        var debounce = DebounceState()
        var evaluations: [Duration] = []
        for step in 0..<1000 {
            let now: Duration = .milliseconds(step * 10)
            debounce.trigger(at: now)
            if debounce.next(at: now) == .evaluate { evaluations.append(now) }
        }
        #expect(evaluations.count == 9)
        #expect(evaluations.first == .seconds(1))
        for (earlier, later) in zip(evaluations, evaluations.dropFirst()) {
            #expect(later - earlier >= .seconds(1))
        }
    }

    @Test func `zero evaluates at once (S42)`() {
        var debounce = DebounceState(quiet: .zero)
        debounce.trigger(at: .seconds(3))
        #expect(debounce.next(at: .seconds(3)) == .evaluate)
        #expect(debounce.next(at: .seconds(3)) == .idle)
    }

    @Test(arguments: [
        (Duration.milliseconds(-5), Duration.seconds(1), Duration.zero, Duration.seconds(1)),
        (.seconds(2), .seconds(1), .seconds(2), .seconds(2)),
        (.milliseconds(100), .seconds(1), .milliseconds(100), .seconds(1)),
    ])
    func `odd settings are mended`(quiet: Duration, cap: Duration, wantedQuiet: Duration, wantedCap: Duration) {
        let debounce = DebounceState(quiet: quiet, cap: cap)
        #expect(debounce.quiet == wantedQuiet)
        #expect(debounce.cap == wantedCap)
    }

    @Test func `whatever the triggers, waits end and never pass the cap (S42)`() {
        var random = SeededRandom(seed: 3)
        for _ in 0..<200 {
            var debounce = DebounceState()
            var now: Duration = .zero
            var first: Duration?
            for _ in 0..<50 {
                now += .milliseconds(Int.random(in: 0...150, using: &random))
                if Bool.random(using: &random) {
                    debounce.trigger(at: now)
                    first = first ?? now
                }
                switch debounce.next(at: now) {
                case .idle: #expect(first == nil)
                case .wait(let wait):
                    #expect(wait > .zero && wait <= .milliseconds(100))
                    #expect(now + wait <= (first ?? .zero) + .seconds(1))
                case .evaluate:
                    #expect(first != nil)
                    first = nil
                }
            }
        }
    }
}
