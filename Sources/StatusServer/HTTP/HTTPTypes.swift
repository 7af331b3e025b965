// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public struct HTTPField: Equatable, Sendable {
    /// The name as sent; compare it without regard to case.
    public let name: String
    /// The value without surrounding white space.
    public let value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// Who is at the other end of a connection.
public enum HTTPPeer: Equatable, Sendable {
    /// A local process, as the kernel vouches (`SO_PEERCRED`), with its supplementary groups (`SO_PEERGROUPS`).
    case unix(process: Int32, user: UInt32, group: UInt32, groups: [UInt32] = [])
    /// Anybody who can reach the TCP port.
    case tcp

    /// Whether the peer came through a unix socket.
    public var isUnix: Bool { self != .tcp }
}

/// One request that passed the guards.
public struct HTTPRequest: Equatable, Sendable {
    /// The method, such as `GET`.
    public var method = "GET"
    /// The decoded path segments: `/api/v1/status` is `["api", "v1", "status"]`.
    public var path: [String]
    /// The decoded query, in order.
    public var query: [QueryItem] = []
    /// The header fields, in order.
    public var fields: [HTTPField] = []
    /// The body; empty when there was none.
    public var body: [UInt8] = []
    public var peer = HTTPPeer.tcp
    /// Whether it is HTTP/1.1; otherwise it is 1.0, which knows no upgrade.
    public var isHTTP11 = true
    /// Who the client has shown to be.
    public var identity = HTTPIdentity.anonymous

    /// The value of a header field; several of the same name are joined by commas (RFC 9110 section 5.3).
    public func field(_ name: String) -> String? {
        let name = name.lowercased()
        let values = fields.filter { $0.name.lowercased() == name }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}

public enum HTTPBody {
    /// Bytes that are there already and may be shared by many answers.
    case bytes(SharedBytes)
    /// Bytes that come as things happen, until the stream is finished.
    case stream(OutgoingStream)
    /// Nothing: after the head, with status 101, the connection is no longer HTTP.
    case upgrade(HTTPUpgrade)
}

/// What takes a connection over after a 101 answer.
public struct HTTPUpgrade {
    /// What is sent, until it is finished; then the client has a moment to end its side as well.
    public let stream: OutgoingStream
    /// Takes what the client sends, on the event loop; not called any more when the stream is finished and sent.
    public let receive: ([UInt8]) -> Void
}

public struct HTTPResponse {
    public var status: Int
    /// Header fields besides `Date`, `Connection`, `Content-Length`, `Transfer-Encoding`, `X-Content-Type-Options`, and
    /// `Cross-Origin-Resource-Policy` where it is not `same-origin`.
    public var fields: [HTTPField]
    public var body: HTTPBody
    /// Whether the connection ends with this answer.
    public var closes: Bool

    public init(status: Int, fields: [HTTPField] = [], body: HTTPBody, closes: Bool = false) {
        self.status = status
        self.fields = fields
        self.body = body
        self.closes = closes
    }

    public init(status: Int, type: String, text: String, fields: [HTTPField] = []) {
        self.init(
            status: status,
            fields: [HTTPField("Content-Type", type)] + fields,
            body: .bytes(SharedBytes(Array(text.utf8)))
        )
    }

    /// Makes an answer that explains a failure.
    public init(_ problem: Problem, fields: [HTTPField] = [], closes: Bool = false) {
        self.init(
            status: problem.status,
            fields: [HTTPField("Content-Type", "application/problem+json")] + fields,
            body: .bytes(SharedBytes(problem.rendered)),
            closes: closes
        )
    }

    /// An answer without content.
    static func empty(status: Int, fields: [HTTPField] = []) -> HTTPResponse {
        HTTPResponse(status: status, fields: fields, body: .bytes(.empty))
    }
}
