// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What a packet needs, from the cable up; faults of a lower layer explain those of a higher one.
public enum Layer: String, Hashable, Sendable, CaseIterable, Comparable {
    /// Interface, carrier, MTU, and whether anything is received.
    case link
    /// Own addresses, and who hands out addresses.
    case address
    /// What the own machine does with packets that it wants to send: rules, routes, firewall.
    case local
    case gateway
    /// A network that wants a login first.
    case captive
    /// The path beyond the gateway, by family.
    case wan
    case dns
    /// Ports, UDP and packet sizes.
    case transport
    /// Certificates, time, single targets.
    case application
    /// Loss, latency and throughput of what works.
    case performance
    /// Of a destination: the addresses of its name.
    case resolve
    /// Of a destination: what the routing table says.
    case route
    /// Of a destination: whether anything comes back.
    case reach
    /// Of a destination: a connection to its port.
    case tcp
    /// Of a destination: encryption, and whose certificate it is.
    case tls
    /// Of a destination: an answer to an HTTP request.
    case http
    /// Of a destination: the opening handshake of a WebSocket.
    case websocket

    /// The layers of the network, from the cable up.
    public static let ofNetwork = allCases.filter { $0 <= .performance }
    /// The steps to a destination, in their order.
    public static let ofDestination = allCases.filter { $0 > .performance }

    /// Orders from the cable up.
    public static func < (left: Layer, right: Layer) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
