// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// One `name=value` of a query, decoded.
public struct QueryItem: Equatable, Sendable {
    public let name: String
    /// The value; empty when there was no `=`.
    public let value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A request target, taken apart and decoded (RFC 9112 section 3.2).
struct RequestTarget: Equatable {
    /// The decoded path segments; a slash that was encoded stays inside its segment.
    var path: [String]
    /// The decoded query.
    var query: [QueryItem]
    /// The authority of an absolute target, which overrules `Host`.
    var authority: String?

    /// Reads origin-form (`/path?query`) and absolute-form (`http://host/path`).
    /// - Returns: `nil` for anything else: control characters, a fragment, bad percent-encoding, bytes that are not
    ///   UTF-8, a decoded NUL.
    init?(_ bytes: [UInt8]) {
        guard bytes.allSatisfy({ $0 > 32 && $0 < 127 && $0 != UInt8(ascii: "#") }) else { return nil }
        var rest = bytes[...]
        let scheme = Array("http://".utf8)
        if rest.count > scheme.count && rest.prefix(scheme.count).map(Self.lowercase) == scheme {
            rest = rest.dropFirst(scheme.count)
            let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            authority = String(decoding: rest[..<end], as: UTF8.self)
            rest = rest[end...]
            if rest.first != UInt8(ascii: "/") { rest = [UInt8(ascii: "/")] + rest }
        }
        guard rest.first == UInt8(ascii: "/") else { return nil }
        let mark = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        guard let path = Self.segments(rest[..<mark]), let query = Self.items(rest[mark...].dropFirst()) else {
            return nil
        }
        self.path = path
        self.query = query
    }

    private static func segments(_ bytes: ArraySlice<UInt8>) -> [String]? {
        let parts = bytes.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        if parts.count == 1, parts[0].isEmpty { return [] }
        var segments: [String] = []
        for part in parts {
            guard let segment = decode(part) else { return nil }
            segments.append(segment)
        }
        return segments
    }

    private static func items(_ bytes: ArraySlice<UInt8>) -> [QueryItem]? {
        var items: [QueryItem] = []
        for pair in bytes.split(separator: UInt8(ascii: "&")) {
            let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard let name = decode(pair[..<equals]), let value = decode(pair[equals...].dropFirst()) else {
                return nil
            }
            items.append(QueryItem(name, value))
        }
        return items
    }

    /// Decodes `%XX`; a plus stays a plus (RFC 3986).
    private static func decode(_ bytes: ArraySlice<UInt8>) -> String? {
        var decoded: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            let value = high << 4 | low
            guard value != 0 else { return nil }
            decoded.append(value)
        }
        return String(validating: decoded, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 48...57: byte - 48
        case 65...70: byte - 55
        case 97...102: byte - 87
        default: nil
        }
    }

    private static func lowercase(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte + 32 : byte }
}
