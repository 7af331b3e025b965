// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Glibc

/// The proxy that libcurl found in the environment, without the password that its URL may have.
struct EnvironmentProxy: Equatable, CustomStringConvertible {
    /// The variable, such as `http_proxy`.
    let variable: String
    let url: String

    /// Reads libcurl's note, such as `http_proxy == 'http://127.0.0.1:3128'`; `nil` without one.
    init?(note: String) {
        let words = note.split(separator: " ", maxSplits: 2)
        guard words.count == 3, words[1] == "==" else { return nil }
        variable = String(words[0])
        let text = words[2].drop { $0 == "'" }.prefix { $0 != "'" }
        guard let mark = text.lastIndex(of: "@") else {
            url = String(text)
            return
        }
        let colon = text.firstIndex(of: ":").flatMap { text[$0...].hasPrefix("://") ? $0 : nil }
        let scheme = colon.map { "\(text[..<$0])://" } ?? ""
        url = scheme + String(text[text.index(after: mark)...])
    }

    var description: String { "the proxy \(url) of \(variable)" }
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
