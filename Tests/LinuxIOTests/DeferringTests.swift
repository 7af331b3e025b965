// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport
import Testing

@Suite(.inNamespace) struct DeferringTests {
    private let loop = Namespace.current.loop

    @Test func `what is put off waits for the handlers of all events in hand, and keeps its order`() async {
        var done: [String] = []
        let deadline = loop.clock.boot
        loop.schedule(at: deadline) { [loop] in
            loop.deferring { done.append("first put off") }
            loop.deferring { done.append("second put off") }
            done.append("one timer")
        }
        loop.schedule(at: deadline) { done.append("another timer") }
        await loop.eventually { done.count == 4 }
        #expect(done == ["one timer", "another timer", "first put off", "second put off"])
    }

    @Test func `work that always puts off more does not starve timers`() async {
        var rounds = 0
        var hasFired = false
        func again() {
            rounds += 1
            if !hasFired && rounds < 10_000_000 { loop.deferring(again) }
        }
        loop.schedule(after: .milliseconds(1)) { hasFired = true }
        again()
        await loop.eventually { hasFired }
        #expect(rounds < 10_000_000)
    }

    @Test func `a timer that work sets after it was put off fires`() async {
        var hasFired = false
        loop.deferring { [loop] in
            loop.schedule(after: .microseconds(100)) { hasFired = true }
        }
        await loop.eventually { hasFired }
    }

    @Test func `a turn is told once, before what was put off, and a loop at rest has none`() async {
        var done: [String] = []
        loop.onIteration { done.append("turn") }
        loop.schedule(after: .milliseconds(50)) { [loop] in
            done.append("timer")
            loop.deferring { done.append("put off") }
        }
        await loop.eventually { done.contains("put off") }
        let timer = done.firstIndex(of: "timer") ?? 0
        #expect(done.dropFirst(timer).prefix(3) == ["timer", "turn", "put off"])
        done = []
        let begun = loop.clock.boot
        await loop.sleep(for: .milliseconds(300))
        // The turn in which the sleep began, and the one in which it ended: far from one a millisecond.
        #expect(loop.clock.boot - begun >= .milliseconds(300) && done.count < 20)
        loop.onIteration {}
    }
}
