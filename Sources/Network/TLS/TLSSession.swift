// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CTLSShims
internal import FoundationEssentials

/// Owns one end of TLS or DTLS without a socket: bytes of the wire and content in, content and bytes for the wire out.
///
/// With DTLS the wire is datagrams, one in each call, and each piece of content is a record in one of them.
@safe struct TLSSession: ~Copyable {
    /// What reading found.
    enum Content {
        /// Content.
        case bytes(Data)
        /// The peer has sent all.
        case end
    }

    /// How much is read, and written to the wire, in one call: at least one record (RFC 8446 section 5.1).
    private static let piece = 1 << 16

    private let raw: OpaquePointer

    /// Makes one end; of DTLS when there is a length, in bytes, that a datagram of the handshake may have.
    /// - Throws: ``errSSLBadConfiguration`` when the options make no sense, such as DTLS of version 1.3, which OpenSSL 3
    ///   does not know.
    init(
        _ options: sec_protocol_options_t.Values,
        peerName: String?,
        isServer: Bool,
        longestDatagram: Int32 = 0
    ) throws(NWError) {
        let isDatagram = longestDatagram > 0
        guard !(isDatagram && options.lowest == .TLSv13) else { throw .tls(errSSLBadConfiguration) }
        let verifies = isServer ? options.requiresClient : options.requiresPeer
        var protocols: [UInt8] = []
        for name in options.protocols {
            guard let length = UInt8(exactly: name.utf8.count), length > 0 else { throw .tls(errSSLBadConfiguration) }
            protocols += [length] + Array(name.utf8)
        }
        let certificates = options.identity.map { Array($0.certificates) } ?? []
        let key = options.identity.map { Array($0.key) } ?? []
        let authorities = options.authorities.map { Array($0) } ?? []
        let name = isServer ? nil : (options.serverName ?? peerName).map { Array($0.utf8CString) }
        var failure = nwp_tls_failure()
        let made = unsafe certificates.withUnsafeBytes { certificates in
            unsafe key.withUnsafeBytes { key in
                unsafe authorities.withUnsafeBytes { authorities in
                    unsafe protocols.withUnsafeBufferPointer { protocols in
                        unsafe Self.withName(name) { name in
                            var raw = unsafe nwp_tls_options()
                            unsafe raw.server_name = name
                            unsafe raw.protocols = protocols.baseAddress
                            unsafe raw.protocols_length = protocols.count
                            unsafe raw.certificates = certificates.baseAddress?.assumingMemoryBound(to: CChar.self)
                            unsafe raw.certificates_length = certificates.count
                            unsafe raw.key = key.baseAddress?.assumingMemoryBound(to: CChar.self)
                            unsafe raw.key_length = key.count
                            unsafe raw.authorities = authorities.baseAddress?.assumingMemoryBound(to: CChar.self)
                            unsafe raw.authorities_length = authorities.count
                            unsafe raw.lowest_version = options.lowest?.number(isDatagram: isDatagram) ?? 0
                            unsafe raw.highest_version = options.highest?.number(isDatagram: isDatagram) ?? 0
                            unsafe raw.is_server = isServer ? 1 : 0
                            unsafe raw.verifies = verifies ? 1 : 0
                            unsafe raw.decides_later = options.verify == nil ? 0 : 1
                            unsafe raw.longest_datagram = longestDatagram
                            return unsafe nwp_tls_create(&raw, &failure)
                        }
                    }
                }
            }
        }
        guard let made = unsafe made else { throw .tls(errSSLBadConfiguration) }
        unsafe raw = made
    }

    deinit { unsafe nwp_tls_free(raw) }

    private static func withName<Result>(_ name: [CChar]?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
        guard let name else { return body(nil) }
        return unsafe name.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
    }

    // MARK: - Wire

    /// Passes in bytes of the wire.
    func feed(_ bytes: Data) {
        unsafe bytes.withUnsafeBytes { unsafe nwp_tls_feed(raw, $0.baseAddress, $0.count) }
    }

    /// Removes and returns all bytes for the wire, or of DTLS the next datagram; none when there is nothing to be sent.
    func drainOutput() -> Data {
        let count = unsafe nwp_tls_output(raw)
        guard count > 0 else { return Data() }
        var bytes = Data(count: count)
        let written = unsafe bytes.withUnsafeMutableBytes { unsafe nwp_tls_drain(raw, $0.baseAddress, $0.count) }
        return written == count ? bytes : bytes.prefix(written)
    }

    /// Goes on with the handshake; says again what is due.
    /// - Returns: Whether it is over.
    func handshake() throws(NWError) -> Bool {
        var failure = nwp_tls_failure()
        let result = unsafe nwp_tls_handshake(raw, &failure)
        guard result >= 0 else { throw Self.error(failure) }
        return result == 1
    }

    // MARK: - Datagrams

    /// Requests a cookie from a client of DTLS whose first datagram this is, or finds the right one in it; keeps none
    /// of either (RFC 6347 section 4.2.1).
    /// - Returns: Whether it has the cookie that was made for this peer.
    func admits(_ datagram: Data, from peer: [UInt8]) -> Bool {
        unsafe datagram.withUnsafeBytes { datagram in
            unsafe nwp_tls_admit(raw, datagram.baseAddress, datagram.count, peer, peer.count) == 1
        }
    }

    /// How long the peer's answer to what the handshake of DTLS sent last is awaited, before it is said again (RFC 6347
    /// section 4.2.4: a second, and each time twice as long); `nil` when nothing is to be answered.
    ///
    /// OpenSSL reads the system's clock here, which may be set: a step back delays what is said again.
    var timeout: Duration? {
        let left = unsafe nwp_tls_timeout(raw)
        return left < 0 ? nil : .microseconds(left)
    }

    /// How many bytes of content fit into a datagram of DTLS, once the handshake is over.
    func room(in datagram: Int) -> Int { unsafe nwp_tls_room(raw, datagram) }

    // MARK: - Content

    /// Reads content, of DTLS that of one record.
    /// - Returns: `nil` when more of the wire is needed.
    func read(upTo limit: Int) throws(NWError) -> Content? {
        var bytes = Data(count: min(limit, Self.piece))
        var failure = nwp_tls_failure()
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe nwp_tls_read(raw, buffer.baseAddress, buffer.count, &failure)
        }
        switch count {
        case 0: return .end
        case -1: return nil
        case 1...: return .bytes(count == bytes.count ? bytes : Data(bytes.prefix(count)))
        default: throw Self.error(failure)
        }
    }

    /// Writes content, all of it.
    func write(_ bytes: Data) throws(NWError) {
        var failure = nwp_tls_failure()
        let result = unsafe bytes.withUnsafeBytes { bytes in
            unsafe nwp_tls_write(raw, bytes.baseAddress, bytes.count, &failure)
        }
        guard result == 0 else { throw Self.error(failure) }
    }

    /// Sends a close-notify alert.
    func finish() { unsafe nwp_tls_finish(raw) }

    private static func error(_ failure: nwp_tls_failure) -> NWError {
        let alert = failure.alert < 0 ? nil : failure.alert
        return .tls(TLSFailure(verification: failure.verification, alert: alert).status)
    }

    // MARK: - Peer

    /// What both ends agreed upon.
    func metadata(serverName: String?) -> sec_protocol_metadata_t {
        sec_protocol_metadata_t(
            version: UInt16(clamping: unsafe nwp_tls_version(raw)),
            cipher: unsafe nwp_tls_cipher(raw),
            applicationProtocol: applicationProtocol,
            serverName: serverName,
            certificates: certificates
        )
    }

    /// The peer's certificates, and what the usual checks say about them.
    func trust() -> sec_trust_t {
        let code = unsafe nwp_tls_verification(raw)
        guard code != 0 else { return sec_trust_t(certificates: certificates, error: nil, reason: nil) }
        let reason = unsafe String(cString: nwp_tls_verification_text(code))
        let error = NWError.tls(TLSFailure(verification: code).status)
        return sec_trust_t(certificates: certificates, error: error, reason: reason)
    }

    private var applicationProtocol: String? {
        var start: UnsafePointer<UInt8>?
        let count = unsafe nwp_tls_protocol(raw, &start)
        guard count > 0, let start = unsafe start else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    private var certificates: [Data] {
        var found: [Data] = []
        while found.count < 16, case let index = Int32(found.count),
            case let count = unsafe nwp_tls_certificate(raw, index, nil, 0), count > 0
        {
            var bytes = [UInt8](repeating: 0, count: count)
            _ = unsafe nwp_tls_certificate(raw, index, &bytes, count)
            found.append(Data(bytes))
        }
        return found
    }
}
