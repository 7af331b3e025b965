// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// An entry of a map in the configuration, in written order.
public struct Named<Value: Hashable & Sendable>: Hashable, Sendable {
    public let name: String
    public var value: Value

    public init(_ name: String, _ value: Value) {
        self.name = name
        self.value = value
    }
}
