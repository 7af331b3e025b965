// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A client's side of the opening handshake (RFC 6455 section 4.1): a request out, bytes in; pure.
public struct WebSocketClientHandshake: Sendable {
    /// Why the server's answer opens no WebSocket.
    public enum Failure: Error, Equatable, Sendable {
        /// The answer is no HTTP/1.1, or its head is malformed.
        case malformed
        /// The head is longer than 16 KiB.
        case tooLong
        /// The server answered with another status than 101, such as a redirect or a problem.
        case refused(status: Int)
        /// `Upgrade` or `Connection` of the answer do not say so.
        case notUpgraded
        /// `Sec-WebSocket-Accept` is not the answer to our key.
        case wrongAccept
        /// The server chose a subprotocol that was not offered.
        case unknownSubprotocol(String)
        /// The server uses an extension that was not offered.
        case unknownExtension(String)
    }

    public enum Progress: Equatable, Sendable {
        /// The answer is not complete.
        case waiting
        /// The connection is open; `rest` are the first bytes of the server's frames.
        case opened(subprotocol: String?, rest: [UInt8])
    }

    /// The bytes to send first.
    public let request: [UInt8]
    private let key: WebSocketKey
    private let subprotocols: [String]
    private var reader = HeadReader()
    /// The header fields of the server's answer, once it has come, also when it refuses.
    public private(set) var fields: [(name: String, value: String)] = []

    /// Prepares a handshake; `nil` when a part has a character that would break the request's lines.
    /// - Parameters:
    ///   - host: The `Host`: a name or an address (IPv6 in brackets), and the port unless it is the scheme's.
    ///   - target: Path and query, such as `/api/v1/events/ws?since=7f3a.45`.
    ///   - subprotocols: What is offered, the dearest first.
    ///   - fields: Further header fields, such as `Origin` or `Authorization`.
    ///   - key: The key; a random one unless a test gives it.
    public init?(
        host: String,
        target: String,
        subprotocols: [String] = [],
        fields: [(name: String, value: String)] = [],
        key: WebSocketKey = WebSocketKey()
    ) {
        self.key = key
        self.subprotocols = subprotocols
        var lines = ["GET \(target) HTTP/1.1", "Host: \(host)", "Upgrade: websocket", "Connection: Upgrade"]
        lines += ["Sec-WebSocket-Key: \(key.text)", "Sec-WebSocket-Version: 13"]
        if !subprotocols.isEmpty { lines.append("Sec-WebSocket-Protocol: " + subprotocols.joined(separator: ", ")) }
        lines += fields.map { "\($0.name): \($0.value)" }
        guard FieldList.areSound(lines), target.hasPrefix("/"), !target.utf8.contains(32), !host.isEmpty,
            !host.utf8.contains(32)
        else { return nil }
        request = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    /// Parses bytes of the server.
    /// - Throws: ``Failure``; the connection is of no use then.
    public mutating func receive(_ bytes: [UInt8]) throws(Failure) -> Progress {
        let found: (head: MessageHead, rest: [UInt8])?
        do throws(MessageHead.Failure) {
            found = try reader.parse(bytes)
        } catch {
            throw error == .tooLong ? .tooLong : .malformed
        }
        guard let (head, rest) = found else { return .waiting }
        guard head.words[0] == "HTTP/1.1", head.words[1].utf8.count == 3, let status = Int(head.words[1]), status >= 100
        else { throw .malformed }
        fields = head.fields
        guard status == 101 else { throw .refused(status: status) }
        return .opened(subprotocol: try check(head), rest: rest)
    }

    private func check(_ answer: MessageHead) throws(Failure) -> String? {
        guard answer.field("Upgrade")?.lowercased() == "websocket",
            FieldList.has("upgrade", in: answer.field("Connection"))
        else { throw .notUpgraded }
        guard answer.field("Sec-WebSocket-Accept") == key.accept else { throw .wrongAccept }
        if let used = answer.field("Sec-WebSocket-Extensions"), !used.isEmpty { throw .unknownExtension(used) }
        guard let chosen = answer.field("Sec-WebSocket-Protocol") else { return nil }
        guard subprotocols.contains(chosen) else { throw .unknownSubprotocol(chosen) }
        return chosen
    }
}
