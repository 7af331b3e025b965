// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport
import Testing

@Suite(.inNamespace) struct TimerTests {
    private let loop = Namespace.current.loop

    @Test func `timers of one deadline fire in the order they were scheduled`() async {
        let deadline = loop.clock.boot + .milliseconds(3)
        var fired: [Int] = []
        for number in 0..<50 { loop.schedule(at: deadline) { fired.append(number) } }
        await loop.eventually { fired.count == 50 }
        #expect(fired == Array(0..<50))
    }

    @Test func `no timer fires early`() async {
        var early = 0
        var fired = 0
        for delay in 0..<20 {
            let deadline = loop.clock.boot + .microseconds(250 * delay)
            loop.schedule(at: deadline) { [loop] in
                fired += 1
                if loop.clock.boot < deadline { early += 1 }
            }
        }
        await loop.eventually { fired == 20 }
        #expect(early == 0)
    }

    @Test func `an earlier timer overtakes the one that was armed`() async {
        var fired: [String] = []
        let late = loop.schedule(after: .seconds(3600)) { fired.append("late") }
        loop.schedule(after: .milliseconds(2)) { fired.append("soon") }
        await loop.eventually { fired == ["soon"] }
        loop.cancel(late)
    }

    @Test(arguments: [.zero, .nanoseconds(1), .seconds(-5), .seconds(1)] as [Duration])
    func `a deadline in the past, before the boot even, fires at once`(deadline: Duration) async {
        var hasFired = false
        loop.schedule(at: deadline) { hasFired = true }
        await loop.eventually { hasFired }
    }

    @Test func `thousands of timers fire in the order of their deadlines`() async {
        var numbers = SeededRandom(seed: 42)
        let start = loop.clock.boot
        var fired: [Duration] = []
        for _ in 0..<5000 {
            let deadline = start + .microseconds(Int64.random(in: 0...20_000, using: &numbers))
            loop.schedule(at: deadline) { fired.append(deadline) }
        }
        await loop.eventually { fired.count == 5000 }
        #expect(fired == fired.sorted())
    }

    @Test func `a storm of cancellations leaves exactly the others`() async {
        var numbers = SeededRandom(seed: 42)
        var expected: Set<Int> = []
        var fired: Set<Int> = []
        var cancelled: [EventLoop.Timer] = []
        for number in 0..<20_000 {
            let delay = Duration.microseconds(Int64.random(in: 5000...9000, using: &numbers))
            let timer = loop.schedule(after: delay) { fired.insert(number) }
            if number % 100 == 0 { expected.insert(number) } else { cancelled.append(timer) }
        }
        for timer in cancelled.shuffled(using: &numbers) { loop.cancel(timer) }
        await loop.eventually { fired.count >= expected.count }
        #expect(fired == expected)
    }

    @Test func `cancelling what has fired, or was cancelled, is no error`() async {
        var count = 0
        let timer = loop.schedule(after: .zero) { count += 1 }
        await loop.eventually { count == 1 }
        loop.cancel(timer)
        loop.cancel(timer)
        var after = 0
        loop.schedule(after: .zero) { after += 1 }
        await loop.eventually { after == 1 }
        #expect(count == 1)
    }

    @Test func `a handler may cancel a timer that is due in the same turn`() async {
        let deadline = loop.clock.boot
        var fired: [String] = []
        var victim: EventLoop.Timer?
        loop.schedule(at: deadline) { [loop] in
            fired.append("first")
            if let victim { loop.cancel(victim) }
        }
        victim = loop.schedule(at: deadline) { fired.append("victim") }
        loop.schedule(at: deadline) { fired.append("last") }
        await loop.eventually { fired.contains("last") }
        #expect(fired == ["first", "last"])
    }

    @Test func `a handler that always schedules the next in the past starves neither timers nor jobs`() async {
        var rounds = 0
        var isOver = false
        func again() {
            rounds += 1
            if !isOver && rounds < 100_000 { loop.schedule(at: .zero, handler: again) }
        }
        again()
        var other = false
        loop.schedule(after: .milliseconds(1)) { other = true }
        await loop.eventually { other }
        #expect(rounds < 100_000)
        isOver = true
    }

    @Test func `what a handler holds is let go when it has fired or was cancelled`() async {
        final class Token {}
        var fired: Token? = Token()
        var cancelled: Token? = Token()
        weak let first = fired
        weak let second = cancelled
        loop.schedule(after: .zero) { [fired] in _ = fired }
        let timer = loop.schedule(after: .seconds(3600)) { [cancelled] in _ = cancelled }
        fired = nil
        cancelled = nil
        #expect(first != nil && second != nil)
        loop.cancel(timer)
        #expect(second == nil)
        await loop.eventually("letting go") { first == nil }
    }

    @Test func `a sleeper wakes on the loop, not before its time`() async {
        let start = loop.clock.boot
        await loop.sleep(for: .milliseconds(5))
        #expect(loop.isCurrent)
        #expect(loop.clock.boot - start >= .milliseconds(5))
        await loop.sleep(for: .zero)
        await loop.sleep(for: .seconds(-1))
        #expect(loop.isCurrent)
    }
}
