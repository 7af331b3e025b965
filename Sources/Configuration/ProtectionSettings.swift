// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// How TCP connections are encrypted; the keys are those of Prometheus' exporter-toolkit.
public struct TLSServerSettings: Hashable, Sendable, ConfigurationSection {
    public enum ClientAuthentication: String, CaseIterable, Sendable {
        case none = "NoClientCert"
        /// One is requested; any is accepted, none as well.
        case request = "RequestClientCert"
        case requireAny = "RequireAnyClientCert"
        /// One that is given must be of `client_ca_file`.
        case verifyIfGiven = "VerifyClientCertIfGiven"
        /// A certificate of `client_ca_file` is needed.
        case requireAndVerify = "RequireAndVerifyClientCert"

        /// Whether verification needs `client_ca_file`.
        var needsAuthorities: Bool { self == .verifyIfGiven || self == .requireAndVerify }
    }

    public enum Version: String, CaseIterable, Sendable {
        /// TLS 1.2.
        case tls12 = "TLS12"
        /// TLS 1.3.
        case tls13 = "TLS13"
    }

    /// The certificate, and those that lead to an authority; `nil` for connections in the clear.
    public var certificateFile: String?
    public var keyFile: String?
    public var clientAuthorityFile: String?
    /// Whether clients need a certificate; `nil` is as the authorities say: needed when there are some.
    public var clientAuthentication: ClientAuthentication?
    public var minimumVersion = Version.tls12

    static let settings: [Setting<TLSServerSettings>] = [
        Setting(
            "cert_file",
            \.certificateFile,
            ValueForm.path.optional,
            example: "/etc/nwpath/tls.pem",
            "The certificate in PEM, and those that lead to an authority. Read again at each reload."
        ),
        Setting(
            "key_file",
            \.keyFile,
            ValueForm.path.optional,
            example: "/etc/nwpath/tls.key",
            "Its private key in PEM, which others must not be able to read."
        ),
        Setting(
            "client_ca_file",
            \.clientAuthorityFile,
            ValueForm.path.optional,
            example: "/etc/nwpath/clients.pem",
            "The authorities that sign the certificates of clients, in PEM."
        ),
        Setting(
            "client_auth_type",
            \.clientAuthentication,
            ValueForm.choice.optional,
            example: "RequireAndVerifyClientCert",
            "Whether clients need a certificate; RequireAndVerifyClientCert where client_ca_file is given."
        ),
        Setting("min_version", \.minimumVersion, .choice, "The oldest accepted version."),
    ]

    public var effectiveClientAuthentication: ClientAuthentication {
        clientAuthentication ?? (clientAuthorityFile == nil ? .none : .requireAndVerify)
    }
}

/// A user who may read, and the bcrypt hash of the password.
public struct PasswordUser: Hashable, Sendable {
    public let name: String
    /// The hash, as `htpasswd -nB` writes it.
    public let hash: String
}

extension ValueForm where Value == [PasswordUser] {
    private static let expectation = "a map of names and bcrypt hashes, as htpasswd -nB writes them"
    private static let limit = 64

    /// Users with the hashes of their passwords; what is wrong is never repeated, for it may be a password.
    static let passwordUsers = ValueForm(
        expectation,
        schema: [
            "type": "object", "maxProperties": .integer(limit), "propertyNames": ["pattern": "^[^:\\x00-\\x1f\\x7f]+$"],
            "additionalProperties": ["type": "string", "pattern": "^\\$2[aby]\\$(0[4-9]|1[0-4])\\$[./A-Za-z0-9]{53}$"],
        ],
        write: { users in .map(users.map { .init($0.name, .text($0.hash)) }) },
        read: { node, path, findings in
            guard case .map(let pairs) = node.content else {
                findings.report(path, node, expected: expectation)
                return nil
            }
            guard pairs.count <= limit else {
                findings.report(.tooMany(key: path, limit: limit), at: node.origin)
                return nil
            }
            var users: [PasswordUser] = []
            for pair in pairs {
                let key = SectionReader.join(path, pair.key)
                findings.remember(key, at: pair.value.origin)
                let isBad = pair.key.unicodeScalars.contains { $0 == ":" || $0.value < 32 || $0.value == 127 }
                let isName = !pair.key.isEmpty && !isBad
                if !isName {
                    let sentence = "is not a valid name: it is empty, or has a colon or a control character"
                    findings.reportConflict(at: key, sentence)
                }
                guard case .scalar(let text, _) = pair.value.content, BcryptHash.isOne(text) else {
                    let advice = "make one with: htpasswd -nB NAME"
                    findings.reportConflict(at: key, "is not a bcrypt hash with a cost from 4 to 14; \(advice)")
                    continue
                }
                if isName { users.append(PasswordUser(name: pair.key, hash: text)) }
            }
            return users.count == pairs.count ? users : nil
        }
    )
}

/// The form of bcrypt hashes, crypt(5).
enum BcryptHash {
    /// Whether a text is one, with a cost that a daemon can bear.
    static func isOne(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 60, ["$2a$", "$2b$", "$2y$"].contains(String(text.prefix(4))),
            let cost = Int(String(decoding: bytes[4..<6], as: UTF8.self)), (4...14).contains(cost),
            bytes[6] == UInt8(ascii: "$")
        else { return false }
        return bytes[7...].allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "/") }
    }
}

extension Configuration {
    /// Whether something guards the TCP sockets, so that others may reach them.
    public var isProtected: Bool { tls.certificateFile != nil || !users.isEmpty || tokenFile != nil }

    /// This configuration for other eyes: what stands for a secret is there, its value is not.
    public var redacted: Configuration {
        var copy = self
        copy.users = users.map { PasswordUser(name: $0.name, hash: "<redacted>") }
        return copy
    }

    /// Finds what contradicts each other in TLS settings.
    func checkProtection(_ findings: inout Findings) {
        let key = "tls_server_config"
        if (tls.certificateFile == nil) != (tls.keyFile == nil) {
            findings.reportConflict(at: key, "needs both cert_file and key_file")
        }
        guard tls.certificateFile != nil || tls.keyFile != nil else {
            if tls.clientAuthorityFile != nil || tls.clientAuthentication != nil {
                findings.reportConflict(at: key, "needs cert_file and key_file")
            }
            return
        }
        if tls.effectiveClientAuthentication.needsAuthorities && tls.clientAuthorityFile == nil {
            let sentence = "needs client_ca_file to verify certificates with"
            findings.reportConflict(at: key + ".client_auth_type", sentence, between: key + ".client_ca_file")
        }
        if tls.clientAuthorityFile != nil && !tls.effectiveClientAuthentication.needsAuthorities {
            let types = "VerifyClientCertIfGiven or RequireAndVerifyClientCert"
            let sentence = "needs a client_auth_type that verifies: \(types)"
            findings.reportConflict(at: key + ".client_ca_file", sentence, between: key + ".client_auth_type")
        }
    }
}
