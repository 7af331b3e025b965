// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CTLSShims
internal import FoundationEssentials

/// Owns one end of TLS without a socket: bytes of the wire and content in, content and bytes for the wire out.
@safe struct TLSSession: ~Copyable {
    /// What reading found.
    enum Content {
        /// Content.
        case bytes(Data)
        /// The peer has sent all.
        case end
    }

    /// How much is read, and taken for the wire, in one call: as much as a record has (RFC 8446 section 5.1), and more.
    private static let piece = 1 << 16

    private let raw: OpaquePointer

    /// Makes one end.
    /// - Throws: ``errSSLBadConfiguration`` when the options make no sense.
    init(_ options: sec_protocol_options_t.Values, peerName: String?, isServer: Bool) throws(NWError) {
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
                            unsafe raw.lowest_version = Int32(options.lowest?.rawValue ?? 0)
                            unsafe raw.highest_version = Int32(options.highest?.rawValue ?? 0)
                            unsafe raw.is_server = isServer ? 1 : 0
                            unsafe raw.verifies = verifies ? 1 : 0
                            unsafe raw.decides_later = options.verify == nil ? 0 : 1
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

    /// Takes bytes of the wire.
    func feed(_ bytes: Data) {
        unsafe bytes.withUnsafeBytes { unsafe nwp_tls_feed(raw, $0.baseAddress, $0.count) }
    }

    /// Takes all bytes for the wire.
    func takeOutput() -> Data {
        let count = unsafe nwp_tls_output(raw)
        guard count > 0 else { return Data() }
        var bytes = Data(count: count)
        let taken = unsafe bytes.withUnsafeMutableBytes { unsafe nwp_tls_take(raw, $0.baseAddress, $0.count) }
        return taken == count ? bytes : bytes.prefix(taken)
    }

    /// Goes on with the handshake.
    /// - Returns: Whether it is over.
    func handshake() throws(NWError) -> Bool {
        var failure = nwp_tls_failure()
        let result = unsafe nwp_tls_handshake(raw, &failure)
        guard result >= 0 else { throw Self.error(failure) }
        return result == 1
    }

    // MARK: - Content

    /// Reads content.
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

    /// Tells the peer that nothing follows.
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
        while found.count < 16, case let place = Int32(found.count),
            case let count = unsafe nwp_tls_certificate(raw, place, nil, 0), count > 0
        {
            var bytes = [UInt8](repeating: 0, count: count)
            _ = unsafe nwp_tls_certificate(raw, place, &bytes, count)
            found.append(Data(bytes))
        }
        return found
    }
}
