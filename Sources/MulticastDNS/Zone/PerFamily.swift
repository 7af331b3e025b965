// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// A value for each family that has one; it is accessed in its storage, not copied.
struct PerFamily<Value: Sendable>: Sendable {
    private var ipv4: Value?
    private var ipv6: Value?

    /// The values there are, IPv4's first.
    var values: [Value] {
        switch (ipv4, ipv6) {
        case (let ipv4?, let ipv6?): [ipv4, ipv6]
        case (let value?, nil), (nil, let value?): [value]
        case (nil, nil): []
        }
    }

    subscript(family: AddressFamily) -> Value? {
        _read {
            switch family {
            case .ipv4: yield ipv4
            case .ipv6: yield ipv6
            }
        }
        _modify {
            switch family {
            case .ipv4: yield &ipv4
            case .ipv6: yield &ipv6
            }
        }
    }

    mutating func remove(_ family: AddressFamily) -> Value? {
        defer { self[family] = nil }
        return self[family]
    }
}
