// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import PeerEngine

@Suite struct MembershipTests {
    /// Of a peer in the middle.
    private func membership(of own: Int = 50) throws -> Membership { Membership(own: try key(own)) }

    private func keys(_ numbers: Int...) throws -> Set<PeerKey> { Set(try numbers.map(key)) }

    @Test func `has 8 members with oneself`() throws {
        var membership = try membership()
        for number in 1...7 {
            #expect(!membership.isFull)
            #expect(membership.add(try key(number)) == true)
        }
        #expect(membership.isFull && membership.members.count == 7)
        #expect(membership.add(try key(8)) == false)
        #expect(try membership.members == Set((1...7).map(key)))
        membership.remove(try key(3))
        #expect(!membership.isFull)
        #expect(membership.add(try key(8)) == true)
        #expect(membership.isFull)
    }

    @Test func `takes nobody twice, and not oneself`() throws {
        var membership = try membership()
        #expect(membership.add(try key(1)) == true)
        #expect(membership.add(try key(1)) == false)
        #expect(membership.add(try key(50)) == false)
        for number in 2...7 { #expect(membership.add(try key(number)) == true) }
        #expect(membership.add(try key(1)) == false)
        #expect(membership.members.count == 7)
    }

    @Test func `the one with the greater key calls`() throws {
        let membership = try membership()
        #expect(try membership.calls(key(49)) && !membership.calls(key(51)) && !membership.calls(key(50)))
        var random = SeededRandom(seed: 8)
        for _ in 0..<100 {
            let (left, right) = try (
                #require(PeerKey(bytes: random.bytes(20))), #require(PeerKey(bytes: random.bytes(20)))
            )
            #expect(Membership(own: left).calls(right) != Membership(own: right).calls(left))
        }
    }

    @Test func `calls those of a list that are its own to be called, and not there`() throws {
        var membership = try membership()
        #expect(membership.add(try key(10)) == true)
        #expect(membership.add(try key(20)) == true)
        #expect(try membership.receive(keys(1, 2, 20, 50, 60, 99), from: key(10)) == keys(1, 2))
    }

    @Test func `calls nobody a second time for a list that is told again`() throws {
        var membership = try membership()
        #expect(membership.add(try key(10)) == true)
        #expect(try membership.receive(keys(1, 2), from: key(10)) == keys(1, 2))
        #expect(try membership.receive(keys(1, 2), from: key(10)) == [])
        #expect(try membership.receive(keys(1, 2, 3), from: key(10)) == keys(3))
        // Also when the call did not lead to anything, or has been over for long.
        #expect(membership.add(try key(3)) == true)
        membership.remove(try key(3))
        #expect(try membership.receive(keys(1, 2, 3), from: key(10)) == [])
    }

    @Test func `one that was gone from a list is new again`() throws {
        var membership = try membership()
        #expect(membership.add(try key(10)) == true)
        #expect(try membership.receive(keys(1, 2), from: key(10)) == keys(1, 2))
        #expect(try membership.receive(keys(2), from: key(10)) == [])
        #expect(try membership.receive(keys(1, 2), from: key(10)) == keys(1))
    }

    @Test func `a list of one who is no member means nothing`() throws {
        var membership = try membership()
        #expect(try membership.receive(keys(1), from: key(10)) == [])
        #expect(!membership.expects(try key(1)))
        #expect(membership.add(try key(10)) == true)
        #expect(try membership.receive(keys(1), from: key(10)) == keys(1))
    }

    @Test func `who was named by a member may join, greater or not`() throws {
        var membership = try membership()
        #expect(membership.add(try key(10)) == true)
        _ = try membership.receive(keys(1, 60), from: key(10))
        #expect(try membership.expects(key(1)) && membership.expects(key(60)) && !membership.expects(key(2)))
        // Named by the program is something else.
        #expect(!membership.isInvited(try key(60)))
        // A list that is told anew takes the place of the one before.
        _ = try membership.receive(keys(1), from: key(10))
        #expect(!membership.expects(try key(60)))
    }

    @Test func `what a member has said goes with it`() throws {
        var membership = try membership()
        for number in [10, 20] { #expect(membership.add(try key(number)) == true) }
        _ = try membership.receive(keys(60, 61), from: key(10))
        _ = try membership.receive(keys(61), from: key(20))
        membership.remove(try key(10))
        #expect(try !membership.expects(key(60)) && membership.expects(key(61)))
        membership.remove(try key(20))
        #expect(!membership.expects(try key(61)))
        // Back again, it has said nothing yet.
        #expect(membership.add(try key(10)) == true)
        #expect(!membership.expects(try key(60)))
        #expect(try membership.receive(keys(1), from: key(10)) == keys(1))
    }

    @Test func `whom the program named may join once, until it takes it back`() throws {
        var membership = try membership()
        let (ann, bob) = try (key(60), key(61))
        membership.expect(ann)
        membership.expect(bob)
        #expect(membership.expects(ann) && membership.isInvited(ann))
        membership.expectNoMore(bob)
        #expect(!membership.expects(bob) && !membership.isInvited(bob))
        #expect(membership.add(ann) == true)
        #expect(!membership.isInvited(ann) && !membership.expects(ann))
        membership.remove(ann)
        #expect(!membership.expects(ann))
    }

    @Test func `whom the program named keeps its place among the named when all are taken`() throws {
        var membership = try membership()
        for number in 1...7 { #expect(membership.add(try key(number)) == true) }
        membership.expect(try key(60))
        #expect(membership.add(try key(60)) == false)
        #expect(membership.isInvited(try key(60)))
        membership.remove(try key(7))
        #expect(membership.add(try key(60)) == true)
    }

    @Test func `of eight that hear of one another each two have one call`() throws {
        let all = try (1...8).map(key)
        // The first one knows all others, and tells each of them.
        var calls: [Set<PeerKey>] = []
        for own in all.dropFirst() {
            var membership = Membership(own: own)
            #expect(membership.add(all[0]) == true)
            let called = membership.receive(Set(all.dropFirst()).subtracting([own]), from: all[0])
            calls += called.map { [own, $0] }
            #expect(all.dropFirst().allSatisfy { $0 == own || membership.expects($0) })
        }
        #expect(calls.count == 21 && Set(calls).count == 21)
    }
}
