// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CGnuTLS

/// How TCP connections are encrypted; names and meanings are those of Prometheus' exporter-toolkit.
public struct TLSSettings: Equatable, Sendable {
    public enum ClientAuthentication: String, CaseIterable, Sendable {
        case none = "NoClientCert"
        /// One is asked for, and any will do, none as well.
        case request = "RequestClientCert"
        case requireAny = "RequireAnyClientCert"
        /// One that is given must be of `clientAuthorities`.
        case verifyIfGiven = "VerifyClientCertIfGiven"
        /// A certificate of `clientAuthorities` is needed.
        case requireAndVerify = "RequireAndVerifyClientCert"

        public var verifies: Bool { self == .verifyIfGiven || self == .requireAndVerify }
    }

    /// The oldest version that is spoken; those before 1.2 are deprecated (RFC 8996).
    public enum Version: String, CaseIterable, Sendable {
        /// TLS 1.2 (RFC 5246).
        case tls12 = "TLS12"
        /// TLS 1.3 (RFC 8446).
        case tls13 = "TLS13"

        /// As GnuTLS takes it, gnutls_priority_init(3).
        var priorities: String {
            switch self {
            case .tls12: "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
            case .tls13: "NORMAL:-VERS-ALL:+VERS-TLS1.3"
            }
        }
    }

    /// The certificate and those that lead to an authority, in PEM.
    public var certificate: [UInt8]
    /// Its private key, in PEM, not encrypted.
    public var key: [UInt8]
    /// The authorities whose signatures count, in PEM.
    public var clientAuthorities: [UInt8]?
    public var clientAuthentication = ClientAuthentication.none
    public var minimumVersion = Version.tls12

    public init(certificate: [UInt8], key: [UInt8]) {
        self.certificate = certificate
        self.key = key
    }

    public enum Part: Equatable, Sendable {
        /// The certificate, or that it belongs to the key.
        case certificate
        case clientAuthorities
    }

    public struct Failure: Error, Equatable, Sendable {
        public let part: Part
        /// GnuTLS' words.
        public let reason: String
    }

    /// Lets GnuTLS read certificate, key and authorities, and see whether the first two belong together.
    public func check() throws(Failure) {
        var credentials: gnutls_certificate_credentials_t?
        let made = unsafe gnutls_certificate_allocate_credentials(&credentials)
        guard made == 0, let credentials = unsafe credentials else { throw Self.failure(.certificate, made) }
        defer { unsafe gnutls_certificate_free_credentials(credentials) }
        let code = unsafe Self.with(certificate) { certificate in
            unsafe Self.with(key) { key in
                unsafe gnutls_certificate_set_x509_key_mem(credentials, certificate, key, GNUTLS_X509_FMT_PEM)
            }
        }
        guard code == 0 else { throw Self.failure(.certificate, code) }
        guard let clientAuthorities else { return }
        let count = unsafe Self.with(clientAuthorities) { authorities in
            unsafe gnutls_certificate_set_x509_trust_mem(credentials, authorities, GNUTLS_X509_FMT_PEM)
        }
        if count < 0 { throw Self.failure(.clientAuthorities, count) }
        if count == 0 { throw Failure(part: .clientAuthorities, reason: "there is no certificate in it") }
    }

    private static func with(_ bytes: [UInt8], _ body: (UnsafePointer<gnutls_datum_t>) -> Int32) -> Int32 {
        var bytes = bytes
        let count = UInt32(clamping: bytes.count)
        return unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            var datum = unsafe gnutls_datum_t(data: buffer.baseAddress, size: count)
            return unsafe body(&datum)
        }
    }

    private static func failure(_ part: Part, _ code: Int32) -> Failure {
        let text = unsafe gnutls_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
        return Failure(part: part, reason: text.hasSuffix(".") ? String(text.dropLast()) : text)
    }
}
