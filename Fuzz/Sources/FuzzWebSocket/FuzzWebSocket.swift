// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import FuzzKit
import WebSocketWire

/// Whatever a peer sends: its bytes tell the same in any pieces, within the bounds, and what was understood is encoded
/// and reads back the same.
///
/// The first byte says which end is tried, and how long the pieces are.
@main enum FuzzWebSocket {
    static func main() {
        unsafe Fuzzer.run { start, count in
            FuzzWebSocket.examine(unsafe Array(UnsafeBufferPointer(start: start, count: count)))
            return 0
        }
    }

    private static let options = {
        var options = WebSocketOptions()
        options.longestMessage = 1000
        options.mostOutput = 500
        return options
    }()

    private static func examine(_ input: [UInt8]) {
        guard let first = input.first else { return }
        let bytes = Array(input.dropFirst())
        let size = Int(first >> 2) + 1
        switch first & 3 {
        case 0: examine(bytes, as: .server, in: size)
        case 1: examine(bytes, as: .client, in: size)
        case 2: examineAnswer(bytes, in: size)
        default:
            examineRequest(bytes)
            examineHead(bytes, in: size)
        }
    }

    private static func examine(_ bytes: [UInt8], as role: WebSocketRole, in size: Int) {
        var whole = WebSocketConnection(role: role, options: options, makeMask: { 7 })
        var pieces = WebSocketConnection(role: role, options: options, makeMask: { 7 })
        let events = whole.receive(bytes)
        var again: [WebSocketEvent] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            again += pieces.receive(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        require(again == events, "pieces tell another story")
        // 500 bytes, one pong of 131 at the most above them, and a close.
        require(whole.outputCount <= 500 + 131 + 131, "the output has no bound")
        var peer = WebSocketConnection(role: role == .server ? .client : .server)
        for (index, event) in events.enumerated() {
            switch event {
            case .message(let message): check(message, to: role)
            case .ping(let payload), .pong(let payload): require(payload.count <= 125, "a long control frame")
            case .closed(let close):
                require(close.code?.isSendable ?? true, "a code that must not be sent")
                require(close.reason.utf8.count <= WebSocketClose.longestReason, "a long reason")
                require(index == events.count - 1 && whole.isOver, "something after the end")
            case .failed:
                require(index == events.count - 1 && whole.isOver && whole.failure != nil, "something after the end")
            }
        }
        let answers = peer.receive(whole.drainOutput())
        require(peer.failure == nil, "the other end does not understand \(answers)")
        require(whole.isReading || whole.receive(bytes).isEmpty, "it reads after the end")
    }

    /// Sends a message on and compares.
    private static func check(_ message: WebSocketMessage, to role: WebSocketRole) {
        switch message {
        case .text(let text): require(text.utf8.count <= 1000, "a long text")
        case .binary(let bytes): require(bytes.count <= 1000, "a long message")
        }
        var sender = WebSocketConnection(role: role)
        var reader = WebSocketConnection(role: role == .server ? .client : .server)
        guard (try? sender.send(message)) != nil else { fatalError("cannot send what it read") }
        require(reader.receive(sender.drainOutput()) == [.message(message)], "the message changed on the way")
    }

    private static func examineAnswer(_ bytes: [UInt8], in size: Int) {
        guard var handshake = WebSocketClientHandshake(host: "h", target: "/", subprotocols: ["nwpath.v1"]) else {
            fatalError("a sound handshake is refused")
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            guard let progress = try? handshake.receive(Array(rest.prefix(size))) else { return }
            // Nobody can guess the key.
            guard progress == .waiting else { fatalError("an answer without the key was taken") }
            rest = rest.dropFirst(size)
        }
    }

    /// A request on a bare stream tells the same in any pieces, and what it offers goes into the answer as it is.
    private static func examineHead(_ bytes: [UInt8], in size: Int) {
        var whole = WebSocketRequest.Reader()
        guard let (request, rest) = try? whole.receive(bytes) else { return }
        var pieces = WebSocketRequest.Reader()
        var start = 0
        while start < bytes.count {
            let end = min(start + size, bytes.count)
            guard let again = try? pieces.receive(Array(bytes[start..<end])) else {
                start = end
                continue
            }
            require(again.request.target == request.target, "pieces tell another story")
            require(again.rest + bytes[end...] == rest, "pieces end elsewhere")
            break
        }
        require(start < bytes.count, "pieces are no request")
        var chosen = request
        chosen.handshake.subprotocol = request.handshake.offers.first
        guard let answer = chosen.acceptance() else { return }
        require(answer.suffix(4) == [13, 10, 13, 10], "an answer without an end")
    }

    private static func examineRequest(_ bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        var fields: [String: String] = [:]
        let names = [
            "Upgrade", "Connection", "Sec-WebSocket-Version", "Sec-WebSocket-Key", "Sec-WebSocket-Protocol",
        ]
        for (name, line) in zip(names, lines) { fields[name] = String(line) }
        let handshake = try? WebSocketServerHandshake(method: "GET", isHTTP11: true, supported: ["nwpath.v1"]) {
            fields[$0]
        }
        guard let handshake else { return }
        require(handshake.accept.utf8.count == 28, "an accept that is no digest")
        require(handshake.subprotocol == nil || handshake.subprotocol == "nwpath.v1", "an unknown subprotocol")
    }
}
