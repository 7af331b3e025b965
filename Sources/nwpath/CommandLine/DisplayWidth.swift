// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// How many columns text takes on a terminal.
enum DisplayWidth {
    /// Characters that take two columns: East Asian wide and fullwidth (UAX 11), besides emoji.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
        0x16FE0...0x18CFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F2FF, 0x20000...0x3FFFD,
    ]

    /// The columns of a text on one line.
    static func of(_ text: some StringProtocol) -> Int {
        if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text.utf8.count }
        return text.reduce(0) { $0 + of($1) }
    }

    /// The columns of one character as people see it: 0, 1 or 2.
    static func of(_ character: Character) -> Int {
        let scalars = character.unicodeScalars
        let isEmojiSequence = scalars.contains("\u{FE0F}") && scalars.first?.properties.isEmoji == true
        let isDigit = scalars.first.map { $0.isASCII } == true
        if isEmojiSequence && !isDigit { return 2 }
        return scalars.reduce(0) { max($0, of($1)) }
    }

    /// The text in lines that fit, broken at blanks where there are any; at least one.
    static func wrap(_ text: String, to columns: Int) -> [String] {
        guard of(text) > columns, columns > 0 else { return [text] }
        var lines: [String] = []
        var line = ""
        func end() {
            lines.append(line)
            line = ""
        }
        for word in text.split(separator: " ", omittingEmptySubsequences: true) {
            if !line.isEmpty, of(line) + 1 + of(word) > columns { end() }
            if !line.isEmpty { line += " " }
            for character in word {
                if !line.isEmpty, of(line) + of(character) > columns { end() }
                line.append(character)
            }
        }
        if !line.isEmpty || lines.isEmpty { end() }
        return lines
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F ? 0 : 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control, .lineSeparator, .paragraphSeparator: return 0
        default: break
        }
        if (0x1160...0x11FF).contains(scalar.value) { return 0 }
        if scalar.properties.isEmojiPresentation || wide.contains(where: { $0.contains(scalar.value) }) { return 2 }
        return 1
    }
}
