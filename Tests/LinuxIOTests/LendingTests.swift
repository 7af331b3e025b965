// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import LinuxIO
import Synchronization
import TestSupport
import Testing

/// A loop that another thread has for a moment.
@Suite(.inNamespace) struct LendingTests {
    private let loop = Namespace.current.loop
    private let other: EventLoop
    private let namespace: Namespace

    init() throws {
        namespace = try Namespace()
        other = namespace.loop
    }

    /// Runs work as the other loop, as soon as that one is idle.
    private func lend(_ work: () -> Void) async {
        await loop.eventually("an idle loop") { other.performNow(work) }
    }

    @Test func `an idle loop is the calling thread's, for as long as the work takes`() async {
        var isCurrent = false
        await lend { isCurrent = other.isCurrent && loop.isCurrent }
        #expect(isCurrent && !other.isCurrent && loop.isCurrent)
    }

    @Test func `a loop with work to do keeps it, and so does the loop's own thread`() async {
        let (begun, over) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        other.perform {
            begun.signal()
            over.wait()
        }
        #expect(begun.wait(timeout: .now() + 10) == .success)
        #expect(!other.performNow { Issue.record("the loop was busy") })
        other.perform {}
        over.signal()
        #expect(!loop.performNow { Issue.record("it is the loop's thread already") })
        await lend {}
    }

    @Test func `what is handed over meanwhile comes later, on the loop's own thread`() async {
        let done = Mutex<[String]>([])
        await lend {
            other.perform { [loop] in done.withLock { $0.append(loop.isCurrent ? "here" : "later") } }
            other.deferring { done.withLock { $0.append("put off") } }
            other.schedule(after: .zero) { [loop] in done.withLock { $0.append(loop.isCurrent ? "here" : "timer") } }
            done.withLock { $0.append("work") }
        }
        #expect(done.withLock { Array($0.prefix(2)) } == ["work", "put off"])
        await loop.eventually { done.withLock { $0.count } == 4 }
        #expect(done.withLock { Set($0.suffix(2)) } == ["later", "timer"])
    }

    @Test func `one thread has it at a time`() async {
        /// Confined to the loop, whoever has it.
        @safe final class Counter: Sendable { nonisolated(unsafe) var value = 0 }
        let counter = Counter()
        let lent = Atomic(0)
        let left = DispatchGroup()
        for _ in 0..<4 {
            DispatchQueue.apart.async(group: left) { [other] in
                for _ in 0..<500 {
                    if other.performNow({ unsafe counter.value += 1 }) {
                        lent.wrappingAdd(1, ordering: .relaxed)
                    } else {
                        other.perform { unsafe counter.value += 1 }
                    }
                }
            }
        }
        await loop.eventually { left.wait(timeout: .now()) == .success }
        let total = Atomic(0)
        other.perform { total.store(unsafe counter.value, ordering: .relaxed) }
        await loop.eventually { total.load(ordering: .relaxed) > 0 }
        #expect(total.load(ordering: .relaxed) == 2000 && lent.load(ordering: .relaxed) > 0)
    }

    @Test func `a loop that is over is nobody's`() async {
        other.stop()
        await loop.eventually { !other.performNow {} }
        #expect(!other.performNow { Issue.record("the loop is over") })
    }
}
