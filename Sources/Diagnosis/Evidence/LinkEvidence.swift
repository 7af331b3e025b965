// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// What is known of one interface and of those who hand out addresses on it.
public struct LinkEvidence: Hashable, Sendable {
    public var interface: String
    /// Whether the administrator switched it on (`IFF_UP`).
    public var isUp = true
    /// Whether it is a tunnel.
    package var isTunnel = false
    /// Whether there is a carrier (`IFLA_CARRIER`).
    public var hasCarrier = true
    /// How often the carrier came or went within ``window`` (`IFLA_CARRIER_CHANGES`).
    public var carrierChanges = 0
    /// How long carrier changes were counted.
    public var window = Duration.seconds(1.5)
    /// The largest packet, in bytes (`IFLA_MTU`).
    public var mtu = 1500
    /// How many packets arrived during the run, which lasted at least 1.5 s.
    public var received: Assessment<Int> = .notAsked
    public var addresses: [AddressEvidence] = []
    /// Answers to a DHCPDISCOVER; nothing is leased.
    public var dhcp: Assessment<[DHCPOffer]> = .notAsked
    /// Routers that answered a router solicitation.
    public var routers: Assessment<[RouterAnnouncement]> = .notAsked

    /// Makes evidence of a link that works and has no address.
    public init(_ interface: String) { self.interface = interface }

    var isUsable: Bool { isUp && hasCarrier }
}

/// One address of the own machine.
public struct AddressEvidence: Hashable, Sendable {
    public var address: IPAddress
    /// Whether it is still being checked for duplicates (`IFA_F_TENTATIVE`).
    public var isTentative = false
    /// Whether the kernel found it on another host (`IFA_F_DADFAILED`).
    public var hasFailedDetection = false
    /// Other hosts that answered for it, by hardware address (RFC 5227 section 2.1.1).
    public var otherHolders: Assessment<Set<String>> = .notAsked

    /// Makes evidence of an address that was not tested yet.
    public init(_ address: IPAddress) { self.address = address }

    /// Whether packets to other networks may come from it.
    var isRoutable: Bool { !address.isLinkLocal && !address.isLoopback && !isTentative && !hasFailedDetection }
}

/// An answer to a DHCPDISCOVER (RFC 2131 section 4.3.1).
public struct DHCPOffer: Hashable, Sendable {
    /// The server identifier (option 54).
    public var server: IPAddress
    /// The first router it offers (option 3).
    public var router: IPAddress?
    /// Whether that router answers ARP.
    public var routerAnswers: Assessment<Bool>
    /// The mask of the network (option 1).
    package var mask: IPAddress?
    /// The name servers (option 6).
    package var nameServers: [IPAddress]
    /// Whether it wants hosts to leave IPv4 unused where they can (RFC 8925), so that its router is no promise.
    package var prefersIPv6Only = false

    package init(
        server: IPAddress,
        router: IPAddress? = nil,
        routerAnswers: Assessment<Bool> = .notAsked,
        mask: IPAddress? = nil,
        nameServers: [IPAddress] = []
    ) {
        self.server = server
        self.router = router
        self.routerAnswers = routerAnswers
        self.mask = mask
        self.nameServers = nameServers
    }

    /// Whether a machine that accepts the one gets what the other gives, as from two servers that share their leases.
    func gives(what other: DHCPOffer) -> Bool {
        router == other.router && mask == other.mask && nameServers == other.nameServers
    }
}

/// A router advertisement (RFC 4861 section 4.2).
public struct RouterAnnouncement: Hashable, Sendable {
    /// Its link-local address.
    public var source: IPAddress
    public var prefixes: Set<IPPrefix>

    public init(source: IPAddress, prefixes: Set<IPPrefix>) {
        self.source = source
        self.prefixes = prefixes
    }
}

/// A host on the same link that normally answers.
public struct PeerEvidence: Hashable, Sendable {
    public var address: IPAddress
    /// Whether it is not configured: only its answer counts as evidence, not the lack of one.
    public var isDiscovered: Bool
    /// Whether it answers ARP or neighbour solicitations.
    public var answers: Assessment<Bool> = .notAsked
    /// Whether it answers multicast DNS sent to the group.
    public var answersMulticast: Assessment<Bool> = .notAsked
    /// Whether it answers the same question sent to it alone.
    public var answersUnicast: Assessment<Bool> = .notAsked

    /// Makes evidence of a host that was not tested yet.
    public init(_ address: IPAddress, isDiscovered: Bool = false) {
        self.address = address
        self.isDiscovered = isDiscovered
    }
}
