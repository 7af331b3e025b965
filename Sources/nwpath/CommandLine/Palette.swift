// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

struct Palette: Hashable, Sendable {
    /// What a colour says; there is always a word or a sign beside it.
    enum Tone: Hashable, Sendable, CaseIterable {
        case good
        case warning
        case bad
        case faint
        case strong

        var code: String {
            switch self {
            case .good: "32"
            case .warning: "33"
            case .bad: "31"
            case .faint: "2"
            case .strong: "1"
            }
        }
    }

    let isColoured: Bool

    init(isColoured: Bool) {
        self.isColoured = isColoured
    }

    /// Decides by the flag `--no-color`, by `NO_COLOR` (any text but the empty one), by `TERM` and by the output.
    init(environment: [String: String], isTerminal: Bool, hasNoColour: Bool) {
        let term = environment["TERM"] ?? ""
        let isForbidden = hasNoColour || environment["NO_COLOR"]?.isEmpty == false
        isColoured = isTerminal && !isForbidden && !term.isEmpty && term != "dumb"
    }

    /// The text with its colour, if there are colours.
    func style(_ text: String, _ tone: Tone?) -> String {
        guard isColoured, let tone, !text.isEmpty else { return text }
        return "\u{1B}[\(tone.code)m\(text)\u{1B}[0m"
    }
}
