// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import Network
internal import PeerEngine
internal import Synchronization

/// Who a peer is: a name for people, and a key that nobody else has.
///
/// Two peers of one name are two. The same peer after a restart is one that was archived: the archive has the name and
/// the public key's digest, so that it may be given to others; the private key stays in a file of this user
/// (``KeyStore``).
public final class MCPeerID: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// What people see: 1 to 63 bytes of UTF-8.
    public let displayName: String

    let key: PeerKey
    /// Its private key, when it is a peer of this program.
    let identity: PeerIdentity?
    /// Under which its engine is found: the same for all objects of one peer.
    var engineID: UInt64 {
        Self.engineIDs.withLock { known in
            if let number = known[key] { return number }
            let number = EngineThread.makeID()
            known[key] = number
            return number
        }
    }

    private static let engineIDs = Mutex<[PeerKey: UInt64]>([:])

    /// A new peer of this program.
    /// - Parameter myDisplayName: What people see; one that is empty, longer than 63 bytes or has control characters
    ///   stops the program, as on Apple's systems. ``linuxProblem(ofDisplayName:)`` checks beforehand.
    public init(displayName myDisplayName: String) {
        if let problem = PeerRules.problem(ofName: myDisplayName) { preconditionFailure(problem) }
        guard let identity = PeerIdentity.make() else { preconditionFailure("no memory for a key") }
        displayName = myDisplayName
        key = identity.key
        self.identity = identity
    }

    init(_ info: PeerInfo) {
        displayName = info.name
        key = info.key
        identity = nil
    }

    /// What is wrong with a name, as a sentence; `nil` when it may be used.
    public static func linuxProblem(ofDisplayName name: String) -> String? { PeerRules.problem(ofName: name) }

    /// The private key that it uses here: its own, or a new one for a peer of somebody else, which this program cannot be.
    var localIdentity: PeerIdentity {
        if let identity { return identity }
        NSLog("MCPeerID '%@' has no private key here: a new one is used, and others see a new peer", displayName)
        guard let made = PeerIdentity.make() else { preconditionFailure("no memory for a key") }
        return made
    }

    var info: PeerInfo { PeerInfo(key: key, name: displayName) }

    /// Whether it is the same peer: by the key, not by the name.
    public override func isEqual(_ object: Any?) -> Bool { (object as? MCPeerID)?.key == key }

    /// From the key.
    public override var hash: Int { key.hashValue }

    /// The name, for people.
    public override var description: String { "<MCPeerID \(key.description.prefix(8)) '\(displayName)'>" }

    /// Itself, since it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: - Archives

    /// Always.
    public static var supportsSecureCoding: Bool { true }

    private enum Field {
        static let name = "displayName"
        static let key = "key"
    }

    /// Writes the name and the public key's digest, and keeps the private key for this user; where that fails, a line on
    /// standard error says so.
    public func encode(with coder: NSCoder) {
        coder.encode(displayName as NSString, forKey: Field.name)
        coder.encode(Data(key.bytes) as NSData, forKey: Field.key)
        do throws(MCError) {
            try linuxKeepPrivateKey()
        } catch {
            NSLog("MCPeerID: %@", error.localizedDescription)
        }
    }

    /// Keeps the private key of a peer of this program, as archiving does.
    /// - Throws: ``MCError``: `unavailable` without a directory for it; the text names the one tried.
    public func linuxKeepPrivateKey() throws(MCError) {
        guard let identity else { return }
        do throws(KeyStore.Failure) {
            try KeyStore.user.keep(identity)
        } catch {
            throw MCError(.unavailable, "the private key of '\(displayName)' cannot be kept: \(error)")
        }
    }

    /// Reads an archive of any peer; one of this user has its private key again.
    /// - Returns: `nil` when it is none.
    public init?(coder: NSCoder) {
        guard let name = coder.decodeObject(of: NSString.self, forKey: Field.name) as String?,
            let data = coder.decodeObject(of: NSData.self, forKey: Field.key) as Data?,
            PeerRules.problem(ofName: name) == nil, let key = PeerKey(bytes: Array(data))
        else { return nil }
        displayName = name
        self.key = key
        identity = KeyStore.user.identity(of: key)
    }
}
