// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import Network
import TestSupport
import Testing

/// An authority and what it signed, made by openssl for the tests of this process.
struct Certificates: Sendable {
    /// The names of what there is.
    enum Leaf: String, CaseIterable {
        /// For `localhost` and 127.0.0.1, signed by the authority.
        case server
        /// For another name, signed by the authority.
        case other
        /// For `localhost`, but over.
        case expired
        /// For `localhost`, signed by itself.
        case alone
        /// Of a client, signed by the authority.
        case client
    }

    let folder: String

    /// Those of this process; made once.
    static let shared = Result { try Certificates() }

    private init() throws {
        folder = try Scratch.ofProcess().path
        try make("authority", "/CN=Test Authority", extensions: "basicConstraints=critical,CA:TRUE", signer: nil)
        let local = "subjectAltName=DNS:localhost,IP:127.0.0.1"
        try make("server", "/CN=localhost", extensions: local, signer: "authority")
        try make("other", "/CN=other.example", extensions: "subjectAltName=DNS:other.example", signer: "authority")
        try make("expired", "/CN=localhost", extensions: local, signer: "authority", days: "-1")
        try make("alone", "/CN=localhost", extensions: local, signer: nil)
        try make("client", "/CN=client", extensions: "extendedKeyUsage=clientAuth", signer: "authority")
    }

    private func make(
        _ name: String,
        _ subject: String,
        extensions: String,
        signer: String?,
        days: String = "30"
    ) throws {
        let request = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key(name)]
        guard let signer else {
            let words = ["openssl", "req", "-x509"] + request + ["-subj", subject, "-addext", extensions]
            try Command.run(words + ["-days", days, "-out", path(name)])
            return
        }
        let (asked, limits) = ("\(folder)/\(name).csr", "\(folder)/\(name).ext")
        try Command.run(["openssl", "req", "-new"] + request + ["-subj", subject, "-out", asked])
        try Data(extensions.utf8).write(to: URL(fileURLWithPath: limits))
        var words = ["openssl", "x509", "-req", "-in", asked, "-out", path(name), "-days", days]
        words += ["-extfile", limits, "-CAcreateserial", "-CA", path(signer), "-CAkey", key(signer)]
        try Command.run(words)
    }

    func path(_ name: String) -> String { "\(folder)/\(name).pem" }
    func key(_ name: String) -> String { "\(folder)/\(name).key" }

    /// PEM of the authority.
    var authority: Data { (try? Data(contentsOf: URL(fileURLWithPath: path("authority")))) ?? Data() }

    /// An identity as programs give it.
    func identity(_ leaf: Leaf) throws -> sec_identity_t {
        sec_identity_t(
            linuxCertificates: try Data(contentsOf: URL(fileURLWithPath: path(leaf.rawValue))),
            privateKey: try Data(contentsOf: URL(fileURLWithPath: key(leaf.rawValue)))
        )
    }

    /// Options of a server.
    func serverOptions(
        _ leaf: Leaf = .server,
        _ change: (sec_protocol_options_t) -> Void = { _ in }
    ) throws -> NWProtocolTLS.Options {
        let options = NWProtocolTLS.Options()
        sec_protocol_options_set_local_identity(options.securityProtocolOptions, try identity(leaf))
        change(options.securityProtocolOptions)
        return options
    }

    /// Options of a client that trusts the authority.
    func clientOptions(_ change: (sec_protocol_options_t) -> Void = { _ in }) -> NWProtocolTLS.Options {
        let options = NWProtocolTLS.Options()
        options.securityProtocolOptions.linuxAuthorities = authority
        change(options.securityProtocolOptions)
        return options
    }

    /// Parameters of a server of TLS.
    func server(_ leaf: Leaf = .server, _ change: (sec_protocol_options_t) -> Void = { _ in }) throws -> NWParameters {
        NWParameters(tls: try serverOptions(leaf, change))
    }

    /// Parameters of a client of TLS that trusts the authority.
    func client(_ change: (sec_protocol_options_t) -> Void = { _ in }) -> NWParameters {
        NWParameters(tls: clientOptions(change))
    }
}

extension Watched {
    /// What TLS or DTLS agreed upon.
    func security() throws -> sec_protocol_metadata_t {
        let found = connection.metadata(definition: NWProtocolTLS.definition) as? NWProtocolTLS.Metadata
        return try #require(found).securityProtocolMetadata
    }
}
