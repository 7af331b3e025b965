// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import Netlink
@testable import PathEngine
import PathModel
import Synchronization
import TestSupport
import Testing

/// Readings of everything, which the kernel holds up while many interfaces go down anywhere on the machine.
@Suite(.inNamespace) struct ReadingTests {
    private let namespace = Namespace.current

    /// A kernel that lets readings wait for permission.
    private final class Gate: Sendable {
        private struct State {
            var isOpen = false
            var begun = 0
            var refused = 0
        }

        private let state = Mutex(State())

        var begun: Int { state.withLock { $0.begun } }

        func set(open: Bool) { state.withLock { $0.isOpen = open } }

        func refuse(_ count: Int) { state.withLock { $0.refused = count } }

        func read() throws(NetlinkError) -> KernelReading {
            state.withLock { $0.begun += 1 }
            while !state.withLock({ $0.isOpen }) { usleep(1_000) }
            let isRefused = state.withLock { state in
                defer { state.refused = max(0, state.refused - 1) }
                return state.refused > 0
            }
            if isRefused { throw .refused(request: MessageType(rawValue: 18), code: ENOBUFS, detail: nil) }
            return try KernelReading(of: try LiveKernel())
        }
    }

    @Test func `while the kernel holds a reading up, the loop goes on, and hears it afterwards`() async throws {
        let gate = Gate()
        let subject = try Subject(reading: gate.read)
        subject.engine.resume()
        await subject.loop.eventually("the reading") { gate.begun == 1 }
        try namespace.ip("link add b0 type bridge")
        // The loop turns, without the answer.
        for _ in 0..<3 { await subject.loop.eventually("a turn") { true } }
        #expect(subject.link("b0") == nil && !subject.engine.isRecovering)
        gate.set(open: true)
        await subject.loop.eventually("the bridge") { subject.link("b0") != nil }
        try namespace.ip("link del b0")
        await subject.loop.eventually("no bridge") { subject.link("b0") == nil }
    }

    @Test func `what came during a reading is no silent change`() async throws {
        let gate = Gate()
        let settings = EngineSettings(quiet: .zero, auditInterval: .milliseconds(50))
        let subject = try Subject(settings, reading: gate.read)
        await subject.loop.eventually("the audit") { gate.begun == 1 }
        try namespace.ip("link add b0 type bridge")
        try namespace.ip("addr add 192.0.2.9/24 dev b0")
        gate.set(open: true)
        await subject.loop.eventually("more audits") { gate.begun > 3 }
        #expect(subject.link("b0") != nil && subject.engine.silentChanges == 0)
    }

    @Test func `lost notifications are said until a reading that began afterwards is over`() async throws {
        let gate = Gate()
        let subject = try Subject(bufferSize: 4096, reading: gate.read)
        subject.engine.resume()
        await subject.loop.eventually("the reading") { gate.begun == 1 }
        // They overflow the buffer that nobody reads.
        for number in 0..<60 { try namespace.ip("link add b\(number) type bridge") }
        gate.set(open: true)
        await subject.loop.eventually("the resync") { !subject.resyncs.isEmpty }
        await subject.loop.eventually("the end") { !subject.engine.isRecovering && subject.link("b59") != nil }
        #expect(gate.begun >= 2)
    }

    @Test func `lost notifications are said until a reading succeeds`() async throws {
        let gate = Gate()
        gate.set(open: true)
        let subject = try Subject(bufferSize: 4096, reading: gate.read)
        gate.refuse(2)
        subject.loop.perform {
            // They overflow the buffer that nobody reads.
            for number in 0..<60 { _ = try? namespace.ip("link add b\(number) type bridge") }
        }
        await subject.loop.eventually("a refusal") { gate.begun == 1 }
        await subject.loop.eventually("another") { gate.begun == 2 }
        #expect(subject.engine.isRecovering && subject.resyncs.isEmpty)
        await subject.loop.eventually("the resync") { !subject.resyncs.isEmpty }
        #expect(!subject.engine.isRecovering && gate.begun == 3 && subject.link("b59") != nil)
    }
}
