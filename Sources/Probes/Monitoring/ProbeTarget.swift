// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

public enum ProbeHost: Hashable, Sendable, CustomStringConvertible {
    /// An address, link-local ones with their interface.
    case address(ScopedAddress)
    /// A name that is looked up at every attempt.
    case name(String)

    public var description: String {
        switch self {
        case .address(let address): "\(address)"
        case .name(let name): name
        }
    }

    /// Reads an address, or a host name (RFC 1123 section 2.1; underscores are let through).
    public init?(_ text: some StringProtocol) {
        if let address = AddressText.read(text) {
            self = .address(address)
            return
        }
        let labels = (text.hasSuffix(".") ? text.dropLast() : text[...]).split(
            separator: ".",
            omittingEmptySubsequences: false
        )
        let isName = labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
                && label.utf8.allSatisfy(Self.isNameByte)
        }
        // Digits and dots alone are an address that is none.
        let isNumber = labels.last?.utf8.allSatisfy { (48...57).contains($0) } ?? true
        guard isName, !isNumber, text.utf8.count <= 253 else { return nil }
        self = .name(String(text))
    }

    /// Whether it is an IPv6 address, which takes brackets in front of a port.
    var isIPv6: Bool {
        if case .address(let address) = self { address.address.family == .ipv6 } else { false }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}

public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    public var address: ScopedAddress
    public var port: UInt16

    public init(_ address: ScopedAddress, port: UInt16) {
        self.address = address
        self.port = port
    }

    /// Reads `192.0.2.53`, `192.0.2.53:5353`, `2001:db8::53` or `[2001:db8::53]:5353`.
    public init?(_ text: some StringProtocol, standardPort: UInt16) {
        guard let (host, port) = HostAndPort.split(text), let address = AddressText.read(host) else { return nil }
        self.init(address, port: port ?? standardPort)
    }

    /// Such as `192.0.2.53:53` or `[2001:db8::53]:53`.
    public var description: String {
        address.address.family == .ipv4 ? "\(address):\(port)" : "[\(address)]:\(port)"
    }
}

public enum ProbeTarget: Hashable, Sendable, CustomStringConvertible {
    /// The first router in use.
    case gateway
    /// A host, and a port where the method has one.
    case host(ProbeHost, port: UInt16?)
    case page(PageAddress)
    case domain(String)

    public var description: String {
        switch self {
        case .gateway: "gateway"
        case .host(let host, let port?):
            if case .address(let address) = host {
                SocketAddress(address, port: port).description
            } else {
                "\(host):\(port)"
            }
        case .host(let host, nil): "\(host)"
        case .page(let page): page.description
        case .domain(let name): name
        }
    }

    /// Reads a target; `nil` when it is not one of the method.
    public init?(_ text: some StringProtocol, method: ProbeMethod) {
        guard let target = method.target(String(text)) else { return nil }
        self = target
    }

    /// The method that such a target is most likely meant for: a URL, a host with a port, else a host.
    public static func likelyMethod(of text: some StringProtocol) -> ProbeMethod {
        if text.drop(while: { $0 != ":" }).starts(with: "://") { return .http }
        // Where a port is named, even one that does not exist.
        guard let (_, port) = HostAndPort.split(text) else { return .tcp }
        return port == nil ? .icmp : .tcp
    }
}

/// Reads addresses as people write them.
enum AddressText {
    /// Such as `192.0.2.1`, `2001:db8::1` or `fe80::1%eth0`; a scope belongs to link-local addresses only.
    static func read(_ text: some StringProtocol) -> ScopedAddress? {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(first) else { return nil }
        guard parts.count == 2 else { return ScopedAddress(address) }
        let scoped = ScopedAddress(address, scope: String(parts[1]))
        return scoped.scope?.isEmpty == false ? scoped : nil
    }
}

enum HostAndPort {
    /// Splits `HOST`, `HOST:PORT`, an IPv6 address alone, and `[ADDRESS]` with or without a port.
    /// - Returns: `nil` when brackets do not match or the port is not 1 to 65535.
    static func split(_ text: some StringProtocol) -> (host: Substring, port: UInt16?)? {
        let text = Substring(text)
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let host = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            if rest.isEmpty { return (host, nil) }
            guard rest.hasPrefix(":"), let port = port(rest.dropFirst()) else { return nil }
            return (host, port)
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return (text, nil) }
        guard let port = port(parts[1]) else { return nil }
        return (parts[0], port)
    }

    private static func port(_ text: Substring) -> UInt16? {
        guard text.utf8.allSatisfy({ (48...57).contains($0) }), let port = UInt16(text), port > 0 else { return nil }
        return port
    }
}
