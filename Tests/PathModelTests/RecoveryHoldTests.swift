// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// Holding recoveries back (rule S43).
@Suite struct RecoveryHoldTests {
    private let satisfied = World.ordinary().path()
    private let unsatisfied = World().path()

    @Test func `without a duration everything passes (S43)`() {
        var hold = RecoveryHold()
        for path in [satisfied, unsatisfied, satisfied] {
            #expect(hold.update(path, at: .zero) == path)
            #expect(!hold.isHolding)
        }
    }

    @Test func `a recovery has to last, a loss does not (S43)`() {
        var hold = RecoveryHold(duration: .seconds(5))
        #expect(hold.update(satisfied, at: .seconds(1)) == satisfied)
        #expect(hold.update(unsatisfied, at: .seconds(2)) == unsatisfied)
        #expect(hold.update(satisfied, at: .seconds(3)) == unsatisfied)
        #expect(hold.isHolding)
        #expect(hold.releaseAt == .seconds(8))
        #expect(hold.update(satisfied, at: .seconds(7)) == unsatisfied)
        #expect(hold.update(satisfied, at: .seconds(8)) == satisfied)
        #expect(hold.releaseAt == nil)
        #expect(!hold.isHolding)
    }

    @Test func `a loss within the wait starts it anew (S43)`() {
        var hold = RecoveryHold(duration: .seconds(5))
        _ = hold.update(unsatisfied, at: .seconds(2))
        _ = hold.update(satisfied, at: .seconds(3))
        #expect(hold.update(unsatisfied, at: .seconds(4)) == unsatisfied)
        #expect(hold.releaseAt == nil)
        #expect(hold.update(satisfied, at: .seconds(7)) == unsatisfied)
        #expect(hold.releaseAt == .seconds(12))
    }

    @Test func `the first path is not held back (S43)`() {
        var hold = RecoveryHold(duration: .seconds(5))
        #expect(hold.update(satisfied, at: .zero) == satisfied)
    }

    @Test func `a change between satisfied paths is not held back (S43)`() {
        var hold = RecoveryHold(duration: .seconds(5))
        var expensive = satisfied
        expensive.isExpensive = true
        _ = hold.update(satisfied, at: .zero)
        #expect(hold.update(expensive, at: .seconds(1)) == expensive)
    }

    @Test func `ten toggles at ten hertz publish one loss and one recovery (S43)`() {
        var hold = RecoveryHold(duration: .seconds(1))
        var tracker = PathTracker()
        var statuses: [PathStatus] = []
        for step in 0..<60 {
            let now: Duration = .milliseconds(step * 100)
            let raw = step < 10 && step % 2 == 1 ? unsatisfied : satisfied
            if let change = tracker.update(hold.update(raw, at: now), at: now) {
                statuses.append(change.current.status)
            }
        }
        #expect(statuses == [.satisfied, .unsatisfied, .satisfied])
    }
}
