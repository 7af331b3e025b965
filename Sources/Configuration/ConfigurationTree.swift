// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Settings or a schema as plain values, ready for any encoder; maps keep their order.
public enum ConfigurationTree: Hashable, Sendable {
    case null
    /// `true` or `false`.
    case boolean(Bool)
    case integer(Int)
    case text(String)
    case list([ConfigurationTree])
    /// Names with values, in order.
    case map([Field])

    public struct Field: Hashable, Sendable {
        public let name: String
        public let value: ConfigurationTree

        public init(_ name: String, _ value: ConfigurationTree) {
            self.name = name
            self.value = value
        }
    }

    /// The value of a key of a map; `nil` when there is none.
    public subscript(name: String) -> ConfigurationTree? {
        guard case .map(let fields) = self else { return nil }
        return fields.first { $0.name == name }?.value
    }
}

extension ConfigurationTree: ExpressibleByStringLiteral, ExpressibleByDictionaryLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral
{
    public init(stringLiteral value: String) { self = .text(value) }
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    public init(integerLiteral value: Int) { self = .integer(value) }
    public init(arrayLiteral elements: ConfigurationTree...) { self = .list(elements) }
    /// A map in the written order.
    public init(dictionaryLiteral elements: (String, ConfigurationTree)...) {
        self = .map(elements.map { Field($0.0, $0.1) })
    }
}

extension ConfigurationTree: Encodable {
    private struct TextKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Writes the values as they are, maps in their order.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .map(let fields):
            var container = encoder.container(keyedBy: TextKey.self)
            for field in fields { try container.encode(field.value, forKey: TextKey(stringValue: field.name)) }
        case .list(let items):
            var container = encoder.unkeyedContainer()
            for item in items { try container.encode(item) }
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .boolean(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .integer(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .text(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
    }
}
