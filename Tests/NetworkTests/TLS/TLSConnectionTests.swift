// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// TLS between connections and listeners of the library, and with openssl.
@Suite(.inNamespace) struct TLSConnectionTests {
    private let loop = Namespace.current.loop
    private let certificates: Certificates

    init() throws { certificates = try Certificates.shared.get() }

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    private func listen(
        _ leaf: Certificates.Leaf = .server,
        _ change: (sec_protocol_options_t) -> Void = { _ in }
    ) async throws -> (WatchedListener, NWEndpoint.Port) {
        let listener = try WatchedListener(try certificates.server(leaf, change))
        return (listener, await listener.start())
    }

    private func pair(
        client change: (sec_protocol_options_t) -> Void = { _ in },
        server: (sec_protocol_options_t) -> Void = { _ in }
    ) async throws -> (Watched, Watched) {
        let (listener, port) = try await listen(.server, server)
        let client = Watched(to: "localhost", port, certificates.client(change)).start()
        return (client, try await listener.serve(client))
    }

    @Test func `content goes both ways, and each direction ends by itself`() async throws {
        let (client, server) = try await pair()
        server.receiveMessage()
        client.send("hello ")
        client.send("world", .finalMessage)
        let all = Receipt("hello world", isComplete: true, isFinal: true)
        await eventually("all") { server.received.values == [all] }
        client.receive()
        server.send("answer")
        await eventually("the answer") { client.received.values == [Receipt("answer")] }
        client.receive()
        server.connection.cancel()
        await eventually("the end") { client.received.values.last == .end }
        #expect(client.states.values == [.preparing, .ready] && client.sent.values == [nil, nil])
    }

    @Test func `much is sent`() async throws {
        let (client, server) = try await pair()
        let block = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 17) })
        for _ in 0..<40 { client.connection.send(content: block, completion: .idempotent) }
        client.send(nil, .finalMessage)
        let received = Record<Data?>()
        server.connection.receiveMessage { content, _, _, error in
            #expect(error == nil)
            received.append(content)
        }
        await eventually("all") { !received.values.isEmpty }
        let all = try #require(received.values.first ?? nil)
        #expect(all.count == 4_000_000 && all.prefix(100_000) == block && all.suffix(100_000) == block)
    }

    @Test(arguments: [1, 100_000, 3_000_000]) func `nothing that was sent is left lying, whatever is asked for at once`(
        amount: Int
    ) async throws {
        let (client, server) = try await pair()
        let all = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 13) })
        let received = Record<Data>()
        @Sendable func next(_ left: Int) {
            guard left > 0 else { return }
            let most = max(amount, 65_536)
            server.connection.receive(minimumIncompleteLength: min(amount, left), maximumLength: most) {
                content,
                _,
                _,
                _ in
                received.append(content ?? Data())
                next(left - (content?.count ?? left))
            }
        }
        next(all.count)
        // Nothing follows that would make the kernel tell of the stream again.
        client.connection.send(content: all, completion: .idempotent)
        await eventually("all") { received.values.reduce(0) { $0 + $1.count } >= all.count }
        #expect(received.values.reduce(Data(), +) == all)
    }

    @Test func `both ends know what was agreed upon`() async throws {
        let (client, server) = try await pair { options in
            sec_protocol_options_add_tls_application_protocol(options, "other/1")
            sec_protocol_options_add_tls_application_protocol(options, "demo/2")
        } server: { options in
            sec_protocol_options_add_tls_application_protocol(options, "demo/2")
        }
        let (near, far) = (try client.security(), try server.security())
        #expect(sec_protocol_metadata_get_negotiated_tls_protocol_version(near) == .TLSv13)
        #expect(near.linuxApplicationProtocol == "demo/2" && far.linuxApplicationProtocol == "demo/2")
        #expect(near.linuxCertificates.count == 1 && far.linuxCertificates.isEmpty)
        #expect(near.linuxServerName == "localhost" && near.linuxCipherSuite >> 8 == 0x13)
        let tcp = client.connection.metadata(definition: NWProtocolTCP.definition)
        #expect(tcp is NWProtocolTCP.Metadata, "the protocols below are there as well")
    }

    @Test func `versions can be limited, and must have one in common`() async throws {
        let (client, _) = try await pair { options in
            sec_protocol_options_set_max_tls_protocol_version(options, .TLSv12)
        }
        #expect(sec_protocol_metadata_get_negotiated_tls_protocol_version(try client.security()) == .TLSv12)
        let (listener, port) = try await listen {
            sec_protocol_options_set_max_tls_protocol_version($0, .TLSv12)
        }
        let picky = certificates.client { sec_protocol_options_set_min_tls_protocol_version($0, .TLSv13) }
        let refused = Watched(to: "localhost", port, picky).start()
        await eventually("failed") { refused.state == .failed(.tls(errSSLPeerProtocolVersion)) }
        await eventually("the server as well") {
            if case .failed(.tls) = listener.accepted.values.first?.state { true } else { false }
        }
    }

    @Test(
        arguments: [
            (Certificates.Leaf.alone, errSSLUnknownRootCert), (.expired, errSSLCertExpired),
            (.other, errSSLHostNameMismatch),
        ]
    )
    func `a certificate that is not valid makes a connection fail`(
        leaf: Certificates.Leaf,
        status: OSStatus
    ) async throws {
        let (listener, port) = try await listen(leaf)
        let client = Watched(to: "localhost", port, certificates.client())
        client.send("secret")
        client.receive()
        client.start()
        await eventually("failed, but \(client.state)") { client.state == .failed(.tls(status)) }
        await eventually("told") { client.received.values == [.failed(.tls(status))] }
        await eventually("the sender as well") { client.sent.values == [.tls(status)] }
        #expect(!client.states.values.contains(.ready))
        await eventually("the server is told why") {
            if case .failed(.tls) = listener.accepted.values.first?.state { true } else { false }
        }
    }

    @Test func `the system does not trust the authority of this test`() async throws {
        let (listener, port) = try await listen()
        let client = Watched(to: "localhost", port, .tls).start()
        await eventually("failed") {
            client.state == .failed(.tls(errSSLNoRootCert)) || client.state == .failed(.tls(errSSLUnknownRootCert))
        }
        withExtendedLifetime(listener) {}
    }

    @Test func `an address is a name that a certificate may have`() async throws {
        let (listener, port) = try await listen()
        let right = Watched(to: "127.0.0.1", port, certificates.client()).start()
        let wrong = Watched(to: "::1", port, certificates.client()).start()
        await eventually("both") {
            right.state == .ready && wrong.state == .failed(.tls(errSSLHostNameMismatch))
        }
        let named = certificates.client { sec_protocol_options_set_tls_server_name($0, "localhost") }
        let other = Watched(to: "::1", port, named).start()
        await eventually("by name") { other.state == .ready }
        withExtendedLifetime(listener) {}
    }

    @Test func `a peer without a name needs somebody who judges`() async throws {
        let scratch = try Scratch()
        let path = scratch.file("socket")
        let parameters = try certificates.server()
        parameters.requiredLocalEndpoint = .unix(path: path)
        let listener = try WatchedListener(parameters)
        _ = await listener.start()
        let client = Watched(NWConnection(to: .unix(path: path), using: certificates.client())).start()
        await eventually("failed") { client.state == .failed(.tls(errSSLHostNameMismatch)) }
        let named = certificates.client { sec_protocol_options_set_tls_server_name($0, "localhost") }
        let other = Watched(NWConnection(to: .unix(path: path), using: named)).start()
        await eventually("ready") { other.state == .ready }
    }

    // MARK: - Judging

    @Test func `a verify block may trust what the checks do not`() async throws {
        let (listener, port) = try await listen(.alone)
        let judged = Record<sec_trust_t>()
        let queue = DispatchQueue(label: "judge")
        let parameters = certificates.client { options in
            sec_protocol_options_set_verify_block(
                options,
                { metadata, trust, complete in
                    dispatchPrecondition(condition: .onQueue(queue))
                    #expect(sec_protocol_metadata_get_negotiated_tls_protocol_version(metadata) == .TLSv13)
                    #expect(!SecTrustEvaluateWithError(trust, nil))
                    judged.append(trust)
                    complete(true)
                },
                queue
            )
        }
        let client = Watched(to: "localhost", port, parameters).start()
        await eventually("ready") { client.state == .ready }
        let trust = try #require(judged.values.first)
        #expect(judged.values.count == 1 && trust.linuxCertificates.count == 1)
        #expect(trust.linuxError == .tls(errSSLUnknownRootCert) && trust.linuxReason == "self-signed certificate")
        withExtendedLifetime(listener) {}
    }

    @Test func `a verify block may refuse what the checks trust, and take its time`() async throws {
        let (listener, port) = try await listen()
        let pending = Record<sec_protocol_verify_complete_t>()
        let trusted = Record<Bool>()
        let parameters = certificates.client { options in
            sec_protocol_options_set_verify_block(
                options,
                { _, trust, complete in
                    trusted.append(SecTrustEvaluateWithError(unsafe sec_trust_copy_ref(trust).takeRetainedValue(), nil))
                    pending.append(complete)
                },
                .apart
            )
        }
        let client = Watched(to: "localhost", port, parameters)
        client.send("secret")
        client.start()
        await eventually("asked") { trusted.values == [true] }
        #expect(client.state == .preparing && client.sent.values.isEmpty)
        pending.values.first?(false)
        pending.values.first?(true)
        await eventually("failed") { client.state == .failed(.tls(errSSLXCertChainInvalid)) }
        let other = Watched(to: "localhost", port, parameters).start()
        await eventually("asked again") { pending.values.count == 2 }
        other.connection.cancel()
        pending.values.last?(true)
        await eventually("cancelled") { other.states.values.last == .cancelled }
        #expect(!other.states.values.contains(.ready))
        withExtendedLifetime(listener) {}
    }

    @Test func `a client that is told not to check does not`() async throws {
        let (listener, port) = try await listen(.alone)
        let parameters = certificates.client {
            sec_protocol_options_set_peer_authentication_required($0, false)
        }
        let client = Watched(to: "localhost", port, parameters).start()
        await eventually("ready") { client.state == .ready }
        withExtendedLifetime(listener) {}
    }

    @Test func `a listener may want to know its clients`() async throws {
        let identity = try certificates.identity(.client)
        let authority = certificates.authority
        let (client, server) = try await pair { options in
            sec_protocol_options_set_local_identity(options, identity)
        } server: { options in
            sec_protocol_options_set_peer_authentication_required(options, true)
            options.linuxAuthorities = authority
        }
        #expect(try server.security().linuxCertificates.count == 1)
        #expect(client.state == .ready)
        let (listener, port) = try await listen { options in
            sec_protocol_options_set_peer_authentication_required(options, true)
            options.linuxAuthorities = authority
        }
        let nobody = Watched(to: "localhost", port, certificates.client())
        nobody.receive()
        nobody.start()
        await eventually("refused") {
            if case .failed(.tls) = nobody.state { !nobody.received.values.isEmpty } else { false }
        }
        await eventually("the server knows") {
            if case .failed(.tls) = listener.accepted.values.first?.state { true } else { false }
        }
    }

    @Test func `a listener without a certificate, or with half of one, fails`() async throws {
        let none = try WatchedListener(.tls)
        _ = await none.start()
        await eventually("none") { none.states.values == [.failed(.tls(errSSLBadConfiguration))] }
        let server = try certificates.identity(.server)
        let mixed = sec_identity_t(
            linuxCertificates: server.certificates,
            privateKey: try certificates.identity(.other).key
        )
        let options = NWProtocolTLS.Options()
        sec_protocol_options_set_local_identity(options.securityProtocolOptions, mixed)
        let half = try WatchedListener(NWParameters(tls: options))
        _ = await half.start()
        await eventually("half") { half.states.values == [.failed(.tls(errSSLBadConfiguration))] }
    }

    // MARK: - Others

    @Test func `a peer that does not speak TLS makes a connection fail`() async throws {
        let listener = try WatchedListener()
        let port = await listener.start()
        let client = Watched(to: "localhost", port, certificates.client()).start()
        await eventually("the peer") { listener.accepted.values.first?.state == .ready }
        listener.accepted.values.first?.send("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
        await eventually("failed") { client.state == .failed(.tls(errSSLProtocol)) }
        let hasty = Watched(to: "localhost", port, certificates.client()).start()
        await eventually("the second") {
            listener.accepted.values.last?.state == .ready && listener.accepted.values.count == 2
        }
        listener.accepted.values.last?.connection.cancel()
        await eventually("failed") {
            if case .failed = hasty.state { true } else { false }
        }
    }

    @Test func `a server of openssl is talked to`() async throws {
        let probe = try WatchedListener()
        let port = await probe.start()
        probe.listener.cancel()
        await eventually("free") { probe.states.values.last == .cancelled }
        let server = try RunningCommand([
            "nsenter", "--net=\(Namespace.current.path)", "openssl", "s_server", "-accept", "\(port.rawValue)",
            "-quiet",
            "-rev", "-cert", certificates.path("server"), "-key", certificates.key("server"), "-alpn", "demo/2",
        ])
        let parameters = certificates.client { sec_protocol_options_add_tls_application_protocol($0, "demo/2") }
        let client = Watched(to: "localhost", port, parameters).start()
        await eventually("ready, but \(client.state)") {
            if case .waiting = client.state { client.connection.restart() }
            return client.state == .ready
        }
        client.receive(12, 12)
        client.send("hello world\n")
        await eventually("backwards") { client.received.values == [Receipt("dlrow olleh\n")] }
        #expect(try client.security().linuxApplicationProtocol == "demo/2")
        withExtendedLifetime(server) {}
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"]) func `a client of openssl is served`(version: String) async throws {
        let (listener, port) = try await listen()
        let client = try RunningCommand(
            [
                "nsenter", "--net=\(Namespace.current.path)", "openssl", "s_client", "-connect",
                "localhost:\(port.rawValue)", "-CAfile", certificates.path("authority"), "-verify_return_error",
                "-verify_hostname", "localhost", "-quiet", version,
            ],
            captures: true
        )
        await eventually("the client") { listener.accepted.values.last?.state == .ready }
        let server = try #require(listener.accepted.values.last)
        server.send("from swift", .finalMessage)
        await eventually("sent") { server.sent.values == [nil] }
        server.connection.cancel()
        await eventually("over") { server.state == .cancelled }
        #expect(try client.finish().hasSuffix("from swift"))
    }

    @Test func `an end without a word is an error, because content may be missing`() async throws {
        let (client, server) = try await pair()
        server.receive()
        server.receive()
        client.send("half of")
        await eventually("half") { server.received.values == [Receipt("half of")] }
        client.connection.forceCancel()
        await eventually("an error") {
            server.received.values.last?.error != nil && server.received.values.last?.isComplete == false
        }
    }
}
