// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The head of a request as it came, before anything is believed.
struct RequestHead: Equatable {
    /// One field, and how the bytes around it lay.
    struct Field: Equatable {
        var name: [UInt8]
        var value: [UInt8]
        /// Bytes between the end of the value and what follows: 2 for a plain CR LF.
        var trailing = 2
    }

    var method: [UInt8]
    var target: [UInt8]
    var version: [UInt8]
    var fields: [Field] = []
    /// Bytes between the parts of the request line that no part accounts for; 0 in a sound request.
    var hiddenInLine = 0
    /// Bytes of the whole head.
    var size = 0
}

public struct RequestLimits: Equatable, Sendable {
    /// The longest request target in bytes; more is 414.
    public var target = 2048
    /// The largest head in bytes; more is 431.
    public var head = 8192
    /// The most header fields; more is 431.
    public var fields = 64
    /// The largest body in bytes; more is 413.
    public var body = 65_536

    public init() {}
}

/// Refuses what two readers could understand in two ways, before a request reaches a route (RFC 9112 section 11).
struct RequestGuard {
    /// Why a request is refused; the connection ends with the answer.
    struct Rejection: Error, Equatable {
        let status: Int
        let detail: String

        init(_ status: Int, _ detail: String) {
            self.status = status
            self.detail = detail
        }
    }

    let limits: RequestLimits

    /// Checks a head.
    /// - Throws: ``Rejection`` with the status code to answer.
    func check(_ head: RequestHead) throws(Rejection) {
        guard head.target.count <= limits.target else { throw Rejection(414, "The request target is too long.") }
        guard head.size <= limits.head, head.fields.count <= limits.fields else {
            throw Rejection(431, "The header fields are too large.")
        }
        try checkLine(head)
        for field in head.fields { try check(field) }
        try checkFraming(head)
        try checkHost(head)
    }

    private func checkLine(_ head: RequestHead) throws(Rejection) {
        guard head.hiddenInLine == 0 else { throw Rejection(400, "The request line is malformed.") }
        guard !head.method.isEmpty, head.method.allSatisfy(Self.isToken) else {
            throw Rejection(400, "The method is malformed.")
        }
        guard head.version == Array("HTTP/1.1".utf8) || head.version == Array("HTTP/1.0".utf8) else {
            throw Rejection(505, "Only HTTP/1.1 and HTTP/1.0 are supported.")
        }
    }

    private func check(_ field: RequestHead.Field) throws(Rejection) {
        guard !field.name.isEmpty, field.name.allSatisfy(Self.isToken) else {
            throw Rejection(400, "A header field name is malformed.")
        }
        guard field.trailing == 2, field.value.allSatisfy({ $0 == 9 || ($0 >= 32 && $0 != 127) }) else {
            throw Rejection(400, "A header field has a forbidden character or is folded.")
        }
    }

    private func checkFraming(_ head: RequestHead) throws(Rejection) {
        let lengths = head.values(of: "content-length")
        let codings = head.values(of: "transfer-encoding")
        guard lengths.count <= 1 else { throw Rejection(400, "Content-Length is given twice.") }
        guard codings.isEmpty || lengths.isEmpty else {
            throw Rejection(400, "Content-Length and Transfer-Encoding exclude each other.")
        }
        if let coding = codings.first {
            guard codings.count == 1, coding.lowercased() == "chunked", head.version.last == UInt8(ascii: "1") else {
                throw Rejection(400, "Unsupported Transfer-Encoding.")
            }
        }
        if let length = lengths.first {
            guard !length.isEmpty, length.utf8.allSatisfy({ (48...57).contains($0) }) else {
                throw Rejection(400, "Content-Length is not a number.")
            }
            guard let count = Int(length), count <= limits.body else { throw Rejection(413, "The body is too large.") }
        }
    }

    private func checkHost(_ head: RequestHead) throws(Rejection) {
        let hosts = head.values(of: "host")
        guard hosts.count <= 1 else { throw Rejection(400, "Host is given twice.") }
        guard hosts.count == 1 || head.version.last == UInt8(ascii: "0") else {
            throw Rejection(400, "Host is missing.")
        }
    }

    /// Whether a byte may be in a token (RFC 9110 section 5.6.2).
    static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122: true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"): true
        case UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        case UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"): true
        default: false
        }
    }
}

extension RequestHead {
    /// The values of all fields of a name, which is given in lower case.
    func values(of name: String) -> [String] {
        fields.filter { String(decoding: $0.name, as: UTF8.self).lowercased() == name }
            .map { String(decoding: $0.value, as: UTF8.self) }
    }
}
