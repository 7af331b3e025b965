// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import TestSupport
import Testing

@testable import PeerEngine

private func address(_ number: Int) -> IPAddress { .v4(0xC000_0200 + UInt32(number)) }

@Suite struct UnauthenticatedPeersTests {
    // MARK: - Connections

    @Test func `8 of one address may knock at once, and one more when one has gone`() {
        var unauthenticated = UnauthenticatedPeers()
        for id in 0..<8 { #expect(unauthenticated.admit(UInt64(id), from: address(1)) == .admitted) }
        #expect(unauthenticated.admit(8, from: address(1)) == .refused)
        #expect(unauthenticated.admit(9, from: address(2)) == .admitted)
        unauthenticated.forget(3)
        #expect(unauthenticated.admit(10, from: address(1)) == .admitted)
        #expect(unauthenticated.admit(11, from: address(1)) == .refused)
    }

    @Test func `an address of IPv4 is the same inside IPv6`() {
        var unauthenticated = UnauthenticatedPeers()
        let mapped = IPAddress.v6(0xFFFF << 32 | 0xC000_0201)
        for id in 0..<8 {
            #expect(unauthenticated.admit(UInt64(id), from: id % 2 == 0 ? address(1) : mapped) == .admitted)
        }
        #expect(unauthenticated.admit(8, from: mapped) == .refused)
        #expect(unauthenticated.admit(9, from: address(1)) == .refused)
    }

    @Test func `of 32 the oldest of the busiest address makes place`() {
        var unauthenticated = UnauthenticatedPeers()
        // Address 1 has 5, address 2 has 6, others one each.
        let callers = [1, 2, 2, 1, 1, 2, 1, 2, 2, 1, 2] + Array(3...23)
        for (id, caller) in callers.enumerated() {
            #expect(unauthenticated.admit(UInt64(id), from: address(caller)) == .admitted)
        }
        #expect(callers.count == UnauthenticatedPeers.mostHalfOpen)
        #expect(unauthenticated.admit(100, from: address(50)) == .replacing(1))
        // Now both have 5, and the oldest of all is of address 1.
        #expect(unauthenticated.admit(101, from: address(51)) == .replacing(0))
        #expect(unauthenticated.admit(102, from: address(52)) == .replacing(2))
        // A place that is free is taken by nobody else's going.
        unauthenticated.forget(102)
        #expect(unauthenticated.admit(103, from: address(53)) == .admitted)
        #expect(unauthenticated.admit(104, from: address(54)) == .replacing(3))
    }

    @Test func `one who knocks often drives nobody else away`() {
        var unauthenticated = UnauthenticatedPeers()
        for id in 0..<24 { _ = unauthenticated.admit(UInt64(id), from: address(id)) }
        var there = Set((0..<24).map(UInt64.init))
        for id in 100..<1000 as Range<UInt64> {
            switch unauthenticated.admit(id, from: address(99)) {
            case .admitted: there.insert(id)
            case .refused: continue
            case .replacing(let old): there = there.subtracting([old]).union([id])
            }
        }
        #expect(there.isSuperset(of: (0..<24).map(UInt64.init)) && there.count == 32)
    }

    @Test func `who comes from many addresses has 32 places, whatever comes`() {
        var unauthenticated = UnauthenticatedPeers()
        var random = SeededRandom(seed: 32)
        var there: [UInt64: IPAddress] = [:]
        for id in 0..<5000 as Range<UInt64> {
            let from = address(Int.random(in: 0..<12, using: &random))
            let own = there.values.count { $0 == from }
            switch unauthenticated.admit(id, from: from) {
            case .admitted:
                #expect(
                    there.count < UnauthenticatedPeers.mostHalfOpen && own < UnauthenticatedPeers.mostHalfOpenPerAddress
                )
            case .refused:
                #expect(own == UnauthenticatedPeers.mostHalfOpenPerAddress)
                continue
            case .replacing(let old):
                #expect(there.count == UnauthenticatedPeers.mostHalfOpen)
                let counts = Dictionary(there.values.map { ($0, 1) }, uniquingKeysWith: +)
                let place = there.removeValue(forKey: old)
                #expect(place.flatMap { counts[$0] } == counts.values.max())
                #expect(!there.contains { $0.value == place && $0.key < old })
            }
            there[id] = from
            if Int.random(in: 0..<8, using: &random) == 0, let gone = there.keys.min() {
                there[gone] = nil
                unauthenticated.forget(gone)
            }
        }
        #expect(there.count <= UnauthenticatedPeers.mostHalfOpen)
    }

    @Test func `forgetting nobody changes nothing`() {
        var unauthenticated = UnauthenticatedPeers()
        unauthenticated.forget(1)
        for id in 0..<8 { _ = unauthenticated.admit(UInt64(id), from: address(1)) }
        unauthenticated.forget(99)
        #expect(unauthenticated.admit(8, from: address(1)) == .refused)
    }

    // MARK: - Invitations

    /// Asks, and is answered at once.
    private func ask(_ unauthenticated: inout UnauthenticatedPeers, _ key: PeerKey, at now: Duration) -> Bool {
        guard unauthenticated.allowsInvitation(from: key, at: now) else { return false }
        unauthenticated.answered(key)
        return true
    }

    @Test func `a peer invites 5 times at once, then once in 2 seconds`() throws {
        var unauthenticated = UnauthenticatedPeers()
        let ann = try key(1)
        let start = Duration.seconds(1000)
        var times: [Int] = []
        for tenth in 0...200 where ask(&unauthenticated, ann, at: start + .milliseconds(100 * tenth)) {
            times.append(tenth)
        }
        #expect(times.prefix(5) == [0, 1, 2, 3, 4])
        // Another tenth is what numbers without an end in base 2 may cost.
        #expect(zip(times.dropFirst(5), 1...).allSatisfy { (20 * $1...20 * $1 + 1).contains($0) })
        #expect((14...15).contains(times.count))
    }

    @Test func `who has waited may invite 5 times at once again, and no more`() throws {
        var unauthenticated = UnauthenticatedPeers()
        let ann = try key(1)
        for _ in 0..<9 { _ = ask(&unauthenticated, ann, at: .seconds(1)) }
        let later = Duration.seconds(100_000)
        #expect((0..<9).count { _ in ask(&unauthenticated, ann, at: later) } == 5)
    }

    @Test func `one who asks too often takes nothing from another`() throws {
        var unauthenticated = UnauthenticatedPeers()
        let (ann, bob) = try (key(1), key(2))
        for _ in 0..<100 { _ = ask(&unauthenticated, ann, at: .zero) }
        #expect((0..<9).count { _ in ask(&unauthenticated, bob, at: .zero) } == 5)
    }

    @Test func `5 invitations of a peer wait for an answer at most`() throws {
        var unauthenticated = UnauthenticatedPeers()
        let ann = try key(1)
        #expect((0..<9).count { unauthenticated.allowsInvitation(from: ann, at: .seconds(1000 * $0)) } == 5)
        unauthenticated.answered(ann)
        #expect((0..<9).count { unauthenticated.allowsInvitation(from: ann, at: .seconds(9000 + 1000 * $0)) } == 1)
    }

    @Test func `64 invitations wait for an answer in all`() throws {
        var unauthenticated = UnauthenticatedPeers()
        let keys = try (0..<100).map(key)
        #expect(keys.count { unauthenticated.allowsInvitation(from: $0, at: .zero) } == 64)
        // Another answer than that of who waits frees nothing.
        unauthenticated.answered(keys[99])
        #expect(!keys[64...].contains { unauthenticated.allowsInvitation(from: $0, at: .seconds(1)) })
        unauthenticated.answered(keys[0])
        #expect(keys[64...].count { unauthenticated.allowsInvitation(from: $0, at: .seconds(2)) } == 1)
    }

    @Test func `answers that nobody waits for give nothing`() throws {
        var unauthenticated = UnauthenticatedPeers()
        let ann = try key(1)
        for _ in 0..<100 { unauthenticated.answered(ann) }
        #expect((0..<9).count { _ in unauthenticated.allowsInvitation(from: ann, at: .zero) } == 5)
        for _ in 0..<100 { unauthenticated.answered(ann) }
        #expect(unauthenticated.allowsInvitation(from: ann, at: .zero) == false)
        #expect((0..<9).count { unauthenticated.allowsInvitation(from: ann, at: .seconds(1000 * ($0 + 1))) } == 5)
    }

    @Test func `only so many peers are remembered, those last that were heard of last`() throws {
        var unauthenticated = UnauthenticatedPeers()
        let waiting = try key(-1)
        #expect(unauthenticated.allowsInvitation(from: waiting, at: .zero) == true)
        for number in 0..<3000 {
            let now = Duration.milliseconds(number)
            for _ in 0..<5 { #expect(ask(&unauthenticated, try key(number), at: now)) }
            #expect(!ask(&unauthenticated, try key(number), at: now))
        }
        let now = Duration.milliseconds(3000)
        // The last 1000 are known, the first are forgotten; who waits is not.
        #expect(!(try (2000..<3000).map(key)).contains { ask(&unauthenticated, $0, at: now) })
        #expect(ask(&unauthenticated, try key(0), at: now))
        #expect((0..<9).count { unauthenticated.allowsInvitation(from: waiting, at: .seconds(1000 * ($0 + 1))) } == 4)
        // How many there are is nowhere else to be seen.
        let buckets = Mirror(reflecting: unauthenticated).children.first { $0.label == "buckets" }?.value
        #expect((buckets as? any Collection)?.count == 1024)
    }
}
