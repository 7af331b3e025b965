// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Configuration
internal import Glibc
internal import LinuxIO
internal import StatusServer

/// Reads the certificate, the keys and the token that a configuration names.
public struct ProtectionFiles {
    var tls: TLSSettings?
    /// What clients of TCP sockets must show.
    var access = AccessRules()
    /// What is wrong with the files; none of them is used then.
    public private(set) var complaints: [Configuration.Complaint] = []

    /// The largest file that is read: a chain of certificates is some ten kilobytes.
    static let largest = 1 << 20
    static let tokenLengths = 16...512

    /// Reads what `configuration` names.
    public init(_ configuration: Configuration) {
        readTLS(configuration.tls)
        let token = configuration.tokenFile.flatMap { readToken($0) }
        let users = Dictionary(configuration.users.map { ($0.name, $0.hash) }) { first, _ in first }
        access = AccessRules(users: users, token: token)
    }

    /// What is wrong with the files that `configuration` names.
    public static func complaints(of configuration: Configuration) -> [Configuration.Complaint] {
        ProtectionFiles(configuration).complaints
    }

    private mutating func readTLS(_ settings: TLSServerSettings) {
        guard let certificateFile = settings.certificateFile, let keyFile = settings.keyFile else { return }
        let section = "tls_server_config"
        let certificate = read(certificateFile, key: section + ".cert_file", isSecret: false)
        let key = read(keyFile, key: section + ".key_file", isSecret: true)
        let authorities = settings.clientAuthorityFile.map {
            read($0, key: section + ".client_ca_file", isSecret: false)
        }
        guard let certificate, let key, complaints.isEmpty else { return }
        var tls = TLSSettings(certificate: certificate, key: key)
        tls.clientAuthorities = authorities ?? nil
        tls.clientAuthentication = TLSSettings.ClientAuthentication(settings.effectiveClientAuthentication)
        tls.minimumVersion = TLSSettings.Version(settings.minimumVersion)
        do {
            try tls.check()
            self.tls = tls
        } catch {
            switch error.part {
            case .certificate:
                complain(section + ".cert_file", "\(certificateFile) and \(keyFile) cannot be used: \(error.reason)")
            case .clientAuthorities:
                let file = settings.clientAuthorityFile ?? ""
                complain(section + ".client_ca_file", "\(file) cannot be used: \(error.reason)")
            }
        }
    }

    /// The token: one line of visible ASCII, white space around it left out.
    private mutating func readToken(_ file: String) -> String? {
        guard let bytes = read(file, key: "token_file", isSecret: true) else { return nil }
        let token = bytes.drop { $0 <= 32 }.reversed().drop { $0 <= 32 }.reversed()
        guard Self.tokenLengths.contains(token.count), token.allSatisfy({ (33...126).contains($0) }) else {
            let lengths = "\(Self.tokenLengths.lowerBound) to \(Self.tokenLengths.upperBound)"
            complain("token_file", "\(file) must hold one line of \(lengths) visible ASCII characters")
            return nil
        }
        return String(decoding: token, as: UTF8.self)
    }

    /// Reads a file whole; one that holds a secret must not be open to others than its owner and group.
    private mutating func read(_ file: String, key: String, isSecret: Bool) -> [UInt8]? {
        do throws(Errno) {
            let descriptor = try FileDescriptor(opening: file, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY)
            var status = stat()
            guard unsafe fstat(descriptor.rawValue, &status) == 0 else { throw .current }
            guard status.st_mode & S_IFMT == S_IFREG else {
                complain(key, "\(file) is not a regular file")
                return nil
            }
            if isSecret, status.st_mode & 0o027 != 0 {
                let mode = String(status.st_mode & 0o7777, radix: 8)
                complain(key, "\(file) has the mode 0\(mode); others must not read it: use 0640 or 0600")
                return nil
            }
            let bytes = try descriptor.readAll(upTo: Self.largest)
            if bytes.count <= Self.largest { return bytes }
            complain(key, "\(file) is larger than 1 MiB")
        } catch {
            complain(key, "\(file) cannot be read: \(error)")
        }
        return nil
    }

    private mutating func complain(_ key: String, _ sentence: String) {
        complaints.append(Configuration.Complaint(key: key, sentence))
    }
}

extension TLSSettings.ClientAuthentication {
    fileprivate init(_ setting: TLSServerSettings.ClientAuthentication) {
        self =
            switch setting {
            case .none: .none
            case .request: .request
            case .requireAny: .requireAny
            case .verifyIfGiven: .verifyIfGiven
            case .requireAndVerify: .requireAndVerify
            }
    }
}

extension TLSSettings.Version {
    fileprivate init(_ setting: TLSServerSettings.Version) {
        self =
            switch setting {
            case .tls12: .tls12
            case .tls13: .tls13
            }
    }
}
