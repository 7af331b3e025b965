// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// An optional member that is written as `null` instead of being left out.
@propertyWrapper
struct Nullable<Value: Encodable & Sendable>: Encodable, Sendable {
    let wrappedValue: Value?

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

/// Seconds as records show them.
enum Rounded {
    /// Seconds with at most three digits after the point.
    static func seconds(_ duration: Duration) -> Double {
        (duration.seconds * 1000).rounded() / 1000
    }
}
