// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport
import Testing

@testable import StatusServer

@Suite struct RepeatedRequestsTests {
    private static let head = RequestHead(
        method: Array("GET".utf8),
        target: Array("/metrics".utf8),
        version: Array("HTTP/1.1".utf8),
        fields: [RequestHead.Field(name: Array("Host".utf8), value: Array("localhost".utf8))],
        size: 40
    )
    private static let request = HTTPRequest(path: ["metrics"], fields: [HTTPField("Host", "localhost")])

    private func answer(_ text: String, closes: Bool = false) -> ReadyAnswer {
        var response = HTTPResponse(status: 200, type: "text/plain", text: text)
        response.closes = closes
        return ReadyAnswer(response, route: "/")
    }

    @Test func `the same head means the same request, and keeps its own peer`() {
        var repeated = RepeatedRequests()
        #expect(repeated.request(from: .tcp) { $0 == Self.head } == nil && repeated.target == nil)
        repeated.keep(Self.request, of: Self.head)
        #expect(repeated.request(from: .tcp) { $0 == Self.head } == Self.request)
        #expect(repeated.target == Self.head.target)
        // What a socket that checks no host admits, the others need not.
        #expect(repeated.request(from: .unix(process: 1, user: 2, group: 3)) { $0 == Self.head } == nil)
        var other = Self.head
        other.fields[0].value = Array("evil.example".utf8)
        #expect(repeated.request(from: .tcp) { $0 == other } == nil)
        other = Self.head
        other.fields[0].trailing = 3
        #expect(repeated.request(from: .tcp) { $0 == other } == nil)
        repeated.forget()
        #expect(repeated.request(from: .tcp) { $0 == Self.head } == nil)
    }

    @Test func `a unix peer is the one that asks, not the one before`() throws {
        var repeated = RepeatedRequests()
        var request = Self.request
        request.peer = .unix(process: 1, user: 0, group: 0)
        repeated.keep(request, of: Self.head)
        let other = HTTPPeer.unix(process: 2, user: 1000, group: 1000)
        #expect(try #require(repeated.request(from: other) { $0 == Self.head }).peer == other)
    }

    @Test func `an answer holds for its turn and its request`() throws {
        var repeated = RepeatedRequests()
        repeated.keep(answer("one"), to: Self.request)
        #expect(try #require(repeated.answer(to: Self.request)).response.text == "one")
        var other = Self.request
        other.fields.append(HTTPField("Accept", "application/openmetrics-text"))
        #expect(repeated.answer(to: other) == nil)
        other = Self.request
        other.peer = .unix(process: 1, user: 0, group: 0)
        #expect(repeated.answer(to: other) == nil)
        repeated.endTurn()
        #expect(repeated.answer(to: Self.request) == nil && repeated.isEmpty)
    }

    @Test func `streams and last answers are nobody else's, and a change ends the moment`() {
        var repeated = RepeatedRequests()
        let stream = HTTPResponse(status: 200, body: .stream(OutgoingStream()))
        repeated.keep(ReadyAnswer(stream, route: "/"), to: Self.request)
        repeated.keep(answer("last", closes: true), to: Self.request)
        #expect(repeated.isEmpty)
        repeated.keep(answer("kept"), to: Self.request)
        var change = Self.request
        change.method = "POST"
        repeated.keep(answer("changed"), to: change)
        #expect(repeated.isEmpty)
        repeated.keep(answer("kept"), to: Self.request)
        repeated.pass(Self.request)
        #expect(!repeated.isEmpty)
        repeated.pass(change)
        #expect(repeated.isEmpty)
        for number in 0..<100 {
            var request = Self.request
            request.path = ["\(number)"]
            repeated.keep(answer("x"), to: request)
        }
        #expect(repeated.answer(to: HTTPRequest(path: ["99"], fields: Self.request.fields)) == nil)
    }
}

@Suite(.inNamespace) struct RepeatedRequestsOnTheWireTests {
    @Test func `requests that follow a change see it, and those of one turn agree`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        for number in 0..<20 {
            fixture.provider.documents[.status] = Snapshot(Array("{\"n\":\(number)}\n".utf8), tag: "t\(number)")
            for _ in 0..<5 { client.get("/api/v1/status") }
            for _ in 0..<5 { #expect(try await client.response().body == "{\"n\":\(number)}\n") }
        }
        #expect(fixture.metrics.contains("handler=\"/api/v1/status\",method=\"GET\",code=\"200\"} 100"))
    }

    /// Each looks like the first one once the library has ended its parts with NUL.
    @Test(arguments: [
        ("GET /api/v1/services?type=_a._tcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
        ("GET /api/v1/services?type&_a._tcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        ("GET /api/v1/services&type=_a._tcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        ("GET\0/api/v1/services?type=_a._tcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        ("GET /api/v1/services?type=_a._tcp\0HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        ("GET /api/v1/services?type=_a._tcp HTTP/1.1\r\nHost:\tlocalhost\r\n\r\n", 200),
        ("GET /api/v1/services?type=_a._tcp HTTP/1.1\r\nHost: localhost\n\r\n", 400),
        ("GET /api/v1/services?type=_a._tcp HTTP/1.1\r\nHost: localhos\0\r\n\r\n", 400),
        ("GET /api/v1/services?type=_a._tcp HTTP/1.1\r\nHost: localhosx\r\n\r\n", 421),
        ("GET /api/v1/services?type=_a._tcp HTTP/1.0\r\nHost: localhost\r\n\r\n", 200),
    ])
    func `a request that resembles the last one gets its own answer`(_ text: String, _ status: Int) async throws {
        let fixture = try ServerFixture()
        let services = StatusDocument.services(type: "_a._tcp", name: nil, interface: nil)
        fixture.provider.documents[services] = Snapshot(Array("[]\n".utf8), tag: "t")
        let client = try fixture.tcpClient()
        for _ in 0..<2 {
            client.get("/api/v1/services?type=_a._tcp")
            #expect(try await client.response().status == 200)
        }
        client.send(text)
        #expect(try await client.response().status == status)
    }

    @Test func `a reload between two questions is seen by the second`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        let status = "GET /-/ready HTTP/1.1\r\nHost: localhost\r\n\r\n"
        client.send(status + "POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n" + status)
        for _ in 0..<3 { #expect(try await client.response().status == 200) }
        #expect(fixture.provider.reloads == 1)
    }
}
