// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import Network
internal import PeerEngine

/// Peers that are connected with one another, eight at most, and what they send.
///
/// All methods may be called by any thread. The delegate is called on a queue of the session's own, one call after
/// another. A session is in the network namespace of the thread that makes it.
public final class MCSession: NSObject, Sendable {
    let core: SessionCore
    /// Who we are in it.
    public var myPeerID: MCPeerID { core.peer }
    /// A `sec_identity_t` of `Network`, whose certificates others get to see; what follows it is ignored.
    public nonisolated(unsafe) let securityIdentity: [Any]?
    /// The preference given; everything is encrypted.
    public let encryptionPreference: MCEncryptionPreference

    /// A session without certificates.
    public convenience init(peer myPeerID: MCPeerID) {
        self.init(peer: myPeerID, securityIdentity: nil, encryptionPreference: .optional)
    }

    /// A session without anybody else yet.
    /// - Parameters:
    ///   - myPeerID: Who we are in it.
    ///   - identity: Its first element is a `sec_identity_t`; another one stops the program.
    ///   - encryptionPreference: Any: everything is encrypted.
    public init(
        peer myPeerID: MCPeerID,
        securityIdentity identity: [Any]?,
        encryptionPreference: MCEncryptionPreference
    ) {
        unsafe securityIdentity = identity
        self.encryptionPreference = encryptionPreference
        core = SessionCore(myPeerID, certificates: Self.certificates(identity))
        super.init()
        core.start(self)
    }

    deinit { core.end() }

    private static func certificates(_ identity: [Any]?) -> PeerCertificates? {
        guard let first = identity?.first else { return nil }
        guard let first = first as? sec_identity_t else {
            preconditionFailure("securityIdentity[0] is a \(type(of: first)), expected a sec_identity_t of Network")
        }
        let (certificates, key) = (Array(first.certificates), Array(first.key))
        guard let made = PeerCertificates(certificates: certificates, privateKey: key) else {
            preconditionFailure("securityIdentity[0] has no certificates in PEM with their private key, or more than 8")
        }
        return made
    }

    /// Receives the events of the session.
    public weak var delegate: (any MCSessionDelegate)? {
        get { core.delegate }
        set { core.delegate = newValue }
    }

    /// Who is in it, but oneself.
    public var connectedPeers: [MCPeerID] { core.connectedPeers }

    /// Sends a message to some peers.
    /// - Parameters:
    ///   - data: The message, up to 16 MiB.
    ///   - peerIDs: To whom.
    ///   - mode: How it goes.
    /// - Throws: ``MCError``: `invalidParameter` without peers, `notConnected` when one of them is not in the session,
    ///   `unavailable` when 16 MiB wait for one of them already. It goes to none of them then.
    public func send(_ data: Data, toPeers peerIDs: [MCPeerID], with mode: MCSessionSendDataMode) throws {
        try core.send(Array(data), to: peerIDs, isReliable: mode == .reliable)
    }

    /// Sends a file to a peer, while messages go on.
    /// - Parameters:
    ///   - resourceURL: A regular file. What is elsewhere is `unsupported`: fetch it before.
    ///   - resourceName: What the peer gets to see, 1 to 1024 bytes; there it is no path.
    ///   - peerID: To whom.
    ///   - completionHandler: Called on the session's queue when the peer has it as a whole; with an ``MCError`` otherwise:
    ///     `cancelled` when one of both ends gave it up, `notConnected`, `invalidParameter` for a file that cannot be read,
    ///     `unsupported`, `unavailable`, `unknown` when the other end could not keep it.
    /// - Returns: How far it is, in bytes; its `cancel()` gives it up at both ends. `nil` when it did not begin.
    @discardableResult
    public func sendResource(
        at resourceURL: URL,
        withName resourceName: String,
        toPeer peerID: MCPeerID,
        withCompletionHandler completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
    ) -> Progress? {
        core.transfers.send(resourceURL, name: resourceName, to: peerID, by: core) { completionHandler?($0) }
    }

    /// Opens a stream of bytes to a peer; open it, and write.
    /// - Parameters:
    ///   - streamName: What the peer gets to see, 1024 bytes at most.
    ///   - peerID: To whom.
    /// - Returns: The stream; `write` waits while 256 KiB are in transit. With a delegate it runs on a run loop.
    /// - Throws: ``MCError``: `notConnected` when the peer is not in the session, `invalidParameter` for a longer name.
    public func startStream(withName streamName: String, toPeer peerID: MCPeerID) throws -> OutputStream {
        try core.transfers.open(streamName, to: peerID, by: core)
    }

    /// Leaves the session; what was sent before still goes.
    public func disconnect() { core.disconnect() }

    // MARK: - Custom discovery

    /// What a peer needs to connect with this session, for programs that find one another by other means.
    /// - Parameters:
    ///   - peerID: For whom it is.
    ///   - completionHandler: Gets it on the session's queue; or an ``MCError``: `unavailable` when the session is full or
    ///     has no port.
    public func nearbyConnectionData(
        forPeer peerID: MCPeerID,
        withCompletionHandler completionHandler: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        core.connectionData { result in
            switch result {
            case .success(let bytes): completionHandler(Data(bytes), nil)
            case .failure(let error): completionHandler(nil, error)
            }
        }
    }

    /// The same as an asynchronous call.
    /// - Parameter peerID: For whom it is.
    /// - Returns: What the peer gives to ``connectPeer(_:withNearbyConnectionData:)``.
    /// - Throws: ``MCError``: `unavailable` when the session is full or has no port.
    public func nearbyConnectionData(forPeer peerID: MCPeerID) async throws -> Data {
        try await withCheckedThrowingContinuation { continuation in
            core.connectionData { result in
                continuation.resume(with: result.map { Data($0) }.mapError { $0 as any Error })
            }
        }
    }

    /// Connects with a peer, which must do the same with the data of this session.
    /// - Parameters:
    ///   - peerID: The peer, as it was archived by itself.
    ///   - data: What ``nearbyConnectionData(forPeer:withCompletionHandler:)`` gave it; the delegate receives
    ///     `notConnected` when it is not that peer's.
    public func connectPeer(_ peerID: MCPeerID, withNearbyConnectionData data: Data) {
        core.connect(peerID, Array(data))
    }

    /// Gives up connecting with a peer.
    public func cancelConnectPeer(_ peerID: MCPeerID) { core.cancelConnect(peerID) }
}
