// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension ConfigurationTree {
    /// The values as YAML that reads back to the same.
    public var yaml: String { YAMLText.block(self) }
}

/// Writes trees as YAML that ``YAMLDocument`` reads back to the same values.
enum YAMLText {
    /// A whole block, each line indented by `indent` spaces and ended by a newline.
    static func block(_ tree: ConfigurationTree, indent: Int = 0) -> String {
        let margin = String(repeating: " ", count: indent)
        switch tree {
        case .map(let fields) where !fields.isEmpty:
            return fields.map { margin + field($0, indent: indent) }.joined()
        case .list(let items) where !items.isEmpty:
            return items.map { margin + "- " + flow($0) + "\n" }.joined()
        default:
            return margin + flow(tree) + "\n"
        }
    }

    /// `key: value`, with the value on further lines when it is long.
    static func field(_ field: ConfigurationTree.Field, indent: Int) -> String {
        let key = scalar(field.name) + ":"
        switch field.value {
        case .map(let fields) where !fields.isEmpty:
            return key + "\n" + block(field.value, indent: indent + 2)
        case .list(let items) where flow(field.value).utf8.count > 60 && items.count > 1:
            return key + "\n" + block(field.value, indent: indent + 2)
        default:
            return key + " " + flow(field.value) + "\n"
        }
    }

    static func flow(_ tree: ConfigurationTree) -> String {
        switch tree {
        case .null: "null"
        case .boolean(let value): value ? "true" : "false"
        case .integer(let value): "\(value)"
        case .text(let value): scalar(value)
        case .list(let items): "[" + items.map(flow).joined(separator: ", ") + "]"
        case .map(let fields):
            "{" + fields.map { scalar($0.name) + ": " + flow($0.value) }.joined(separator: ", ") + "}"
        }
    }

    /// Text without quotes where no YAML reader could mistake it for something else, otherwise in double quotes.
    static func scalar(_ text: String) -> String {
        let letters = text.unicodeScalars
        let isWord = letters.allSatisfy { isWordLetter($0) } && letters.first.map(isInitial) == true
        let reserved = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"]
        if isWord && !text.hasSuffix(":") && !reserved.contains(text.lowercased()) { return text }
        var quoted = "\""
        for scalar in letters {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            default:
                if scalar.value < 0x20 || (0x7F...0xA0).contains(scalar.value) || scalar.value == 0xFEFF
                    || (0x2028...0x2029).contains(scalar.value)
                {
                    let digits = String(scalar.value, radix: 16, uppercase: true)
                    quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                } else {
                    quoted.unicodeScalars.append(scalar)
                }
            }
        }
        return quoted + "\""
    }

    private static func isInitial(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "/" || scalar == "_" || scalar.properties.isASCIIHexDigit || ("a"..."z").contains(scalar)
            || ("A"..."Z").contains(scalar)
    }

    private static func isWordLetter(_ scalar: Unicode.Scalar) -> Bool {
        isInitial(scalar) || "-./:_".unicodeScalars.contains(scalar)
    }
}
