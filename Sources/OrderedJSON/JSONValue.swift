// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A JSON value whose objects keep the order of their keys.
public enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A number without fraction and exponent that fits 64 bits.
    case integer(Int64)
    /// A whole number above `Int64.max` that fits 64 bits; never used for smaller ones.
    case unsigned(UInt64)
    /// Any other number.
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}

/// The members of a JSON object, in order, each key once.
public struct JSONObject: Hashable, Sendable {
    public struct Member: Hashable, Sendable {
        public let key: String
        public var value: JSONValue
    }

    public private(set) var members: [Member] = []

    /// Makes an empty object.
    public init() {}

    public var keys: [String] { members.map(\.key) }

    /// The value of a key; setting an unknown key appends it, setting `nil` removes it.
    public subscript(key: String) -> JSONValue? {
        get { members.first { $0.key == key }?.value }
        set {
            let index = members.firstIndex { $0.key == key }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(key: key, value: value))
            case (nil, nil): break
            }
        }
    }

    /// Appends a member whose key is known to be new.
    mutating func append(_ key: String, _ value: JSONValue) {
        members.append(Member(key: key, value: value))
    }
}

// MARK: - Convenient reading

extension JSONValue {
    /// The member of an object; `nil` when there is none, or this is no object.
    public subscript(key: String) -> JSONValue? { object?[key] }

    /// The element of an array; `nil` when there is none, or this is no array.
    public subscript(index: Int) -> JSONValue? {
        guard let array, array.indices.contains(index) else { return nil }
        return array[index]
    }

    /// Whether this is `null`.
    public var isNull: Bool { self == .null }

    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The whole number, if this is one that fits.
    public var int: Int? {
        switch self {
        case .integer(let value): Int(exactly: value)
        case .double(let value): Int(exactly: value)
        default: nil
        }
    }

    /// The whole number from zero up, if this is one that fits.
    public var uint64: UInt64? {
        switch self {
        case .integer(let value): UInt64(exactly: value)
        case .unsigned(let value): value
        case .double(let value): UInt64(exactly: value)
        default: nil
        }
    }

    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    public var string: String? { if case .string(let value) = self { value } else { nil } }

    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

    public var object: JSONObject? { if case .object(let value) = self { value } else { nil } }
}

// MARK: - Writing

extension JSONObject: JSONObjectWritable {
    public func write(to object: inout JSONObjectWriter) {
        for member in members { object.write(key: member.key, member.value) }
    }
}
