// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// DTLS between connections and listeners of the library.
@Suite(.inNamespace) struct DTLSConnectionTests {
    private let loop = Namespace.current.loop
    private let certificates: Certificates

    init() throws { certificates = try Certificates.shared.get() }

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    private func listen(
        _ leaf: Certificates.Leaf = .server,
        _ change: (sec_protocol_options_t) -> Void = { _ in }
    ) async throws -> (WatchedListener, NWEndpoint.Port) {
        let listener = try WatchedListener(NWParameters(dtls: try certificates.serverOptions(leaf, change)))
        return (listener, await listener.start())
    }

    private func client(
        to port: NWEndpoint.Port,
        at host: String = "localhost",
        _ change: (sec_protocol_options_t) -> Void = { _ in }
    ) -> Watched {
        Watched(to: host, port, NWParameters(dtls: certificates.clientOptions(change)))
    }

    /// Both ends of a connection that begins at a port, which may be that of a relay.
    private func pair(
        _ listener: WatchedListener,
        at port: NWEndpoint.Port,
        host: String = "localhost",
        client change: (sec_protocol_options_t) -> Void = { _ in }
    ) async throws -> (Watched, Watched) {
        let client = client(to: port, at: host, change).start()
        return (client, try await listener.serve(client))
    }

    private func pair(
        client change: (sec_protocol_options_t) -> Void = { _ in },
        server: (sec_protocol_options_t) -> Void = { _ in }
    ) async throws -> (Watched, Watched) {
        let (listener, port) = try await listen(.server, server)
        return try await pair(listener, at: port, client: change)
    }

    // MARK: - Content

    @Test func `messages keep their bounds, both ways`() async throws {
        let (client, server) = try await pair()
        for _ in 0..<4 { server.receiveMessage() }
        client.send("one")
        client.send("two")
        client.send("th", isComplete: false)
        client.send("ree")
        client.send("four", .finalMessage)
        let all = ["one", "two", "three", "four"].map(Receipt.message)
        await eventually("four, but \(server.received.values)") { server.received.values == all }
        client.receive(1, 2)
        client.receive(1, 2)
        server.send("abc")
        await eventually("in parts") { client.received.values == [Receipt("ab"), .message("c")] }
        await eventually("sent") { client.sent.values == [nil, nil, nil, nil, nil] }
        let context = try #require(server.contexts.values.first ?? nil)
        #expect(context.protocolMetadata(definition: NWProtocolUDP.definition) is NWProtocolUDP.Metadata)
        #expect(context.protocolMetadata(definition: NWProtocolIP.definition) is NWProtocolIP.Metadata)
        #expect(client.states.values == [.preparing, .ready])
    }

    @Test func `a message that no record holds is refused, without harm to others`() async throws {
        let (client, server) = try await pair()
        #expect(client.connection.maximumDatagramSize == 16_384 && server.connection.maximumDatagramSize == 16_384)
        client.send(String(repeating: "x", count: 16_385))
        client.send("")
        client.send(String(repeating: "y", count: 16_384))
        await eventually("told") { client.sent.values == [.posix(.EMSGSIZE), .posix(.EINVAL), nil] }
        server.receiveMessage()
        await eventually("the longest") { server.received.values.first?.text?.utf8.count == 16_384 }
        #expect(client.state == .ready && server.received.values.first?.isComplete == true)
    }

    @Test func `the largest datagram leaves in one piece`() async throws {
        try Namespace.current.ip("link set lo mtu 1500")
        let (listener, port) = try await listen()
        let parameters = NWParameters(dtls: certificates.clientOptions())
        let internet = parameters.defaultProtocolStack.internetProtocol as? NWProtocolIP.Options
        try #require(internet).disableFragmentation = true
        for host in ["127.0.0.1", "localhost"] {
            let client = Watched(to: host, port, parameters).start()
            await eventually("ready, but \(client.state)") { client.state == .ready }
            let most = client.connection.maximumDatagramSize
            // What UDP has there, less header, nonce and code of the record.
            let isIPv6 = client.connection.currentPath?.remoteEndpoint?.isIPv6 == true
            #expect((1500 - (isIPv6 ? 48 : 28) - 61...1500 - (isIPv6 ? 48 : 28) - 29).contains(most))
            client.send(String(repeating: "x", count: most + 1))
            client.send(String(repeating: "x", count: most))
            await eventually("told") { client.sent.values == [.posix(.EMSGSIZE), nil] }
            let server = try #require(listener.accepted.values.last)
            server.receiveMessage()
            await eventually("the longest") { server.received.values.first?.text?.utf8.count == most }
        }
    }

    @Test func `both ends know what was agreed upon`() async throws {
        let (client, server) = try await pair { options in
            sec_protocol_options_add_tls_application_protocol(options, "other/1")
            sec_protocol_options_add_tls_application_protocol(options, "demo/2")
        } server: { options in
            sec_protocol_options_add_tls_application_protocol(options, "demo/2")
        }
        let (near, far) = (try client.security(), try server.security())
        #expect(sec_protocol_metadata_get_negotiated_tls_protocol_version(near) == .DTLSv12)
        #expect(sec_protocol_metadata_get_negotiated_tls_protocol_version(far) == .DTLSv12)
        #expect(near.linuxApplicationProtocol == "demo/2" && far.linuxApplicationProtocol == "demo/2")
        #expect(near.linuxCertificates.count == 1 && far.linuxCertificates.isEmpty)
        #expect(near.linuxServerName == "localhost" && near.linuxCipherSuite != 0)
        let udp = client.connection.metadata(definition: NWProtocolUDP.definition)
        #expect(udp is NWProtocolUDP.Metadata, "the protocols below are there as well")
        let handshakes = Record<[NWProtocolDefinition]>()
        client.connection.requestEstablishmentReport(queue: DispatchQueue(label: "report")) { report in
            handshakes.append(report?.handshakes.map(\.definition) ?? [])
        }
        await eventually("the report") { handshakes.values == [[NWProtocolTLS.definition]] }
    }

    @Test func `many clients are served at one port`() async throws {
        let (listener, port) = try await listen()
        let clients = (0..<30).map { _ in client(to: port).start() }
        await eventually("all") { clients.allSatisfy { $0.state == .ready } }
        for (number, client) in clients.enumerated() {
            client.receiveMessage()
            client.send("\(number)")
        }
        await eventually("all of them") { listener.accepted.values.count == clients.count }
        for server in listener.accepted.values {
            server.connection.receiveMessage { content, _, _, _ in
                server.connection.send(content: content, completion: .idempotent)
            }
        }
        await eventually("the answers") {
            clients.enumerated().allSatisfy { $1.received.values == [.message("\($0)")] }
        }
    }

    // MARK: - Ends

    @Test func `cancelling tells the peer, and forcing does not`() async throws {
        let (client, server) = try await pair()
        server.receiveMessage()
        server.receiveMessage()
        client.send("last words")
        client.connection.cancel()
        await eventually("the end") { server.received.values == [.message("last words"), .end] }
        await eventually("cancelled") { client.state == .cancelled }
        #expect(server.state == .ready)
        let (other, peer) = try await pair()
        other.receiveMessage()
        peer.connection.cancel()
        await eventually("the other way") { other.received.values == [.end] }
        let (third, last) = try await pair()
        last.receiveMessage()
        third.connection.forceCancel()
        await eventually("gone") { third.state == .cancelled }
        #expect(last.received.values.isEmpty && last.state == .ready)
    }

    @Test func `a peer that is gone is noticed as with UDP`() async throws {
        let (client, server) = try await pair()
        server.connection.forceCancel()
        client.receiveMessage()
        await eventually("gone") { server.state == .cancelled }
        // The listener's port went with it, so that the kernel refuses.
        await eventually("refused") {
            client.send("hello")
            return client.state == .failed(.posix(.ECONNREFUSED))
        }
        await eventually("told") { client.received.values == [.failed(.posix(.ECONNREFUSED))] }
    }

    @Test func `a port where nobody listens is waited for`() async throws {
        let (listener, port) = try await listen()
        listener.listener.cancel()
        await eventually("free") { listener.states.values.last == .cancelled }
        let client = client(to: port).start()
        await eventually("waiting, but \(client.state)") { client.state == .waiting(.posix(.ECONNREFUSED)) }
        let again = try WatchedListener(NWParameters(dtls: try certificates.serverOptions()), on: port)
        #expect(await again.start() == port)
        client.connection.restart()
        await eventually("ready") { client.state == .ready }
    }

    // MARK: - Who it is

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
        let client = client(to: port)
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

    @Test func `the system does not trust the authority of this test, and a verify block may`() async throws {
        let (listener, port) = try await listen()
        let stranger = Watched(to: "localhost", port, .dtls).start()
        await eventually("failed") {
            [errSSLNoRootCert, errSSLUnknownRootCert].contains { stranger.state == .failed(.tls($0)) }
        }
        let judged = Record<Bool>()
        let pending = Record<sec_protocol_verify_complete_t>()
        let options = NWProtocolTLS.Options()
        sec_protocol_options_set_verify_block(
            options.securityProtocolOptions,
            { metadata, trust, complete in
                #expect(sec_protocol_metadata_get_negotiated_tls_protocol_version(metadata) == .DTLSv12)
                judged.append(SecTrustEvaluateWithError(trust, nil))
                pending.append(complete)
            },
            DispatchQueue(label: "judge")
        )
        let client = Watched(to: "localhost", port, NWParameters(dtls: options)).start()
        await eventually("asked") { pending.values.count == 1 }
        #expect(judged.values == [false] && client.state == .preparing)
        pending.values.first?(true)
        await eventually("ready") { client.state == .ready }
        let refused = Watched(to: "localhost", port, NWParameters(dtls: options)).start()
        await eventually("asked again") { pending.values.count == 2 }
        pending.values.last?(false)
        await eventually("failed") { refused.state == .failed(.tls(errSSLXCertChainInvalid)) }
        let server = try #require(listener.accepted.values.last)
        server.receiveMessage()
        await eventually("the server is told, which has no stream that ends") { server.received.values == [.end] }
    }

    @Test func `a listener may want to know its clients`() async throws {
        let identity = try certificates.identity(.client)
        let authority = certificates.authority
        let (listener, port) = try await listen { options in
            sec_protocol_options_set_peer_authentication_required(options, true)
            options.linuxAuthorities = authority
        }
        let (_, server) = try await pair(listener, at: port) { options in
            sec_protocol_options_set_local_identity(options, identity)
        }
        #expect(try server.security().linuxCertificates.count == 1)
        let nobody = client(to: port).start()
        await eventually("refused, but \(nobody.state)") {
            if case .failed(.tls) = nobody.state { true } else { false }
        }
        await eventually("the server knows") {
            if case .failed(.tls) = listener.accepted.values.last?.state { true } else { false }
        }
    }

    @Test func `a listener without a certificate, or without a version, fails`() async throws {
        let none = try WatchedListener(.dtls)
        _ = await none.start()
        await eventually("none") { none.states.values == [.failed(.tls(errSSLBadConfiguration))] }
        let late = try certificates.serverOptions {
            sec_protocol_options_set_min_tls_protocol_version($0, .TLSv13)
        }
        let other = try WatchedListener(NWParameters(dtls: late))
        _ = await other.start()
        await eventually("no version") { other.states.values == [.failed(.tls(errSSLBadConfiguration))] }
    }

    @Test func `a program hears of clients only that have shown that datagrams reach them`() async throws {
        let (listener, port) = try await listen()
        let values = certificates.clientOptions().securityProtocolOptions.values
        let session = try TLSSession(values, peerName: "localhost", isServer: false, longestDatagram: 1232)
        _ = try session.handshake()
        let hello = session.drainOutput()
        let stranger = Watched(to: "127.0.0.1", port, .udp).start()
        let answers = Record<Data>()
        for _ in 0..<3 {
            stranger.connection.receiveMessage { content, _, _, _ in answers.append(content ?? Data()) }
        }
        stranger.send("nonsense")
        for _ in 0..<3 { stranger.connection.send(content: hello, completion: .idempotent) }
        await eventually("asked for a cookie") { answers.values.count == 3 }
        #expect(answers.values.allSatisfy { $0.count < hello.count && $0.count > 25 && $0[13] == 3 })
        #expect(listener.accepted.values.isEmpty)
        session.feed(answers.values[0])
        _ = try session.handshake()
        stranger.connection.send(content: session.drainOutput(), completion: .idempotent)
        await eventually("heard of") { listener.accepted.values.count == 1 }
    }
}

extension NWEndpoint {
    fileprivate var isIPv6: Bool {
        if case .hostPort(.ipv6, _) = self { true } else { false }
    }
}
