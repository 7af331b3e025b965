// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Leaves out of a script or a style what only its readers need: indentation, lines of comment, and spaces beside marks.
///
/// Texts in quotes, templates and regular expressions stay as they are. A comment has a line of its own, and no text or
/// template goes over a line.
struct Squeezer {
    /// After these marks a space says nothing.
    private let after: Set<UInt8>
    /// Before these marks a space says nothing.
    private let before: Set<UInt8>
    /// After these marks at the end of a line the next one may follow at once.
    private let joining: Set<UInt8>
    /// Whether a slash may begin a regular expression, and a template may hold code.
    private let isScript: Bool

    static let script = Squeezer(after: marks, before: marks, joining: "{([,;", isScript: true)
    private static let marks = "=<>&|?:,;(){}[]!*"
    /// A space before a colon, and before or after a parenthesis, separates selectors and numbers.
    static let style = Squeezer(after: ":,;{}", before: ",;{}", joining: "{},;", isScript: false)

    static let markup = Squeezer(after: "", before: "", joining: "", isScript: false)

    private init(after: String, before: String, joining: String, isScript: Bool) {
        (self.after, self.before, self.joining) = (Set(after.utf8), Set(before.utf8), Set(joining.utf8))
        self.isScript = isScript
    }

    func squeeze(_ text: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        for line in text.split(separator: .lineFeed) {
            let line = line.drop { $0 == .space }
            if line.starts(with: "//".utf8) || line.starts(with: "/*".utf8) { continue }
            if let last = output.last, !joining.contains(last) { output.append(.lineFeed) }
            var reader = Reader()
            for (index, byte) in zip(line.indices, line) {
                let isInside = reader.isInside
                reader.take(byte, before: output.last { $0 != .space }, isScript: isScript)
                let next = index + 1 < line.endIndex ? line[index + 1] : .lineFeed
                let last = output.last ?? .lineFeed
                if byte == .space, !isInside, after.contains(last) || before.contains(next) { continue }
                output.append(byte)
            }
        }
        return output
    }

    /// Tells code from texts, one byte after the other.
    private struct Reader {
        private var quote: UInt8?
        private var isEscaped = false
        private var isInClass = false
        /// For each template whose code is being read, how many braces are open in it.
        private var braces: [Int] = []
        private var last: UInt8 = 0

        var isInside: Bool { quote != nil }

        mutating func take(_ byte: UInt8, before: UInt8?, isScript: Bool) {
            let wasEscaped = isEscaped
            defer { last = wasEscaped ? 0 : byte }
            if let quote {
                takeInside(byte, quote)
            } else if "'\"`".utf8.contains(byte) {
                quote = byte
            } else if isScript, byte == UInt8(ascii: "/"), "(,=:[!&|?{};\n".utf8.contains(before ?? .lineFeed) {
                quote = byte
            } else if let open = braces.last {
                if byte == UInt8(ascii: "{") { braces[braces.count - 1] = open + 1 }
                guard byte == UInt8(ascii: "}") else { return }
                if open > 0 {
                    braces[braces.count - 1] = open - 1
                } else {
                    braces.removeLast()
                    quote = UInt8(ascii: "`")
                }
            }
        }

        private mutating func takeInside(_ byte: UInt8, _ quote: UInt8) {
            if isEscaped { return isEscaped = false }
            switch byte {
            case UInt8(ascii: "\\"): isEscaped = true
            case UInt8(ascii: "{") where quote == UInt8(ascii: "`") && last == UInt8(ascii: "$"):
                braces.append(0)
                self.quote = nil
            case UInt8(ascii: "[") where quote == UInt8(ascii: "/"): isInClass = true
            case UInt8(ascii: "]") where quote == UInt8(ascii: "/"): isInClass = false
            case quote where !isInClass: self.quote = nil
            default: break
            }
        }
    }
}

extension UInt8 {
    fileprivate static let lineFeed = UInt8(ascii: "\n")
    fileprivate static let space = UInt8(ascii: " ")
}
