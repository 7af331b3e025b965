// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Finds URLs in texts, and takes out what their reader need not know.
enum URLMask {
    /// The text with all its URLs down to their scheme; when everything is wanted, only user and query go, which may hold
    /// keys.
    static func mask(_ text: String, isFull: Bool) -> String {
        var result = ""
        for part in parts(of: text) {
            switch part {
            case .text(let text): result += text
            case .rest(let rest): result += isFull ? withoutSecrets(rest) : Redactor.removed
            }
        }
        return result
    }

    /// Whether there is a URL in a text.
    static func isPresent(in text: String) -> Bool { start(of: text[...]) != nil }

    /// The hosts of the URLs in a text.
    static func hosts(in text: String) -> [String] {
        parts(of: text).compactMap { part in
            guard case .rest(let rest) = part else { return nil }
            let authority = rest.prefix { !"/?#".contains($0) }
            let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
            return host.hasPrefix("[") ? nil : String(host.prefix { $0 != ":" })
        }
    }

    private enum Part {
        case text(Substring)
        /// What follows `://`, to the end of the URL.
        case rest(Substring)
    }

    private static func parts(of text: String) -> [Part] {
        var parts: [Part] = []
        var left = text[...]
        while let start = start(of: left) {
            parts.append(.text(left[..<start]))
            left = left[start...]
            var rest = left.prefix { !$0.isWhitespace && !"\"'<>`".contains($0) }
            // What ends a sentence is no part of it.
            while let last = rest.last, ".,;:)".contains(last) { rest = rest.dropLast() }
            if !rest.isEmpty { parts.append(.rest(rest)) }
            left = left[rest.endIndex...]
        }
        return parts + [.text(left)]
    }

    /// Where what follows the first `://` begins.
    private static func start(of text: Substring) -> Substring.Index? {
        let mark = text.indices.first { text[$0] == ":" && text[$0...].hasPrefix("://") }
        return mark.map { text.index($0, offsetBy: 3) }
    }

    private static func withoutSecrets(_ rest: Substring) -> String {
        let authority = rest.prefix { !"/?#".contains($0) }
        let tail = rest[authority.endIndex...]
        let path = tail.prefix { $0 != "?" }
        var result = ""
        if let at = authority.lastIndex(of: "@") {
            result = Redactor.removed + authority[at...]
        } else {
            result = String(authority)
        }
        result += path
        return path.endIndex == tail.endIndex ? result : result + "?" + Redactor.removed
    }
}
