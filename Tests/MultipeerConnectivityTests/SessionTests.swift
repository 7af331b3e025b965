// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxIO
import PeerEngine
import TestSupport
import Testing

@testable import MultipeerConnectivity

/// Peers on one bridge, each in a namespace of its own.
@Suite(.inNamespace) struct SessionTests {
    private let loop = Namespace.current.loop

    private func expect(_ peer: TestPeer, connected: [String]) async {
        await loop.eventually("\(peer.id.displayName) is connected with \(connected)", found: peer.story) {
            peer.connected == connected
        }
    }

    private func find(_ names: [String], by peer: TestPeer) async {
        peer.browser.startBrowsingForPeers()
        await loop.eventually("\(peer.id.displayName) finds \(names)", found: peer.names) {
            Set(peer.names).isSuperset(of: names)
        }
    }

    @Test func `two peers find one another, connect and talk`() async throws {
        let hosts = try Hosts(2)
        let ada = await TestPeer.make("Ada", in: hosts[0], info: ["color": "red", "v": "9"])
        let bob = await TestPeer.make("Bob", in: hosts[1])
        ada.advertiser.startAdvertisingPeer()
        await find(["Ada"], by: bob)
        #expect(bob.read { $0.found.map(\.info) } == [["color": "red", "v": "9"]])
        #expect(bob.peer(named: "Ada") == ada.id)
        bob.invite("Ada", context: Data("please".utf8))
        await expect(bob, connected: ["Ada"])
        await expect(ada, connected: ["Bob"])
        #expect(ada.read { $0.contexts } == [Data("please".utf8)])
        await loop.eventually("both states", found: ada.states + bob.states) {
            ada.states == ["Bob connecting", "Bob connected"] && bob.states == ["Ada connecting", "Ada connected"]
        }
        for number in 0..<100 {
            try ada.send("a\(number)", to: [bob.id])
            try bob.send("b\(number)", to: [ada.id])
        }
        await loop.eventually("all messages") { ada.texts.count == 100 && bob.texts.count == 100 }
        #expect(ada.texts == (0..<100).map { "b\($0)" })
        #expect(bob.texts == (0..<100).map { "a\($0)" })
        ada.session.disconnect()
        await expect(bob, connected: [])
        await loop.eventually("Bob's state", found: bob.states) { bob.states.last == "Ada notConnected" }
        await loop.eventually("Ada's own state", found: ada.states) { ada.states.last == "Bob notConnected" }
    }

    /// Peers with sessions that are advertised, and one that has found them all.
    private func meet(_ names: [String], in hosts: Hosts, type: String = "chat") async -> [TestPeer] {
        var peers: [TestPeer] = []
        for (place, name) in names.enumerated() {
            let peer = await TestPeer.make(name, in: hosts[place], type: type)
            peer.advertiser.startAdvertisingPeer()
            peers.append(peer)
        }
        await find(Array(names.dropFirst()), by: peers[0])
        return peers
    }

    @Test func `a third peer is connected with both others, and a message goes to whom it is for`() async throws {
        let peers = await meet(["Ada", "Bob", "Cyd"], in: try Hosts(3))
        peers[0].invite("Bob")
        await expect(peers[0], connected: ["Bob"])
        peers[0].invite("Cyd")
        await expect(peers[0], connected: ["Bob", "Cyd"])
        await expect(peers[1], connected: ["Ada", "Cyd"])
        await expect(peers[2], connected: ["Ada", "Bob"])
        try peers[1].send("for Cyd", to: [peers[2].id])
        try peers[1].send("for both", to: [peers[0].id, peers[2].id])
        await loop.eventually("messages") {
            peers[2].texts == ["for Cyd", "for both"] && peers[0].texts == ["for both"]
        }
        peers[0].session.disconnect()
        await expect(peers[1], connected: ["Cyd"])
        await expect(peers[2], connected: ["Bob"])
    }

    @Test func `eight peers are all connected with one another, and a ninth is refused with its error`() async throws {
        let names = (1...9).map { "P\($0)" }
        let peers = await meet(names, in: try Hosts(9))
        for name in names[1...7] { peers[0].invite(name) }
        let eight = Array(names[..<8])
        for (place, peer) in peers[..<8].enumerated() {
            await expect(peer, connected: eight.filter { $0 != names[place] })
        }
        peers[0].invite("P9")
        await loop.eventually("the ninth is refused") { peers[0].read { $0.reasons } == [.unavailable] }
        #expect(peers[0].states.last == "P9 notConnected")
        // The ninth itself is told the same by a session that is full.
        await find(["P3"], by: peers[8])
        peers[8].invite("P3")
        await loop.eventually("and so is its own invitation") { peers[8].read { $0.reasons } == [.unavailable] }
        #expect(peers[8].states == ["P3 notConnected"])
        #expect(peers[2].connected.count == 7)
    }

    @Test func `who declines, and who does not answer, is not connected`() async throws {
        let peers = await meet(["Ada", "Bob"], in: try Hosts(2))
        peers[1].setPolicy(false)
        peers[0].invite("Bob", context: Data(repeating: 7, count: 64 << 10))
        await loop.eventually("declined") { peers[0].states == ["Bob notConnected"] }
        #expect(peers[0].read { $0.reasons } == [.cancelled])
        #expect(peers[1].read { $0.contexts } == [Data(repeating: 7, count: 64 << 10)])
        #expect(peers[1].states.isEmpty)
        peers[1].setPolicy(nil)
        peers[0].invite("Bob", timeout: 0.2)
        await loop.eventually("timed out") { peers[0].read { $0.reasons } == [.cancelled, .timedOut] }
        // An answer that comes too late changes nothing.
        let late = peers[1].read { $0.invitations.first }
        late?(true, peers[1].session)
        peers[0].invite("Bob")
        await loop.eventually("asked again") { peers[1].read { $0.invitations.count } == 2 }
        #expect(peers[1].connected == [])
        let second = peers[1].read { $0.invitations.last }
        peers[1].advertiser.stopAdvertisingPeer()
        second?(true, peers[1].session)
        await expect(peers[0], connected: ["Bob"])
        await expect(peers[1], connected: ["Ada"])
    }

    @Test func `a context that is too long, and a peer that nobody has found, are refused at once`() async throws {
        let peers = await meet(["Ada", "Bob"], in: try Hosts(2))
        peers[0].invite("Bob", context: Data(count: (64 << 10) + 1))
        await loop.eventually("refused") { peers[0].states == ["Bob notConnected"] }
        let stranger = MCPeerID(displayName: "Nobody")
        peers[0].browser.invitePeer(stranger, to: peers[0].session, withContext: nil, timeout: 30)
        await loop.eventually("unknown") { peers[0].states.last == "Nobody notConnected" }
        #expect(peers[1].read { $0.contexts.isEmpty })
    }

    @Test func `two that invite one another at the same time are connected once`() async throws {
        let peers = await meet(["Ada", "Bob"], in: try Hosts(2))
        await find(["Ada"], by: peers[1])
        for round in 1...10 {
            peers[0].invite("Bob")
            peers[1].invite("Ada")
            await expect(peers[0], connected: ["Bob"])
            await expect(peers[1], connected: ["Ada"])
            for peer in peers {
                await loop.eventually("states", found: peer.states) { peer.states.count == round * 3 - 1 }
            }
            peers[0].session.disconnect()
            for peer in peers {
                await expect(peer, connected: [])
                await loop.eventually("left", found: peer.states) { peer.states.count == round * 3 }
            }
            guard peers.allSatisfy({ $0.states.count == round * 3 }) else { return }
        }
        for (peer, other) in [(peers[0], "Bob"), (peers[1], "Ada")] {
            let each = ["\(other) connecting", "\(other) connected", "\(other) notConnected"]
            let expected = Array(repeating: each, count: 10).flatMap(\.self)
            #expect(peer.states == expected)
        }
    }

    @Test func `an invitation that is under way ends when the one invited comes by its own`() async throws {
        let hosts = try Hosts(2)
        let peers = await meet(["Ada", "Bob"], in: hosts)
        await find(["Ada"], by: peers[1])
        peers[1].setPolicy(nil)
        peers[0].invite("Bob")
        await loop.eventually("asked") { peers[1].read { $0.invitations.count } == 1 }
        // Bob's own call takes long.
        let rules = "add table inet t; add chain inet t i { type filter hook input priority 0; };"
        try hosts[0].run(["nft", rules + "add rule inet t i tcp flags & (syn | ack) == syn drop"])
        peers[1].invite("Ada")
        let calls = { try hosts[1].run(["ss", "-Htn", "state", "syn-sent"]) }
        try await loop.eventually("called") { try !calls().isEmpty }
        peers[1].read { $0.invitations.first }?(true, peers[1].session)
        await expect(peers[0], connected: ["Bob"])
        await expect(peers[1], connected: ["Ada"])
        #expect(try calls().isEmpty)
        peers[0].session.disconnect()
        for (peer, other) in [(peers[0], "Bob"), (peers[1], "Ada")] {
            await loop.eventually("left", found: peer.story) { peer.states.last == "\(other) notConnected" }
            #expect(peer.states == ["\(other) connecting", "\(other) connected", "\(other) notConnected"])
        }
    }

    @Test(arguments: [true, false])
    func `who invites the one whose invitation waits for an answer is connected with it once`(
        isLesser: Bool
    ) async throws {
        let peers = await meet(["Ada", "Bob"], in: try Hosts(2))
        await find(["Ada"], by: peers[1])
        let place = (peers[0].id.key < peers[1].id.key) == isLesser ? 0 : 1
        let (late, early) = (peers[place], peers[1 - place])
        late.setPolicy(nil)
        early.invite(late.id.displayName)
        await loop.eventually("asked") { late.read { $0.invitations.count } == 1 }
        late.invite(early.id.displayName)
        // Of the greater key's own invitation nothing comes while the other one waits.
        if isLesser { await expect(late, connected: [early.id.displayName]) }
        late.read { $0.invitations.first }?(true, late.session)
        for (peer, other) in [(late, early), (early, late)] {
            let name = other.id.displayName
            await expect(peer, connected: [name])
            await loop.eventually("states", found: peer.story) {
                peer.states == ["\(name) connecting", "\(name) connected"]
            }
        }
    }

    @Test func `one whose cable is pulled loses all at once, and the others lose it within seconds`() async throws {
        let hosts = try Hosts(3)
        let peers = await meet(["Ada", "Bob", "Cyd"], in: hosts)
        peers[0].invite("Bob")
        peers[0].invite("Cyd")
        for (peer, others) in zip(peers, [["Bob", "Cyd"], ["Ada", "Cyd"], ["Ada", "Bob"]]) {
            await expect(peer, connected: others)
        }
        try hosts[1].set("eth0", isUp: false)
        await expect(peers[1], connected: [])
        await expect(peers[0], connected: ["Cyd"])
        await expect(peers[2], connected: ["Ada"])
        await loop.eventually("the browser loses it, too") { peers[0].read { $0.lost.map(\.displayName) } == ["Bob"] }
        #expect(peers[0].read { $0.reasons } == [.notConnected])
        // It is found again, and comes back.
        try hosts[1].set("eth0", isUp: true)
        await loop.eventually("found again", found: peers[0].names) { peers[0].names.count { $0 == "Bob" } == 2 }
        peers[0].invite("Bob")
        await expect(peers[1], connected: ["Ada", "Cyd"])
    }

    @Test func `programs that find one another by ways of their own exchange data and connect`() async throws {
        let hosts = try Hosts(2)
        let ada = await TestPeer.make("Ada", in: hosts[0])
        let bob = await TestPeer.make("Bob", in: hosts[1])
        let toBob = try await ada.session.nearbyConnectionData(forPeer: bob.id)
        let toAda = try await bob.session.nearbyConnectionData(forPeer: ada.id)
        ada.session.connectPeer(bob.id, withNearbyConnectionData: toAda)
        bob.session.connectPeer(ada.id, withNearbyConnectionData: toBob)
        await expect(ada, connected: ["Bob"])
        await expect(bob, connected: ["Ada"])
        #expect(ada.read { $0.contexts.isEmpty } && bob.read { $0.contexts.isEmpty })
        let other = MCPeerID(displayName: "Other")
        ada.session.connectPeer(other, withNearbyConnectionData: toAda)
        await loop.eventually("another's data") { ada.states.last == "Other notConnected" }
        #expect(ada.read { $0.reasons } == [.invalidParameter])
        ada.session.connectPeer(other, withNearbyConnectionData: Data("{}".utf8))
        await loop.eventually("no data at all") { ada.read { $0.reasons.count } == 2 }
    }

    @Test func `a session that was not told of a peer lets it wait, and then not in`() async throws {
        let hosts = try Hosts(2)
        let ada = await TestPeer.make("Ada", in: hosts[0])
        let bob = await TestPeer.make("Bob", in: hosts[1])
        let (first, second) = (try await ada.session.nearbyConnectionData(forPeer: bob.id), bob)
        second.session.connectPeer(ada.id, withNearbyConnectionData: first)
        second.session.cancelConnectPeer(ada.id)
        #expect(ada.states.isEmpty)
        let third = try await bob.session.nearbyConnectionData(forPeer: ada.id)
        ada.session.connectPeer(bob.id, withNearbyConnectionData: third)
        bob.session.connectPeer(ada.id, withNearbyConnectionData: first)
        await expect(ada, connected: ["Bob"])
    }
}
