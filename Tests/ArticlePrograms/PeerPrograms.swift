// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import MultipeerConnectivity

/// The part of the article's sample that is the same on every system: a session, who is in it, and pictures.
class SessionHelper: NSObject, MCSessionDelegate {
    static let serviceType = "cm-p2ptest"

    let session: MCSession
    private(set) var connectedPeerIDs: [MCPeerID] = []
    private let advertiserAssistant: MCAdvertiserAssistant

    init(displayName: String) {
        let peerID = MCPeerID(displayName: displayName)
        session = MCSession(peer: peerID)
        advertiserAssistant = MCAdvertiserAssistant(
            serviceType: Self.serviceType,
            discoveryInfo: nil,
            session: session
        )
        super.init()
        session.delegate = self
        // There is no dialog on Linux: a policy answers.
        advertiserAssistant.linuxInvitationPolicy = { peer, _, answer in
            print("invited by \(peer.displayName)")
            answer(!peer.displayName.hasPrefix("Stranger"))
        }
        advertiserAssistant.start()
    }

    func sendImage(at url: URL, to peerID: MCPeerID) {
        let progress = session.sendResource(at: url, withName: url.lastPathComponent, toPeer: peerID) { error in
            print(error.map { "not sent: \($0.localizedDescription)" } ?? "sent \(url.lastPathComponent)")
        }
        if progress == nil { print("nothing to send") }
    }

    func say(_ line: String) {
        do {
            try session.send(Data(line.utf8), toPeers: session.connectedPeers, with: .reliable)
        } catch {
            print("Failed \(error)")
        }
    }

    func session(_ session: MCSession, peer peerID: MCPeerID, didChange state: MCSessionState) {
        DispatchQueue.main.async {
            switch state {
            case .connected: self.connectedPeerIDs.append(peerID)
            case .connecting: return
            case .notConnected: self.connectedPeerIDs.removeAll { $0 == peerID }
            @unknown default: return
            }
            print("room: \(self.connectedPeerIDs.map(\.displayName).sorted().joined(separator: ","))")
        }
    }

    func session(_ session: MCSession, didReceive data: Data, fromPeer peerID: MCPeerID) {
        print("\(peerID.displayName): \(String(decoding: data, as: UTF8.self))")
    }

    func session(
        _ session: MCSession,
        didStartReceivingResourceWithName resourceName: String,
        fromPeer peerID: MCPeerID,
        with progress: Progress
    ) {
        print("receiving \(resourceName) of \(progress.totalUnitCount) bytes")
    }

    func session(
        _ session: MCSession,
        didFinishReceivingResourceWithName resourceName: String,
        fromPeer peerID: MCPeerID,
        at localURL: URL?,
        withError error: Error?
    ) {
        guard let localURL = localURL, error == nil else { return print("lost \(resourceName)") }
        let kept = FileManager.default.temporaryDirectory.appendingPathComponent("kept-" + UUID().uuidString)
        do {
            try FileManager.default.moveItem(at: localURL, to: kept)
            let count = try FileManager.default.attributesOfItem(atPath: kept.path)[.size] ?? 0
            try FileManager.default.removeItem(at: kept)
            print("picture \(resourceName) of \(count) bytes from \(peerID.displayName)")
        } catch {
            print("Failed \(error)")
        }
    }

    func session(
        _ session: MCSession,
        didReceive stream: InputStream,
        withName streamName: String,
        fromPeer peerID: MCPeerID
    ) {}
}

/// What stands for the article's list of peers nearby: a chooser on the command line.
final class PeerChooser: NSObject, MCNearbyServiceBrowserDelegate {
    private let helper: SessionHelper
    private let browser: MCNearbyServiceBrowser
    private var nearby: [MCPeerID] = []

    init(_ helper: SessionHelper) {
        self.helper = helper
        browser = MCNearbyServiceBrowser(peer: helper.session.myPeerID, serviceType: SessionHelper.serviceType)
        super.init()
        browser.delegate = self
    }

    func browse() { browser.startBrowsingForPeers() }

    func browser(
        _ browser: MCNearbyServiceBrowser,
        foundPeer peerID: MCPeerID,
        withDiscoveryInfo info: [String: String]?
    ) {
        DispatchQueue.main.async {
            self.nearby.append(peerID)
            print("nearby: \(peerID.displayName)")
        }
    }

    func browser(_ browser: MCNearbyServiceBrowser, lostPeer peerID: MCPeerID) {
        DispatchQueue.main.async {
            self.nearby.removeAll { $0 == peerID }
            print("gone: \(peerID.displayName)")
        }
    }

    /// Takes a line of the user: `/invite NAME`, `/picture NAME FILE`, `/leave`, or something to be said.
    func take(_ line: String) {
        let words = line.split(separator: " ", maxSplits: 2).map(String.init)
        switch words.first {
        case "/invite":
            guard let peer = nearby.last(where: { $0.displayName == words.last }) else { return print("who?") }
            browser.invitePeer(peer, to: helper.session, withContext: nil, timeout: 10)
        case "/picture":
            guard words.count == 3, let peer = helper.connectedPeerIDs.first(where: { $0.displayName == words[1] })
            else {
                return print("who?")
            }
            helper.sendImage(at: URL(fileURLWithPath: words[2]), to: peer)
        case "/leave": helper.session.disconnect()
        default: helper.say(line)
        }
    }
}

/// The article's sample as a chat: every line that is typed goes to everybody in the room.
func joinRoom(_ name: String) async {
    let chooser = PeerChooser(SessionHelper(displayName: name))
    chooser.browse()
    print("here is \(name)")
    Thread.detachNewThread {
        while let line = readLine() { DispatchQueue.main.async { chooser.take(line) } }
    }
    await ArticlePrograms.waitForever()
}
