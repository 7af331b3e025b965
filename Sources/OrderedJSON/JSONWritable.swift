// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A type whose value is what a member of an object or an element of a list can be.
public protocol JSONWritable: SendableMetatype {
    func writeValue(to writer: inout JSONObjectWriter)
    /// What is written: `content` says more of a text, a number or an object, lists and `null` come from the type.
    static func form(_ content: Form?) -> Form
}

extension String: JSONWritable {
    public func writeValue(to writer: inout JSONObjectWriter) { writer.text.append(string: self) }
    public static func form(_ content: Form?) -> Form { content ?? .text }
}

extension Bool: JSONWritable {
    public func writeValue(to writer: inout JSONObjectWriter) { writer.text.append(token: self ? "true" : "false") }
    public static func form(_ content: Form?) -> Form { content ?? .truth }
}

extension Int: JSONWritable {
    public func writeValue(to writer: inout JSONObjectWriter) { writer.text.append(integer: self) }
    public static func form(_ content: Form?) -> Form { content ?? .count }
}

extension UInt64: JSONWritable {
    public func writeValue(to writer: inout JSONObjectWriter) { writer.text.append(integer: self) }
    public static func form(_ content: Form?) -> Form { content ?? .count }
}

/// One that is not finite fails the whole text.
extension Double: JSONWritable {
    public func writeValue(to writer: inout JSONObjectWriter) { writer.writeNumber(self) }
    public static func form(_ content: Form?) -> Form { content ?? .number }
}

extension Optional: JSONWritable where Wrapped: JSONWritable {
    public func writeValue(to writer: inout JSONObjectWriter) {
        if let self { self.writeValue(to: &writer) } else { writer.text.append(token: "null") }
    }

    public static func form(_ content: Form?) -> Form { Wrapped.form(content).orNull }
}

extension Array: JSONWritable where Element: JSONWritable {
    public func writeValue(to writer: inout JSONObjectWriter) { writer.writeArray(self) }
    public static func form(_ content: Form?) -> Form { .list(of: Element.form(content)) }
}

extension JSONValue: JSONWritable {
    public func writeValue(to writer: inout JSONObjectWriter) {
        switch self {
        case .null: writer.text.append(token: "null")
        case .bool(let value): value.writeValue(to: &writer)
        case .integer(let value): writer.text.append(integer: value)
        case .unsigned(let value): value.writeValue(to: &writer)
        case .double(let value): value.writeValue(to: &writer)
        case .string(let value): value.writeValue(to: &writer)
        case .array(let values): values.writeValue(to: &writer)
        case .object(let object): object.writeValue(to: &writer)
        }
    }

    public static func form(_ content: Form?) -> Form { content ?? .anyObject }
}
