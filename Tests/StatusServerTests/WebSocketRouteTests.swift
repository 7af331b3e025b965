// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import Metrics
import TestSupport
import Testing

@testable import StatusServer

extension RawClient {
    /// The header fields of a sound request for a WebSocket.
    static let upgrade = """
        Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n
        """
}

@Suite(.inNamespace) struct WebSocketRouteTests {
    static let fields = [
        "Host": "localhost:8353", "Upgrade": "websocket", "Connection": "keep-alive, Upgrade",
        "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    ]

    @Test func `agrees to the standard's example`() throws {
        let fixture = APIFixture()
        let answer = try fixture.get("/api/v1/events/ws", Self.fields)
        #expect(answer.status == 101 && answer.field("Upgrade") == "websocket")
        #expect(answer.field("Sec-WebSocket-Accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(answer.field("Sec-WebSocket-Protocol") == nil)
        #expect(fixture.metrics.clients(.websocket) == 1)
    }

    @Test(arguments: ["Upgrade", "Connection", "Sec-WebSocket-Version"])
    func `without an upgrade, 426 says what is spoken here`(missing: String) throws {
        let answer = try APIFixture().get("/api/v1/events/ws", Self.fields.filter { $0.key != missing })
        #expect(answer.status == 426 && answer.field("Content-Type") == "application/problem+json")
        #expect(answer.field("Sec-WebSocket-Version") == "13" && answer.field("Upgrade") == "websocket")
        #expect(answer.text.contains("Upgrade required"))
    }

    @Test(
        arguments: [
            (["Sec-WebSocket-Key": "x"], "", 400, "about:blank"),
            (["Origin": "http://evil.example"], "", 403, "/problems/origin-not-allowed"),
            ([:], "?since=never", 400, "/problems/bad-parameter"), ([:], "?limit=1", 400, "/problems/bad-parameter"),
            ([:], "?since=7f3a.3", 410, "/problems/since-too-old"), ([:], "?since=beef.12", 410, "since-too-old"),
            ([:], "?since=99", 410, "/problems/since-too-old"),
        ] as [([String: String], String, Int, String)]
    )
    func `what cannot be is refused before the upgrade`(
        changes: [String: String],
        query: String,
        status: Int,
        problem: String
    ) throws {
        let fixture = APIFixture()
        for _ in 0..<20 { fixture.provider.add() }
        fixture.provider.oldest = 10
        let fields = Self.fields.merging(changes) { $1 }
        let answer = try fixture.get("/api/v1/events/ws\(query)", fields)
        #expect(answer.status == status && answer.text.contains(problem))
        #expect(fixture.metrics.clients(.websocket) == 0)
    }

    @Test func `streams of every kind share one limit`() throws {
        let fixture = APIFixture { $0.streams = 2 }
        #expect(try fixture.get("/api/v1/events").status == 200)
        #expect(try fixture.get("/api/v1/events/ws", Self.fields).status == 101)
        let answer = try fixture.get("/api/v1/events/ws", Self.fields)
        #expect(answer.status == 429 && answer.field("Retry-After") == "10")
    }

    @Test func `guards hold on the wire`() async throws {
        let fixture = try ServerFixture()
        let foreign = try await fixture.get(
            "/api/v1/events/ws",
            fields: RawClient.upgrade + "Origin: http://evil.example\r\n",
            overTCP: true
        )
        #expect(foreign.status == 403 && foreign.body.contains("/problems/origin-not-allowed"))
        let client = try fixture.tcpClient()
        client.send("GET /api/v1/events/ws HTTP/1.1\r\nHost: evil.example\r\n\(RawClient.upgrade)\r\n")
        #expect(try await client.response().status == 421)
        let old = try fixture.client()
        old.send("GET /api/v1/events/ws HTTP/1.0\r\nHost: localhost\r\n\(RawClient.upgrade)\r\n")
        #expect(try await old.response().status == 426)
        let head = try fixture.client()
        head.send("HEAD /api/v1/events/ws HTTP/1.1\r\nHost: localhost\r\n\(RawClient.upgrade)\r\n")
        let refusal = try await head.response(headOnly: true)
        #expect(refusal.status == 405 && refusal.fields["allow"] == "GET, OPTIONS")
        #expect(fixture.server.api.streams.count == 0)
    }

    @Test func `an upgrade that never happens frees its place`() async throws {
        let fixture = try ServerFixture()
        for _ in 0..<50 {
            let client = try fixture.client()
            client.get("/api/v1/events/ws", fields: RawClient.upgrade)
        }
        await fixture.loop.eventually { fixture.server.connectionCount == 0 && fixture.server.api.streams.count == 0 }
    }
}
