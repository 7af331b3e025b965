// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Netlink
import Testing

@testable import Traffic

@Suite struct TrafficSamplingTests {
    private var sampling = TrafficSampling()
    private var counters = TCPCounters()

    private mutating func gate(_ milliseconds: Int, sent: UInt64 = 0, received: UInt64 = 0, again: UInt64 = 0) -> Bool {
        counters.segmentsSent += sent
        counters.segmentsReceived += received
        counters.retransmitted += again
        return sampling.gate(counters, at: .milliseconds(milliseconds))
    }

    @Test mutating func `a machine without connections plans nothing, and reads none`() {
        #expect(sampling.isDue(.zero))
        let begins = gate(0)
        #expect(!begins && sampling.next() == nil)
        #expect(!sampling.isDue(.milliseconds(900)) && sampling.isDue(.milliseconds(1000)))
    }

    @Test mutating func `without connections it goes on only until answers have grown old, or an outage is over`() {
        counters.opened = 1
        #expect(gate(0))
        sampling.read(TrafficSampling.Result(connections: 0), at: .zero)
        #expect(sampling.next() == nil && sampling.next(isTransient: true) == .milliseconds(500))
        sampling.read(TrafficSampling.Result(connections: 0, isStalled: true), at: .zero)
        #expect(gate(2000))
        // A destination or a loss ends with a reading as well, less often.
        sampling.read(TrafficSampling.Result(connections: 0, isTroubled: true), at: .seconds(2))
        let early = gate(4000)
        #expect(!early)
        #expect(gate(12_000))
    }

    @Test mutating func `connections over loopback alone are read again only when others were opened`() {
        counters.opened = 3
        counters.established = 2
        #expect(gate(0))
        sampling.read(TrafficSampling.Result(connections: 0), at: .zero)
        #expect(sampling.next() == nil)
        #expect(!gate(5000, sent: 100, received: 100))
        counters.opened = 4
        #expect(gate(10_000))
    }

    @Test mutating func `silent connections are looked at every four seconds, busy ones four times a second`() {
        counters.opened = 1
        #expect(gate(0))
        sampling.read(TrafficSampling.Result(connections: 1), at: .zero)
        var now = 0
        for _ in 0..<8 {
            now = Int((sampling.next() ?? .zero).components.seconds * 1000)
            _ = gate(max(now, 1))
        }
        #expect(sampling.next().map { $0 - .milliseconds(now) } == .seconds(4))
        _ = gate(now + 4000, sent: 10)
        #expect(sampling.next() == .milliseconds(now + 4250))
    }

    @Test mutating func `connections are read at once when something was sent again, else every ten seconds`() {
        counters.opened = 1
        #expect(gate(0))
        sampling.read(TrafficSampling.Result(connections: 20), at: .zero)
        for step in 1...39 { #expect(!gate(step * 250, sent: 20, received: 20)) }
        #expect(gate(10_000, sent: 20, received: 20))
        sampling.read(TrafficSampling.Result(connections: 20), at: .seconds(10))
        #expect(gate(10_250, sent: 20, received: 20, again: 1))
    }

    @Test
    mutating func `while connections are suspicious they are read each time, while they are stalled with an answer`() {
        counters.opened = 1
        #expect(gate(0))
        sampling.read(TrafficSampling.Result(connections: 20, isSuspicious: true), at: .zero)
        #expect(gate(250))
        sampling.read(TrafficSampling.Result(connections: 20, isStalled: true), at: .milliseconds(250))
        #expect(!gate(500) && gate(750, received: 1))
        sampling.read(TrafficSampling.Result(connections: 20, isStalled: true), at: .milliseconds(750))
        #expect(!gate(1000) && gate(1750))
    }

    @Test mutating func `readings of many connections are further apart, and it is said`() {
        counters.opened = 1
        #expect(gate(0))
        sampling.read(TrafficSampling.Result(connections: 100_000, cost: .milliseconds(150)), at: .zero)
        #expect(sampling.isLimited && sampling.routineInterval == .seconds(10))
        // The first three after something was sent again decide, whatever they cost.
        for round in 1...3 {
            #expect(gate(round * 1000, sent: 1, again: 1))
            sampling.read(
                TrafficSampling.Result(connections: 100_000, cost: .milliseconds(150)),
                at: .seconds(round)
            )
        }
        #expect(!gate(12_000, sent: 1, again: 1) && gate(13_000, sent: 1, again: 1))
    }
}

@Suite struct TrafficHistoryTests {
    private static func report(_ milliseconds: Int, loss: Double) -> TrafficReport {
        var report = TrafficReport()
        report.total.connections = 4
        report.total.roundTrips = RoundTripQuantiles([UInt32(milliseconds * 1000)])
        report.total.loss = loss
        return report
    }

    @Test func `a step keeps the worst, and an hour of steps is kept`() {
        var history = TrafficHistory()
        history.record(Self.report(20, loss: 0.05), isStalled: true, at: .seconds(100))
        history.record(Self.report(30, loss: 0.01), isStalled: false, at: .seconds(109))
        #expect(history.steps.count == 1 && history.steps[0].isStalled && history.steps[0].loss == 0.05)
        #expect(history.steps[0].roundTrip == .milliseconds(30))
        for step in 0..<500 { history.record(Self.report(1, loss: 0), isStalled: false, at: .seconds(200 + step * 10)) }
        #expect(history.steps.count == TrafficHistory.capacity)
    }
}
