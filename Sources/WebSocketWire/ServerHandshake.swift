// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Reads header fields that are lists (RFC 9110 section 5.6.1).
enum FieldList {
    /// The elements of a comma-separated value, without empty ones.
    static func elements(_ value: String) -> [String] {
        value.split(separator: ",").map { trimmed($0) }.filter { !$0.isEmpty }
    }

    /// Whether a list has a token, without regard to case.
    static func has(_ token: String, in value: String?) -> Bool {
        elements(value ?? "").contains { $0.lowercased() == token }
    }

    /// Whether lines can be sent: none has a character that would break it.
    static func areSound(_ lines: [String]) -> Bool {
        lines.allSatisfy { $0.utf8.allSatisfy { $0 >= 32 && $0 != 127 } }
    }

    /// The text without surrounding spaces and tabs.
    static func trimmed(_ text: Substring) -> String {
        var text = text
        while let first = text.unicodeScalars.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.unicodeScalars.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }
}

/// A server's side of the opening handshake (RFC 6455 section 4.2); pure.
public struct WebSocketServerHandshake: Equatable, Sendable {
    /// Why a request does not open a WebSocket.
    public enum Refusal: Error, Equatable, Sendable {
        /// It does not request a WebSocket, or not in HTTP/1.1 by GET: answer 426 with ``upgradeFields``.
        case notRequested
        /// It requests another version than 13: answer 426 with ``upgradeFields``.
        case otherVersion
        /// The key is missing, repeated, or not base 64 of 16 bytes: answer 400.
        case badKey
    }

    /// The header fields of a 426 answer.
    public static let upgradeFields = [
        (name: "Upgrade", value: "websocket"), (name: "Sec-WebSocket-Version", value: "13"),
    ]

    /// The value of `Sec-WebSocket-Accept`.
    public let accept: String
    /// The subprotocols that the client offers, the dearest first.
    public let offers: [String]
    /// The subprotocol both sides know; `nil` when the client offered none of ours.
    public var subprotocol: String?

    /// Checks a request.
    /// - Parameters:
    ///   - method: The request's method.
    ///   - isHTTP11: Whether the request is HTTP/1.1; an upgrade in HTTP/1.0 means nothing.
    ///   - supported: The subprotocols we speak; the client's first that is among them is chosen.
    ///   - field: The value of a header field, several of one name joined by commas; `nil` when there is none.
    /// - Throws: ``Refusal``.
    public init(
        method: String,
        isHTTP11: Bool,
        supported: [String],
        field: (String) -> String?
    ) throws(Refusal) {
        guard method == "GET", isHTTP11, FieldList.has("websocket", in: field("Upgrade")),
            FieldList.has("upgrade", in: field("Connection"))
        else { throw .notRequested }
        guard field("Sec-WebSocket-Version") == "13" else { throw .otherVersion }
        guard let key = field("Sec-WebSocket-Key").flatMap({ WebSocketKey($0) }) else { throw .badKey }
        accept = key.accept
        offers = FieldList.elements(field("Sec-WebSocket-Protocol") ?? "")
        subprotocol = offers.first { supported.contains($0) }
    }

    /// The header fields of the 101 answer, besides `Connection`.
    public var fields: [(name: String, value: String)] {
        var fields = [(name: "Upgrade", value: "websocket"), (name: "Sec-WebSocket-Accept", value: accept)]
        if let subprotocol { fields.append((name: "Sec-WebSocket-Protocol", value: subprotocol)) }
        return fields
    }
}
