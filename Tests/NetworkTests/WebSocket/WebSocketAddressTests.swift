// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Foundation
@testable import Network
import Testing
import WebSocketWire

@Suite struct WebSocketAddressTests {
    private func place(_ url: String, isSecure: Bool = false) throws -> WebSocketAddress {
        WebSocketAddress(.url(try #require(URL(string: url))), remote: nil, isSecure: isSecure)
    }

    @Test(
        arguments: [
            ("ws://example.net", "example.net", "/"), ("ws://example.net:80/", "example.net", "/"),
            ("ws://example.net:443/a", "example.net:443", "/a"), ("wss://example.net:443/a/", "example.net", "/a/"),
            ("wss://example.net:80?q=1", "example.net:80", "/?q=1"),
            ("ws://[::1]:8080/a%20b?x=%26#part", "[::1]:8080", "/a%20b?x=%26"), ("ws://192.0.2.1", "192.0.2.1", "/"),
        ]
    )
    func `a URL says what is asked for`(url: String, host: String, target: String) throws {
        let found = try place(url)
        #expect(found.host == host && found.target == target)
    }

    @Test func `other endpoints are asked for their root`() {
        let remote = SocketEnd(address: .v4(0xC000_0201), port: 8080)
        let named = WebSocketAddress(.hostPort(host: "lamp.local.", port: 80), remote: remote, isSecure: false)
        #expect(named.host == "lamp.local" && named.target == "/")
        #expect(WebSocketAddress(.hostPort(host: "::1", port: 80), remote: nil, isSecure: true).host == "[::1]:80")
        #expect(
            WebSocketAddress(.hostPort(host: "192.0.2.1", port: 443), remote: nil, isSecure: true).host == "192.0.2.1"
        )
        let service = NWEndpoint.service(name: "Lamp", type: "_demo._tcp", domain: "local", interface: nil)
        #expect(WebSocketAddress(service, remote: remote, isSecure: false).host == "192.0.2.1:8080")
        #expect(WebSocketAddress(.unix(path: "/run/x"), remote: nil, isSecure: false).host == "localhost")
    }

    @Test func `a request has the program's fields and none that it may not have`() throws {
        let options = NWProtocolWebSocket.Options()
        options.setSubprotocols(["a"])
        options.setAdditionalHeaders([
            (name: "sec-websocket-protocol", value: "b , c"), (name: "HOST", value: "other"),
            (name: "Upgrade", value: "h2c"), (name: "X-Room", value: "1"),
        ])
        let handshake = try #require(options.values.handshake(at: try place("ws://localhost/")))
        let lines = String(decoding: handshake.request, as: UTF8.self).split(separator: "\r\n")
        #expect(lines[1] == "Host: other" && lines.suffix(2) == ["Sec-WebSocket-Protocol: a, b, c", "X-Room: 1"])
        #expect(lines.filter { $0.hasPrefix("Upgrade") } == ["Upgrade: websocket"])
        options.setAdditionalHeaders([(name: "X", value: "a\r\nb")])
        #expect(options.values.handshake(at: try place("ws://localhost/")) == nil)
    }
}

/// What a program sees of WebSocket: every member in the type that Apple's interface gives it.
@Suite struct PublicWebSocketTests {
    @Test func `options have Apple's defaults, and are copied with the parameters`() throws {
        let options = NWProtocolWebSocket.Options(.version13)
        #expect(!options.autoReplyPing && !options.skipHandshake && options.maximumMessageSize == 0)
        options.autoReplyPing = true
        options.maximumMessageSize = -1
        #expect(options.maximumMessageSize == 0 && options.name == "websocket")
        let parameters = NWParameters.tls
        parameters.defaultProtocolStack.applicationProtocols.insert(options, at: 0)
        let copy = parameters.copy().defaultProtocolStack.applicationProtocols
        let first = try #require(copy.first as? NWProtocolWebSocket.Options)
        first.skipHandshake = true
        #expect(first.autoReplyPing && !options.skipHandshake && copy.last is NWProtocolTLS.Options)
    }

    @Test func `metadata says what a message is`() {
        let metadata = NWProtocolWebSocket.Metadata(opcode: .close)
        #expect(metadata.opcode == .close && metadata.closeCode == .protocolCode(.normalClosure))
        metadata.closeCode = .privateCode(4000)
        metadata.setPongHandler(.main) { (_: NWError?) in }
        let (subprotocol, headers): (String?, [(String, String)]?) = (
            metadata.selectedSubprotocol, metadata.additionalServerHeaders
        )
        #expect(metadata.closeCode == .privateCode(4000) && subprotocol == nil && headers == nil)
        #expect(metadata.definition == NWProtocolWebSocket.definition)
        let context = NWConnection.ContentContext(identifier: "close", metadata: [metadata])
        #expect(context.protocolMetadata(definition: NWProtocolWebSocket.definition) === metadata)
        let opcodes: [NWProtocolWebSocket.Opcode: Int] = [
            .cont: 0, .text: 1, .binary: 2, .close: 8, .ping: 9, .pong: 10,
        ]
        #expect(
            opcodes.allSatisfy { $0.key.rawValue == $0.value }
                && opcodes.count == NWProtocolWebSocket.Opcode.allCases.count
        )
    }

    @Test(
        arguments: [
            (nil, .protocolCode(.noStatusReceived)), (1000, .protocolCode(.normalClosure)),
            (1011, .protocolCode(.internalServerError)), (1013, .applicationCode(1013)),
            (3000, .applicationCode(3000)), (3999, .applicationCode(3999)), (4000, .privateCode(4000)),
            (4999, .privateCode(4999)),
        ] as [(UInt16?, NWProtocolWebSocket.CloseCode)]
    )
    func `codes have their numbers`(number: UInt16?, code: NWProtocolWebSocket.CloseCode) {
        #expect(NWProtocolWebSocket.CloseCode(number) == code && code.number == number ?? 1005)
    }

    @Test func `an answer has what a handler gives`() {
        let answer = NWProtocolWebSocket.Response(status: .accept, subprotocol: "a")
        #expect(answer.status == .accept && answer.subprotocol == "a" && answer.additionalHeaders == nil)
        let options = NWProtocolWebSocket.Options()
        options.setClientRequestHandler(.main) { subprotocols, headers in
            .init(status: headers.isEmpty ? .reject : .accept, subprotocol: subprotocols.first)
        }
        #expect(options.values.requestHandler?.handler(["a"], []).status == .reject)
    }

    @Test func `WebSocket goes upon streams, and nothing goes upon it`() {
        let options = NWProtocolWebSocket.Options()
        #expect(FlowSettings(NWParameters.tcp.webSocket())?.hasMessages == true)
        #expect(FlowSettings(NWParameters.tls.webSocket())?.hasMessages == true)
        #expect(FlowSettings(.tcp)?.hasMessages == false && FlowSettings(.udp)?.hasMessages == true)
        #expect(FlowSettings(NWParameters.udp.webSocket()) == nil)
        let upsideDown = NWParameters.tls
        upsideDown.defaultProtocolStack.applicationProtocols.append(options)
        #expect(FlowSettings(upsideDown) == nil)
        #expect(FlowSettings(NWParameters.tcp.webSocket().webSocket()) == nil)
    }
}
