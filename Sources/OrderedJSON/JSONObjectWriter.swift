// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A type whose value is one JSON object with members that it writes itself.
///
/// For what is written while somebody waits: without the containers of `Encodable` it takes a fraction of the time. One
/// description serves both ways, because `encode(to:)` follows from ``write(to:)``; ``OrderedJSONEncoder`` is the only
/// encoder that knows how.
public protocol JSONObjectWritable: Encodable {
    /// Writes the members in the order in which they are shown.
    func write(to object: inout JSONObjectWriter)
}

extension JSONObjectWritable {
    /// Writes the members to the encoder's object, which others may share.
    /// - Throws: ``JSONError`` when a number is not finite, or for an encoder other than ``OrderedJSONEncoder``.
    public func encode(to encoder: any Encoder) throws {
        guard let encoder = encoder as? ValueEncoder else {
            throw JSONError.rejected(path: "", reason: "\(Self.self) is written by OrderedJSONEncoder alone")
        }
        try encoder.output.write(members: self, at: encoder.place)
    }
}

/// Writes the members of one object; keys must be plain words, which need no escape.
public struct JSONObjectWriter {
    private(set) var text: JSONText
    private(set) var count: Int
    /// The first number that JSON cannot say.
    private(set) var failure: JSONError?
    private var depth: Int
    private let isPretty: Bool

    /// Goes on in an open object that has `count` members.
    init(_ text: consuming JSONText, count: Int, depth: Int, isPretty: Bool) {
        self.text = text
        self.count = count
        self.depth = depth
        self.isPretty = isPretty
    }

    /// Closes the outermost object.
    mutating func finish(terminator: UInt8) -> [UInt8] {
        text.append("}")
        text.append(byte: terminator)
        return text.bytes
    }

    /// Writes text, or `null`.
    public mutating func write(_ key: StaticString, _ value: String?) {
        begin(key)
        if let value { text.append(string: value) } else { text.append(token: "null") }
    }

    /// Writes a truth value, or `null`.
    public mutating func write(_ key: StaticString, _ value: Bool?) {
        begin(key)
        text.append(token: value.map { $0 ? "true" : "false" } ?? "null")
    }

    /// Writes a whole number, or `null`.
    public mutating func write(_ key: StaticString, _ value: Int?) {
        begin(key)
        if let value { text.append(integer: value) } else { text.append(token: "null") }
    }

    /// Writes a whole number that is not negative.
    public mutating func write(_ key: StaticString, _ value: UInt64) {
        begin(key)
        text.append(integer: value)
    }

    /// Writes a number; one that is not finite fails the whole text.
    public mutating func write(_ key: StaticString, _ value: Double) {
        begin(key)
        if !text.append(number: value), failure == nil { failure = .notFinite(path: key.description) }
    }

    public mutating func write(_ key: StaticString, _ values: [String]) {
        beginArray(key)
        for place in values.indices {
            beginElement(place)
            text.append(string: values[place])
        }
        endArray(isEmpty: values.isEmpty)
    }

    /// Writes an object, or `null`.
    public mutating func write(_ key: StaticString, _ value: (some JSONObjectWritable)?) {
        guard let value else {
            begin(key)
            return text.append(token: "null")
        }
        write(key, value)
    }

    public mutating func write(_ key: StaticString, _ value: some JSONObjectWritable) {
        begin(key)
        let hadFailed = failure != nil
        write(object: value)
        if !hadFailed { failure = failure?.below(key) }
    }

    public mutating func write(_ key: StaticString, _ values: [some JSONObjectWritable]) {
        let hadFailed = failure != nil
        beginArray(key)
        for place in values.indices {
            beginElement(place)
            write(object: values[place])
        }
        endArray(isEmpty: values.isEmpty)
        if !hadFailed { failure = failure?.below(key) }
    }

    private mutating func beginArray(_ key: StaticString) {
        begin(key)
        text.append("[")
        depth += 1
    }

    private mutating func beginElement(_ place: Int) {
        if place > 0 { text.append(",") }
        if isPretty { text.appendIndent(depth: depth) }
    }

    private mutating func endArray(isEmpty: Bool) {
        depth -= 1
        if isPretty && !isEmpty { text.appendIndent(depth: depth) }
        text.append("]")
    }

    private mutating func write(object value: some JSONObjectWritable) {
        let outer = count
        count = 0
        depth += 1
        text.append("{")
        value.write(to: &self)
        depth -= 1
        if isPretty && count > 0 { text.appendIndent(depth: depth) }
        text.append("}")
        count = outer
    }

    private mutating func begin(_ key: StaticString) {
        beginMember()
        text.append(key: key)
        if isPretty { text.append(" ") }
    }

    private mutating func beginMember() {
        if count > 0 { text.append(",") }
        count += 1
        if isPretty { text.appendIndent(depth: depth) }
    }
}

extension JSONError {
    /// The same failure, seen from the object around it.
    fileprivate func below(_ key: StaticString) -> JSONError {
        if case .notFinite(let path) = self { .notFinite(path: "\(key).\(path)") } else { self }
    }
}
