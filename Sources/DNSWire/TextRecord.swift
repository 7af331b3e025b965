// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The strings of a TXT record and the key-value pairs in them (RFC 6763 section 6).
public struct TextRecord: Hashable, Sendable {
    /// One pair; a key without `=` has no value, which differs from an empty one.
    public struct Entry: Hashable, Sendable {
        /// The key as written, printable ASCII.
        public let key: String
        public let value: [UInt8]?

        public init(key: String, value: [UInt8]?) {
            self.key = key
            self.value = value
        }
    }

    /// The strings, in order, without empty ones.
    public let strings: [[UInt8]]

    /// Keeps the first 255 bytes of each string.
    public init(strings: [[UInt8]]) {
        self.strings = strings.filter { !$0.isEmpty }.map { Array($0.prefix(255)) }
    }

    /// Makes the strings of pairs, in order.
    public init(entries: [Entry]) {
        self.init(strings: entries.map { Array($0.key.utf8) + ($0.value.map { [UInt8(ascii: "=")] + $0 } ?? []) })
    }

    /// Reads record data; a string that runs past the end is dropped.
    public init(data: [UInt8]) {
        var strings: [[UInt8]] = []
        var offset = 0
        while offset < data.count {
            let end = offset + 1 + Int(data[offset])
            guard end <= data.count else { break }
            strings.append(Array(data[(offset + 1)..<end]))
            offset = end
        }
        self.init(strings: strings)
    }

    /// The record data: a single zero byte when there are no strings (RFC 6763 section 6.1).
    public var data: [UInt8] {
        strings.isEmpty ? [0] : strings.flatMap { [UInt8($0.count)] + $0 }
    }

    /// The pairs, in order; a key that repeats (in any case), is empty or is not printable ASCII is left out.
    public var entries: [Entry] {
        var seen: Set<[UInt8]> = []
        return strings.compactMap { string in
            let equals = string.firstIndex(of: UInt8(ascii: "="))
            let key = string[..<(equals ?? string.endIndex)]
            guard !key.isEmpty, key.allSatisfy({ (0x20...0x7E).contains($0) }),
                seen.insert(key.map(DomainName.fold)).inserted
            else { return nil }
            return Entry(key: String(decoding: key, as: UTF8.self), value: equals.map { Array(string[($0 + 1)...]) })
        }
    }

    /// The first pair with this key, in any case.
    public subscript(key: String) -> Entry? {
        let normalized = key.utf8.map(DomainName.fold)
        return entries.first { $0.key.utf8.map(DomainName.fold) == normalized }
    }
}
