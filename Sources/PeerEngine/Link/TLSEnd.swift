// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CTLSShims

/// One end of TLS 1.3 between peers, without a socket: both show a certificate, and no authority is used.
@safe struct TLSEnd: ~Copyable {
    /// What is spoken on top (ALPN, RFC 7301).
    private static let applicationProtocol = "nwmc/1"
    /// As on the wire: TLS 1.3.
    private static let version: Int32 = 0x0304

    private let raw: OpaquePointer

    /// - Returns: `nil` when there is no memory for it.
    init?(_ identity: PeerIdentity, isServer: Bool) {
        let name = Array(Self.applicationProtocol.utf8)
        let protocols = [UInt8(name.count)] + name
        var failure = nwp_tls_failure()
        let made = unsafe identity.certificate.withUnsafeBufferPointer { certificate in
            unsafe identity.privateKey.withUnsafeBufferPointer { key in
                unsafe protocols.withUnsafeBufferPointer { protocols in
                    var options = unsafe nwp_tls_options()
                    unsafe options.protocols = protocols.baseAddress
                    unsafe options.protocols_length = protocols.count
                    unsafe options.certificates = certificate.baseAddress
                    unsafe options.certificates_length = certificate.firstIndex(of: 0) ?? 0
                    unsafe options.key = key.baseAddress
                    unsafe options.key_length = key.firstIndex(of: 0) ?? 0
                    unsafe options.lowest_version = Self.version
                    unsafe options.highest_version = Self.version
                    unsafe options.is_server = isServer ? 1 : 0
                    unsafe options.accepts_any = 1
                    return unsafe nwp_tls_create(&options, &failure)
                }
            }
        }
        guard let made = unsafe made else { return nil }
        unsafe raw = made
    }

    deinit { unsafe nwp_tls_free(raw) }

    /// Passes in bytes of the wire.
    func feed(_ bytes: UnsafeRawBufferPointer) { unsafe nwp_tls_feed(raw, bytes.baseAddress, bytes.count) }

    /// Goes on with the handshake.
    /// - Returns: Whether it is over; `nil` when it failed.
    func handshake() -> Bool? {
        var failure = nwp_tls_failure()
        let result = unsafe nwp_tls_handshake(raw, &failure)
        return result < 0 ? nil : result == 1
    }

    /// How many bytes are for the wire.
    var outputCount: Int { unsafe nwp_tls_output(raw) }

    /// Copies bytes for the wire.
    func drain(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        unsafe nwp_tls_drain(raw, buffer.baseAddress, buffer.count)
    }

    /// What reading found.
    enum Content {
        case bytes(Int)
        /// The peer said that nothing follows.
        case end
        case failed
    }

    /// Reads content.
    /// - Returns: `nil` when more of the wire is needed.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Content? {
        var failure = nwp_tls_failure()
        let count = unsafe nwp_tls_read(raw, buffer.baseAddress, buffer.count, &failure)
        switch count {
        case 1...: return .bytes(count)
        case 0: return .end
        case -1: return nil
        default: return .failed
        }
    }

    /// Writes content, all of it.
    /// - Returns: Whether the connection is sound.
    func write(_ bytes: [UInt8]) -> Bool {
        var failure = nwp_tls_failure()
        return unsafe nwp_tls_write(raw, bytes, bytes.count, &failure) == 0
    }

    /// Sends a close-notify alert.
    func finish() { unsafe nwp_tls_finish(raw) }

    /// Whether both agreed upon what is spoken.
    var hasProtocol: Bool {
        var start: UnsafePointer<UInt8>?
        let count = unsafe nwp_tls_protocol(raw, &start)
        guard let start = unsafe start else { return false }
        return unsafe Array(UnsafeBufferPointer(start: start, count: count)) == Array(Self.applicationProtocol.utf8)
    }

    /// Whose private key the peer has, once the handshake is over.
    var peerKey: PeerKey? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe nwp_tls_certificate(raw, 0, &bytes, bytes.count)
        var digest = [UInt8](repeating: 0, count: Int(NWP_DIGEST))
        guard count > 0, count <= bytes.count, unsafe nwp_certificate_key(bytes, count, &digest) == 0 else {
            return nil
        }
        return PeerKey(bytes: Array(digest.prefix(PeerKey.length)))
    }

    /// Bytes that both ends of this connection know, and nobody else (RFC 8446 section 7.5).
    func export(_ label: String, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return unsafe nwp_tls_export(raw, label, &bytes, count) == 0 ? bytes : nil
    }
}
