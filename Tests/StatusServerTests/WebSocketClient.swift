// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import LinuxIO
import StatusServer
import Testing
import WebSocketWire

/// A WebSocket client over the raw one, with the codec's other end.
final class WebSocketClient {
    let raw: RawClient
    private(set) var messages: [String] = []
    private(set) var pings = 0
    private(set) var close: WebSocketClose?
    private(set) var subprotocol: String?
    private var handshake: WebSocketClientHandshake?
    private var connection: WebSocketConnection
    private var taken = 0

    /// Asks for a WebSocket; `early` is sent without waiting for the answer.
    init(
        _ raw: RawClient,
        _ target: String = "/api/v1/events/ws",
        answersPings: Bool = true,
        fields: [(name: String, value: String)] = [],
        early: [UInt8] = []
    ) throws {
        self.raw = raw
        var options = WebSocketOptions()
        options.answersPings = answersPings
        connection = WebSocketConnection(role: .client, options: options)
        let handshake = try #require(
            WebSocketClientHandshake(host: "localhost", target: target, subprotocols: ["nwpath.v1"], fields: fields)
        )
        raw.send(handshake.request + early)
        self.handshake = handshake
    }

    var isOpen: Bool { handshake == nil }

    /// Takes what came and answers.
    func pump() {
        raw.pump()
        var bytes = Array(raw.received[taken...])
        taken = raw.received.count
        if handshake != nil {
            guard case .opened(let subprotocol, let rest) = try? handshake?.receive(bytes) else { return }
            handshake = nil
            self.subprotocol = subprotocol
            bytes = rest
        }
        for event in connection.receive(bytes) {
            switch event {
            case .message(.text(let text)): messages.append(text)
            case .message(.binary): Issue.record("a binary message came")
            case .ping: pings += 1
            case .pong: messages.append("pong")
            case .closed(let close): self.close = close
            case .failed(let failure): Issue.record("the server failed: \(failure)")
            }
        }
        flush()
    }

    func send(_ message: WebSocketMessage, isFinal: Bool = true) throws {
        try connection.send(message, isFinal: isFinal)
        flush()
    }

    func ping(_ payload: [UInt8] = []) throws {
        try connection.ping(payload)
        flush()
    }

    func close(_ close: WebSocketClose) {
        connection.close(close)
        flush()
    }

    @discardableResult
    func wait(
        _ what: String,
        sourceLocation: SourceLocation = #_sourceLocation,
        until condition: (WebSocketClient) -> Bool
    ) async -> Bool {
        await raw.wait(what, sourceLocation: sourceLocation) { _ in
            pump()
            return condition(self)
        }
    }

    private func flush() {
        let bytes = connection.drainOutput()
        if !bytes.isEmpty { raw.send(bytes) }
    }
}

extension ServerFixture {
    /// Opens a WebSocket and waits until it is there.
    func socket(
        _ target: String = "/api/v1/events/ws",
        answersPings: Bool = true,
        overTCP: Bool = false
    ) async throws -> WebSocketClient {
        let raw = overTCP ? try tcpClient() : try client()
        let socket = try WebSocketClient(raw, target, answersPings: answersPings)
        await socket.wait("the WebSocket opened") { $0.isOpen }
        return socket
    }

    /// The events of the log as the lines without their ends.
    var lines: [String] { provider.log.map { String(decoding: $0.line.dropLast(), as: UTF8.self) } }
}
