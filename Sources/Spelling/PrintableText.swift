// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Makes text from strangers safe to print: on a terminal, in a message, on one line.
public enum PrintableText {
    /// Replaces everything that could move the cursor, change colours, break the line or reorder the text.
    ///
    /// That is: control characters (ESC and the C1 set included), line and paragraph separators, and the invisible
    /// format characters, bidirectional overrides among them. Joiners inside words and emoji stay. Newline,
    /// carriage return and tab become `\n`, `\r`, `\t`, others `\u{202E}`; a backslash stays as it is.
    public static func escape(_ text: some StringProtocol) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return String(text) }
        var safe = ""
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) { safe += spelled(scalar) } else { safe.unicodeScalars.append(scalar) }
        }
        return safe
    }

    /// Escapes, cuts what exceeds `limit` characters, and puts single quotes around.
    public static func quote(_ text: some StringProtocol, limit: Int = 60) -> String {
        let isCut = text.dropFirst(limit).isEmpty == false
        return "'" + escape(text.prefix(limit)) + (isCut ? "…'" : "'")
    }

    /// Whether a scalar must not reach a terminal.
    public static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20...0x7E: return false
        case 0x200C, 0x200D: return false
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: return true
        default: return false
        }
    }

    private static func spelled(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default: "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
        }
    }
}
