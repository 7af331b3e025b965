// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// JSON tokens appended to one buffer: the only place where values become text.
public struct JSONText {
    private(set) var bytes: [UInt8] = []

    init() {}

    /// A string as JSON writes it, quotes included, for documents that are put together from parts.
    public static func quote(_ text: String) -> String {
        var output = JSONText()
        output.append(string: text)
        return String(decoding: output.bytes, as: UTF8.self)
    }

    mutating func reserve(_ count: Int) {
        bytes.reserveCapacity(count)
    }

    mutating func append(_ mark: Unicode.Scalar) {
        bytes.append(UInt8(truncatingIfNeeded: mark.value))
    }

    /// Appends an already written token, such as the digits of a number.
    mutating func append(literal: String) {
        bytes.append(contentsOf: literal.utf8)
    }

    mutating func appendIndent(depth: Int) {
        bytes.append(0x0A)
        for _ in 0..<(2 * depth) { bytes.append(0x20) }
    }

    /// Appends a number in decimal digits.
    mutating func append(integer value: some FixedWidthInteger) {
        if value < 0 { bytes.append(0x2D) }
        var rest = UInt64(value.magnitude)
        var divisor: UInt64 = 1
        while rest / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            bytes.append(UInt8(truncatingIfNeeded: 48 + rest / divisor))
            rest %= divisor
            divisor /= 10
        }
    }

    /// Appends a quoted string, escaped as RFC 8259 section 7 demands; `/` stays as it is.
    ///
    /// Whatever could trick a terminal or the eye is escaped too: U+007F and the C1 controls, the line separators, and
    /// invisible format characters such as those that turn the direction of writing. Joiners stay.
    mutating func append(string: String) {
        bytes.append(0x22)
        if Self.mayNeedEscape(string.utf8Span.span) {
            for scalar in string.unicodeScalars { append(escaping: scalar) }
        } else {
            bytes.append(contentsOf: string.utf8)
        }
        bytes.append(0x22)
    }

    private static func mayNeedEscape(_ text: Span<UInt8>) -> Bool {
        for place in text.indices {
            let byte = text[place]
            if byte < 0x20 || byte == 0x22 || byte == 0x5C || byte >= 0x7F { return true }
        }
        return false
    }

    private mutating func append(escaping scalar: Unicode.Scalar) {
        switch scalar {
        case "\"": append(literal: "\\\"")
        case "\\": append(literal: "\\\\")
        case "\n": append(literal: "\\n")
        case "\r": append(literal: "\\r")
        case "\t": append(literal: "\\t")
        case _ where Self.isTricky(scalar):
            for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                append(literal: "\\u")
                for shift in [12, 8, 4, 0] as [UInt32] {
                    bytes.append(Self.hexadecimal(UInt32(unit) >> shift & 0xF))
                }
            }
        default:
            bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        }
    }

    private static func isTricky(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20..<0x7F, 0x200C, 0x200D: return false
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }

    private static func hexadecimal(_ digit: UInt32) -> UInt8 {
        UInt8(truncatingIfNeeded: digit < 10 ? 48 + digit : 87 + digit)
    }
}
