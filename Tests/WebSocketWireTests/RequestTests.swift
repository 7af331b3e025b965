// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WebSocketWire

private let head = """
    GET /chat?room=1 HTTP/1.1\r
    Host: example.net\r
    upgrade: websocket\r
    Connection: keep-alive, Upgrade\r
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
    Sec-WebSocket-Version: 13\r
    Sec-WebSocket-Protocol: one\r
    Origin:\thttp://example.net \r
    Sec-WebSocket-Protocol: two, three\r\n
    """

private func bytes(_ text: String) -> [UInt8] { Array((text + "\r\n").utf8) }

private func failure(_ text: String) -> WebSocketRequest.Failure? {
    var reader = WebSocketRequest.Reader()
    do throws(WebSocketRequest.Failure) {
        _ = try reader.receive(bytes(text))
        return nil
    } catch {
        return error
    }
}

private func text(_ bytes: [UInt8]?) -> String { String(decoding: bytes ?? [], as: UTF8.self) }

@Suite struct WebSocketRequestTests {
    @Test(arguments: [1, 2, 5, 1000]) func `a request is read however its bytes come`(step: Int) throws {
        var reader = WebSocketRequest.Reader()
        let all = bytes(head) + [0x81, 0x80]
        var found: WebSocketRequest?
        var rest: [UInt8] = []
        for start in stride(from: 0, to: all.count, by: step) {
            let part = Array(all[start..<min(start + step, all.count)])
            if found != nil {
                rest += part
            } else if let (request, more) = try reader.receive(part) {
                found = request
                rest += more
            }
        }
        let request = try #require(found)
        #expect(request.target == "/chat?room=1" && rest == [0x81, 0x80])
        #expect(request.handshake.offers == ["one", "two", "three"] && request.handshake.subprotocol == nil)
        #expect(request.fields.map(\.name) == ["Host", "Origin"])
        #expect(request.fields.map(\.value) == ["example.net", "http://example.net"])
    }

    @Test func `the answer proves that the key was read`() throws {
        var reader = WebSocketRequest.Reader()
        var request = try #require(try reader.receive(bytes(head))).request
        request.handshake.subprotocol = "two"
        #expect(
            text(request.acceptance([(name: "X-More", value: "a b")])) == """
                HTTP/1.1 101 Switching Protocols\r
                Connection: Upgrade\r
                Upgrade: websocket\r
                Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r
                Sec-WebSocket-Protocol: two\r
                X-More: a b\r
                \r\n
                """
        )
        #expect(request.acceptance([(name: "X", value: "a\r\nSet-Cookie: b")]) == nil)
    }

    @Test(
        arguments: [
            ("\r\n", .malformed), ("GET /\r\n", .malformed), ("GET  HTTP/1.1\r\nHost: a\r\n", .malformed),
            ("GET / HTTP/2\r\nHost: a\r\n", .malformed), ("GET / HTTP/1.1\r\n", .malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n", .malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n", .malformed),
            ("GET / HTTP/1.1\r\nHost : a\r\n", .malformed), ("GET / HTTP/1.1\r\n: a\r\n", .malformed),
            ("GET / HTTP/1.1\r\nHost: a\nX: b\r\n", .malformed), ("GET / HTTP/1.1\r\nHost: a\u{0}\r\n", .malformed),
            ("GET / HTTP/1.0\r\nHost: a\r\n", .refused(.notRequested)),
            ("GET / HTTP/1.1\r\nHost: a\r\n", .refused(.notRequested)),
        ] as [(String, WebSocketRequest.Failure)]
    )
    func `anything else opens nothing`(text: String, expected: WebSocketRequest.Failure) {
        #expect(failure(text) == expected)
    }

    @Test func `a handshake that is not sound is refused for its reason`() {
        #expect(failure(head.replacing("Version: 13", with: "Version: 8")) == .refused(.otherVersion))
        #expect(failure(head.replacing("dGhlIHNhbXBsZSBub25jZQ==", with: "short")) == .refused(.badKey))
        #expect(failure(head.replacing("GET", with: "POST")) == .refused(.notRequested))
    }

    @Test func `a head that does not end is given up`() throws {
        var reader = WebSocketRequest.Reader()
        let line = bytes("X: " + String(repeating: "x", count: 995))
        #expect(throws: WebSocketRequest.Failure.tooLong) {
            for _ in 0..<20 { _ = try reader.receive(line) }
        }
        #expect(failure(head + "X: " + String(repeating: "x", count: 20_000) + "\r\n") == .tooLong)
    }

    @Test(
        arguments: [
            (.malformed, "400 Bad Request"), (.refused(.badKey), "400 Bad Request"),
            (.refused(.notRequested), "426 Upgrade Required"), (.refused(.otherVersion), "426 Upgrade Required"),
            (.tooLong, "431 Request Header Fields Too Large"),
        ] as [(WebSocketRequest.Failure, String)]
    )
    func `each failure has its answer`(failure: WebSocketRequest.Failure, status: String) {
        let lines = text(failure.answer).split(separator: "\r\n", omittingEmptySubsequences: false)
        #expect(lines.first == "HTTP/1.1 \(status)" && lines.suffix(2) == ["", ""])
        #expect(lines.contains("Content-Length: 0"))
        #expect(lines.contains("Sec-WebSocket-Version: 13") == status.hasPrefix("426"))
        #expect(lines[1] == (status.hasPrefix("426") ? "Connection: Upgrade, close" : "Connection: close"))
    }

    @Test func `a refusal may have fields, unless they break it`() {
        let refusal = text(WebSocketRequest.refusal(.forbidden, [(name: "X-Why", value: "no")]))
        #expect(refusal.hasPrefix("HTTP/1.1 403 Forbidden\r\n") && refusal.hasSuffix("X-Why: no\r\n\r\n"))
        let broken = WebSocketRequest.refusal(.serverError, [(name: "X", value: "a\nb")])
        #expect(text(broken) == "HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    }

    @Test func `the fields of the handshake are known`() {
        #expect(["UPGRADE", "connection", "Sec-WebSocket-Key"].allSatisfy { WebSocketRequest.isOfHandshake($0) })
        #expect(!["Host", "Origin", "Sec-Fetch-Mode"].contains { WebSocketRequest.isOfHandshake($0) })
        #expect(WebSocketRequest.elements(of: " a,b ,, c") == ["a", "b", "c"])
    }

    @Test func `a client and a server on bare streams understand each other`() throws {
        var client = try #require(WebSocketClientHandshake(host: "h", target: "/x", subprotocols: ["a", "b"]))
        var reader = WebSocketRequest.Reader()
        var request = try #require(try reader.receive(client.request)).request
        request.handshake.subprotocol = "b"
        let answer = try #require(request.acceptance([(name: "Server", value: "test")]))
        #expect(try client.receive(answer) == .opened(subprotocol: "b", rest: []))
        #expect(client.fields.map(\.name).last == "Server")
    }

    @Test func `the fields of a refusal are kept`() throws {
        var client = try #require(WebSocketClientHandshake(host: "h", target: "/"))
        let answer = WebSocketRequest.refusal(.forbidden, [(name: "X-Why", value: "no")])
        #expect(throws: WebSocketClientHandshake.Failure.refused(status: 403)) { try client.receive(answer) }
        #expect(client.fields.last?.name == "X-Why")
    }
}
