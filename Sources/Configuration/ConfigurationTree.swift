// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Settings or a schema as plain values; maps keep their order.
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
