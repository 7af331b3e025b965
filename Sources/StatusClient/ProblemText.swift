// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Reads single members of a problem document (RFC 9457), which is flat JSON.
enum ProblemText {
    /// The string member `name` of the outermost object; `nil` when there is none.
    static func member(_ name: String, of text: String) -> String? {
        var scalars = text.unicodeScalars[...]
        var depth = 0
        while let scalar = scalars.first {
            switch scalar {
            case "{", "[": depth += 1
            case "}", "]": depth -= 1
            case "\"":
                guard let key = string(&scalars) else { return nil }
                skipSpace(&scalars)
                guard depth == 1, key == name, scalars.first == ":" else { continue }
                scalars.removeFirst()
                skipSpace(&scalars)
                return scalars.first == "\"" ? string(&scalars) : nil
            default: break
            }
            scalars.removeFirst()
        }
        return nil
    }

    private static func skipSpace(_ scalars: inout Substring.UnicodeScalarView) {
        scalars = scalars.drop { $0 == " " || $0 == "\n" || $0 == "\r" || $0 == "\t" }
    }

    /// Reads a JSON string and leaves what follows it.
    private static func string(_ scalars: inout Substring.UnicodeScalarView) -> String? {
        var units: [UInt16] = []
        scalars.removeFirst()
        while let scalar = scalars.popFirst() {
            switch scalar {
            case "\"": return String(decoding: units, as: UTF16.self)
            case "\\":
                guard let unit = escape(&scalars) else { return nil }
                units.append(unit)
            default: units.append(contentsOf: UTF16.encode(scalar).map(Array.init) ?? [])
            }
        }
        return nil
    }

    private static func escape(_ scalars: inout Substring.UnicodeScalarView) -> UInt16? {
        switch scalars.popFirst() {
        case "n": return 10
        case "r": return 13
        case "t": return 9
        case "b": return 8
        case "f": return 12
        case "u":
            let digits = scalars.prefix(4)
            guard digits.count == 4 else { return nil }
            scalars = scalars.dropFirst(4)
            return UInt16(String(digits), radix: 16)
        case let sign? where sign == "\"" || sign == "\\" || sign == "/": return UInt16(sign.value)
        default: return nil
        }
    }
}
