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

    @Test func `the same head means the same request, of its kind of peer`() {
        let repeated = RepeatedRequests()
        #expect(repeated.known(for: .tcp) { $0 == Self.head } == nil)
        let kept = repeated.keep(Self.request, of: Self.head)
        #expect(repeated.known(for: .tcp) { $0 == Self.head } === kept)
        #expect(kept.request(from: .tcp) == Self.request)
        #expect(repeated.target { $0 == Self.head.target } == Self.head.target)
        #expect(repeated.target { $0 == [1] } == nil)
        // What a socket that checks no host admits, the others need not.
        #expect(repeated.known(for: .unix(process: 1, user: 2, group: 3)) { $0 == Self.head } == nil)
        var other = Self.head
        other.fields[0].value = Array("evil.example".utf8)
        #expect(repeated.known(for: .tcp) { $0 == other } == nil)
        other = Self.head
        other.fields[0].trailing = 3
        #expect(repeated.known(for: .tcp) { $0 == other } == nil)
        repeated.forget()
        #expect(repeated.known(for: .tcp) { $0 == Self.head } == nil)
    }

    @Test func `a unix peer is the one that asks, not the one before`() {
        let repeated = RepeatedRequests()
        var request = Self.request
        request.peer = .unix(process: 1, user: 0, group: 0)
        let kept = repeated.keep(request, of: Self.head)
        repeated.keep(answer("root's"), to: request, of: kept)
        let other = HTTPPeer.unix(process: 2, user: 1000, group: 1000)
        #expect(repeated.known(for: other) { $0 == Self.head } === kept)
        #expect(kept.request(from: other).peer == other)
        #expect(kept.answer(for: other) == nil && kept.answer(for: request.peer) != nil)
    }

    @Test func `an answer holds for its turn and its request`() throws {
        let repeated = RepeatedRequests()
        let kept = repeated.keep(Self.request, of: Self.head)
        repeated.keep(answer("one"), to: Self.request, of: kept)
        #expect(try #require(kept.answer(for: .tcp)).response.text == "one")
        #expect(!repeated.isEmpty)
        repeated.endTurn()
        #expect(kept.answer(for: .tcp) == nil && repeated.isEmpty)
        var withBody = Self.request
        withBody.body = [1]
        repeated.keep(answer("to a body"), to: withBody, of: kept)
        #expect(repeated.isEmpty)
    }

    @Test func `streams and last answers are nobody else's, and a change ends the moment`() {
        let repeated = RepeatedRequests()
        let kept = repeated.keep(Self.request, of: Self.head)
        let stream = HTTPResponse(status: 200, body: .stream(OutgoingStream()))
        repeated.keep(ReadyAnswer(stream, route: "/"), to: Self.request, of: kept)
        repeated.keep(answer("last", closes: true), to: Self.request, of: kept)
        #expect(repeated.isEmpty)
        repeated.keep(answer("kept"), to: Self.request, of: kept)
        repeated.keep(nil, to: Self.request, of: kept)
        #expect(!repeated.isEmpty)
        var change = Self.request
        change.method = "POST"
        repeated.keep(answer("changed"), to: change, of: repeated.keep(change, of: Self.head))
        #expect(repeated.isEmpty && kept.answer(for: .tcp) == nil)
        repeated.keep(answer("kept"), to: Self.request, of: kept)
        repeated.keep(nil, to: change, of: kept)
        #expect(repeated.isEmpty)
    }

    @Test func `the oldest heads make room`() {
        let repeated = RepeatedRequests()
        let heads = (0..<100).map { number in
            var head = Self.head
            head.target = Array("/\(number)".utf8)
            return head
        }
        for head in heads { _ = repeated.keep(Self.request, of: head) }
        let known = heads.filter { head in repeated.known(for: .tcp) { $0 == head } != nil }
        #expect(known == Array(heads.suffix(8)))
    }

    @Test func `a head that made room, or was forgotten, loses its answer with the turn as well`() {
        let repeated = RepeatedRequests()
        let kept = repeated.keep(Self.request, of: Self.head)
        for _ in 0..<8 { _ = repeated.keep(Self.request, of: Self.head) }
        repeated.keep(answer("old"), to: Self.request, of: kept)
        #expect(!repeated.isEmpty && kept.answer(for: .tcp) != nil)
        repeated.endTurn()
        #expect(repeated.isEmpty && kept.answer(for: .tcp) == nil)
        repeated.forget()
        repeated.keep(answer("older"), to: Self.request, of: kept)
        repeated.endTurn()
        #expect(kept.answer(for: .tcp) == nil)
    }

    @Test func `a turn keeps few answers`() {
        let repeated = RepeatedRequests()
        let all = (0..<100).map { _ in repeated.keep(Self.request, of: Self.head) }
        for one in all { repeated.keep(answer("x"), to: Self.request, of: one) }
        #expect(all.count { $0.answer(for: .tcp) != nil } == 8)
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
