// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// An optional member that is written as `null` instead of being left out, so that readers find every key.
@propertyWrapper public struct Nullable<Value: Encodable & Sendable>: Encodable, Sendable {
    /// The value, or `nil` for `null`.
    public var wrappedValue: Value?

    public init(wrappedValue: Value?) {
        self.wrappedValue = wrappedValue
    }

    /// Writes the value, or `null`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

extension Nullable: Equatable where Value: Equatable {}
