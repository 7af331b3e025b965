// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public enum ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// A unix socket at an absolute path.
    case unix(path: String)
    /// A TCP port of an address; port 0 lets the kernel choose.
    case tcp(ScopedAddress, port: UInt16)

    /// What a reader is told when a text is not one.
    public static let expectation = "unix:PATH or ADDRESS:PORT, such as 127.0.0.1:8353 or [::1]:8353"

    /// The longest path of a unix socket in bytes: `sun_path` less its final zero, unix(7).
    public static let longestPath = 107

    /// Reads `unix:PATH`, `ADDRESS:PORT` or `[ADDRESS]:PORT`.
    ///
    /// Addresses are literals, never host names; a link-local one needs its interface, as in `[fe80::1%eth0]:8353`.
    public init?(_ text: String) {
        guard let address = Self.parse(text), !address.lacksInterface else { return nil }
        self = address
    }

    /// What a text should have been that is not one: more than ``expectation`` where a single thing is missing.
    public static func expectation(for text: String) -> String {
        guard case .tcp(let scoped, let port)? = parse(text), parse(text)?.lacksInterface == true else {
            return expectation
        }
        return "the interface of a link-local address as well, such as [\(scoped.address)%eth0]:\(port)"
    }

    /// Whether the kernel could not tell which link is meant.
    private var lacksInterface: Bool {
        guard case .tcp(let scoped, _) = self, scoped.address.family == .ipv6 else { return false }
        return scoped.address.isLinkLocal && scoped.scope == nil
    }

    private static func parse(_ text: String) -> ListenAddress? {
        if text.hasPrefix("unix:") {
            let path = text.dropFirst(5)
            guard path.hasPrefix("/"), (2...Self.longestPath).contains(path.utf8.count), !path.hasSuffix("/"),
                !path.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
            else { return nil }
            return .unix(path: String(path))
        }
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ (48...57).contains($0) }),
            let port = UInt16(digits)
        else { return nil }
        var host = text[..<colon]
        let hasBrackets = host.hasPrefix("[") && host.hasSuffix("]")
        if hasBrackets { host = host.dropFirst().dropLast() }
        let parts = host.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(first), (address.family == .ipv6) == hasBrackets,
            parts.count == 1 || !parts[1].isEmpty
        else { return nil }
        return .tcp(ScopedAddress(address, scope: parts.count == 2 ? String(parts[1]) : nil), port: port)
    }

    /// Whether only this machine can reach it.
    public var isLocal: Bool {
        switch self {
        case .unix: true
        case .tcp(let address, _): address.address.isLoopback
        }
    }

    /// Such as `unix:/run/nwpath/api.sock` or `[::1]:8353`.
    public var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .tcp(let address, let port):
            address.address.family == .ipv6 ? "[\(address)]:\(port)" : "\(address):\(port)"
        }
    }
}
