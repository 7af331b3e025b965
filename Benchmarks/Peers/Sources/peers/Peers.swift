// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
//
// peers host              takes every invitation, sends messages back and drops what it receives, until it is killed
// peers join COUNT        finds the host, is connected with it again and again: milliseconds of each
// peers copy FILE         sends a file, with messages of 1 KB there and back: seconds, median and p99 in milliseconds
// peers sessions COUNT    sessions that come and go: MiB and descriptors after a tenth and after all
//
// What MultipeerConnectivity does between two processes.

import Foundation
import MultipeerConnectivity
import Synchronization

func fail(_ text: String) -> Never {
    FileHandle.standardError.write(Data("peers: \(text)\n".utf8))
    exit(2)
}

func now() -> Double { Double(DispatchTime.now().uptimeNanoseconds) / 1e6 }

final class Peer: NSObject, Sendable {
    let id: MCPeerID
    let session: MCSession
    let states = Channel<MCSessionState>()
    let found = Channel<MCPeerID>()
    let echoes = Channel<Data>()
    private let isHost: Bool

    init(_ name: String, isHost: Bool) {
        id = MCPeerID(displayName: name)
        session = MCSession(peer: id)
        self.isHost = isHost
        super.init()
        session.delegate = self
    }
}

/// What one thread hands to another, in order.
final class Channel<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    private let semaphore = DispatchSemaphore(value: 0)

    func put(_ value: Value) {
        values.withLock { $0.append(value) }
        semaphore.signal()
    }

    func take(_ what: String) -> Value {
        guard semaphore.wait(timeout: .now() + 120) == .success else { fail("no \(what) in two minutes") }
        return values.withLock { $0.removeFirst() }
    }
}

extension Peer: MCSessionDelegate, MCNearbyServiceBrowserDelegate, MCNearbyServiceAdvertiserDelegate {
    func session(_ session: MCSession, peer peerID: MCPeerID, didChange state: MCSessionState) { states.put(state) }

    func linuxSession(_ session: MCSession, peer peerID: MCPeerID, isNotConnectedBecause error: MCError) {
        if !isHost, error.localizedDescription != "the session was left" { fail(error.localizedDescription) }
    }

    func session(_ session: MCSession, didReceive data: Data, fromPeer peerID: MCPeerID) {
        if isHost { try? session.send(data, toPeers: [peerID], with: .reliable) } else { echoes.put(data) }
    }

    func session(
        _ session: MCSession,
        didReceive stream: InputStream,
        withName streamName: String,
        fromPeer peerID: MCPeerID
    ) {}

    func session(
        _ session: MCSession,
        didStartReceivingResourceWithName resourceName: String,
        fromPeer peerID: MCPeerID,
        with progress: Progress
    ) {}

    func session(
        _ session: MCSession,
        didFinishReceivingResourceWithName resourceName: String,
        fromPeer peerID: MCPeerID,
        at localURL: URL?,
        withError error: (any Error)?
    ) {}

    func browser(
        _ browser: MCNearbyServiceBrowser,
        foundPeer peerID: MCPeerID,
        withDiscoveryInfo info: [String: String]?
    ) {
        found.put(peerID)
    }

    func browser(_ browser: MCNearbyServiceBrowser, lostPeer peerID: MCPeerID) {}

    func advertiser(
        _ advertiser: MCNearbyServiceAdvertiser,
        didReceiveInvitationFromPeer peerID: MCPeerID,
        withContext context: Data?,
        invitationHandler: @escaping (Bool, MCSession?) -> Void
    ) {
        invitationHandler(true, session)
    }
}

/// A peer that has found the host, and can connect with it.
struct Guest {
    let peer = Peer("guest", isHost: false)
    let browser: MCNearbyServiceBrowser
    let host: MCPeerID

    init() {
        browser = MCNearbyServiceBrowser(peer: peer.id, serviceType: "bench")
        browser.delegate = peer
        browser.startBrowsingForPeers()
        host = peer.found.take("host")
    }

    /// - Returns: How long it took, in milliseconds.
    func connect() -> Double {
        let start = now()
        browser.invitePeer(host, to: peer.session, withContext: nil, timeout: 30)
        while peer.states.take("connection") != .connected {}
        return now() - start
    }

    func disconnect() {
        peer.session.disconnect()
        while peer.states.take("end") != .notConnected {}
    }

    /// Sends a file, with messages beside it.
    func copy(_ path: String) {
        let isOver = Mutex(false)
        let done = DispatchSemaphore(value: 0)
        let start = now()
        let progress = peer.session.sendResource(at: URL(fileURLWithPath: path), withName: "file", toPeer: host) { error in
            if let error { fail("\(error.localizedDescription)") }
            isOver.withLock { $0 = true }
            done.signal()
        }
        guard progress != nil else { fail("\(path) cannot be sent") }
        var times: [Double] = []
        let message = Data(count: 1024)
        while !isOver.withLock({ $0 }) {
            let sent = now()
            do { try peer.session.send(message, toPeers: [host], with: .reliable) } catch { fail("\(error)") }
            _ = peer.echoes.take("message")
            times.append(now() - sent)
            usleep(1000)
        }
        done.wait()
        let seconds = (now() - start) / 1000
        times.sort()
        guard let last = times.last else { return print(seconds, 0, 0) }
        print(seconds, times[times.count / 2], times.count >= 100 ? times[times.count * 99 / 100] : last)
    }
}

func resident() -> Double {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    return line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Double($0) }.map { $0 / 1024 } ?? 0
}

func descriptors() -> Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }

@main
struct Peers {
    static func main() {
        let words = CommandLine.arguments.dropFirst()
        let number = words.last.flatMap { Int($0) } ?? 0
        switch words.first {
        case "host":
            let peer = Peer("host", isHost: true)
            let advertiser = MCNearbyServiceAdvertiser(peer: peer.id, discoveryInfo: nil, serviceType: "bench")
            advertiser.delegate = peer
            advertiser.startAdvertisingPeer()
            withExtendedLifetime((advertiser, peer)) { while true { sleep(1000) } }
        case "join":
            let guest = Guest()
            for _ in 0..<number {
                print(guest.connect())
                guest.disconnect()
            }
        case "copy":
            let guest = Guest()
            _ = guest.connect()
            guest.copy(words.last ?? "")
        case "sessions":
            let guest = Guest()
            var figures: [Double] = []
            for count in 1...max(number, 10) {
                _ = guest.connect()
                guest.disconnect()
                if count == number / 10 || count == number { figures += [resident(), Double(descriptors())] }
            }
            print(figures.map { "\($0)" }.joined(separator: " "))
        default: fail("expected host, join COUNT, copy FILE or sessions COUNT")
        }
    }
}
