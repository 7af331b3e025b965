// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import MultipeerConnectivity
import TestSupport
import Testing

/// Apple's names, as its headers have them for Swift; that they mean the same is what the other tests show.
@Suite struct ParityTests {
    /// By type: all but the view controller, which Linux has not.
    private static let names: [String: [String]] = [
        "MCPeerID": ["init(displayName:)", "displayName"],
        "MCSession": [
            "init(peer:)", "init(peer:securityIdentity:encryptionPreference:)", "delegate", "myPeerID",
            "securityIdentity", "encryptionPreference", "connectedPeers", "send(_:toPeers:with:)", "disconnect()",
            "sendResource(at:withName:toPeer:withCompletionHandler:)", "startStream(withName:toPeer:)",
            "nearbyConnectionData(forPeer:withCompletionHandler:)", "connectPeer(_:withNearbyConnectionData:)",
            "cancelConnectPeer(_:)",
        ],
        "MCSessionDelegate": [
            "session(_:peer:didChange:)", "session(_:didReceive:fromPeer:)",
            "session(_:didReceive:withName:fromPeer:)",
            "session(_:didStartReceivingResourceWithName:fromPeer:with:)",
            "session(_:didFinishReceivingResourceWithName:fromPeer:at:withError:)",
            "session(_:didReceiveCertificate:fromPeer:certificateHandler:)",
        ],
        "MCNearbyServiceAdvertiser": [
            "init(peer:discoveryInfo:serviceType:)", "delegate", "myPeerID", "discoveryInfo", "serviceType",
            "startAdvertisingPeer()", "stopAdvertisingPeer()",
        ],
        "MCNearbyServiceAdvertiserDelegate": [
            "advertiser(_:didReceiveInvitationFromPeer:withContext:invitationHandler:)",
            "advertiser(_:didNotStartAdvertisingPeer:)",
        ],
        "MCNearbyServiceBrowser": [
            "init(peer:serviceType:)", "delegate", "myPeerID", "serviceType", "startBrowsingForPeers()",
            "stopBrowsingForPeers()", "invitePeer(_:to:withContext:timeout:)",
        ],
        "MCNearbyServiceBrowserDelegate": [
            "browser(_:foundPeer:withDiscoveryInfo:)", "browser(_:lostPeer:)",
            "browser(_:didNotStartBrowsingForPeers:)",
        ],
        "MCAdvertiserAssistant": [
            "init(serviceType:discoveryInfo:session:)", "start()", "stop()", "session", "discoveryInfo", "serviceType",
            "delegate",
        ],
        "MCAdvertiserAssistantDelegate": [
            "advertiserAssistantWillPresentInvitation(_:)", "advertiserAssistantDidDismissInvitation(_:)",
        ],
        "MCSessionSendDataMode": ["reliable", "unreliable"],
        "MCSessionState": ["notConnected", "connecting", "connected"],
        "MCEncryptionPreference": ["optional", "required", "none"],
        "MCError": [
            "unknown", "notConnected", "invalidParameter", "unsupported", "timedOut", "cancelled", "unavailable",
        ],
    ]

    @Test(arguments: names.keys.sorted())
    func `the document names all that there is of a type`(type: String) throws {
        let text = try Command.run(["cat", "docs/apple-parity.md"])
        let row = try #require(text.split(separator: "\n").first { $0.hasPrefix("| `\(type)` |") })
        for name in Self.names[type] ?? [] { #expect(row.contains("`\(name)`"), "\(type).\(name)") }
    }

    @Test func `numbers are Apple's`() {
        #expect([MCSessionSendDataMode.reliable, .unreliable].map(\.rawValue) == [0, 1])
        #expect([MCSessionState.notConnected, .connecting, .connected].map(\.rawValue) == [0, 1, 2])
        #expect([MCEncryptionPreference.optional, .required, .none].map(\.rawValue) == [0, 1, 2])
        let codes: [MCError.Code] = [
            .unknown, .notConnected, .invalidParameter, .unsupported, .timedOut, .cancelled, .unavailable,
        ]
        #expect(codes.map(\.rawValue) == Array(0...6))
        #expect((kMCSessionMinimumNumberOfPeers, kMCSessionMaximumNumberOfPeers) == (2, 8))
        let error = MCError(.timedOut) as NSError
        #expect((error.domain, error.code) == (MCErrorDomain, 4))
        let thrown: any Error = MCError(.cancelled)
        do { throw thrown } catch MCError.cancelled {} catch { Issue.record("\(error)") }
    }

    /// Every member by its name: this compiles, or the name is not there.
    @Test func `every name can be used`() {
        let session: [Any] = [
            MCSession.send, MCSession.disconnect, MCSession.sendResource, MCSession.startStream,
            MCSession.connectPeer, MCSession.cancelConnectPeer, \MCSession.myPeerID, \MCSession.connectedPeers,
            \MCSession.encryptionPreference, \MCSession.delegate,
            MCSession.init(peer:), MCSession.init(peer:securityIdentity:encryptionPreference:),
            MCSession.nearbyConnectionData(forPeer:withCompletionHandler:),
        ]
        let services: [Any] = [
            MCNearbyServiceBrowser.init(peer:serviceType:), MCNearbyServiceBrowser.startBrowsingForPeers,
            MCNearbyServiceBrowser.stopBrowsingForPeers, MCNearbyServiceBrowser.invitePeer,
            \MCNearbyServiceBrowser.myPeerID, \MCNearbyServiceBrowser.serviceType, \MCNearbyServiceBrowser.delegate,
            MCNearbyServiceAdvertiser.init(peer:discoveryInfo:serviceType:),
            MCNearbyServiceAdvertiser.startAdvertisingPeer, MCNearbyServiceAdvertiser.stopAdvertisingPeer,
            \MCNearbyServiceAdvertiser.discoveryInfo, \MCNearbyServiceAdvertiser.delegate,
            MCAdvertiserAssistant.init(serviceType:discoveryInfo:session:), MCAdvertiserAssistant.start,
            MCAdvertiserAssistant.stop, \MCAdvertiserAssistant.session, \MCAdvertiserAssistant.discoveryInfo,
            \MCAdvertiserAssistant.serviceType, \MCAdvertiserAssistant.delegate,
        ]
        #expect(session.count + services.count == 32)
    }
}
