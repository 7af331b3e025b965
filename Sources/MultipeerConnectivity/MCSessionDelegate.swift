// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Receives the events of a session, on a queue of the session's own.
public protocol MCSessionDelegate: AnyObject {
    /// A peer is about to be in the session, is in it, or is not any more.
    func session(_ session: MCSession, peer peerID: MCPeerID, didChange state: MCSessionState)
    /// A message has come.
    func session(_ session: MCSession, didReceive data: Data, fromPeer peerID: MCPeerID)
    /// A peer has opened a stream of bytes; open it, and read.
    func session(
        _ session: MCSession,
        didReceive stream: InputStream,
        withName streamName: String,
        fromPeer peerID: MCPeerID
    )
    /// A resource begins to arrive.
    func session(
        _ session: MCSession,
        didStartReceivingResourceWithName resourceName: String,
        fromPeer peerID: MCPeerID,
        with progress: Progress
    )
    /// A resource has arrived: move the file before this returns, since it is removed then. Or it has not, with an error.
    func session(
        _ session: MCSession,
        didFinishReceivingResourceWithName resourceName: String,
        fromPeer peerID: MCPeerID,
        at localURL: URL?,
        withError error: (any Error)?
    )
    /// A peer shows certificates, or none: say whether it may be in the session.
    ///
    /// On Linux they are `Data` in DER, the peer's own first; that it has the private key is checked already.
    func session(
        _ session: MCSession,
        didReceiveCertificate certificate: [Any]?,
        fromPeer peerID: MCPeerID,
        certificateHandler: @escaping (Bool) -> Void
    )
    /// Why a peer is not in the session, just before its state is reported; Linux only.
    func linuxSession(_ session: MCSession, peer peerID: MCPeerID, isNotConnectedBecause error: MCError)
}

extension MCSessionDelegate {
    /// Lets every peer in.
    public func session(
        _ session: MCSession,
        didReceiveCertificate certificate: [Any]?,
        fromPeer peerID: MCPeerID,
        certificateHandler: @escaping (Bool) -> Void
    ) {
        certificateHandler(true)
    }

    /// Does nothing.
    public func linuxSession(_ session: MCSession, peer peerID: MCPeerID, isNotConnectedBecause error: MCError) {}
}

/// Where a peer is with regard to a session.
public enum MCSessionState: Int, Hashable, Sendable {
    /// Not in it.
    case notConnected = 0
    /// About to be.
    case connecting = 1
    /// In it.
    case connected = 2
}

/// How a message goes.
public enum MCSessionSendDataMode: Int, Hashable, Sendable {
    /// In order, and as long as the peer is there.
    case reliable = 0
    /// At once, in any order, and perhaps not at all.
    case unreliable = 1
}

/// Whether what goes is encrypted; on Linux it always is.
public enum MCEncryptionPreference: Int, Hashable, Sendable {
    /// As the other end wants it.
    case optional = 0
    /// In any case.
    case required = 1
    /// Rather not; on Linux it is all the same.
    case none = 2
}

/// The least number of peers in a session that is of use, oneself included.
public let kMCSessionMinimumNumberOfPeers = 2
/// The greatest number of peers in a session, oneself included.
public let kMCSessionMaximumNumberOfPeers = 8
