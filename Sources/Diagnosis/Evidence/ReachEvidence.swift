// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// The path beyond the gateway, for one family.
public struct ReachEvidence: Hashable, Sendable {
    public var family: AddressFamily
    public var anchors: [Anchor] = []
    /// Who sent an ICMP unreachable.
    public var unreachableFrom: IPAddress?
    /// Who says that the hop limit of an ordinary packet ran out, which proves a loop.
    public var loopAt: IPAddress?
    /// The routers that a traceroute found, if one was made.
    public var hops: [Hop] = []

    public enum Connection: String, Hashable, Sendable {
        case connected
        /// It was refused (RST, or ICMP port unreachable).
        case refused
        case silent
        /// This machine's own rules or routes keep its packets or the replies; it says nothing about the network.
        case blocked
    }

    /// A host in another network that normally answers.
    public struct Anchor: Hashable, Sendable {
        /// Its name in the configuration.
        public var name: String
        public var address: IPAddress
        /// Whether it answers ICMP echo.
        public var echo: Assessment<Bool> = .notAsked
        /// What became of connections, by TCP port.
        public var ports: [UInt16: Connection] = [:]
        /// Whether it answers UDP echo.
        public var datagrams: Assessment<Bool> = .notAsked

        /// Makes an anchor that was not tested yet.
        public init(_ name: String, _ address: IPAddress) {
            self.name = name
            self.address = address
        }

        /// Whether anything of it came back, by whatever protocol; `nil` when nothing was tested.
        package var isReachable: Bool? {
            let outcomes = ports.values.filter { $0 != .blocked }
            guard echo.value != nil || datagrams.value != nil || !outcomes.isEmpty else { return nil }
            return echo.value == true || datagrams.value == true || outcomes.contains { $0 != .silent }
        }
    }

    public struct Hop: Hashable, Sendable {
        /// How many routers away, the gateway being 1.
        public var distance: Int
        public var address: IPAddress

        public init(_ distance: Int, _ address: IPAddress) {
            self.distance = distance
            self.address = address
        }
    }

    /// Makes evidence of a family that was not tested yet.
    public init(_ family: AddressFamily) { self.family = family }

    /// Whether any anchor answers; `nil` when none was tested.
    public var isAlive: Bool? {
        let tested = anchors.compactMap(\.isReachable)
        return tested.isEmpty ? nil : tested.contains(true)
    }
}

/// Whether the network wants a login first.
public struct PortalEvidence: Hashable, Sendable {
    /// What the network's own interface says (RFC 8908), which DHCP or a router announced (RFC 8910).
    public var api: Assessment<API> = .notAsked
    /// Answers of anchors to the request that is answered with 204 and an echo.
    public var checks: [Check] = []
    public var isHTTPSGenuine: Assessment<Bool> = .notAsked

    /// The answer of a captive portal API.
    public struct API: Hashable, Sendable {
        public var isCaptive: Bool
        public var portal: String?

        public init(isCaptive: Bool, portal: String? = nil) {
            self.isCaptive = isCaptive
            self.portal = portal
        }
    }

    /// An answer over plain HTTP.
    public struct Check: Hashable, Sendable {
        public var anchor: String
        public var status: Int
        /// Where a redirect leads.
        public var location: String?
        /// Whether the challenge came back.
        public var isEchoed: Bool

        public init(anchor: String, status: Int, location: String? = nil, isEchoed: Bool = false) {
            self.anchor = anchor
            self.status = status
            self.location = location
            self.isEchoed = isEchoed
        }

        var isGenuine: Bool { status == 204 && isEchoed }
        var wantsLogin: Bool { (300..<400).contains(status) || status == 511 }
    }

    public init() {}
}
