// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Glibc

/// The proxy that libcurl found in the environment, without the password that its URL may have.
struct EnvironmentProxy: Equatable, CustomStringConvertible {
    /// The variable, such as `http_proxy`.
    let variable: String
    /// Its URL; `nil` where it cannot be shown without the password.
    let url: String?

    /// Reads libcurl's note, such as `http_proxy == 'http://127.0.0.1:3128'`; `nil` without one.
    ///
    /// A note that was cut has no quotation mark at its end, and may have been cut within the password.
    init?(note: String) {
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

    var description: String { "the proxy \(url.map { "\($0) of " } ?? "of ")\(variable)" }

    /// What libcurl says of a failure, without the URL of a proxy that it does not understand.
    static func reason(_ text: String) -> String {
        text.contains("'") && text.indices.contains { text[$0...].hasPrefix("proxy") }
            ? "libcurl does not understand the proxy's URL" : text
    }
}

extension StatusClient.Endpoint {
    /// Whether requests to it stay on this machine, so that no proxy may see them: a unix socket, loopback.
    var isLocal: Bool {
        guard case .url(let url) = self else { return true }
        let authority = url.drop { $0 != "/" }.drop { $0 == "/" }.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority
        if host.hasPrefix("[") {
            guard let address = IPAddress(host.dropFirst().prefix { $0 != "]" }) else { return false }
            return Self.isLocal(address)
        }
        var name = host.prefix { $0 != ":" }.lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        // libcurl never queries for these names (RFC 6761 section 6.3).
        if name == "localhost" || name.hasSuffix(".localhost") { return true }
        // As libcurl reads them, which knows 127.1.
        var address = in_addr()
        guard unsafe inet_aton(name, &address) != 0 else { return false }
        return Self.isLocal(.v4(UInt32(bigEndian: address.s_addr)))
    }

    private static func isLocal(_ address: IPAddress) -> Bool {
        address.unmapped.isLoopback || address.isUnspecified
    }
}
