// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
@testable import Netlink
import TestSupport
import Testing

/// What a monitor does at its edges: before its start, in its own handlers, in storms, and at its end.
@Suite(.inNamespace) struct MonitorLifeTests {
    private let namespace = Namespace.current

    @Test func `what happens between making and starting is not missed`() async throws {
        let monitor = try KernelMonitor(loop: namespace.loop, groups: [.ipv4Rule])
        var heard = 0
        monitor.onEvents = { heard += $0.notices.count }
        try namespace.ipBatch(["rule add pref 1 table 9", "rule add pref 2 table 9"])
        await namespace.loop.sleep(for: .milliseconds(2))
        #expect(heard == 0)
        try monitor.start()
        await namespace.loop.eventually("both rules") { heard == 2 }
        monitor.stop()
    }

    @Test func `a handler may stop its monitor`() async throws {
        let monitor = try KernelMonitor(loop: namespace.loop, groups: [.ipv4Rule])
        var batches = 0
        monitor.onEvents = { [unowned monitor] _ in
            batches += 1
            monitor.stop()
        }
        try monitor.start()
        try namespace.ip("rule add pref 1 table 9")
        await namespace.loop.eventually("the first batch") { batches == 1 }
        try namespace.ip("rule add pref 2 table 9")
        await namespace.loop.sleep(for: .milliseconds(3))
        #expect(batches == 1)
        try monitor.start()
        await namespace.loop.eventually("the second batch") { batches == 2 }
    }

    @Test func `a monitor that is let go hears no more, and closes its socket`() async throws {
        var monitor: KernelMonitor? = try KernelMonitor(loop: namespace.loop, groups: [.ipv4Rule])
        var heard = 0
        monitor?.onEvents = { heard += $0.notices.count }
        try monitor?.start()
        weak let remains = monitor
        monitor = nil
        #expect(remains == nil)
        try namespace.ip("rule add pref 1 table 9")
        await namespace.loop.sleep(for: .milliseconds(3))
        #expect(heard == 0)
    }

    @Test func `a burst comes in few batches, in the kernel's order`() async throws {
        let monitor = try KernelMonitor(loop: namespace.loop, groups: [.nexthop])
        try namespace.ipBatch((1...600).map { "nexthop add id \($0) blackhole" })
        var batches: [EventBatch] = []
        monitor.onEvents = { batches.append($0) }
        try monitor.start()
        await namespace.loop.eventually("all objects") { batches.reduce(0) { $0 + $1.notices.count } == 600 }
        let ids = batches.flatMap(\.notices).compactMap { notice -> UInt32? in
            if case .nexthop(let id, false) = notice.event { id } else { nil }
        }
        #expect(ids == Array(1...600))
        // A turn of the loop reads 256 datagrams.
        #expect(batches.count == 3 && batches.map(\.notices.count) == [256, 256, 88])
        #expect(batches.map(\.boot) == batches.map(\.boot).sorted())
        #expect(monitor.statistics.messages == [.nexthop: 600] && monitor.statistics.overruns == 0)
        monitor.stop()
    }

    @Test func `a timer has its turn within a storm`() async throws {
        let monitor = try KernelMonitor(loop: namespace.loop, groups: [.nexthop])
        try namespace.ipBatch((1...2000).map { "nexthop add id \($0) blackhole" })
        var order: [String] = []
        monitor.onEvents = { _ in order.append("batch") }
        try monitor.start()
        namespace.loop.schedule(after: .zero) { order.append("timer") }
        await namespace.loop.eventually("the storm's end") { monitor.statistics.messages[.nexthop] == 2000 }
        let place = try #require(order.firstIndex(of: "timer"))
        #expect(place < order.count - 1)
        monitor.stop()
    }

    @Test func `an overrun ends in a resync at once, and those that follow are waited out`() async throws {
        let monitor = try KernelMonitor(loop: namespace.loop, groups: [.nexthop], bufferSize: 4096)
        var resyncs = 0
        var recoveries = 0
        monitor.onResync = { resyncs += 1 }
        try monitor.start()
        for round in 1...3 {
            try overrun(round)
            await namespace.loop.eventually("the resync") {
                if monitor.isRecovering { recoveries += 1 }
                return resyncs == round
            }
            #expect(!monitor.isRecovering && (round > 1 || recoveries == 0))
        }
        #expect(monitor.statistics.overruns == 3)
        monitor.stop()
    }

    @Test func `a monitor that is stopped while it recovers does not call back`() async throws {
        let monitor = try KernelMonitor(loop: namespace.loop, groups: [.nexthop], bufferSize: 4096)
        var resyncs = 0
        monitor.onResync = { resyncs += 1 }
        try monitor.start()
        var round = 0
        // Only an overrun soon after another one is waited out.
        while !monitor.isRecovering {
            round += 1
            try overrun(round)
            await namespace.loop.eventually("the overrun") { monitor.isRecovering || resyncs == round }
        }
        monitor.stop()
        #expect(!monitor.isRecovering)
        await namespace.loop.sleep(for: .milliseconds(150))
        #expect(resyncs == round - 1)
    }

    /// Makes more notifications than fit.
    private func overrun(_ round: Int) throws {
        try namespace.ipBatch((0..<300).map { "nexthop add id \(round * 1000 + $0) blackhole" })
    }

    @Test func `a recorder hears what the monitor hears, lost messages too`() async throws {
        let scratch = try Scratch()
        let path = scratch.file("recording")
        let monitor = try KernelMonitor(loop: namespace.loop, groups: [.nexthop], bufferSize: 4096)
        let recorder = try NetlinkRecorder(path: path)
        monitor.recorder = recorder
        var resyncs = 0
        monitor.onResync = { resyncs += 1 }
        var heard = 0
        monitor.onEvents = { heard += $0.notices.count }
        try monitor.start()
        try namespace.ip("nexthop add id 1 blackhole")
        await namespace.loop.eventually("the first") { heard == 1 }
        try namespace.ipBatch((2...300).map { "nexthop add id \($0) blackhole" })
        await namespace.loop.eventually("the resync") { resyncs == 1 }
        monitor.stop()
        recorder.finish()
        recorder.finish()
        let recording = try NetlinkRecording(path: path)
        #expect(recording.entries.contains { $0.frame == .lost } && recording.entries.last?.frame == .end)
        let replay = RecordedKernel(recording)
        var steps: [String] = []
        while let step = replay.next() {
            switch step {
            case .events: steps.append("events")
            case .resync: steps.append("resync")
            case .connections: steps.append("connections")
            case .end: steps.append("end")
            }
        }
        #expect(steps.first == "events" && steps.contains("resync") && steps.last == "end")
        #expect(try Command.run(["stat", "-c", "%a", path]).hasPrefix("600"))
    }
}
