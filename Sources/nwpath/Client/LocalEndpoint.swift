// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Glibc

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
