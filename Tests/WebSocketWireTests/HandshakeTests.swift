// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WebSocketWire

/// The key of the standard's example (section 1.3).
private let sample = "dGhlIHNhbXBsZSBub25jZQ=="
private let sampleAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

private let good = [
    "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": sample,
]

private func shake(
    _ changes: [String: String?] = [:],
    method: String = "GET",
    isHTTP11: Bool = true
) throws(WebSocketServerHandshake.Refusal) -> WebSocketServerHandshake {
    var fields = good
    for (name, value) in changes { fields[name] = value }
    return try WebSocketServerHandshake(
        method: method,
        isHTTP11: isHTTP11,
        supported: ["nwpath.v1", "nwpath.v0"]
    ) { fields[$0] }
}

@Suite struct WebSocketKeyTests {
    @Test func `answers the example of the standard`() throws {
        #expect(try #require(WebSocketKey(sample)).accept == sampleAccept)
    }

    @Test(arguments: [
        "", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25j", "dGhlIHNhbXBsZSBub25jZWU=",
        "dGhlIHNhbXBsZSBub25jZ!==", "dGhlIHNhbXBsZSBub25jZQ== ", "dGhlIHNhbXBs ZSBub25jZQ=", "AAAAAAAAAAAAAAAAAAAAAAAA",
        "dGhlIHNhbXBsZSBub25jZQ==, dGhlIHNhbXBsZSBub25jZQ==", "========================", "ä".description,
    ])
    func `only 16 bytes in base 64 are a key`(text: String) {
        #expect(WebSocketKey(text) == nil)
    }

    @Test func `keys differ and are keys`() {
        let keys = (0..<64).map { _ in WebSocketKey() }
        #expect(Set(keys.map(\.text)).count == 64)
        for key in keys { #expect(WebSocketKey(key.text) == key && key.accept.utf8.count == 28) }
    }
}

@Suite struct ServerHandshakeTests {
    @Test func `opens, with the subprotocol the client likes best`() throws {
        #expect(try shake().fields.map(\.name) == ["Upgrade", "Sec-WebSocket-Accept"])
        #expect(try shake().accept == sampleAccept)
        let offers = ["nwpath.v0, nwpath.v1": "nwpath.v0", "chat,\tnwpath.v1 ": "nwpath.v1", "chat": nil, ", ,": nil]
        for (offer, chosen) in offers {
            let handshake = try shake(["Sec-WebSocket-Protocol": offer])
            #expect(handshake.subprotocol == chosen)
            #expect(handshake.fields.last?.value == chosen ?? sampleAccept)
        }
    }

    @Test(arguments: [
        ["Connection": "keep-alive, Upgrade"], ["Connection": "UPGRADE"], ["Upgrade": "h2c, WebSocket"],
        ["Sec-WebSocket-Extensions": "permessage-deflate"],
    ])
    func `tokens are found in lists, in any case`(changes: [String: String]) throws {
        #expect(try shake(changes).accept == sampleAccept)
    }

    @Test(
        arguments: [
            (["Upgrade": nil], .notRequested), (["Upgrade": "websockets"], .notRequested),
            (["Connection": nil], .notRequested),
            (["Connection": "keep-alive"], .notRequested), (["Sec-WebSocket-Version": nil], .otherVersion),
            (["Sec-WebSocket-Version": "8"], .otherVersion), (["Sec-WebSocket-Version": "13, 13"], .otherVersion),
            (["Sec-WebSocket-Key": nil], .badKey), (["Sec-WebSocket-Key": "short"], .badKey),
            (["Sec-WebSocket-Key": "\(sample), \(sample)"], .badKey),
        ] as [([String: String?], WebSocketServerHandshake.Refusal)]
    )
    func `refuses anything else`(changes: [String: String?], refusal: WebSocketServerHandshake.Refusal) {
        #expect(throws: refusal) { try shake(changes) }
    }

    @Test func `only GET in HTTP 1.1 can upgrade`() {
        #expect(throws: WebSocketServerHandshake.Refusal.notRequested) { try shake(method: "HEAD") }
        #expect(throws: WebSocketServerHandshake.Refusal.notRequested) { try shake(isHTTP11: false) }
        #expect(WebSocketServerHandshake.upgradeFields.map(\.value) == ["websocket", "13"])
    }
}

@Suite struct ClientHandshakeTests {
    private func client(_ subprotocols: [String] = ["nwpath.v1"]) throws -> WebSocketClientHandshake {
        let key = try #require(WebSocketKey(sample))
        return try #require(
            WebSocketClientHandshake(
                host: "localhost:8353",
                target: "/api/v1/events/ws?since=0",
                subprotocols: subprotocols,
                fields: [(name: "Origin", value: "http://localhost:8353")],
                key: key
            )
        )
    }

    private func answer(_ fields: String, status: String = "101 Switching Protocols") -> [UInt8] {
        Array("HTTP/1.1 \(status)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\(fields)\r\n".utf8)
    }

    @Test func `asks as the standard says`() throws {
        let lines = String(decoding: try client().request, as: UTF8.self).split(separator: "\r\n")
        #expect(
            lines == [
                "GET /api/v1/events/ws?since=0 HTTP/1.1", "Host: localhost:8353", "Upgrade: websocket",
                "Connection: Upgrade", "Sec-WebSocket-Key: \(sample)", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Protocol: nwpath.v1", "Origin: http://localhost:8353",
            ]
        )
        #expect(try client().request.suffix(4) == [13, 10, 13, 10])
    }

    @Test(arguments: [("a\r\nb", "/"), ("a", "x"), ("a", "/ x"), ("", "/"), ("a b", "/"), ("a", "/\u{7F}")])
    func `asks nothing that breaks its own lines`(host: String, target: String) {
        #expect(WebSocketClientHandshake(host: host, target: target) == nil)
    }

    @Test(arguments: [1, 2, 7, 1000])
    func `opens with the server's answer, and keeps what comes behind it`(step: Int) throws {
        let bytes =
            answer("Sec-WebSocket-Accept: \(sampleAccept)\r\nSec-WebSocket-Protocol: nwpath.v1\r\n")
            + WebSocketServerFrame.text(Array("first".utf8))
        var handshake = try client()
        var connection = WebSocketConnection(role: .client)
        var events: [WebSocketEvent] = []
        var isOpen = false
        for start in stride(from: 0, to: bytes.count, by: step) {
            let part = Array(bytes[start..<min(start + step, bytes.count)])
            if isOpen {
                events += connection.receive(part)
            } else if case .opened(let subprotocol, let rest) = try handshake.receive(part) {
                #expect(subprotocol == "nwpath.v1")
                isOpen = true
                events += connection.receive(rest)
            }
        }
        #expect(events == [.message(.text("first"))])
    }

    @Test func `a server need not choose a subprotocol`() throws {
        var handshake = try client()
        let progress = try handshake.receive(answer("sec-websocket-accept:\(sampleAccept)\r\n"))
        #expect(progress == .opened(subprotocol: nil, rest: []))
    }

    @Test(
        arguments: [
            ("Sec-WebSocket-Accept: wrong\r\n", .wrongAccept), ("", .wrongAccept),
            (
                "Sec-WebSocket-Accept: \(sampleAccept)\r\nSec-WebSocket-Protocol: chat\r\n",
                .unknownSubprotocol("chat")
            ),
            (
                "Sec-WebSocket-Accept: \(sampleAccept)\r\nSec-WebSocket-Extensions: x\r\n",
                .unknownExtension("x")
            ), ("Bad Field: x\r\n", .malformed), ("novalue\r\n", .malformed),
        ] as [(String, WebSocketClientHandshake.Failure)]
    )
    func `an answer that proves nothing opens nothing`(
        fields: String,
        failure: WebSocketClientHandshake.Failure
    ) throws {
        var handshake = try client()
        #expect(throws: failure) { try handshake.receive(answer(fields)) }
    }

    @Test func `another status, another protocol, or noise`() throws {
        var handshake = try client()
        #expect(throws: WebSocketClientHandshake.Failure.refused(status: 403)) {
            try handshake.receive(answer("", status: "403 Forbidden"))
        }
        handshake = try client()
        #expect(throws: WebSocketClientHandshake.Failure.notUpgraded) {
            try handshake.receive(Array("HTTP/1.1 101 Ok\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n".utf8))
        }
        for noise in ["SSH-2.0-x\r\n\r\n", "HTTP/1.0 101 Ok\r\n\r\n", "HTTP/1.1 x\r\n\r\n", "\r\n\r\n"] {
            handshake = try client()
            #expect(throws: WebSocketClientHandshake.Failure.malformed) { try handshake.receive(Array(noise.utf8)) }
        }
        handshake = try client()
        #expect(throws: WebSocketClientHandshake.Failure.tooLong) {
            for _ in 0..<20 { _ = try handshake.receive([UInt8](repeating: 65, count: 1000)) }
        }
    }

    @Test func `server and client understand each other`() throws {
        var handshake = try #require(
            WebSocketClientHandshake(host: "h", target: "/", subprotocols: ["nwpath.v1", "x"])
        )
        let lines = String(decoding: handshake.request, as: UTF8.self).split(separator: "\r\n").dropFirst()
        var fields: [String: String] = [:]
        for line in lines {
            let parts = line.split(separator: ": ", maxSplits: 1)
            fields[String(parts[0])] = String(parts[1])
        }
        let server = try WebSocketServerHandshake(method: "GET", isHTTP11: true, supported: ["nwpath.v1"]) {
            fields[$0]
        }
        let text = server.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        let progress = try handshake.receive(Array("HTTP/1.1 101 X\r\nConnection: upgrade\r\n\(text)\r\n".utf8))
        #expect(progress == .opened(subprotocol: "nwpath.v1", rest: []))
    }
}
