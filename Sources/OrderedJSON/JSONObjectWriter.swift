// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A type whose value is one JSON object.
public protocol JSONObjectWritable {
    /// Writes the members in the order in which they are shown.
    ///
    /// Others may have members in the same object.
    func write(to object: inout JSONObjectWriter)
}

/// Writes the members of one object; keys of the program's own must be plain words, which need no escape.
///
/// `write` writes `null` where there is no value, `writeIfPresent` leaves the member out.
public struct JSONObjectWriter {
    private var text = JSONText()
    /// How many members or elements the innermost container has so far.
    private var count = 0
    private var depth = 0
    private let isPretty: Bool
    /// The first number that JSON cannot say.
    private var failure: JSONError?

    init(isPretty: Bool, capacity: Int) {
        self.isPretty = isPretty
        text.reserve(capacity)
    }

    mutating func finish(terminator: UInt8?) throws(JSONError) -> [UInt8] {
        if let failure { throw failure }
        if let terminator { text.append(byte: terminator) }
        return text.bytes
    }

    // MARK: - Members

    public mutating func write(_ key: StaticString, _ value: String?) {
        begin(key)
        if let value { text.append(string: value) } else { text.append(token: "null") }
    }

    public mutating func write(_ key: StaticString, _ value: Bool?) {
        begin(key)
        text.append(token: value.map { $0 ? "true" : "false" } ?? "null")
    }

    public mutating func write(_ key: StaticString, _ value: Int?) {
        begin(key)
        if let value { text.append(integer: value) } else { text.append(token: "null") }
    }

    public mutating func write(_ key: StaticString, _ value: UInt64?) {
        begin(key)
        if let value { text.append(integer: value) } else { text.append(token: "null") }
    }

    /// Writes a number; one that is not finite fails the whole text.
    public mutating func write(_ key: StaticString, _ value: Double?) {
        begin(key)
        guard let value else { return text.append(token: "null") }
        follow(key) { $0.writeNumber(value) }
    }

    public mutating func write(_ key: StaticString, _ values: [String]) {
        begin(key)
        writeArray(values) { $0.text.append(string: $1) }
    }

    public mutating func write(_ key: StaticString, _ value: (some JSONObjectWritable)?) {
        guard let value else {
            begin(key)
            return text.append(token: "null")
        }
        write(key, value)
    }

    public mutating func write(_ key: StaticString, _ value: some JSONObjectWritable) {
        begin(key)
        follow(key) { writer in writer.writeObject { value.write(to: &$0) } }
    }

    public mutating func write(_ key: StaticString, _ values: [some JSONObjectWritable]) {
        begin(key)
        follow(key) { $0.writeArray(values) }
    }

    public mutating func write(_ key: StaticString, _ value: JSONValue?) {
        begin(key)
        follow(key) { $0.writeValue(value ?? .null) }
    }

    /// Writes a member whose key comes from outside and is escaped like any text.
    public mutating func write(key: String, _ value: JSONValue) {
        beginItem()
        text.append(string: key)
        text.append(":")
        if isPretty { text.append(" ") }
        follow(key) { $0.writeValue(value) }
    }

    public mutating func writeIfPresent(_ key: StaticString, _ value: String?) {
        if let value { write(key, value) }
    }

    public mutating func writeIfPresent(_ key: StaticString, _ value: Int?) {
        if let value { write(key, value) }
    }

    public mutating func writeIfPresent(_ key: StaticString, _ value: UInt64?) {
        if let value { write(key, value) }
    }

    public mutating func writeIfPresent(_ key: StaticString, _ value: Double?) {
        if let value { write(key, value) }
    }

    public mutating func writeIfPresent(_ key: StaticString, _ value: (some JSONObjectWritable)?) {
        if let value { write(key, value) }
    }

    public mutating func writeIfPresent(_ key: StaticString, _ values: [some JSONObjectWritable]?) {
        if let values { write(key, values) }
    }

    // MARK: - Values

    mutating func writeValue(_ value: JSONValue) {
        switch value {
        case .null: text.append(token: "null")
        case .bool(let value): text.append(token: value ? "true" : "false")
        case .integer(let value): text.append(integer: value)
        case .unsigned(let value): text.append(integer: value)
        case .double(let value): writeNumber(value)
        case .string(let value): text.append(string: value)
        case .array(let values): writeArray(values) { $0.writeValue($1) }
        case .object(let object): writeObject { object.write(to: &$0) }
        }
    }

    mutating func writeObject(_ members: (inout Self) -> Void) {
        nest("{", "}", members)
    }

    mutating func writeArray(_ values: [some JSONObjectWritable]) {
        writeArray(values) { writer, value in writer.writeObject { value.write(to: &$0) } }
    }

    private mutating func writeArray<Element>(_ values: [Element], _ write: (inout Self, Element) -> Void) {
        nest("[", "]") { writer in
            for index in values.indices {
                writer.beginItem()
                writer.follow(index) { write(&$0, values[index]) }
            }
        }
    }

    private mutating func writeNumber(_ value: Double) {
        if !text.append(number: value), failure == nil { failure = .notFinite(path: "") }
    }

    private mutating func nest(_ start: Unicode.Scalar, _ end: Unicode.Scalar, _ items: (inout Self) -> Void) {
        let outer = count
        count = 0
        depth += 1
        text.append(start)
        items(&self)
        depth -= 1
        if isPretty && count > 0 { text.appendIndent(depth: depth) }
        text.append(end)
        count = outer
    }

    private mutating func begin(_ key: StaticString) {
        beginItem()
        text.append(key: key)
        if isPretty { text.append(" ") }
    }

    private mutating func beginItem() {
        if count > 0 { text.append(",") }
        count += 1
        if isPretty { text.appendIndent(depth: depth) }
    }

    /// Writes the value at `step`, a key or an index, which becomes a part of the path of a failure in it.
    private mutating func follow(_ step: some CustomStringConvertible, _ write: (inout Self) -> Void) {
        let hadFailed = failure != nil
        write(&self)
        guard !hadFailed, case .notFinite(let path)? = failure else { return }
        failure = .notFinite(path: path.isEmpty ? "\(step)" : "\(step).\(path)")
    }
}
