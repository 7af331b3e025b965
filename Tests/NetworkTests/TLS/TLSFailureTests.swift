// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import Network
import Testing

@Suite struct TLSFailureTests {
    @Test(
        arguments: [
            (10, errSSLCertExpired), (9, errSSLCertNotYetValid), (18, errSSLUnknownRootCert),
            (19, errSSLUnknownRootCert), (20, errSSLNoRootCert), (62, errSSLHostNameMismatch),
            (64, errSSLHostNameMismatch), (7, errSSLXCertChainInvalid),
        ] as [(Int32, OSStatus)]
    )
    func `what the checks say has a code`(verification: Int32, status: OSStatus) {
        #expect(TLSFailure(verification: verification).status == status)
    }

    @Test(
        arguments: [
            (40, errSSLPeerHandshakeFail), (42, errSSLPeerBadCert), (45, errSSLPeerCertExpired),
            (48, errSSLPeerUnknownCA), (70, errSSLPeerProtocolVersion), (10, errSSLPeerUnexpectedMsg),
            (99, errSSLPeerHandshakeFail),
        ] as [(Int32, OSStatus)]
    )
    func `what the peer says has a code`(alert: Int32, status: OSStatus) {
        #expect(TLSFailure(verification: 0, alert: alert).status == status)
    }

    @Test func `anything else is a broken protocol`() {
        #expect(TLSFailure().status == errSSLProtocol)
        #expect(NWError.tls(errSSLProtocol).errorCode == -9800)
    }
}

/// Two ends in memory, without a socket.
@Suite struct TLSSessionTests {
    private let certificates: Certificates

    init() throws { certificates = try Certificates.shared.get() }

    private func values(
        _ change: (inout sec_protocol_options_t.Values) throws -> Void
    ) rethrows
        -> sec_protocol_options_t.Values
    {
        var values = sec_protocol_options_t.Values()
        try change(&values)
        return values
    }

    private func server() throws -> TLSSession {
        let values = try values { $0.identity = try certificates.identity(.server) }
        return try TLSSession(values, peerName: nil, isServer: true)
    }

    private func client(_ name: String? = "localhost") throws -> TLSSession {
        try TLSSession(values { $0.authorities = certificates.authority }, peerName: name, isServer: false)
    }

    /// Carries bytes until both have shaken hands, `step` bytes at a time.
    private func shake(_ client: borrowing TLSSession, _ server: borrowing TLSSession, step: Int = .max) throws {
        var (isDone, isServed) = (false, false)
        var turns = 0
        while !(isDone && isServed), turns < 10_000 {
            turns += 1
            if !isDone { isDone = try client.handshake() }
            carry(client.drainOutput(), step: step, to: server)
            if !isServed { isServed = try server.handshake() }
            carry(server.drainOutput(), step: step, to: client)
        }
        #expect(isDone && isServed)
    }

    private func carry(_ bytes: Data, step: Int, to session: borrowing TLSSession) {
        var rest = bytes
        while !rest.isEmpty {
            session.feed(rest.prefix(step))
            rest = rest.dropFirst(step)
        }
    }

    private func text(_ content: TLSSession.Content?) -> String? {
        guard case .bytes(let bytes)? = content else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: [1, 7, Int.max]) func `two ends agree, however their bytes are cut`(step: Int) throws {
        let client = try self.client()
        let server = try self.server()
        try shake(client, server, step: step)
        try client.write(Data("hello".utf8))
        try client.write(Data(" world".utf8))
        carry(client.drainOutput(), step: step, to: server)
        #expect(text(try server.read(upTo: 100)) == "hello")
        #expect(text(try server.read(upTo: 3)) == " wo")
        #expect(text(try server.read(upTo: 100)) == "rld")
        #expect(try server.read(upTo: 100).map { _ in true } == nil)
        client.finish()
        server.feed(client.drainOutput())
        guard case .end? = try server.read(upTo: 1) else {
            Issue.record("no end")
            return
        }
        try server.write(Data("still".utf8))
        client.feed(server.drainOutput())
        #expect(text(try client.read(upTo: 100)) == "still")
    }

    @Test func `a wrong name is found out by the client, and told to the server`() throws {
        let client = try self.client("elsewhere.example")
        let server = try self.server()
        #expect(throws: NWError.tls(errSSLHostNameMismatch)) { try shake(client, server) }
        server.feed(client.drainOutput())
        #expect(throws: NWError.tls(errSSLPeerBadCert)) { try server.handshake() }
    }

    @Test func `bytes that were changed on the way are found out`() throws {
        let client = try self.client()
        let server = try self.server()
        try shake(client, server)
        try client.write(Data("hello".utf8))
        var bytes = client.drainOutput()
        bytes[bytes.count - 1] ^= 1
        server.feed(bytes)
        #expect(throws: NWError.self) { try server.read(upTo: 100) }
    }

    @Test func `options that make no sense are refused`() {
        let bad = NWError.tls(errSSLBadConfiguration)
        func make(_ change: (inout sec_protocol_options_t.Values) -> Void) throws {
            _ = try TLSSession(values(change), peerName: "localhost", isServer: false)
        }
        #expect(throws: bad) { try make { $0.protocols = [""] } }
        #expect(throws: bad) { try make { $0.protocols = [String(repeating: "x", count: 256)] } }
        #expect(throws: bad) { try make { $0.authorities = Data("no certificate".utf8) } }
        let broken = sec_identity_t(linuxCertificates: Data("nonsense".utf8), privateKey: Data())
        #expect(throws: bad) { try make { $0.identity = broken } }
    }

    @Test func `options are copied, and keep what was set`() {
        let options = NWProtocolTLS.Options()
        let security = options.securityProtocolOptions
        sec_protocol_options_set_tls_server_name(security, "a.example")
        sec_protocol_options_add_tls_application_protocol(security, "h2")
        sec_protocol_options_set_min_tls_protocol_version(security, .TLSv13)
        let copy = options.copy()
        sec_protocol_options_set_tls_server_name(security, "b.example")
        sec_protocol_options_add_tls_application_protocol(security, "http/1.1")
        let (first, second) = (copy.securityProtocolOptions.values, security.values)
        #expect(first.serverName == "a.example" && first.protocols == ["h2"] && first.lowest == .TLSv13)
        #expect(second.serverName == "b.example" && second.protocols == ["h2", "http/1.1"])
        #expect(options.name == "tls" && first.requiresPeer && !first.requiresClient)
        let parameters = NWParameters(tls: options)
        #expect(parameters.copy().defaultProtocolStack.applicationProtocols.first?.name == "tls")
        #expect(NWParameters(tls: nil).defaultProtocolStack.applicationProtocols.isEmpty)
    }
}
