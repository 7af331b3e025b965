// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A published document: bytes rendered once per change, with the entity tag that names the state they show.
public final class Snapshot {
    public let content: SharedBytes
    /// The opaque part of the entity tag, such as `7f3a.45`; no quotes.
    public let tag: String

    public init(_ bytes: [UInt8], tag: String) {
        content = SharedBytes(bytes)
        self.tag = tag
    }

    /// The header field's value, such as `"7f3a.45"` with its quotes.
    public var entityTag: String { "\"\(tag)\"" }

    /// Whether an `If-None-Match` field names this state (RFC 9110 section 13.1.2: weak comparison, or `*`), compressed
    /// or not.
    func matches(_ condition: String?) -> Bool {
        guard let condition else { return false }
        return Self.entityTags(condition).contains { candidate in
            candidate == "*" || candidate == entityTag || candidate == "\"\(tag)\(ContentCoding.tagSuffix)\""
        }
    }

    /// The members of an `If-None-Match` field, quoted as they came, without what marks a weak one.
    static func entityTags(_ field: String) -> [Substring] {
        field.split(separator: ",").map { member in
            var text = member.drop { $0 == " " || $0 == "\t" }
            while text.last == " " || text.last == "\t" { text.removeLast() }
            return text.hasPrefix("W/") ? text.dropFirst(2) : text
        }
    }
}
