// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import LinuxIO

/// Silence is evidence only while the asker was awake.
@Suite struct SilenceDecisionTests {
    private var silence = ExtendedTimeout(limit: .seconds(1), started: .seconds(50), lateness: .seconds(7))

    /// What is decided so many milliseconds after the beginning, `late` of which timers came late.
    private mutating func end(_ elapsed: Int, late: Int) -> ExtendedTimeout.End {
        silence.end(at: .seconds(50) + .milliseconds(elapsed), lateness: .seconds(7) + .milliseconds(late))
    }

    @Test mutating func `whoever was awake heard silence`() {
        #expect(end(1010, late: 10) == .over(isInconclusive: false))
    }

    @Test mutating func `what was slept through is waited for again`() {
        #expect(end(1100, late: 400) == .wait(.milliseconds(300)))
        #expect(end(1400, late: 400) == .over(isInconclusive: false))
    }

    @Test mutating func `whoever wakes up a quarter of the time hears enough`() {
        #expect(end(1000, late: 750) == .wait(.milliseconds(750)))
        #expect(end(1750, late: 1300) == .wait(.milliseconds(550)))
        #expect(end(2300, late: 1700) == .wait(.milliseconds(400)))
        #expect(end(2700, late: 2000) == .wait(.milliseconds(300)))
        #expect(end(3000, late: 2250) == .over(isInconclusive: false))
    }

    @Test mutating func `no more than twice the limit is added`() {
        #expect(end(1000, late: 950) == .wait(.milliseconds(950)))
        #expect(end(1950, late: 1850) == .wait(.milliseconds(900)))
        #expect(end(2850, late: 2700) == .wait(.milliseconds(150)))
        #expect(end(3000, late: 2850) == .over(isInconclusive: true))
    }

    @Test func `no limit is over at once`() {
        var silence = ExtendedTimeout(limit: .zero, started: .seconds(50), lateness: .seconds(7))
        #expect(
            silence.end(at: .seconds(50) + .milliseconds(20), lateness: .seconds(8)) == .over(isInconclusive: false)
        )
    }

    @Test mutating func `after a suspension a whole limit is waited`() {
        #expect(end(3_600_300, late: 3_600_000) == .wait(.milliseconds(700)))
        #expect(end(3_601_000, late: 3_600_000) == .over(isInconclusive: false))
    }
}

@Suite(.inNamespace) struct SilenceTests {
    private let loop = Namespace.current.loop

    @Test func `a loop that is awake ends a silence in time`() async {
        let start = loop.clock.boot
        var ends: [(at: Duration, isInconclusive: Bool)] = []
        _ = loop.scheduleTimeout(after: .milliseconds(30)) { [loop] in ends.append((loop.clock.boot, $0)) }
        await loop.eventually { ends.count == 1 }
        #expect(ends.first.map { $0.at - start >= .milliseconds(30) } == true)
    }

    @Test func `a loop that was held waits again`() async {
        let start = loop.clock.boot
        var end: Duration?
        _ = loop.scheduleTimeout(after: .milliseconds(100)) { [loop] _ in end = loop.clock.boot }
        // From 10 to 160 ms the thread does something else, which another timer notices.
        loop.schedule(after: .milliseconds(10)) { _ = usleep(150_000) }
        loop.schedule(after: .milliseconds(11)) {}
        await loop.eventually { end != nil }
        #expect(end.map { $0 - start >= .milliseconds(205) } == true)
    }

    @Test func `what has arrived is served before the time for it is over`() async throws {
        var pair: [Int32] = [-1, -1]
        try #require(unsafe pipe(&pair) == 0)
        defer { for descriptor in pair { close(descriptor) } }
        var order: [String] = []
        var watch: EventLoop.Registration?
        watch = try loop.register(pair[0], for: .readable) { [loop] _ in
            order.append("answer")
            if let watch { loop.unregister(watch) }
        }
        loop.schedule(after: .milliseconds(20)) { order.append("timer") }
        _ = loop.scheduleTimeout(after: .milliseconds(20)) { _ in order.append("silence") }
        // Both become due in one turn, the timer long before.
        loop.schedule(after: .milliseconds(1)) { [write = pair[1]] in
            _ = usleep(60_000)
            _ = unsafe Glibc.write(write, "x", 1)
        }
        await loop.eventually { order.count == 3 }
        #expect(order == ["answer", "timer", "silence"])
    }

    @Test func `a silence can be cancelled while it is prolonged`() async {
        var isOver = false
        let timer = loop.scheduleTimeout(after: .milliseconds(50)) { _ in isOver = true }
        loop.schedule(after: .milliseconds(1)) { _ = usleep(80_000) }
        loop.schedule(after: .milliseconds(2)) {}
        loop.schedule(after: .milliseconds(60)) { [loop] in loop.cancel(timer) }
        await loop.sleep(for: .milliseconds(200))
        #expect(!isOver)
    }

    @Test func `a timer that is cancelled because the loop came late was late all the same`() async throws {
        var ends: [Int32] = [0, 0]
        try #require(unsafe pipe(&ends) == 0)
        let reader = FileDescriptor(owning: ends[0])
        let writer = FileDescriptor(owning: ends[1])
        let before = loop.lateness
        var timer: EventLoop.Timer?
        var hasHeard: CheckedContinuation<Void, Never>?
        let watch = try loop.register(reader.rawValue, for: .readable) { [loop] _ in
            if let timer { loop.cancel(timer) }
            hasHeard?.resume()
            hasHeard = nil
        }
        let end = ends[1]
        // No other timer may be due: what is ready comes before what is due, and takes the only one away.
        await withCheckedContinuation { continuation in
            hasHeard = continuation
            loop.schedule(after: .milliseconds(10)) { [loop] in
                timer = loop.schedule(after: .milliseconds(10)) { Issue.record("it was cancelled") }
                _ = usleep(300_000)
                _ = unsafe write(end, [1], 1)
            }
        }
        loop.unregister(watch)
        #expect(loop.lateness - before >= .milliseconds(280))
        _ = consume writer
    }

    @Test func `a deadline that was over when it was scheduled is not late`() async {
        let before = loop.lateness
        for _ in 0..<10 {
            var hasFired = false
            loop.schedule(at: .zero) { hasFired = true }
            await loop.eventually { hasFired }
        }
        // Boot was long ago.
        #expect(loop.lateness - before < loop.clock.boot)
    }
}
