// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

@Suite struct CensusRunTests {
    /// Asks for a step at every millisecond and writes down what was not waiting.
    private func steps(news: [Double], resolvingUntil: Double = 0) -> [(time: Double, step: CensusRun.Step)] {
        var run = CensusRun(at: time(0))
        var steps: [(time: Double, step: CensusRun.Step)] = []
        for tick in 0...800 {
            let now = Double(tick) / 100
            if news.contains(now) { run.noteChange(at: time(now)) }
            let step = run.step(at: time(now), isResolving: now < resolvingUntil)
            if case .wait(let until) = step {
                #expect(until > time(now))
                continue
            }
            steps.append((now, step))
            if step == .complete { break }
        }
        return steps
    }

    @Test(
        arguments: [
            ([], 0.0, 3.5), ([0.1, 0.4], 0, 3.5), ([0.99], 0, 3.5), ([1.2], 0, 7.9), ([3.2], 0, 7.9), ([0.2], 4.2, 4.2),
            ([0.2], 20, 7.9), ([2.0], 5, 7.9), ([0.2], 2.0, 3.5),
        ] as [([Double], Double, Double)]
    )
    func `is complete after two quiet repetitions, or at its limit`(news: [Double], resolving: Double, end: Double) {
        let steps = steps(news: news, resolvingUntil: resolving)
        #expect(steps.map(\.step) == [.provisional, .complete])
        #expect(steps.map(\.time) == [1.3, end])
    }

    @Test(arguments: [(3.3, 3.5), (3.95, 3.95), (60, 7.9)])
    func `waits for the answers to the last repetition`(answersUntil: Double, end: Double) {
        var run = CensusRun(at: time(0))
        var until = time(answersUntil)
        #expect(run.step(at: time(1.3), isResolving: false, answersUntil: until) == .provisional)
        #expect(run.step(at: time(1.3), isResolving: false, answersUntil: until) == .wait(until: time(end)))
        #expect(run.step(at: time(end - 0.01), isResolving: false, answersUntil: until) == .wait(until: time(end)))
        // Another question went out meanwhile.
        until = max(until, time(4.2))
        let step = run.step(at: time(end), isResolving: false, answersUntil: until)
        #expect(step == (end >= 4.2 ? .complete : .wait(until: time(4.2))))
    }

    @Test func `after a long sleep it is provisional, then complete at once`() {
        var run = CensusRun(at: time(0))
        #expect(run.step(at: time(600), isResolving: true) == .provisional)
        #expect(run.step(at: time(600), isResolving: true) == .complete)
    }

    @Test func `old news does not turn time back`() {
        var run = CensusRun(at: time(0))
        run.noteChange(at: time(2))
        run.noteChange(at: time(-50))
        _ = run.step(at: time(1.3), isResolving: false)
        #expect(run.step(at: time(3.5), isResolving: false) == .wait(until: time(7.9)))
    }
}

@Suite struct TypeMemoryTests {
    private let alice = IPAddress.v4(1)
    private let bob = IPAddress.v4(2)

    private func settings(types: Int = 10, perSource: Int = 5, known: [String] = []) -> CensusSettings {
        var settings = CensusSettings()
        settings.maximumTypes = types
        settings.maximumTypesPerSource = perSource
        settings.wellKnownTypes = known.compactMap { DomainName($0) }
        return settings
    }

    private func type(_ number: Int) -> DomainName { DomainName("_t\(number)._tcp.local") ?? DomainName() }

    @Test func `knows the usual types from the start`() {
        let memory = TypeMemory(CensusSettings())
        #expect(memory.types.contains(DomainName("_ipp._tcp.local") ?? DomainName()))
        #expect(memory.types == memory.types.sorted())
    }

    @Test func `tells a new type from a known one, whatever its case`() throws {
        var memory = TypeMemory(settings(known: ["_ipp._tcp.local"]))
        let shouted = try #require(DomainName("_IPP._TCP.local"))
        #expect(memory.types.count == 1)
        var isNew = memory.admit(shouted, from: alice, at: time(0)) { _ in false }
        #expect(!isNew)
        isNew = memory.admit(type(1), from: alice, at: time(0)) { _ in false }
        #expect(isNew)
        isNew = memory.admit(type(1), from: bob, at: time(1)) { _ in false }
        #expect(!isNew && memory.types.count == 2)
    }

    @Test func `one sender may introduce so many per census, another one still can`() {
        var memory = TypeMemory(settings())
        let taken = (0..<100).map { number in memory.admit(type(number), from: alice, at: time(0)) { _ in false } }
        #expect(taken.count { $0 } == 5)
        let other = memory.admit(type(200), from: bob, at: time(0)) { _ in false }
        #expect(other)
        memory.beginCensus { _ in true }
        let again = memory.admit(type(50), from: alice, at: time(1)) { _ in false }
        #expect(again)
    }

    @Test func `a full memory forgets the unused type named longest ago`() {
        var memory = TypeMemory(settings(types: 3, perSource: 100))
        for number in 0..<3 { _ = memory.admit(type(number), from: alice, at: time(Double(number))) { _ in false } }
        let inUse: Set<DomainName> = [type(0)]
        let isNew = memory.admit(type(9), from: alice, at: time(5)) { inUse.contains($0) }
        #expect(isNew && Set(memory.types) == [type(0), type(2), type(9)])
    }

    @Test func `a memory full of used types refuses`() {
        var memory = TypeMemory(settings(types: 3, perSource: 100))
        for number in 0..<3 { _ = memory.admit(type(number), from: alice, at: time(0)) { _ in true } }
        let isNew = memory.admit(type(9), from: alice, at: time(5)) { _ in true }
        #expect(!isNew && memory.types.count == 3)
    }

    @Test func `with a census it forgets types that nothing stands behind, but none that it is to know`() {
        var memory = TypeMemory(settings(known: ["_ipp._tcp.local"]))
        for number in 0..<3 { _ = memory.admit(type(number), from: alice, at: time(0)) { _ in false } }
        memory.beginCensus { $0 == type(1) }
        #expect(Set(memory.types) == [DomainName("_ipp._tcp.local"), type(1)])
        memory.setWellKnown([type(1)])
        memory.beginCensus { _ in false }
        #expect(memory.types == [type(1)])
    }

    @Test func `bounds the senders it counts`() {
        var memory = TypeMemory(settings(types: 10_000, perSource: 1))
        let taken = (0..<1000).map { number in
            memory.admit(type(number), from: .v4(UInt32(number)), at: time(0)) { _ in false }
        }
        #expect(taken.count { $0 } == 256)
    }
}
