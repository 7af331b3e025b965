// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import TestSupport
import Testing

@testable import LinuxIO

@Suite(.inNamespace) struct OffloadTests {
    @Test func `the work has a thread of its own, and the result comes back to the loop`() async throws {
        let loop = Namespace.current.loop
        var result: (Bool, Int)?
        try loop.offload({ (loop.isCurrent, 6 * 7) }) { value in
            #expect(loop.isCurrent)
            result = value
        }
        #expect(result == nil)
        await loop.eventually { result != nil }
        #expect(result?.0 == false && result?.1 == 42)
    }

    @Test func `the loop goes on while the work takes its time`() async throws {
        let loop = Namespace.current.loop
        let gate = Atomic(false)
        let isDone = Atomic(false)
        try loop.offload({
            while !gate.load(ordering: .acquiring) { usleep(1000) }
        }) { _ in isDone.store(true, ordering: .releasing) }
        var turns = 0
        for _ in 0..<5 {
            await loop.sleep(for: .milliseconds(1))
            turns += 1
        }
        #expect(turns == 5 && !isDone.load(ordering: .acquiring))
        gate.store(true, ordering: .releasing)
        await loop.eventually { isDone.load(ordering: .acquiring) }
    }

    @Test func `many results come, each once`() async throws {
        let loop = Namespace.current.loop
        var sum = 0
        for number in 1...20 { try loop.offload({ number }) { sum += $0 } }
        await loop.eventually { sum == 210 }
        #expect(sum == 210)
    }
}
