// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A type whose value is one JSON object.
public protocol JSONObjectWritable: JSONWritable {
    /// Writes the members in the order in which they are shown.
    ///
    /// Others may have members in the same object.
    func write(to object: inout JSONObjectWriter)
}

extension JSONObjectWritable {
    public func writeValue(to writer: inout JSONObjectWriter) { writer.writeObject { write(to: &$0) } }
    public static func form(_ content: Form?) -> Form { content ?? .anyObject }
}

/// Writes the members of one object; keys of the program's own must be plain words, which need no escape.
///
/// `write` writes `null` where there is no value, `writeIfPresent` leaves the member out.
public struct JSONObjectWriter {
    var text = JSONText()
    /// How many members or elements the innermost container has so far.
    private var count = 0
    private var depth = 0
    private let isPretty: Bool
    /// The path of the first number that JSON cannot say.
    private var failure = ""
    private var hasFailed = false

    init(isPretty: Bool, capacity: Int) {
        self.isPretty = isPretty
        text.reserve(capacity)
    }

    mutating func finish(terminator: UInt8?) throws(JSONError) -> [UInt8] {
        if hasFailed { throw .notFinite(path: failure) }
        if let terminator { text.append(byte: terminator) }
        return text.bytes
    }

    // MARK: - Members

    public mutating func write(_ key: StaticString, _ value: some JSONWritable) {
        beginItem()
        text.append(key: key)
        if isPretty { text.append(" ") }
        let hadFailed = hasFailed
        value.writeValue(to: &self)
        if hasFailed != hadFailed { prefixFailure(with: "\(key)") }
    }

    public mutating func write(_ key: StaticString, _ value: JSONValue) { write(key, value as JSONValue?) }

    public mutating func writeIfPresent(_ key: StaticString, _ value: (some JSONWritable)?) {
        if let value { write(key, value) }
    }

    /// Writes a member whose key comes from outside and is escaped like any text.
    public mutating func write(key: String, _ value: JSONValue) {
        beginItem()
        text.append(string: key)
        text.append(":")
        if isPretty { text.append(" ") }
        let hadFailed = hasFailed
        value.writeValue(to: &self)
        if hasFailed != hadFailed { prefixFailure(with: key) }
    }

    // MARK: - Values

    mutating func writeNumber(_ value: Double) {
        if !text.append(number: value) { hasFailed = true }
    }

    mutating func writeObject(_ members: (inout Self) -> Void) {
        nest("{", "}", members)
    }

    mutating func writeArray(_ values: [some JSONWritable]) {
        nest("[", "]") { writer in
            for index in values.indices {
                writer.beginItem()
                let hadFailed = writer.hasFailed
                values[index].writeValue(to: &writer)
                if writer.hasFailed != hadFailed { writer.prefixFailure(with: "\(index)") }
            }
        }
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

    private mutating func beginItem() {
        if count > 0 { text.append(",") }
        count += 1
        if isPretty { text.appendIndent(depth: depth) }
    }

    /// Names the key or the index of the value that has just failed.
    private mutating func prefixFailure(with step: String) {
        failure = failure.isEmpty ? step : "\(step).\(failure)"
    }
}
