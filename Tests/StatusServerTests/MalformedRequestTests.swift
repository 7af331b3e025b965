// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport
import Testing

@testable import StatusServer

/// A request that must not reach a route, and what it is answered.
struct Malformed: CustomTestStringConvertible, Sendable {
    let name: String
    let request: String
    let statuses: [Int]

    init(_ name: String, _ request: String, _ statuses: Int...) {
        self.name = name
        self.request = request
        self.statuses = statuses
    }

    var testDescription: String { name }

    static let table = [
        Malformed("two lengths", post("Content-Length: 1\r\nContent-Length: 1\r\n") + "x", 400),
        Malformed("two different lengths", post("Content-Length: 1\r\nContent-Length: 2\r\n") + "x", 400),
        Malformed("length and coding", post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n", 400),
        Malformed("coding and length", post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n") + "0\r\n\r\n", 400),
        Malformed("two codings", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400),
        Malformed("unknown coding", post("Transfer-Encoding: gzip, chunked\r\n") + "0\r\n\r\n", 400),
        Malformed("chunked in HTTP/1.0", "POST /-/reload HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        Malformed("negative length", post("Content-Length: -1\r\n"), 400),
        Malformed("signed length", post("Content-Length: +1\r\n") + "x", 400),
        Malformed("list of lengths", post("Content-Length: 1, 1\r\n") + "x", 400),
        Malformed("huge length", post("Content-Length: 99999999999999999999999\r\n"), 400, 413),
        Malformed("large body announced", post("Content-Length: 65537\r\n"), 413),
        Malformed("two hosts", get("Host: localhost\r\n"), 400),
        Malformed("no host", "GET /-/ready HTTP/1.1\r\n\r\n", 400),
        Malformed("NUL in a value", get("X: a\0b\r\n"), 400),
        Malformed("NUL at the end of a value", get("X: ab\0\r\nY: c\r\n"), 400),
        Malformed("NUL in a name", get("X\0Y: b\r\n"), 400),
        Malformed("NUL in the target", "GET /-/ready\0x HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        Malformed("bare CR in a value", get("X: a\rY: b\r\n"), 400),
        Malformed("bare CR as line end", "GET /-/ready HTTP/1.1\rHost: localhost\r\r", 400, 0),
        Malformed("folded field", get("X: a\r\n b\r\n"), 400),
        Malformed("folded with tab", get("X: a\r\n\tb\r\nY: c\r\n"), 400),
        Malformed("first field folded", "GET /-/ready HTTP/1.1\r\n Host: localhost\r\n\r\n", 400),
        Malformed("space before the colon", get("X : a\r\n"), 400),
        Malformed("tab before the colon", get("X\t: a\r\n"), 400),
        Malformed("space in a name", get("X Y: a\r\n"), 400),
        Malformed("empty name", get(": a\r\n"), 400),
        Malformed("no colon", get("nonsense\r\n"), 400),
        Malformed("control character", get("X: a\u{1}b\r\n"), 400),
        Malformed("two spaces in the line", "GET  /-/ready HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, 0),
        Malformed("space behind the target", "GET /-/ready  HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, 505, 0),
        Malformed("space in the target", "GET /-/re ady HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, 505, 0),
        Malformed("control in the target", "GET /-/re\u{7}ady HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        Malformed("fragment", "GET /-/ready#x HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        Malformed("star target", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        Malformed("authority target", "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        Malformed("HTTP/1.2", "GET /-/ready HTTP/1.2\r\nHost: localhost\r\n\r\n", 505),
        Malformed("HTTP/2.0", "GET /-/ready HTTP/2.0\r\nHost: localhost\r\n\r\n", 505),
        Malformed("no version", "GET /-/ready\r\n\r\n", 400, 505, 0),
        Malformed("not HTTP at all", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}\r\n\r\n", 400, 0),
        Malformed("long target", get("", target: "/" + String(repeating: "a", count: 4000)), 414),
        Malformed("endless target", "GET /" + String(repeating: "a", count: 40_000), 414),
        Malformed("large field", get("X: " + String(repeating: "a", count: 9000) + "\r\n"), 431),
        Malformed("endless field", "GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 40_000), 431),
        Malformed("many fields", get((0..<70).map { "X\($0): a\r\n" }.joined()), 431),
        Malformed("very many fields", get((0..<500).map { "X\($0): a\r\n" }.joined()), 431),
    ]

    private static func get(_ fields: String, target: String = "/-/ready") -> String {
        "GET \(target) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n"
    }

    private static func post(_ fields: String) -> String {
        "POST /-/reload HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n"
    }
}

@Suite(.inNamespace) struct MalformedRequestTests {
    @Test(arguments: Malformed.table)
    func `refuses and closes`(case malformed: Malformed) async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        // What follows must never be taken for a request.
        client.send(malformed.request + "GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.finishSending()
        await client.waitForClose()
        let status = client.text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        #expect(malformed.statuses.contains(status), "\(client.text)")
        #expect(!client.text.contains(" 200 "))
        #expect(fixture.provider.reloads == 0)
        // Who refused it, the library or our guard, makes no difference to those who count.
        if status > 0 {
            let counted = fixture.metrics.split(separator: "\n").contains { line in
                line.hasPrefix("nwpath_http_requests_total{handler=\"invalid\",") && line.contains("code=\"\(status)\"")
            }
            #expect(counted, "\(status) is not counted")
        }
        let honest = try await fixture.get("/-/ready")
        #expect(honest.status == 200)
    }

    @Test func `understands a request that comes byte by byte`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        let long = String(repeating: "v", count: 1500)
        let request = "GET /api/v1/paths/default HTTP/1.1\r\nHost: localhost\r\nX-Long: \(long)\r\nAccept: */*\r\n\r\n"
        for byte in request.utf8 {
            client.send([byte])
            await fixture.loop.sleep(for: .microseconds(20))
        }
        let response = try await client.response()
        #expect(response.body == "{\"name\":\"default\"}\n")
    }

    @Test(arguments: [
        "Host:localhost\r\n", "Host:   localhost\r\n", "Host: \tlocalhost\r\nEmpty:\r\nEmpty-Too: \r\n",
        "hOST: localhost\r\nX: \u{e9}\r\n", "Host: localhost\r\nCookie: a=b; c=d\r\n",
        "Host: localhost\r\nExpect: 100-continue\r\n", "Host: localhost\r\nConnection: keep-alive, foo\r\n",
    ])
    func `accepts unusual but sound heads`(fields: String) async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        client.send("GET /-/ready HTTP/1.1\r\n\(fields)\r\n")
        await client.wait("an answer") { $0.text.contains("200 OK") && $0.text.hasSuffix("ok\n") }
    }

    @Test func `answers fifty pipelined requests in order`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.tcpClient()
        let targets = (0..<50).map { $0.isMultiple(of: 2) ? "/api/v1/dns" : "/api/v1/paths/p\($0)" }
        client.send(targets.map { "GET \($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined())
        for (index, _) in targets.enumerated() {
            let response = try await client.response()
            #expect(response.body.contains(index.isMultiple(of: 2) ? "dns" : "'p\(index)'"))
        }
        #expect(fixture.server.connectionCount == 1)
    }

    @Test func `takes a chunked body and goes on with the next request`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        let head = "POST /-/reload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        client.send(head + "3\r\nabc\r\n0\r\n\r\n" + "GET /-/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let first = try await client.response()
        let second = try await client.response()
        #expect(first.status == 200)
        #expect(second.body == "ok\n")
    }

    @Test(arguments: [false, true])
    func `a chunked body over the limit gets its 413`(overTCP: Bool) async throws {
        let fixture = try ServerFixture()
        let client = overTCP ? try fixture.tcpClient() : try fixture.client()
        client.send("POST /-/reload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<70 { client.send("400\r\n" + String(repeating: "a", count: 1024) + "\r\n") }
        client.send("0\r\n\r\n")
        let response = try await client.response()
        #expect(response.status == 413 && response.body.contains("The body is too large."))
        #expect(response.fields["connection"]?.lowercased() == "close")
        await client.waitForClose()
        #expect(client.received.isEmpty)
        #expect(fixture.provider.reloads == 0)
        let counted = fixture.metrics.split(separator: "\n").contains { line in
            line.hasPrefix("nwpath_http_requests_total{handler=\"invalid\",") && line.contains("code=\"413\"")
        }
        #expect(counted)
    }

    @Test func `ends a connection whose chunked body has no end`() async throws {
        let fixture = try ServerFixture { $0.server.bodyDeadline = .milliseconds(60) }
        let client = try fixture.client()
        client.send("POST /-/reload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<70 { client.send("400\r\n" + String(repeating: "a", count: 1024) + "\r\n") }
        await client.waitForClose()
        #expect(fixture.provider.reloads == 0)
    }

    @Test(arguments: ["HTTP/1.0\r\n", "HTTP/1.0\r\nHost: localhost\r\n"])
    func `answers HTTP 1.0 and closes`(rest: String) async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        client.send("GET /-/ready \(rest)\r\n")
        await client.waitForClose()
        #expect(client.text.hasSuffix("ok\n"))
    }

    @Test(arguments: [
        ("evil.example", 421), ("evil.example:8353", 421), ("localhost.evil.example", 421), ("127.0.0.1.nip.io", 421),
        ("", 421), ("[::1", 421), ("localhost:http", 421), ("user@localhost", 421),
        ("localhost", 200), ("LOCALHOST:8353", 200), ("localhost.", 200), ("127.0.0.1:80", 200), ("[::1]:8353", 200),
        ("192.0.2.1", 200), ("status.example:99", 200),
    ])
    func `serves only hosts that nobody else can name`(host: String, status: Int) async throws {
        let fixture = try ServerFixture { $0.hostNames = ["Status.Example"] }
        let client = try fixture.tcpClient()
        client.send("GET /api/v1/status HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        let response = try await client.response()
        #expect(response.status == status)
        #expect(response.body.contains("/problems/host-not-allowed") == (status == 421))
        let near = try fixture.client()
        near.send("GET /api/v1/status HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        let exempt = try await near.response()
        #expect(exempt.status == 200)
    }

    @Test func `checks the host of an absolute target before the field`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.tcpClient()
        client.send("GET http://evil.example/-/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let response = try await client.response()
        #expect(response.status == 421)
    }
}
