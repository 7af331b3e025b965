// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import Synchronization
import TestSupport
import Testing

@testable import MulticastDNS

/// A clock on which a millisecond goes by with every look.
private final class SteppingClock: TimeSource {
    private let looks = Mutex(1000)

    var boot: Duration {
        looks.withLock {
            $0 += 1; return .milliseconds($0)
        }
    }
    var awake: Duration { boot }
    var wall: WallTime { WallTime(nanoseconds: 1_795_176_000_000_000_000) }
}

@Suite struct ReadLimitTests {
    @Test func `ends when its time is over, but not before the first packet`() {
        let clock = ManualClock()
        /// What it allows when so much time goes by before each packet.
        func packets(_ waits: [Duration]) -> [Bool] {
            var budget = ReadLimit(clock)
            return waits.map { wait in
                clock.advance(by: wait)
                return budget.allowsPacket()
            }
        }
        #expect(packets([.seconds(1), .zero]) == [true, false])
        #expect(
            packets([.zero, .zero, .milliseconds(1), .microseconds(999), .microseconds(1)]) == [
                true, true, true, true, false,
            ]
        )
    }

    @Test func `ends with its packets when time stands still`() {
        var budget = ReadLimit(ManualClock())
        var packets = 0
        while budget.allowsPacket() { packets += 1 }
        #expect(packets == ReadLimit.packets)
    }
}

@Suite(.inNamespace) struct TurnBudgetWireTests {
    @Test func `a link leaves in its socket what goes beyond a turn, and comes back for it`() async throws {
        let wire = try Wire()
        let loop = wire.here.loop
        let interface = try wire.interface()
        let directory = LinkDirectory(
            index: interface.index,
            name: interface.name,
            settings: MulticastSettings(),
            random: RandomSource(seed: 1)
        )
        let link = MulticastLink(loop: loop, interface: interface, directory: directory)
        let clock = SteppingClock()
        var counters = MulticastCounters()
        var turns: [UInt64] = []
        try link.open(.ipv4, addresses: interface.addresses(of: .ipv4)) {
            let before = counters.received
            link.receive(.ipv4, within: ReadLimit(clock), counters: &counters)
            turns.append(counters.received - before)
        }
        let index = try wire.peer.multicastInterface("v1").index
        for _ in 0..<20 {
            wire.peer.multicast(Message(questions: []).encoded() ?? [], from: index, by: [.ipv4])
        }
        await loop.eventually("all packets", found: turns) { counters.received >= 20 }
        #expect(turns.allSatisfy { $0 <= 2 } && turns.count >= 10, "\(turns)")
        link.closeAll()
    }
}
