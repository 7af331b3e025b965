// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import TestSupport
import Testing

/// Folding of flapping.
@Suite struct FlapFolderTests {
    @Test func `few changes are told`() {
        var folder = FlapFolder()
        for second in 0..<7 { #expect(folder.change(at: .seconds(second)) == .tell) }
        #expect(!folder.isFlapping)
        #expect(folder.nextCheck == nil)
        #expect(folder.end(at: .seconds(8)) == nil)
    }

    @Test func `the change after the limit starts flapping, the next ones are folded`() {
        var folder = FlapFolder()
        for second in 0..<7 { _ = folder.change(at: .seconds(second)) }
        #expect(folder.change(at: .seconds(7)) == .start(changes: 8))
        #expect(folder.isFlapping)
        for second in 8..<20 { #expect(folder.change(at: .seconds(second)) == .fold) }
        #expect(folder.end(at: .seconds(20)) == nil)
    }

    @Test func `flapping ends when the window is quiet enough, with a count`() throws {
        var folder = FlapFolder(limit: 4, window: .seconds(10))
        for tenth in 0..<10 { _ = folder.change(at: .milliseconds(tenth * 100)) }
        let check = try #require(folder.nextCheck)
        #expect(folder.end(at: check - .milliseconds(1)) == nil)
        #expect(folder.end(at: check) == 5)
        #expect(!folder.isFlapping)
        #expect(folder.end(at: check) == nil)
        #expect(folder.change(at: check + .seconds(60)) == .tell)
    }

    @Test func `slow changes never flap`() {
        var folder = FlapFolder(limit: 3, window: .seconds(10))
        for step in 0..<100 { #expect(folder.change(at: .seconds(step * 4)) == .tell) }
    }

    @Test func `changes on both sides of a sleep are not added up (S49)`() {
        var folder = FlapFolder(limit: 3, window: .seconds(60))
        for second in 0..<3 { _ = folder.change(at: .seconds(second)) }
        folder.slept(until: .seconds(10))
        #expect(folder.change(at: .seconds(11)) == .tell)
    }

    @Test func `the limits are sane whatever is asked`() {
        var folder = FlapFolder(limit: 0, window: .zero)
        #expect(folder.limit == 1)
        #expect(folder.change(at: .zero) == .tell)
        #expect(folder.change(at: .zero) == .start(changes: 2))
    }

    @Test func `starts and ends alternate, and every folded change is counted`() {
        var random = SeededRandom(seed: 5)
        for _ in 0..<50 {
            var folder = FlapFolder(limit: 3, window: .seconds(10))
            var now: Duration = .zero
            var (starts, ends, folded, reported) = (0, 0, 0, 0)
            for _ in 0..<200 {
                now += .milliseconds(Int.random(in: 0...6000, using: &random))
                if let count = folder.end(at: now) {
                    ends += 1
                    reported += count
                }
                switch folder.change(at: now) {
                case .tell: #expect(!folder.isFlapping)
                case .start: starts += 1
                case .fold: folded += 1
                }
                #expect(folder.isFlapping == (starts > ends))
                if let check = folder.nextCheck { #expect(check > now) }
            }
            if let count = folder.end(at: now + .seconds(60)) {
                ends += 1
                reported += count
            }
            #expect(starts == ends)
            #expect(folded == reported)
        }
    }
}
