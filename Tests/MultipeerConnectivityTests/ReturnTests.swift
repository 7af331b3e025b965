// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxIO
import Synchronization
import TestSupport
import Testing

@testable import MultipeerConnectivity

/// Peers that come back, come late, or are made anew.
@Suite(.inNamespace) struct ReturnTests {
    private let loop = Namespace.current.loop

    private func connect(_ inviter: TestPeer, _ other: TestPeer) async {
        let name = other.id.displayName
        inviter.browser.startBrowsingForPeers()
        await loop.eventually("found", found: inviter.names) { inviter.names.contains(name) }
        inviter.invite(name)
        await loop.eventually("connected", found: inviter.story) { inviter.connected.contains(name) }
    }

    @Test func `a peer that starts anew takes its old place, which nobody knows to be empty yet`() async throws {
        let hosts = try Hosts(3)
        let id = MCPeerID(displayName: "Ada")
        let ada = await TestPeer.make(in: hosts[0]) { TestPeer(id) }
        let bob = await TestPeer.make("Bob", in: hosts[1])
        bob.advertiser.startAdvertisingPeer()
        await connect(ada, bob)
        // What it sends does not arrive any more, and nobody is told.
        let rules = "add table inet t; add chain inet t o { type filter hook output priority 0; policy drop; }"
        try hosts[0].run(["nft", rules])
        let again = await TestPeer.make(in: hosts[2]) { TestPeer(id) }
        await connect(again, bob)
        await loop.eventually("Bob's states", found: bob.states) {
            bob.states == [
                "Ada connecting", "Ada connected", "Ada notConnected", "Ada connecting", "Ada connected",
            ]
        }
        try bob.send("hello", to: [id])
        await loop.eventually("a message") { again.texts == ["hello"] }
        withExtendedLifetime(ada) {}
    }

    /// An advertiser without a session, which makes one for whoever invites.
    private final class Late: NSObject, MCNearbyServiceAdvertiserDelegate, Sendable {
        let advertiser: MCNearbyServiceAdvertiser
        let sessions = Mutex<[MCSession]>([])
        private let host: Namespace

        /// Advertises in the namespace of the calling thread, which is that host's.
        init(_ id: MCPeerID, host: Namespace) {
            self.host = host
            advertiser = MCNearbyServiceAdvertiser(peer: id, discoveryInfo: nil, serviceType: "chat")
            super.init()
            advertiser.delegate = self
            advertiser.startAdvertisingPeer()
        }

        func advertiser(
            _ advertiser: MCNearbyServiceAdvertiser,
            didReceiveInvitationFromPeer peerID: MCPeerID,
            withContext context: Data?,
            invitationHandler: @escaping (Bool, MCSession?) -> Void
        ) {
            advertiser.stopAdvertisingPeer()
            let isMade = DispatchSemaphore(value: 0)
            host.loop.perform { [self] in
                let session = MCSession(peer: advertiser.myPeerID)
                sessions.withLock { $0.append(session) }
                isMade.signal()
            }
            isMade.wait()
            invitationHandler(true, sessions.withLock { $0.last })
        }
    }

    @Test func `a session may be made when the invitation has come, and the advertiser is stopped`() async throws {
        let hosts = try Hosts(2)
        let late = await withCheckedContinuation { continuation in
            hosts[0].loop.perform {
                continuation.resume(returning: Late(MCPeerID(displayName: "Late"), host: hosts[0]))
            }
        }
        let bob = await TestPeer.make("Bob", in: hosts[1])
        bob.browser.startBrowsingForPeers()
        await loop.eventually("found") { bob.names == ["Late"] }
        bob.invite("Late")
        await loop.eventually("connected", found: bob.story) { bob.connected == ["Late"] }
        withExtendedLifetime(late) {}
    }

    @Test func `objects of one archive are one peer, with one port`() async throws {
        let hosts = try Hosts(2)
        let scratch = try Scratch()
        let store = KeyStore(directory: scratch.file("keys"))
        let id = MCPeerID(displayName: "Ada")
        let twin = try KeyStore.$chosen.withValue(store) {
            let data = try NSKeyedArchiver.archivedData(withRootObject: id, requiringSecureCoding: true)
            return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: MCPeerID.self, from: data))
        }
        let ada = await TestPeer.make(in: hosts[0]) { TestPeer(id) }
        let advertiser = await withCheckedContinuation { continuation in
            hosts[0].loop.perform {
                let made = MCNearbyServiceAdvertiser(peer: twin, discoveryInfo: nil, serviceType: "chat")
                made.delegate = ada
                made.startAdvertisingPeer()
                continuation.resume(returning: made)
            }
        }
        let bob = await TestPeer.make("Bob", in: hosts[1])
        bob.browser.startBrowsingForPeers()
        await loop.eventually("found") { bob.names == ["Ada"] }
        bob.invite("Ada")
        await loop.eventually("connected", found: bob.story) { bob.connected == ["Ada"] && ada.connected == ["Bob"] }
        withExtendedLifetime(advertiser) {}
    }

    @Test(arguments: [true, false])
    func `two whose programs connect them one after the other meet all the same`(callerIsFirst: Bool) async throws {
        let hosts = try Hosts(2)
        var peers: [TestPeer] = []
        for (name, host) in [("Ada", hosts[0]), ("Bob", hosts[1])] {
            peers.append(await TestPeer.make(name, in: host))
        }
        // Of two the one with the greater key calls.
        peers.sort { ($0.id.key > $1.id.key) == callerIsFirst }
        let data = [
            try await peers[0].session.nearbyConnectionData(forPeer: peers[1].id),
            try await peers[1].session.nearbyConnectionData(forPeer: peers[0].id),
        ]
        peers[0].session.connectPeer(peers[1].id, withNearbyConnectionData: data[1])
        await loop.sleep(for: .seconds(3))
        #expect(peers[0].connected.isEmpty && peers[0].states.isEmpty)
        peers[1].session.connectPeer(peers[0].id, withNearbyConnectionData: data[0])
        for peer in peers { await loop.eventually("connected", found: peer.story) { peer.connected.count == 1 } }
        peers[0].session.disconnect()
        await loop.eventually("apart") { peers.allSatisfy { $0.connected.isEmpty } }
        peers[0].session.connectPeer(peers[1].id, withNearbyConnectionData: data[1])
        peers[0].session.cancelConnectPeer(peers[1].id)
        await loop.eventually("cancelled", found: peers[0].story) { peers[0].read { $0.reasons.last } == .cancelled }
    }

    /// What a stream's delegate was told on its run loop, until the end.
    private final class Hearer: NSObject, StreamDelegate, Sendable {
        let events = Mutex<[Stream.Event]>([])
        let bytes = Mutex<[UInt8]>([])
        let toBeSent = Mutex<[UInt8]>([])
        let isOver = Mutex(false)

        func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
            events.withLock { if $0.last != eventCode { $0.append(eventCode) } }
            if let input = aStream as? InputStream, eventCode == .hasBytesAvailable {
                var buffer = [UInt8](repeating: 0, count: 50_000)
                let count = unsafe input.read(&buffer, maxLength: buffer.count)
                bytes.withLock { $0 += buffer[..<max(count, 0)] }
            }
            if let output = aStream as? OutputStream, eventCode == .hasSpaceAvailable {
                let piece = toBeSent.withLock { Array($0.prefix(40_000)) }
                guard !piece.isEmpty else {
                    output.close()
                    return isOver.withLock { $0 = true }
                }
                let count = unsafe output.write(piece, maxLength: piece.count)
                toBeSent.withLock { $0.removeFirst(max(count, 0)) }
            }
            if [.endEncountered, .errorOccurred].contains(eventCode) { isOver.withLock { $0 = true } }
        }

        /// Runs a run loop of its own until it is over.
        func follow(_ stream: Stream) {
            nonisolated(unsafe) let stream = stream
            let thread = Thread { [self] in
                unsafe stream.delegate = self
                unsafe stream.schedule(in: .current, forMode: .default)
                unsafe stream.open()
                while !isOver.withLock({ $0 }) { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
                unsafe stream.remove(from: .current, forMode: .default)
            }
            thread.start()
        }
    }

    @Test func `delegates of streams are called on the run loops where these are scheduled`() async throws {
        let hosts = try Hosts(2)
        let ada = await TestPeer.make("Ada", in: hosts[0])
        let bob = await TestPeer.make("Bob", in: hosts[1])
        ada.advertiser.startAdvertisingPeer()
        await connect(bob, ada)
        let (writer, reader) = (Hearer(), Hearer())
        let sent = [UInt8](try #require(FileHandle(forReadingAtPath: "/dev/urandom")).readData(ofLength: 1_000_000))
        writer.toBeSent.withLock { $0 = sent }
        writer.follow(try bob.session.startStream(withName: "sound", toPeer: ada.id))
        await loop.eventually("a stream") { ada.read { $0.streams.count } == 1 }
        let received = try #require(ada.read { $0.streams.first })
        unsafe reader.follow(received.stream)
        await loop.eventually("the end", found: reader.events.withLock { $0 }) { reader.isOver.withLock { $0 } }
        #expect(reader.bytes.withLock { $0 } == sent)
        #expect(reader.events.withLock { $0 } == [.openCompleted, .hasBytesAvailable, .endEncountered])
        #expect(writer.events.withLock { $0 } == [.openCompleted, .hasSpaceAvailable])
    }
}
