// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Writes `Encodable` values as JSON with the keys in the order in which they are encoded.
///
/// A type with synthesised coding therefore shows its properties in the order of their declaration. Several keyed
/// containers of one encoder share one object, so an envelope and its body can be two types.
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

    /// Encodes a value as UTF-8 text without a final line feed.
    ///
    /// - Parameters:
    ///   - value: What to encode.
    ///   - capacity: How many bytes the text probably has.
    ///   - terminator: A byte appended to the text, such as a line feed.
    /// - Returns: The text.
    /// - Throws: ``JSONError`` when a number is not finite or a type encodes itself wrongly.
    public func encode(
        _ value: some Encodable,
        capacity: Int = 512,
        terminator: UInt8? = nil
    ) throws(JSONError) -> [UInt8] {
        let output = JSONOutput(isPretty: style == .pretty, capacity: capacity)
        do {
            try output.writeRoot(value)
        } catch let error as JSONError {
            throw error
        } catch {
            throw .rejected(path: output.path, reason: "\(error)")
        }
        if let failure = output.failure { throw failure }
        return output.finish(terminator: terminator)
    }

    /// Encodes an object in one line and without the machinery of `Encodable`, which takes a fraction of the time.
    ///
    /// - Parameters:
    ///   - capacity: How many bytes the text probably has.
    ///   - terminator: A byte appended to the text, such as a line feed.
    ///   - members: Writes the members, or finds that it cannot.
    /// - Returns: The text, always compact; `nil` when `members` returned `false`.
    /// - Throws: ``JSONError`` when a number is not finite.
    public func line(
        capacity: Int,
        terminator: UInt8,
        members: (inout JSONObjectWriter) -> Bool
    ) throws(JSONError) -> [UInt8]? {
        var writer = JSONObjectWriter(isPretty: false, capacity: capacity)
        var isWritten = false
        writer.writeObject { isWritten = members(&$0) }
        return isWritten ? try writer.finish(terminator: terminator) : nil
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

    public func string(_ value: some Encodable) throws(JSONError) -> String {
        String(decoding: try encode(value), as: UTF8.self)
    }
}
