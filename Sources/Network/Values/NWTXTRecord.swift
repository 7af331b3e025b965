// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire
public import FoundationEssentials

/// What a service says about itself in its TXT record (RFC 6763 section 6): keys with values, in order.
///
/// Keys are compared without regard to case. A key has 1 to 254 printable ASCII characters, none of them `=`; key,
/// `=` and value together have 255 bytes at most.
public struct NWTXTRecord: Sendable {
    /// What a key stands for.
    public enum Entry: Hashable, Sendable {
        /// The key alone, without `=`.
        case none
        /// The key and `=`, with nothing behind it.
        case empty
        /// Text.
        case string(String)
        /// Bytes that are no text in UTF-8.
        case data(Data)
    }

    private var entries: [(key: String, value: Entry)] = []

    /// A record of texts, in the order of the keys; what cannot be in a record is left out.
    public init(_ dictionary: [String: String] = [:]) {
        for (key, value) in dictionary.sorted(by: { $0.key < $1.key }) { self[key] = value }
    }

    /// Reads the data of a TXT record.
    ///
    /// A key that repeats, is empty or is not printable ASCII is left out, as RFC 6763 section 6.4 says.
    public init(_ data: Data) {
        self.init(entries: TextRecord(data: Array(data)).entries)
    }

    init(entries: [TextRecord.Entry]) {
        self.entries = entries.map { ($0.key, Entry($0.value)) }
    }

    /// The data of the TXT record: a single zero byte when there is no entry (RFC 6763 section 6.1).
    public var data: Data { Data(TextRecord(entries: textEntries).data) }

    /// The entries as the engines know them.
    var textEntries: [TextRecord.Entry] {
        entries.map { TextRecord.Entry(key: $0.key, value: $0.value.bytes) }
    }

    /// The texts by key; a key without a value stands for the empty text, and bytes that are no text are left out.
    public var dictionary: [String: String] {
        Dictionary(uniqueKeysWithValues: entries.compactMap { entry in entry.value.text.map { (entry.key, $0) } })
    }

    /// The text of a key, as ``dictionary`` has it; setting `nil` removes the key.
    ///
    /// A key or text that cannot be in a record changes nothing.
    public subscript(key: String) -> String? {
        get { getEntry(for: key)?.text }
        set {
            if let newValue {
                setEntry(newValue.isEmpty ? .empty : .string(newValue), for: key)
            } else {
                removeEntry(key: key)
            }
        }
    }

    /// What a key stands for; `nil` when it is not there.
    public func getEntry(for key: String) -> Entry? {
        offset(of: key).map { entries[$0].value }
    }

    /// Sets what a key stands for; a key that is there keeps its position and its spelling.
    /// - Returns: `false` when the key is not valid, or the entry too long.
    @discardableResult
    public mutating func setEntry(_ value: Entry, for key: String) -> Bool {
        let count = key.utf8.count + (value.bytes.map { $0.count + 1 } ?? 0)
        guard Self.isValid(key), count <= 255 else { return false }
        if let offset = offset(of: key) {
            entries[offset].value = Entry(value.bytes)
        } else {
            entries.append((key, Entry(value.bytes)))
        }
        return true
    }

    /// Removes a key.
    /// - Returns: `false` when it is not there.
    @discardableResult
    public mutating func removeEntry(key: String) -> Bool {
        guard let offset = offset(of: key) else { return false }
        entries.remove(at: offset)
        return true
    }

    private static func isValid(_ key: String) -> Bool {
        (1...254).contains(key.utf8.count) && key.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x3D }
    }

    private func offset(of key: String) -> Int? {
        let normalized = Self.fold(key)
        return entries.firstIndex { Self.fold($0.key) == normalized }
    }

    fileprivate static func fold(_ key: String) -> [UInt8] {
        key.utf8.map { (65...90).contains($0) ? $0 + 32 : $0 }
    }
}

extension NWTXTRecord.Entry {
    /// Reads the bytes behind the `=`.
    init(_ bytes: [UInt8]?) {
        guard let bytes else {
            self = .none
            return
        }
        if bytes.isEmpty {
            self = .empty
        } else if let text = String(validating: bytes, as: UTF8.self) {
            self = .string(text)
        } else {
            self = .data(Data(bytes))
        }
    }

    /// The bytes behind the `=`; `nil` when there is none.
    var bytes: [UInt8]? {
        switch self {
        case .none: nil
        case .empty: []
        case .string(let text): Array(text.utf8)
        case .data(let data): Array(data)
        }
    }

    var text: String? {
        switch self {
        case .none, .empty: ""
        case .string(let text): text
        case .data: nil
        }
    }
}

extension NWTXTRecord: Hashable {
    /// Whether the same keys stand for the same, in any order and in any spelling.
    public static func == (left: NWTXTRecord, right: NWTXTRecord) -> Bool { left.normalized == right.normalized }

    /// As `==` sees the record.
    public func hash(into hasher: inout Hasher) { hasher.combine(normalized) }

    private var normalized: [[UInt8]: Entry] {
        Dictionary(entries.map { (Self.fold($0.key), $0.value) }) { first, _ in first }
    }
}

extension NWTXTRecord: Collection {
    /// A key and what it stands for.
    public typealias Element = (key: String, value: Entry)
    /// The position of an entry; valid until the record is changed.
    public struct Index: Hashable, Comparable, Sendable {
        let offset: Int

        /// In the order of the record.
        public static func < (left: Index, right: Index) -> Bool { left.offset < right.offset }
    }

    /// The position of the first entry.
    public var startIndex: Index { Index(offset: 0) }
    /// The position behind the last entry.
    public var endIndex: Index { Index(offset: entries.count) }
    /// The position behind a position.
    public func index(after index: Index) -> Index { Index(offset: index.offset + 1) }
    /// The entry at a position.
    public subscript(position: Index) -> Element { entries[position.offset] }
}

extension NWTXTRecord: CustomDebugStringConvertible {
    /// Such as `["path": "/", "secure": ""]`, in order.
    public var debugDescription: String {
        let words = map { entry -> String in
            let value = entry.value.text.map { $0.debugDescription } ?? "\(entry.value.bytes?.count ?? 0) bytes"
            return "\(entry.key.debugDescription): \(value)"
        }
        return words.isEmpty ? "[:]" : "[\(words.joined(separator: ", "))]"
    }
}
