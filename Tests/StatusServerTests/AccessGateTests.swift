// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport
import Testing

@testable import StatusServer

@Suite(.inNamespace) struct AccessGateTests {
    private static let token = "Authorization: Bearer 0123456789abcdef\r\n"

    private func fixture() throws -> ServerFixture {
        try ServerFixture { $0.access = AccessRules(users: ["ada": secretHash], token: "0123456789abcdef") }
    }

    private func basic(_ text: String) -> String {
        "Authorization: Basic \(Base64.text(of: Array(text.utf8)))\r\n"
    }

    @Test func `TCP asks, the unix socket does not`() async throws {
        let fixture = try fixture()
        let near = try await fixture.get("/-/ready")
        #expect(near.status == 200)
        let far = try await fixture.get("/-/ready", overTCP: true)
        #expect(far.status == 401 && far.fields["www-authenticate"]?.isEmpty == false)
        #expect(far.fields["content-type"] == "application/problem+json" && far.fields["cache-control"] == "no-store")
        let shown = try await fixture.get("/-/ready", fields: Self.token, overTCP: true)
        #expect(shown.status == 200)
        for (fields, status) in [("", 401), (Self.token, 204)] {
            let client = try fixture.tcpClient()
            client.send("OPTIONS /-/ready HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n")
            #expect(try await client.response().status == status)
        }
    }

    @Test func `passwords are checked beside the loop and remembered`() async throws {
        let fixture = try fixture()
        for _ in 0..<3 {
            let right = try await fixture.get("/-/ready", fields: basic("ada:secret"), overTCP: true)
            #expect(right.status == 200)
            let wrong = try await fixture.get("/-/ready", fields: basic("ada:wrong"), overTCP: true)
            #expect(wrong.status == 401)
        }
        let nobody = try await fixture.get("/-/ready", fields: basic("eve:secret"), overTCP: true)
        #expect(nobody.status == 401)
    }

    @Test func `the same question by many clients is one check, and clients may go away`() async throws {
        let fixture = try fixture()
        let clients = try (0..<20).map { _ in try fixture.tcpClient() }
        for client in clients { client.get("/-/ready", fields: basic("ada:secret")) }
        for client in clients[10...] { client.finishSending() }
        for client in clients[..<10] {
            let response = try await client.response()
            #expect(response.status == 200)
        }
    }

    @Test func `too many different passwords are told to come back`() async throws {
        let fixture = try ServerFixture {
            // A check of this cost takes longer than all the others take to come.
            $0.access = AccessRules(users: ["ada": "$2b$10$" + secretHash.dropFirst(7)], token: nil)
        }
        let clients = try (0..<30).map { _ in try fixture.tcpClient() }
        for (index, client) in clients.enumerated() { client.get("/-/ready", fields: basic("ada:\(index)")) }
        let response = try await clients[29].response()
        #expect(response.status == 503 && response.fields["retry-after"] == "1")
        let near = try await fixture.get("/-/ready")
        #expect(near.status == 200)
    }

    @Test func `new rules hold at once, also for connections that are open`() async throws {
        let fixture = try fixture()
        let client = try fixture.tcpClient()
        client.get("/-/ready", fields: basic("ada:secret"))
        let before = try await client.response()
        #expect(before.status == 200)
        var configuration = StatusServer.Configuration()
        configuration.access = AccessRules(users: ["bob": secretHash], token: nil)
        try fixture.server.take(configuration)
        client.get("/-/ready", fields: basic("ada:secret"))
        let after = try await client.response()
        #expect(after.status == 401)
        client.get("/-/ready", fields: basic("bob:secret"))
        let other = try await client.response()
        #expect(other.status == 200)
        try fixture.server.take(StatusServer.Configuration())
        client.get("/-/ready")
        let open = try await client.response()
        #expect(open.status == 200)
    }
}

@Suite struct TLSSettingsTests {
    private func pem(_ words: String...) throws -> [UInt8] { Array(try Command.run(["openssl"] + words).utf8) }

    /// A key and a certificate that it signed itself.
    private func pair() throws -> (certificate: [UInt8], key: [UInt8]) {
        let key = try pem("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1")
        let script = "f=$(mktemp); cat > $f; openssl req -x509 -new -key $f -days 3 -subj /CN=localhost; rm $f"
        let text = String(decoding: key, as: UTF8.self)
        return (Array(try Command.run(["sh", "-c", script], input: text).utf8), key)
    }

    @Test func `what belongs together is right, and what does not is told`() throws {
        let (first, second) = (try pair(), try pair())
        try TLSSettings(certificate: first.certificate, key: first.key).check()
        var settings = TLSSettings(certificate: first.certificate, key: second.key)
        let mismatch = #expect(throws: TLSSettings.Failure.self) { try settings.check() }
        #expect(mismatch?.part == .certificate && mismatch?.reason.isEmpty == false)
        settings.key = first.key
        settings.clientAuthorities = second.certificate
        try settings.check()
        settings.clientAuthorities = Array("nothing".utf8)
        #expect(throws: TLSSettings.Failure.self) { try settings.check() }
    }

    @Test(arguments: ["", "nonsense", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"])
    func `what is no certificate is told`(text: String) throws {
        let key = try pair().key
        let failure = #expect(throws: TLSSettings.Failure.self) {
            try TLSSettings(certificate: Array(text.utf8), key: key).check()
        }
        #expect(failure?.part == .certificate && failure?.reason.hasSuffix(".") == false)
    }
}

@Suite(.inNamespace) struct TLSServerTests {
    @Test func `a server that cannot use its certificate does not start, and never falls back to plain text`() {
        #expect(throws: StatusServerError.libraryFailed) {
            try ServerFixture { $0.tls = TLSSettings(certificate: Array("x".utf8), key: Array("y".utf8)) }
        }
    }

    @Test func `new settings that cannot be used leave the old in force`() async throws {
        let fixture = try ServerFixture()
        var configuration = StatusServer.Configuration()
        configuration.tls = TLSSettings(certificate: Array("x".utf8), key: Array("y".utf8))
        #expect(throws: StatusServerError.libraryFailed) { try fixture.server.take(configuration) }
        let answer = try await fixture.get("/-/ready", overTCP: true)
        #expect(answer.status == 200)
    }
}
