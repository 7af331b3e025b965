// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A client's opening handshake, for servers that have nothing but a stream; pure.
public struct WebSocketRequest: Sendable {
    /// Why a request opens no WebSocket.
    public enum Failure: Error, Equatable, Sendable {
        /// It is no HTTP/1.1, its head is malformed, or it has no host.
        case malformed
        /// The head is longer than 16 KiB.
        case tooLong
        /// It is sound, but does not request a WebSocket as it should.
        case refused(WebSocketServerHandshake.Refusal)

        public var answer: [UInt8] {
            switch self {
            case .malformed, .refused(.badKey): WebSocketRequest.refusal(.badRequest)
            case .tooLong: WebSocketRequest.refusal(.fieldsTooLarge)
            case .refused: WebSocketRequest.refusal(.upgradeRequired, WebSocketServerHandshake.upgradeFields)
            }
        }
    }

    /// Why a server does not answer with 101 (RFC 9110 section 15, RFC 6585).
    public enum Status: Int, Sendable {
        /// The request makes no sense.
        case badRequest = 400
        /// The program does not want this client.
        case forbidden = 403
        case upgradeRequired = 426
        case fieldsTooLarge = 431
        case serverError = 500

        fileprivate var phrase: String {
            switch self {
            case .badRequest: "Bad Request"
            case .forbidden: "Forbidden"
            case .upgradeRequired: "Upgrade Required"
            case .fieldsTooLarge: "Request Header Fields Too Large"
            case .serverError: "Internal Server Error"
            }
        }
    }

    /// Gathers a request as its bytes come.
    public struct Reader: Sendable {
        private var reader = HeadReader()

        public init() {}

        /// Parses bytes of the client.
        /// - Returns: The request, and the first bytes of the client's frames; `nil` when it is not complete.
        public mutating func receive(_ bytes: [UInt8]) throws(Failure) -> (request: WebSocketRequest, rest: [UInt8])? {
            let found: (head: MessageHead, rest: [UInt8])?
            do throws(MessageHead.Failure) {
                found = try reader.parse(bytes)
            } catch {
                throw error == .tooLong ? .tooLong : .malformed
            }
            guard let (head, rest) = found else { return nil }
            return (try WebSocketRequest(head), rest)
        }
    }

    /// Path and query.
    public let target: String
    /// The header fields, without those of the handshake itself.
    public let fields: [(name: String, value: String)]
    /// The handshake; its subprotocol is to be chosen.
    public var handshake: WebSocketServerHandshake

    private init(_ head: MessageHead) throws(Failure) {
        guard head.words.count == 3, head.words[2].hasPrefix("HTTP/1."), !head.words[1].isEmpty,
            head.fields.count(where: { $0.name.lowercased() == "host" }) == 1
        else { throw .malformed }
        target = head.words[1]
        fields = head.fields.filter { !Self.isOfHandshake($0.name) }
        do throws(WebSocketServerHandshake.Refusal) {
            handshake = try WebSocketServerHandshake(
                method: head.words[0],
                isHTTP11: head.words[2] == "HTTP/1.1",
                supported: [],
                field: head.field
            )
        } catch {
            throw .refused(error)
        }
    }

    /// Whether a header field is one of the handshake, which programs have no business with.
    public static func isOfHandshake(_ name: String) -> Bool {
        let name = name.lowercased()
        return name == "upgrade" || name == "connection" || name.hasPrefix("sec-websocket-")
    }

    /// The elements of the value of a header field that is a list.
    public static func elements(of value: String) -> [String] { FieldList.elements(value) }

    /// The answer that opens the connection; `nil` when a field has a character that would break its line.
    public func acceptance(_ fields: [(name: String, value: String)] = []) -> [UInt8]? {
        let all = [(name: "Connection", value: "Upgrade")] + handshake.fields + fields
        return Self.head("HTTP/1.1 101 Switching Protocols", all)
    }

    /// An answer that opens nothing; fields that would break their lines are left out.
    public static func refusal(_ status: Status, _ fields: [(name: String, value: String)] = []) -> [UInt8] {
        let line = "HTTP/1.1 \(status.rawValue) \(status.phrase)"
        // An upgrade is named by Connection as well (RFC 9110 section 7.8).
        let tokens = fields.contains { $0.name == "Upgrade" } ? "Upgrade, close" : "close"
        let own = [(name: "Connection", value: tokens), (name: "Content-Length", value: "0")]
        return head(line, own + fields) ?? head(line, own) ?? []
    }

    private static func head(_ first: String, _ fields: [(name: String, value: String)]) -> [UInt8]? {
        let lines = [first] + fields.map { "\($0.name): \($0.value)" }
        guard FieldList.areSound(lines) else { return nil }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }
}
