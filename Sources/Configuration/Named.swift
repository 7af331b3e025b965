// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// An entry of a map in the configuration, in written order.
public struct Named<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The name it was written under.
    public let name: String
    /// Its settings.
    public var value: Value

    /// Pairs a name with its settings.
    public init(_ name: String, _ value: Value) {
        self.name = name
        self.value = value
    }
}
