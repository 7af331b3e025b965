// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A D-Bus value, read by its own signature: variants are unwrapped, dictionaries with text keys are dictionaries.
public indirect enum BusValue: Hashable, Sendable {
    /// `b`.
    case flag(Bool)
    /// `n`, `i` and `x`.
    case signed(Int64)
    /// `y`, `q`, `u` and `t`.
    case unsigned(UInt64)
    /// `d`.
    case real(Double)
    /// `s`, `o` and `g`.
    case text(String)
    /// `ay`.
    case bytes([UInt8])
    /// Other arrays and structures.
    case list([BusValue])
    /// `a{s…}`, `a{o…}`.
    case table([String: BusValue])
    /// `h`: descriptors are never accepted.
    case descriptor

    public var flag: Bool? {
        if case .flag(let value) = self { value } else { nil }
    }

    /// The number, if it is one that an `Int` holds.
    public var number: Int? {
        switch self {
        case .signed(let value): Int(exactly: value)
        case .unsigned(let value): Int(exactly: value)
        default: nil
        }
    }

    public var text: String? {
        if case .text(let value) = self { value } else { nil }
    }

    public var bytes: [UInt8]? {
        if case .bytes(let value) = self { value } else { nil }
    }

    /// The elements, if it is an array or a structure.
    public var list: [BusValue]? {
        if case .list(let value) = self { value } else { nil }
    }

    /// The entries, if it is a dictionary with text keys; an empty array counts as an empty one.
    public var table: [String: BusValue]? {
        if case .table(let value) = self { value } else { nil }
    }
}
