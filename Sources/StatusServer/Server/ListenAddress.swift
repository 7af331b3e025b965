// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// Where the server listens.
public enum ListenAddress: Hashable, Sendable {
    /// A unix stream socket at this path.
    case unix(path: String)
    /// TCP; port 0 lets the kernel choose.
    case tcp(ScopedAddress, port: UInt16)

    /// Reads `unix:PATH`, `ADDRESS:PORT` or `[ADDRESS]:PORT`.
    public init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard path.hasPrefix("/") || path.hasPrefix("."), !path.utf8.contains(0) else { return nil }
            self = .unix(path: path)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = host.dropFirst().dropLast() }
        let parts = host.split(separator: "%", maxSplits: 1)
        guard let first = parts.first, let address = IPAddress(first),
            isBracketed == (address.family == .ipv6)
        else { return nil }
        self = .tcp(ScopedAddress(address, scope: parts.count > 1 ? String(parts[1]) : nil), port: port)
    }

    /// Whether only this machine reaches it.
    public var isLocal: Bool {
        switch self {
        case .unix: true
        case .tcp(let address, _): address.address.isLoopback
        }
    }
}

extension ListenAddress: CustomStringConvertible {
    /// As ``init(_:)`` reads it.
    public var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .tcp(let address, let port):
            address.address.family == .ipv6 ? "[\(address)]:\(port)" : "\(address):\(port)"
        }
    }
}
