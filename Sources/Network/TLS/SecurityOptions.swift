// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Dispatch
public import FoundationEssentials

/// A version of TLS or DTLS, with its number on the wire.
public enum tls_protocol_version_t: UInt16, Hashable, Sendable, CaseIterable {
    /// TLS 1.2 (RFC 5246), the lowest by default.
    case TLSv12 = 0x0303
    /// TLS 1.3 (RFC 8446), the highest by default.
    case TLSv13 = 0x0304
    /// DTLS 1.2 (RFC 6347), the only version upon datagrams.
    case DTLSv12 = 0xfefd

    /// The number for streams or for datagrams: a bound for one of them is one for the other, too.
    func number(isDatagram: Bool) -> Int32 {
        Int32((isDatagram ? .DTLSv12 : self == .DTLSv12 ? .TLSv12 : self).rawValue)
    }
}

/// A certificate and its private key, by which one end of TLS says who it is.
public final class sec_identity_t: Sendable {
    package let certificates: Data
    package let key: Data

    /// Reads an identity in PEM, which is what Linux keeps: there is no keychain.
    /// - Parameters:
    ///   - linuxCertificates: The certificate, and those that lead to its authority.
    ///   - privateKey: The private key of the first one, not encrypted.
    public init(linuxCertificates: Data, privateKey: Data) {
        certificates = linuxCertificates
        key = privateKey
    }
}

/// What is to be evaluated: the certificates of a peer, and what the usual checks say.
public final class sec_trust_t: Sendable {
    /// The chain in DER, the peer's own certificate first.
    public let linuxCertificates: [Data]
    /// Why the usual checks do not trust the chain; `nil` when they do.
    public let linuxError: NWError?
    /// The same for people, such as `self-signed certificate`.
    public let linuxReason: String?

    init(certificates: [Data], error: NWError?, reason: String?) {
        linuxCertificates = certificates
        linuxError = error
        linuxReason = reason
    }
}

/// What is to be evaluated, as Apple's Security framework calls it.
public typealias SecTrust = sec_trust_t

/// What is to be evaluated, for functions of Apple's Security framework.
@unsafe public func sec_trust_copy_ref(_ trust: sec_trust_t) -> Unmanaged<SecTrust> { unsafe .passRetained(trust) }

/// Returns whether the usual checks trust a chain: those of OpenSSL with the authorities of the system, and the name.
/// - Parameters:
///   - trust: The chain.
///   - error: Always `nil`; ``sec_trust_t/linuxError`` says why not.
/// - Returns: Whether they do.
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: Never?) -> Bool {
    trust.linuxError == nil
}

/// Receives the result of a verify block; to be called once.
public typealias sec_protocol_verify_complete_t = @Sendable (_ isTrusted: Bool) -> Void
/// Evaluates the certificate of a peer instead of the usual checks.
public typealias sec_protocol_verify_t =
    @Sendable (
        _ metadata: sec_protocol_metadata_t, _ trust: sec_trust_t, _ complete: @escaping sec_protocol_verify_complete_t
    ) -> Void

/// The security options of a protocol, changed by functions that begin with `sec_protocol_options_`.
public final class sec_protocol_options_t: Sendable {
    struct Values: Sendable {
        var serverName: String?
        var protocols: [String] = []
        var lowest: tls_protocol_version_t?
        var highest: tls_protocol_version_t?
        var identity: sec_identity_t?
        var requiresPeer = true
        var requiresClient = false
        var authorities: Data?
        var verify: (block: sec_protocol_verify_t, queue: DispatchQueue)?
    }

    let storage: Locked<Values>

    init(_ values: Values = Values()) { storage = Locked(values) }

    /// A copy of all values.
    var values: Values { storage.value }

    /// PEM: the authorities to be trusted instead of those of the system, which are in `/etc/ssl/certs`.
    public var linuxAuthorities: Data? {
        get { storage[\.authorities] }
        set { storage[\.authorities] = newValue }
    }
}

/// Sets the name that the peer's certificate must have, and that is sent as SNI; by default that of the endpoint.
public func sec_protocol_options_set_tls_server_name(_ options: sec_protocol_options_t, _ server_name: String) {
    options.storage[\.serverName] = server_name
}

/// Offers a protocol on top of TLS (ALPN, RFC 7301), behind those that were added before.
public func sec_protocol_options_add_tls_application_protocol(
    _ options: sec_protocol_options_t,
    _ application_protocol: String
) {
    options.storage[\.protocols] = options.values.protocols + [application_protocol]
}

/// Sets the lowest version of TLS.
public func sec_protocol_options_set_min_tls_protocol_version(
    _ options: sec_protocol_options_t,
    _ version: tls_protocol_version_t
) {
    options.storage[\.lowest] = version
}

/// Sets the highest version of TLS.
public func sec_protocol_options_set_max_tls_protocol_version(
    _ options: sec_protocol_options_t,
    _ version: tls_protocol_version_t
) {
    options.storage[\.highest] = version
}

/// Sets who we are; a listener has to say so, and a client may have to.
public func sec_protocol_options_set_local_identity(_ options: sec_protocol_options_t, _ identity: sec_identity_t) {
    options.storage[\.identity] = identity
}

/// Sets whether the peer must have a certificate: a client always checks that of the server unless `false`,
/// and a listener requests one only with `true`.
public func sec_protocol_options_set_peer_authentication_required(
    _ options: sec_protocol_options_t,
    _ peer_authentication_required: Bool
) {
    options.storage[\.requiresPeer] = peer_authentication_required
    options.storage[\.requiresClient] = peer_authentication_required
}

/// Sets who evaluates the peer's certificate instead of the usual checks; the block is called on the queue.
public func sec_protocol_options_set_verify_block(
    _ options: sec_protocol_options_t,
    _ verify_block: @escaping sec_protocol_verify_t,
    _ verify_block_queue: DispatchQueue
) {
    options.storage[\.verify] = (verify_block, verify_block_queue)
}

/// What both ends agreed upon, returned by functions that begin with `sec_protocol_metadata_`.
public final class sec_protocol_metadata_t: Sendable {
    let version: UInt16
    let cipher: UInt16
    let applicationProtocol: String?
    let serverName: String?
    let certificates: [Data]

    init(version: UInt16, cipher: UInt16, applicationProtocol: String?, serverName: String?, certificates: [Data]) {
        self.version = version
        self.cipher = cipher
        self.applicationProtocol = applicationProtocol
        self.serverName = serverName
        self.certificates = certificates
    }

    /// The certificates of the peer in DER, its own first.
    public var linuxCertificates: [Data] { certificates }
    /// The number of the cipher suite in IANA's registry.
    public var linuxCipherSuite: UInt16 { cipher }
    /// What is spoken on top of TLS; `nil` when nothing was agreed upon.
    public var linuxApplicationProtocol: String? { applicationProtocol }
    /// The name of the server that was requested.
    public var linuxServerName: String? { serverName }
}

/// The version that both ends agreed upon.
public func sec_protocol_metadata_get_negotiated_tls_protocol_version(
    _ metadata: sec_protocol_metadata_t
) -> tls_protocol_version_t {
    tls_protocol_version_t(rawValue: metadata.version) ?? .TLSv12
}
