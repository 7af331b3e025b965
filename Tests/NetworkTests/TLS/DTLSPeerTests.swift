// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// DTLS with openssl.
@Suite(.inNamespace) struct DTLSPeerTests {
    private let loop = Namespace.current.loop
    private let certificates: Certificates

    init() throws { certificates = try Certificates.shared.get() }

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    /// A server of openssl at port 4433 of IPv4, which prints into a file.
    private func serve(_ words: String, into file: String) throws -> RunningCommand {
        let files = "-cert \(certificates.path("server")) -key \(certificates.key("server"))"
        let server = "openssl s_server -dtls1_2 -accept 127.0.0.1:4433 -naccept 1 -quiet \(files) \(words)"
        return try RunningCommand(["nsenter", "--net=\(Namespace.current.path)", "sh", "-c", "exec \(server) >\(file)"])
    }

    /// Connects to it, as soon as it is there.
    private func connect(_ parameters: NWParameters) async -> Watched {
        let client = Watched(to: "127.0.0.1", 4433, parameters).start()
        await eventually("ready, but \(client.state)") {
            if case .waiting = client.state { client.connection.restart() }
            return client.state == .ready
        }
        return client
    }

    @Test(
        arguments: [
            "", "-listen -alpn demo/2", "-cipher ECDHE-ECDSA-CHACHA20-POLY1305", "-cipher ECDHE-ECDSA-AES128-SHA256",
        ]
    )
    func `a server of openssl is talked to`(words: String) async throws {
        try Namespace.current.ip("link set lo mtu 1500")
        let folder = try Scratch()
        let file = folder.path + "/printed"
        func printed() -> String { (try? String(contentsOfFile: file, encoding: .utf8)) ?? "" }
        let server = try serve(words, into: file)
        let options = certificates.clientOptions { sec_protocol_options_add_tls_application_protocol($0, "demo/2") }
        let parameters = NWParameters(dtls: options)
        let internet = parameters.defaultProtocolStack.internetProtocol as? NWProtocolIP.Options
        try #require(internet).disableFragmentation = true
        let client = await connect(parameters)
        let metadata = client.connection.metadata(definition: NWProtocolTLS.definition) as? NWProtocolTLS.Metadata
        let agreed = try #require(metadata).securityProtocolMetadata
        #expect(sec_protocol_metadata_get_negotiated_tls_protocol_version(agreed) == .DTLSv12)
        #expect(agreed.linuxApplicationProtocol == (words.contains("demo/2") ? "demo/2" : nil))
        let most = client.connection.maximumDatagramSize
        client.send("hello\n")
        client.send(String(repeating: "x", count: most))
        client.send(String(repeating: "x", count: most + 1))
        await eventually("told, but \(client.sent.values)") { client.sent.values.prefix(2) == [nil, nil] }
        await eventually("printed") { printed().count == 6 + most && printed().hasPrefix("hello\nx") }
        client.receiveMessage()
        client.receiveMessage()
        try server.finish(input: "answer\n")
        await eventually("the answer, and the end") { client.received.values == [.message("answer\n"), .end] }
    }

    @Test func `a server of openssl that is not trusted is left, and told why`() async throws {
        let folder = try Scratch()
        let server = try serve("", into: folder.path + "/printed")
        let client = Watched(to: "127.0.0.1", 4433, .dtls).start()
        await eventually("failed, but \(client.state)") {
            if case .waiting = client.state { client.connection.restart() }
            return [errSSLNoRootCert, errSSLUnknownRootCert].contains { client.state == .failed(.tls($0)) }
        }
        withExtendedLifetime(server) {}
    }

    @Test(arguments: ["", "-mtu 300", "-cipher ECDHE-ECDSA-AES256-SHA384"]) func `a client of openssl is served`(
        words: String
    ) async throws {
        let listener = try WatchedListener(NWParameters(dtls: try certificates.serverOptions()))
        let port = await listener.start()
        let client = try RunningCommand(
            [
                "nsenter", "--net=\(Namespace.current.path)", "openssl", "s_client", "-dtls1_2", "-connect",
                "127.0.0.1:\(port.rawValue)", "-CAfile", certificates.path("authority"), "-verify_return_error",
                "-verify_hostname", "localhost", "-quiet",
            ] + words.split(separator: " ").map(String.init),
            captures: true
        )
        await eventually("the client") { listener.accepted.values.last?.state == .ready }
        let server = try #require(listener.accepted.values.last)
        server.send("from swift")
        await eventually("sent") { server.sent.values == [nil] }
        server.connection.cancel()
        await eventually("over") { server.state == .cancelled }
        #expect(try client.finish().hasSuffix("from swift"))
    }

    @Test func `a client of openssl that leaves ends what is received`() async throws {
        let listener = try WatchedListener(NWParameters(dtls: try certificates.serverOptions()))
        let port = await listener.start()
        let client = try RunningCommand(
            [
                "nsenter", "--net=\(Namespace.current.path)", "openssl", "s_client", "-dtls1_2", "-connect",
                "127.0.0.1:\(port.rawValue)", "-quiet", "-no_ign_eof",
            ],
            captures: true
        )
        await eventually("the client") { listener.accepted.values.last?.state == .ready }
        let server = try #require(listener.accepted.values.last)
        server.receiveMessage()
        server.receiveMessage()
        try client.finish(input: "hello\n")
        await eventually("all") { server.received.values == [.message("hello\n"), .end] }
    }

    @Test func `a client of openssl that does not trust the server is heard`() async throws {
        let listener = try WatchedListener(NWParameters(dtls: try certificates.serverOptions(.alone)))
        let port = await listener.start()
        let client = try RunningCommand([
            "nsenter", "--net=\(Namespace.current.path)", "openssl", "s_client", "-dtls1_2", "-connect",
            "127.0.0.1:\(port.rawValue)", "-CAfile", certificates.path("authority"), "-verify_return_error", "-quiet",
        ])
        await eventually("failed") { listener.accepted.values.last?.state == .failed(.tls(errSSLPeerUnknownCA)) }
        withExtendedLifetime(client) {}
    }
}
