// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Writes JSON with the keys in the order in which they are written.
public struct OrderedJSONEncoder: Sendable {
    /// How much white space the text has.
    public enum Style: Sendable {
        /// None: one line.
        case compact
        /// One member a line, two spaces for each level.
        case pretty
    }

    /// How much white space the text has.
    public var style: Style

    public init(style: Style = .compact) {
        self.style = style
    }

    /// Encodes an object as UTF-8 text without a final line feed.
    ///
    /// - Parameters:
    ///   - value: What to encode.
    ///   - capacity: How many bytes the text probably has.
    ///   - terminator: A byte appended to the text, such as a line feed.
    /// - Returns: The text.
    /// - Throws: ``JSONError`` when a number is not finite.
    public func encode(
        _ value: some JSONObjectWritable,
        capacity: Int = 512,
        terminator: UInt8? = nil
    ) throws(JSONError) -> [UInt8] {
        try encode(capacity: capacity, terminator: terminator) { value.write(to: &$0) }
    }

    /// Encodes one object with members of several values; the rest is as with an object of one.
    public func encode(
        capacity: Int = 512,
        terminator: UInt8? = nil,
        members: (inout JSONObjectWriter) -> Void
    ) throws(JSONError) -> [UInt8] {
        var writer = JSONObjectWriter(isPretty: style == .pretty, capacity: capacity)
        writer.writeObject(members)
        return try writer.finish(terminator: terminator)
    }

    /// Encodes an array of objects; the rest is as with an object.
    public func encode(
        _ values: [some JSONObjectWritable],
        capacity: Int = 512,
        terminator: UInt8? = nil
    ) throws(JSONError) -> [UInt8] {
        var writer = JSONObjectWriter(isPretty: style == .pretty, capacity: capacity)
        writer.writeArray(values)
        return try writer.finish(terminator: terminator)
    }

    /// Encodes any value; the rest is as with an object.
    public func encode(
        _ value: JSONValue,
        capacity: Int = 512,
        terminator: UInt8? = nil
    ) throws(JSONError) -> [UInt8] {
        var writer = JSONObjectWriter(isPretty: style == .pretty, capacity: capacity)
        value.writeValue(to: &writer)
        return try writer.finish(terminator: terminator)
    }

    public func string(_ value: some JSONObjectWritable) throws(JSONError) -> String {
        String(decoding: try encode(value), as: UTF8.self)
    }

    public func string(_ value: JSONValue) throws(JSONError) -> String {
        String(decoding: try encode(value), as: UTF8.self)
    }
}
