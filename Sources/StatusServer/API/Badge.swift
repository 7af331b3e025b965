// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The state of a monitor as a small picture, for pages of others; pure.
struct Badge {
    let monitor: String
    let state: BadgeState

    /// The picture (SVG 1.1): the name beside a word and a symbol, so that colour is never alone.
    ///
    /// Names of monitors hold letters, digits, `_` and `-` only, so nothing is to be escaped.
    var picture: String {
        let word = state.word
        let (symbol, colour) =
            switch state.level {
            case .good: ("\u{2713}", "#1b6e2e")
            case .untested: ("?", "#8a5a00")
            case .worse: ("!", "#8a5a00")
            case .bad: ("\u{2717}", "#a8201a")
            }
        let (left, right) = (Self.width(of: monitor), Self.width(of: word) + 12)
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(left + right)" height="20" role="img" \
            aria-label="path \(monitor): \(word)"><title>path \(monitor): \(word)</title>\
            <rect width="\(left)" height="20" fill="#444"/>\
            <rect x="\(left)" width="\(right)" height="20" fill="\(colour)"/>\
            <g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">\
            <text x="8" y="14" textLength="\(left - 16)">\(monitor)</text>\
            <text x="\(left + 8)" y="14" textLength="\(right - 16)">\(symbol) \(word)</text></g></svg>

            """
    }

    /// Room for a text of some letters, with a margin of 8 on either side.
    private static func width(of text: String) -> Int { text.count * 7 + 16 }
}
