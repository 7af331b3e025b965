// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxIO
import MultipeerConnectivity
import Synchronization
import TestSupport

/// Some hosts on one bridge, each a namespace of its own.
struct Hosts {
    let all: [Namespace]

    /// Lays the cables, and gives each host an address: 10.55.0.1, 10.55.0.2 and so on.
    init(_ count: Int) throws {
        let here = Namespace.current
        try here.ip("link add br0 type bridge")
        try here.set("br0", isUp: true)
        all = try (1...count).map { number in
            let host = try Namespace()
            try here.connect("p\(number)", to: host, as: "eth0")
            try here.ip("link set p\(number) master br0")
            try host.ip("addr add 10.55.0.\(number)/24 dev eth0")
            return host
        }
    }

    subscript(index: Int) -> Namespace { all[index] }
}

/// A stream that one thread at a time reads.
final class ReceivedStream: Sendable {
    nonisolated(unsafe) let stream: InputStream
    let name: String

    init(_ stream: InputStream, name: String) {
        nonisolated(unsafe) let stream = stream
        unsafe self.stream = unsafe stream
        self.name = name
    }
}

/// A program's part: a session with all its delegates, which write down what they are told.
final class TestPeer: NSObject, Sendable {
    let id: MCPeerID
    let session: MCSession
    let advertiser: MCNearbyServiceAdvertiser
    let browser: MCNearbyServiceBrowser

    struct Record {
        var found: [(peer: MCPeerID, info: [String: String]?)] = []
        var lost: [MCPeerID] = []
        var states: [String] = []
        var reasons: [MCError.Code] = []
        var sentences: [String] = []
        var messages: [(text: Data, from: String)] = []
        var contexts: [Data?] = []
        var certificates: [[Data]?] = []
        var failures: [MCError.Code] = []
        var invitations: [@Sendable (Bool, MCSession?) -> Void] = []
        var resources: [(name: String, bytes: Data?, error: MCError.Code?)] = []
        var progresses: [Progress] = []
        var streams: [ReceivedStream] = []
    }

    private let state = Mutex(Record())
    private let policy = Mutex<Bool?>(true)
    private let judgement = Mutex(true)
    private let delay = Mutex<TimeInterval>(0)

    /// Begins nothing yet.
    init(_ id: MCPeerID, type: String = "chat", info: [String: String]? = nil, identity: [Any]? = nil) {
        self.id = id
        session = MCSession(peer: id, securityIdentity: identity, encryptionPreference: .required)
        advertiser = MCNearbyServiceAdvertiser(peer: id, discoveryInfo: info, serviceType: type)
        browser = MCNearbyServiceBrowser(peer: id, serviceType: type)
        super.init()
        session.delegate = self
        advertiser.delegate = self
        browser.delegate = self
    }

    /// Makes one in a namespace.
    static func make(
        _ name: String,
        in host: Namespace,
        type: String = "chat",
        info: [String: String]? = nil
    ) async -> TestPeer {
        await make(in: host) { TestPeer(MCPeerID(displayName: name), type: type, info: info) }
    }

    static func make(in host: Namespace, _ body: @escaping @Sendable () -> TestPeer) async -> TestPeer {
        await withCheckedContinuation { continuation in
            host.loop.perform { continuation.resume(returning: body()) }
        }
    }

    func read<Value: Sendable>(_ body: (borrowing Record) -> Value) -> Value { state.withLock { body($0) } }

    private func write(_ body: (inout sending Record) -> Void) { state.withLock { body(&$0) } }

    /// What is said to invitations: `nil` lets them wait.
    func setPolicy(_ accepts: Bool?) { policy.withLock { $0 = accepts } }

    /// Whether the certificates of others are accepted.
    func setJudgement(_ isTrusted: Bool) { judgement.withLock { $0 = isTrusted } }

    /// How long the delegate takes for each message, in seconds.
    func setDelay(_ seconds: TimeInterval) { delay.withLock { $0 = seconds } }

    var states: [String] { read { $0.states } }
    /// The states, and why peers were not connected.
    var story: [String] { read { $0.states + $0.sentences } }
    var names: [String] { read { $0.found.map(\.peer.displayName) } }
    var connected: [String] { session.connectedPeers.map(\.displayName).sorted() }
    var texts: [String] { read { $0.messages.map { String(decoding: $0.text, as: UTF8.self) } } }

    func peer(named name: String) -> MCPeerID? { read { $0.found.last { $0.peer.displayName == name }?.peer } }

    func invite(_ name: String, context: Data? = nil, timeout: TimeInterval = 30) {
        guard let peer = peer(named: name) else { return }
        browser.invitePeer(peer, to: session, withContext: context, timeout: timeout)
    }

    func send(_ text: String, to peers: [MCPeerID], _ mode: MCSessionSendDataMode = .reliable) throws {
        try session.send(Data(text.utf8), toPeers: peers, with: mode)
    }
}

extension TestPeer: MCNearbyServiceBrowserDelegate, MCNearbyServiceAdvertiserDelegate {
    func browser(
        _ browser: MCNearbyServiceBrowser,
        foundPeer peerID: MCPeerID,
        withDiscoveryInfo info: [String: String]?
    ) {
        write { $0.found.append((peerID, info)) }
    }

    func browser(_ browser: MCNearbyServiceBrowser, lostPeer peerID: MCPeerID) { write { $0.lost.append(peerID) } }

    func browser(_ browser: MCNearbyServiceBrowser, didNotStartBrowsingForPeers error: any Error) {
        write { $0.failures.append((error as? MCError)?.code ?? .unknown) }
    }

    func advertiser(
        _ advertiser: MCNearbyServiceAdvertiser,
        didReceiveInvitationFromPeer peerID: MCPeerID,
        withContext context: Data?,
        invitationHandler: @escaping (Bool, MCSession?) -> Void
    ) {
        write { $0.contexts.append(context) }
        if let accepts = policy.withLock({ $0 }) { return invitationHandler(accepts, session) }
        nonisolated(unsafe) let handler = invitationHandler
        let kept: @Sendable (Bool, MCSession?) -> Void = { unsafe handler($0, $1) }
        write { $0.invitations.append(kept) }
    }

    func advertiser(_ advertiser: MCNearbyServiceAdvertiser, didNotStartAdvertisingPeer error: any Error) {
        write { $0.failures.append((error as? MCError)?.code ?? .unknown) }
    }
}

extension TestPeer: MCSessionDelegate {
    func session(_ session: MCSession, peer peerID: MCPeerID, didChange state: MCSessionState) {
        write { $0.states.append("\(peerID.displayName) \(state)") }
    }

    func linuxSession(_ session: MCSession, peer peerID: MCPeerID, isNotConnectedBecause error: MCError) {
        let sentence = error.localizedDescription
        write {
            $0.reasons.append(error.code)
            $0.sentences.append(sentence)
        }
    }

    func session(_ session: MCSession, didReceive data: Data, fromPeer peerID: MCPeerID) {
        let seconds = delay.withLock { $0 }
        if seconds > 0 { Thread.sleep(forTimeInterval: seconds) }
        write { $0.messages.append((data, peerID.displayName)) }
    }

    func session(
        _ session: MCSession,
        didReceive stream: InputStream,
        withName streamName: String,
        fromPeer peerID: MCPeerID
    ) {
        let received = ReceivedStream(stream, name: streamName)
        write { $0.streams.append(received) }
    }

    func session(
        _ session: MCSession,
        didStartReceivingResourceWithName resourceName: String,
        fromPeer peerID: MCPeerID,
        with progress: Progress
    ) {
        write { $0.progresses.append(progress) }
    }

    func session(
        _ session: MCSession,
        didFinishReceivingResourceWithName resourceName: String,
        fromPeer peerID: MCPeerID,
        at localURL: URL?,
        withError error: (any Error)?
    ) {
        let bytes = localURL.flatMap { try? Data(contentsOf: $0) }
        write { $0.resources.append((resourceName, bytes, (error as? MCError)?.code)) }
    }

    func session(
        _ session: MCSession,
        didReceiveCertificate certificate: [Any]?,
        fromPeer peerID: MCPeerID,
        certificateHandler: @escaping (Bool) -> Void
    ) {
        let chain = certificate?.compactMap { $0 as? Data }
        write { $0.certificates.append(chain) }
        certificateHandler(judgement.withLock { $0 })
    }
}
