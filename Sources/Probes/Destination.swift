// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A host, port, page or WebSocket that somebody wants to reach.
public struct Destination: Hashable, Sendable, CustomStringConvertible {
    public enum Service: Hashable, Sendable {
        /// Any answer.
        case host
        /// A TCP connection.
        case port(UInt16)
        case page(PageAddress)
        /// A WebSocket; its address is that of the page that the handshake asks for.
        case webSocket(PageAddress)
    }

    /// Why a text names no destination.
    public enum Mistake: Error, Hashable, Sendable {
        /// The scheme of a URL is none of ``Destination/schemes``.
        case unknownScheme(String)
        case malformed
    }

    public static let schemes = ["http", "https", "ws", "wss"]
    public static let expectation = "a host, HOST:PORT, or a URL of http, https, ws or wss"

    public let host: ProbeHost
    public let service: Service
    public let description: String

    /// Reads `example.test`, `192.0.2.1`, `example.test:22`, `https://example.test/` or `wss://example.test/live`.
    public init(_ text: some StringProtocol) throws(Mistake) {
        description = String(text)
        let scheme = text.prefix { $0 != ":" }
        guard text[scheme.endIndex...].starts(with: "://") else {
            guard let (name, port) = HostAndPort.split(text), let host = ProbeHost(name) else { throw .malformed }
            self.host = host
            service = port.map { .port($0) } ?? .host
            return
        }
        let name = scheme.lowercased()
        guard Self.schemes.contains(name) else { throw .unknownScheme(String(scheme)) }
        let isSecure = name.hasSuffix("s") && name != "ws"
        let rest = text[scheme.endIndex...].prefix { $0 != "#" }
        guard let page = PageAddress((isSecure ? "https" : "http") + rest) else { throw .malformed }
        host = page.host
        service = name.hasPrefix("ws") ? .webSocket(page) : .page(page)
    }

    /// The page that is asked for; `nil` for a host or port.
    public var page: PageAddress? {
        switch service {
        case .page(let page), .webSocket(let page): page
        case .host, .port: nil
        }
    }

    /// The port that is connected to; `nil` for a host.
    public var port: UInt16? {
        switch service {
        case .host: nil
        case .port(let port): port
        case .page(let page), .webSocket(let page): page.port
        }
    }
}
