// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import MulticastDNS

private let one = RecordSet.ID(rawValue: 1)
private let two = RecordSet.ID(rawValue: 2)

private struct Bench {
    var prober = Prober()
    var random: RandomSource

    init(seed: UInt64 = 1) { random = RandomSource(seed: seed) }

    mutating func start(_ id: RecordSet.ID, at seconds: Double = 0) {
        prober.start(id, at: time(seconds), random: &random)
    }

    /// The times of probes and of the end, in seconds.
    mutating func run(_ id: RecordSet.ID, until limit: Double = 100) -> (probes: [Double], finished: Double?) {
        var probes: [Double] = []
        while let deadline = prober.nextDeadline, deadline <= time(limit) {
            let step = prober.step(at: deadline)
            let seconds = (deadline - time(0)) / .seconds(1)
            if step.probes.contains(id) { probes.append(seconds) }
            if step.finished.contains(id) { return (probes, seconds) }
        }
        return (probes, nil)
    }
}

@Suite struct ProberTests {
    @Test(arguments: 1...20)
    func `P2: three probes 250 ms apart after a random wait, and 250 ms for objections`(seed: UInt64) throws {
        var bench = Bench(seed: seed)
        bench.start(one)
        let (probes, finished) = bench.run(one)
        let first = try #require(probes.first)
        #expect((0...0.250).contains(first))
        #expect(probes.count == 3 && isAbout(probes[1], first + 0.25) && isAbout(probes[2], first + 0.5))
        #expect(isAbout(finished ?? 0, first + 0.75))
        #expect(bench.prober.probing.isEmpty && bench.prober.nextDeadline == nil)
    }

    @Test func `P2: the first wait is spread over its 250 ms`() {
        let waits = (0..<200).map { seed -> Double in
            var bench = Bench(seed: UInt64(seed))
            bench.start(one)
            return bench.run(one).probes.first ?? -1
        }
        #expect((waits.min() ?? 1) < 0.02 && (waits.max() ?? 0) > 0.23)
        #expect((0.1...0.15).contains(waits.reduce(0, +) / 200))
    }

    @Test func `P3: sets that wait for their first probe go together`() {
        var bench = Bench()
        bench.start(one)
        bench.start(two)
        let step = bench.prober.step(at: bench.prober.nextDeadline ?? .zero)
        #expect(step.probes == [one, two])
    }

    @Test func `a set that comes later does not hold up one that is under way`() {
        var bench = Bench()
        bench.start(one)
        _ = bench.prober.step(at: time(0.25))
        bench.start(two, at: 0.25)
        #expect(bench.prober.hasProbed(one) && !bench.prober.hasProbed(two))
        #expect(bench.run(one).probes.count == 2)
    }

    @Test func `P7: the loser of a tiebreak waits a second and begins anew`() {
        var bench = Bench()
        bench.start(one)
        _ = bench.prober.step(at: time(0.25))
        bench.prober.lostTiebreak(one, at: time(0.4))
        // What the winner says meanwhile counts, and that it probes on does not lengthen the wait.
        #expect(bench.prober.hasProbed(one))
        bench.prober.lostTiebreak(one, at: time(0.9))
        let (probes, finished) = bench.run(one)
        #expect(probes.count == 3 && isAbout(probes[0], 1.4) && isAbout(finished ?? 0, 2.15))
    }

    @Test func `who does not probe cannot lose`() {
        var bench = Bench()
        bench.prober.lostTiebreak(one, at: time(0))
        #expect(bench.prober.nextDeadline == nil)
    }

    @Test func `P8: after fifteen conflicts in ten seconds each attempt waits five seconds`() throws {
        var bench = Bench()
        for index in 0..<14 { bench.prober.noteConflict(at: time(Double(index) * 0.5)) }
        bench.start(one, at: 7)
        #expect(try #require(bench.prober.nextDeadline) <= time(7.25))
        bench.prober.noteConflict(at: time(7.3))
        bench.start(one, at: 7.3)
        let first = try #require(bench.prober.nextDeadline)
        #expect((time(12.3)...time(12.55)).contains(first))
        // The next conflict follows at once, and the next attempt waits again.
        bench.prober.noteConflict(at: time(12.6))
        bench.start(one, at: 12.6)
        #expect(try #require(bench.prober.nextDeadline) >= time(17.6))
    }

    @Test func `P8: fifteen conflicts in a longer time are no reason to wait`() throws {
        var bench = Bench()
        for index in 0..<15 { bench.prober.noteConflict(at: time(Double(index))) }
        bench.start(one, at: 14)
        #expect(try #require(bench.prober.nextDeadline) <= time(14.25))
    }

    @Test func `P7, P8: lost tiebreaks are no conflicts`() {
        var bench = Bench()
        bench.start(one)
        for index in 0..<15 {
            _ = bench.prober.step(at: time(Double(index) * 0.5))
            bench.prober.lostTiebreak(one, at: time(Double(index) * 0.5))
        }
        bench.start(two, at: 8)
        #expect(bench.run(two).probes.first.map { $0 < 8.251 } == true)
    }

    @Test(arguments: [(0.5, true), (1.5, false)])
    func `names that wait for a host are ours for a second; after that they are asked for again`(
        wait: (seconds: Double, isOurs: Bool)
    ) {
        var bench = Bench()
        bench.prober.hold(one, at: time(1))
        #expect(bench.prober.nextDeadline == nil && bench.prober.isHeld(one) && bench.prober.hasProbed(one))
        let isOurs = bench.prober.release(one, at: time(1 + wait.seconds), random: &bench.random)
        #expect(isOurs == wait.isOurs && bench.prober.probing.isEmpty == wait.isOurs)
        #expect(bench.run(one).probes.count == (wait.isOurs ? 0 : 3))
    }

    @Test func `what waits for a host may lose a tiebreak`() {
        var bench = Bench()
        bench.prober.hold(one, at: time(1))
        bench.prober.lostTiebreak(one, at: time(1.2))
        #expect(bench.prober.nextDeadline == time(2.2))
    }

    @Test func `a cancelled set is heard of no more`() {
        var bench = Bench()
        bench.start(one)
        bench.start(two)
        bench.prober.cancel(one)
        #expect(bench.run(one).probes.isEmpty && bench.prober.probing.isEmpty)
    }
}
