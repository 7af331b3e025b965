// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport
import Testing

@testable import StatusServer

@Suite(.inNamespace) struct LongPollTests {
    private static let known = "If-None-Match: \"7f3a.1\"\r\n"

    @Test(arguments: ["\"7f3a.1\"", "W/\"7f3a.1\"", "\"a\", \"7f3a.1\"", "*"])
    func `answers 304 to a client that knows the state`(condition: String) async throws {
        let fixture = try ServerFixture()
        let fresh = try await fixture.get("/api/v1/status")
        #expect(fresh.fields["etag"] == "\"7f3a.1\"")
        let client = try fixture.client()
        client.get("/api/v1/status", fields: "If-None-Match: \(condition)\r\n")
        client.get("/-/ready")
        let same = try await client.response()
        #expect(same.status == 304)
        #expect(same.fields["etag"] == "\"7f3a.1\"")
        let next = try await client.response()
        #expect(next.body == "ok\n")
    }

    @Test func `answers at once when the state is another`() async throws {
        let fields = "If-None-Match: \"7f3a.0\"\r\n"
        let response = try await ServerFixture().get("/api/v1/status?wait=30s", fields: fields)
        #expect(response.status == 200)
    }

    @Test func `answers with the new state when it changes`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        client.get("/api/v1/status?wait=30s", fields: Self.known)
        await fixture.loop.eventually { fixture.metrics.contains("clients{transport=\"longpoll\"} 1") }
        fixture.server.documentsChanged()
        client.pump()
        #expect(client.text.isEmpty)
        fixture.provider.documents[.status] = Snapshot(Array("{\"new\":1}\n".utf8), tag: "7f3a.2")
        fixture.server.documentsChanged()
        let response = try await client.response()
        #expect(response.status == 200)
        #expect(response.body == "{\"new\":1}\n")
        #expect(response.fields["etag"] == "\"7f3a.2\"")
        #expect(fixture.metrics.contains("clients{transport=\"longpoll\"} 0"))
    }

    @Test func `answers 304 when the time is over`() async throws {
        let response = try await ServerFixture().get("/api/v1/status?wait=10ms", fields: Self.known)
        #expect(response.status == 304)
    }

    @Test func `forgets a client that goes away, and one whose document vanishes`() async throws {
        let fixture = try ServerFixture()
        var client: RawClient? = try fixture.client()
        client?.get("/api/v1/status?wait=30s", fields: Self.known)
        let other = try fixture.client()
        other.get("/api/v1/interfaces/eth0?wait=30s", fields: "If-None-Match: \"e1\"\r\n")
        await fixture.loop.eventually { fixture.metrics.contains("clients{transport=\"longpoll\"} 2") }
        client = nil
        await fixture.loop.eventually { fixture.metrics.contains("clients{transport=\"longpoll\"} 1") }
        fixture.provider.documents[.interface(name: "eth0")] = nil
        fixture.server.documentsChanged()
        let gone = try await other.response()
        #expect(gone.status == 404)
    }

    @Test func `refuses more waiting requests than it has room for`() async throws {
        let fixture = try ServerFixture { $0.api.longPolls = 1 }
        let client = try fixture.client()
        client.get("/api/v1/status?wait=30s", fields: Self.known)
        await fixture.loop.eventually { fixture.metrics.contains("clients{transport=\"longpoll\"} 1") }
        let refused = try await fixture.get("/api/v1/status?wait=30s", fields: Self.known)
        #expect(refused.status == 429)
    }
}
