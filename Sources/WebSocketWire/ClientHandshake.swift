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

    /// How far it is.
    public enum Progress: Equatable, Sendable {
        /// The answer is not complete.
        case waiting
        /// The connection is open; `rest` are the first bytes of the server's frames.
        case opened(subprotocol: String?, rest: [UInt8])
    }

    /// The longest head of an answer in bytes.
    public static let longestHead = 16_384

    /// The bytes to send first.
    public let request: [UInt8]
    private let key: WebSocketKey
    private let subprotocols: [String]
    private var head: [UInt8] = []

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
        let isSound = lines.allSatisfy { $0.utf8.allSatisfy { $0 >= 32 && $0 != 127 } }
        guard isSound, target.hasPrefix("/"), !target.utf8.contains(32), !host.isEmpty, !host.utf8.contains(32) else {
            return nil
        }
        request = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    /// Takes bytes of the server.
    /// - Throws: ``Failure``; the connection is of no use then.
    public mutating func receive(_ bytes: [UInt8]) throws(Failure) -> Progress {
        let start = max(0, head.count - 3)
        head += bytes
        guard let end = Self.end(of: head, from: start) else {
            guard head.count <= Self.longestHead else { throw .tooLong }
            return .waiting
        }
        guard end <= Self.longestHead else { throw .tooLong }
        let answer = try AnswerHead(Array(head[..<end]))
        let rest = Array(head[end...])
        head = []
        return .opened(subprotocol: try check(answer), rest: rest)
    }

    private func check(_ answer: AnswerHead) throws(Failure) -> String? {
        guard answer.status == 101 else { throw .refused(status: answer.status) }
        guard answer.field("upgrade")?.lowercased() == "websocket",
            FieldList.has("upgrade", in: answer.field("connection"))
        else { throw .notUpgraded }
        guard answer.field("sec-websocket-accept") == key.accept else { throw .wrongAccept }
        if let used = answer.field("sec-websocket-extensions"), !used.isEmpty { throw .unknownExtension(used) }
        guard let chosen = answer.field("sec-websocket-protocol") else { return nil }
        guard subprotocols.contains(chosen) else { throw .unknownSubprotocol(chosen) }
        return chosen
    }

    /// Where the head ends, behind its empty line.
    private static func end(of bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count >= 4 else { return nil }
        for index in start..<max(start, bytes.count - 3)
        where bytes[index] == 13 && bytes[index + 1] == 10 && bytes[index + 2] == 13 && bytes[index + 3] == 10 {
            return index + 4
        }
        return nil
    }
}

/// The head of an answer, as far as a handshake needs it (RFC 9112 section 4).
private struct AnswerHead {
    let status: Int
    private let fields: [(name: String, value: String)]

    init(_ bytes: [UInt8]) throws(WebSocketClientHandshake.Failure) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n")
        let words = (lines.first ?? "").split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, words[0] == "HTTP/1.1", words[1].utf8.count == 3, let status = Int(words[1]),
            status >= 100
        else { throw .malformed }
        var fields: [(name: String, value: String)] = []
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex,
                !line[..<colon].contains(where: { $0 == " " || $0 == "\t" })
            else { throw .malformed }
            fields.append((line[..<colon].lowercased(), FieldList.trimmed(line[line.index(after: colon)...])))
        }
        self.status = status
        self.fields = fields
    }

    /// The value of a field, whose name is given in lower case; several are joined by commas.
    func field(_ name: String) -> String? {
        let values = fields.filter { $0.name == name }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}
