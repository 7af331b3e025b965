// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import Addressing

/// The proxy that libcurl found in the environment, without the password that its URL may have.
package struct EnvironmentProxy: Hashable, Sendable, CustomStringConvertible {
    /// The variable, such as `http_proxy`.
    package let variable: String
    /// Its URL; `nil` where it cannot be shown without the password.
    package let url: String?

    /// Reads libcurl's note, such as `http_proxy == 'http://127.0.0.1:3128'`; `nil` without one.
    ///
    /// A note that was cut has no quotation mark at its end, and may have been cut within the password.
    package init?(note: String) {
        let words = note.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count == 3, words[1] == "==" else { return nil }
        variable = String(words[0])
        var text = words[2]
        while text.last?.isNewline == true { text.removeLast() }
        guard text.count >= 2, text.first == "'", text.last == "'" else {
            url = nil
            return
        }
        text = text.dropFirst().dropLast()
        guard let mark = text.lastIndex(of: "@") else {
            url = String(text)
            return
        }
        let scheme = text.prefix { $0.isLetter || $0.isNumber }
        let start = text[scheme.endIndex...].hasPrefix("://") ? "\(scheme)://" : ""
        url = start + String(text[text.index(after: mark)...])
    }

    /// Its address, where the URL has one and no name.
    package var address: IPAddress? {
        guard let url else { return nil }
        let authority = url.drop { $0 != "/" }.drop { $0 == "/" }
        let text = (authority.isEmpty ? url[...] : authority).prefix { $0 != "/" }
        return HostAndPort.split(text).flatMap { IPAddress($0.0) }
    }

    package var description: String { "the proxy \(url.map { "\($0) of " } ?? "of ")\(variable)" }

    /// What libcurl says of a failure, without the URL of a proxy that it does not understand.
    package static func reason(_ text: String) -> String {
        text.contains("'") && text.indices.contains { text[$0...].hasPrefix("proxy") }
            ? "libcurl does not understand the proxy's URL" : text
    }
}
