// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// The address of a page: an `http` or `https` URL without user, password and fragment (RFC 3986).
public struct PageAddress: Hashable, Sendable, CustomStringConvertible {
    public let isSecure: Bool
    public let host: ProbeHost
    public let port: UInt16
    /// Path and query, which begin with a slash.
    public let path: String

    /// Reads a URL; `nil` when it is none, or has parts that a probe has no use for.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 2048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") })
        else {
            return nil
        }
        let text = Substring(text)
        let scheme = text.prefix { $0 != ":" }.lowercased()
        guard ["http", "https"].contains(scheme), text.dropFirst(scheme.count).hasPrefix("://") else { return nil }
        let rest = text.dropFirst(scheme.count + 3)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard !authority.contains("@"), let (name, port) = HostAndPort.split(authority), let host = Self.host(name),
            authority.hasPrefix("[") == host.isIPv6
        else {
            return nil
        }
        let path = rest.dropFirst(authority.count)
        isSecure = scheme == "https"
        self.host = host
        self.port = port ?? (isSecure ? 443 : 80)
        self.path = path.hasPrefix("/") ? String(path) : "/" + path
    }

    /// The URL, with the port only where it is not the usual one.
    public var description: String {
        let isUsual = port == (isSecure ? 443 : 80)
        return "\(isSecure ? "https" : "http")://\(authority)\(isUsual ? "" : ":\(port)")\(path)"
    }

    /// The host as it stands in a URL, a link-local address with its interface (RFC 6874 section 2).
    private var authority: String {
        guard host.isIPv6, case .address(let address) = host else { return "\(host)" }
        return "[\(address.address)\(address.scope.map { "%25\($0)" } ?? "")]"
    }

    /// Reads a host; the interface stands behind `%25`, or behind `%` alone as people write it.
    private static func host(_ text: Substring) -> ProbeHost? {
        let scope = text.drop { $0 != "%" }
        guard scope.hasPrefix("%25"), scope.utf8.count > 3 else { return ProbeHost(text) }
        return ProbeHost("\(text.prefix { $0 != "%" })%\(scope.dropFirst(3))")
    }

    /// The name with an address that was found for it, as libcurl takes it; an address needs none.
    func pin(to address: ScopedAddress) -> String {
        guard case .name(let name) = host else { return "" }
        let isIPv4 = address.address.family == .ipv4
        return "\(name):\(port):" + (isIPv4 ? "\(address.address)" : "[\(address.address)]")
    }
}
