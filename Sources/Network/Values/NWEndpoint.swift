// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import Addressing

/// Something to connect to, to listen on, or that was found.
public enum NWEndpoint: Hashable, Sendable {
    /// A host and a port.
    case hostPort(host: Host, port: Port)
    /// A service of DNS Service Discovery, and the interface to use (`nil` is any).
    case service(name: String, type: String, domain: String, interface: NWInterface?)
    /// A unix stream socket at a path.
    case unix(path: String)
    /// The host and port of a URL.
    case url(URL)

    /// The interface that the endpoint is limited to, where there is one.
    public var interface: NWInterface? {
        switch self {
        case .hostPort(let host, _): host.interface
        case .service(_, _, _, let interface): interface
        case .unix, .url: nil
        }
    }
}

extension NWEndpoint: CustomDebugStringConvertible {
    /// Such as `192.0.2.1:80`, `2001:db8::1.80`, `Lamp._http._tcp.local.%eth0`, a path or a URL.
    ///
    /// A port follows IPv6 addresses behind a dot, so that a colon is not read as part of the address.
    public var debugDescription: String {
        switch self {
        case .hostPort(let host, let port):
            if case .ipv6 = host { return "\(host.debugDescription).\(port.debugDescription)" }
            return "\(host.debugDescription):\(port.debugDescription)"
        case .service(let name, let type, let domain, let interface):
            // The parts may or may not end with a dot; in between there is one.
            let parts = [name, type, domain].map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 }
            let text = parts.filter { !$0.isEmpty }.joined(separator: ".") + (domain.hasSuffix(".") ? "." : "")
            return text + (interface.map { "%\($0.name)" } ?? "")
        case .unix(let path): return path
        case .url(let url): return url.absoluteString
        }
    }
}

extension NWEndpoint {
    init(_ address: RawAddress, interface: NWInterface? = nil, port: UInt16) {
        self = .hostPort(host: Host(address, interface: interface), port: Port(port))
    }
}
