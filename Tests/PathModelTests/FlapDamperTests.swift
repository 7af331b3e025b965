// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import TestSupport
import Testing

/// Folding of flapping.
@Suite struct FlapDamperTests {
    @Test func `few changes are told`() {
        var damper = FlapDamper()
        for second in 0..<7 { #expect(damper.change(at: .seconds(second)) == .publish) }
        #expect(!damper.isFlapping)
        #expect(damper.nextCheck == nil)
        #expect(damper.end(at: .seconds(8)) == nil)
    }

    @Test func `the change after the limit starts flapping, the next ones are folded`() {
        var damper = FlapDamper()
        for second in 0..<7 { _ = damper.change(at: .seconds(second)) }
        #expect(damper.change(at: .seconds(7)) == .start(changes: 8))
        #expect(damper.isFlapping)
        for second in 8..<20 { #expect(damper.change(at: .seconds(second)) == .suppress) }
        #expect(damper.end(at: .seconds(20)) == nil)
    }

    @Test func `flapping ends when the window is quiet enough, with a count`() throws {
        var damper = FlapDamper(limit: 4, window: .seconds(10))
        for tenth in 0..<10 { _ = damper.change(at: .milliseconds(tenth * 100)) }
        let check = try #require(damper.nextCheck)
        #expect(damper.end(at: check - .milliseconds(1)) == nil)
        #expect(damper.end(at: check) == 5)
        #expect(!damper.isFlapping)
        #expect(damper.end(at: check) == nil)
        #expect(damper.change(at: check + .seconds(60)) == .publish)
    }

    @Test func `slow changes never flap`() {
        var damper = FlapDamper(limit: 3, window: .seconds(10))
        for step in 0..<100 { #expect(damper.change(at: .seconds(step * 4)) == .publish) }
    }

    @Test func `changes on both sides of a sleep are not added up (S49)`() {
        var damper = FlapDamper(limit: 3, window: .seconds(60))
        for second in 0..<3 { _ = damper.change(at: .seconds(second)) }
        damper.slept(until: .seconds(10))
        #expect(damper.change(at: .seconds(11)) == .publish)
    }

    @Test func `the limits are sane whatever is asked`() {
        var damper = FlapDamper(limit: 0, window: .zero)
        #expect(damper.limit == 1)
        #expect(damper.change(at: .zero) == .publish)
        #expect(damper.change(at: .zero) == .start(changes: 2))
    }

    @Test func `starts and ends alternate, and every folded change is counted`() {
        var random = SeededRandom(seed: 5)
        for _ in 0..<50 {
            var damper = FlapDamper(limit: 3, window: .seconds(10))
            var now: Duration = .zero
            var (starts, ends, suppressed, reported) = (0, 0, 0, 0)
            for _ in 0..<200 {
                now += .milliseconds(Int.random(in: 0...6000, using: &random))
                if let count = damper.end(at: now) {
                    ends += 1
                    reported += count
                }
                switch damper.change(at: now) {
                case .publish: #expect(!damper.isFlapping)
                case .start: starts += 1
                case .suppress: suppressed += 1
                }
                #expect(damper.isFlapping == (starts > ends))
                if let check = damper.nextCheck { #expect(check > now) }
            }
            if let count = damper.end(at: now + .seconds(60)) {
                ends += 1
                reported += count
            }
            #expect(starts == ends)
            #expect(suppressed == reported)
        }
    }
}
