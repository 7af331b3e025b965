// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import Netlink
internal import Synchronization

/// What the kernel would do with the next packet of an application: the result of one evaluation.
///
/// Everything here is material (rule S41): two paths are equal exactly when nothing that a program or an operator acts
/// on differs. Lifetimes, counters and the like are not part of it.
public struct Path: Hashable, Sendable {
    private var box: PathBox

    /// Describes a path; the defaults are those of a machine without a network.
    public init(
        status: PathStatus = .unsatisfied,
        reason: UnsatisfiedReason? = .noInterface,
        subject: ReasonSubject? = nil,
        interfaces: [PathInterface] = [],
        ipv4: FamilyPath? = nil,
        ipv6: FamilyPath? = nil,
        dns: DNSState = DNSState(),
        isExpensive: Bool = false,
        isConstrained: Bool = false,
        isUltraConstrained: Bool = false,
        linkQuality: LinkQuality = .unknown,
        underlyingTypes: [InterfaceType] = [],
        warnings: [PathWarning] = []
    ) {
        self.init(
            PathFields(
                status: status,
                reason: reason,
                subject: subject,
                interfaces: interfaces,
                ipv4: ipv4,
                ipv6: ipv6,
                dns: dns,
                isExpensive: isExpensive,
                isConstrained: isConstrained,
                isUltraConstrained: isUltraConstrained,
                linkQuality: linkQuality,
                underlyingTypes: underlyingTypes,
                warnings: warnings
            )
        )
    }

    init(_ fields: PathFields) {
        box = PathBox(fields)
    }

    /// Two paths are equal when all of their parts are.
    public static func == (left: Path, right: Path) -> Bool {
        left.box === right.box || left.box.fields == right.box.fields
    }

    /// Feeds all parts to `hasher`.
    public func hash(into hasher: inout Hasher) { box.fields.hash(into: &hasher) }

    private mutating func change(_ body: (inout PathFields) -> Void) {
        var fields = box.fields
        body(&fields)
        box = PathBox(fields)
    }

    /// Whether IPv4 packets leave (rule S25).
    public var supportsIPv4: Bool { ipv4 != nil }
    /// Whether IPv6 packets leave (rule S25).
    public var supportsIPv6: Bool { ipv6 != nil }
    public var supportsDNS: Bool { dns.isUsable }
    /// The routers in use: IPv4 first, then IPv6; empty on point-to-point links (rule S34).
    public var gateways: [Gateway] { (ipv4?.gateways ?? []) + (ipv6?.gateways ?? []) }

    var fields: PathFields { box.fields }

    /// What is hashed for the identity, once for all copies.
    var identity: PathIdentity { box.identity }
}

// MARK: - Parts

extension Path {
    public var status: PathStatus {
        get { box.fields.status }
        set { change { $0.status = newValue } }
    }

    /// Why not; `nil` exactly when the path is satisfied.
    public var reason: UnsatisfiedReason? {
        get { box.fields.reason }
        set { change { $0.reason = newValue } }
    }

    /// Facts behind the reason for the sentence and the hint: the interface, route or table to name.
    public var subject: ReasonSubject? {
        get { box.fields.subject }
        set { change { $0.subject = newValue } }
    }

    /// The interfaces that can carry traffic, best first (rules S16, S17).
    public var interfaces: [PathInterface] {
        get { box.fields.interfaces }
        set { change { $0.interfaces = newValue } }
    }

    /// How IPv4 packets leave; `nil` when they do not.
    public var ipv4: FamilyPath? {
        get { box.fields.ipv4 }
        set { change { $0.ipv4 = newValue } }
    }

    /// How IPv6 packets leave; `nil` when they do not.
    public var ipv6: FamilyPath? {
        get { box.fields.ipv6 }
        set { change { $0.ipv6 = newValue } }
    }

    /// Name servers, and whether one can be reached (rule S35).
    public var dns: DNSState {
        get { box.fields.dns }
        set { change { $0.dns = newValue } }
    }

    /// Whether the traffic costs money (rule S37).
    public var isExpensive: Bool {
        get { box.fields.isExpensive }
        set { change { $0.isExpensive = newValue } }
    }

    /// Whether programs should spare traffic (rule S38).
    public var isConstrained: Bool {
        get { box.fields.isConstrained }
        set { change { $0.isConstrained = newValue } }
    }

    /// Whether programs should send next to nothing (rule S38).
    public var isUltraConstrained: Bool {
        get { box.fields.isUltraConstrained }
        set { change { $0.isUltraConstrained = newValue } }
    }

    /// The quality of the first interface's link (rule S39).
    public var linkQuality: LinkQuality {
        get { box.fields.linkQuality }
        set { change { $0.linkQuality = newValue } }
    }

    /// The types of the interfaces under the tunnels in use (rule S18); empty without a tunnel.
    public var underlyingTypes: [InterfaceType] {
        get { box.fields.underlyingTypes }
        set { change { $0.underlyingTypes = newValue } }
    }

    /// Things that work but deserve attention, in the order of the declaration.
    public var warnings: [PathWarning] {
        get { box.fields.warnings }
        set { change { $0.warnings = newValue } }
    }
}

struct PathFields: Hashable, Sendable {
    var status = PathStatus.unsatisfied
    var reason: UnsatisfiedReason? = .noInterface
    var subject: ReasonSubject?
    var interfaces: [PathInterface] = []
    var ipv4: FamilyPath?
    var ipv6: FamilyPath?
    var dns = DNSState()
    var isExpensive = false
    var isConstrained = false
    var isUltraConstrained = false
    var linkQuality = LinkQuality.unknown
    var underlyingTypes: [InterfaceType] = []
    var warnings: [PathWarning] = []
}

/// Parts that never change: whoever copies a path shares them, and their identity is worked out once.
final class PathBox: Sendable {
    let fields: PathFields
    /// The identity; zero until first used.
    private let hash = Atomic<UInt64>(0)

    init(_ fields: PathFields) {
        self.fields = fields
    }

    var identity: PathIdentity {
        let known = hash.load(ordering: .relaxed)
        guard known == 0 else { return PathIdentity(value: known) }
        let identity = PathIdentity(fields)
        hash.store(identity.value, ordering: .relaxed)
        return identity
    }
}

/// Whether packets leave the machine, in Apple's three values.
public enum PathStatus: String, Hashable, Sendable, CaseIterable {
    case satisfied
    case unsatisfied
    /// They do not, and something could be activated (rule S23).
    case requiresConnection
}

/// Why a path is not satisfied (rule S22); the raw value is what JSON and metrics show.
public enum UnsatisfiedReason: String, Hashable, Sendable, CaseIterable {
    /// There is no interface besides loopback.
    case noInterface = "no_interface"
    /// The administrator set the interface down.
    case linkDown = "link_down"
    /// The cable is out, or the peer is down.
    case noCarrier = "no_carrier"
    /// The port of a bridge that leads to the router does not forward: the spanning tree keeps it back.
    case portNotForwarding = "port_not_forwarding"
    /// The link waits for 802.1X or for the access point.
    case dormant = "dormant"
    /// The access point rejects the passphrase or the credentials.
    case wifiAuthenticationFailed = "wifi_authentication_failed"
    case noAddress = "no_address"
    /// The only address is still being checked for duplicates.
    case dadPending = "dad_pending"
    /// The interface came up just now and may still get an address (rule S23).
    case configuring = "configuring"
    /// No default route (`ENETUNREACH`).
    case noDefaultRoute = "no_default_route"
    /// The route says unreachable (`EHOSTUNREACH`).
    case routeUnreachable = "route_unreachable"
    /// The route says prohibited (`EACCES`).
    case routeProhibited = "route_prohibited"
    /// The route is a black hole (`EINVAL`).
    case routeBlackhole = "route_blackhole"
    /// The kernel prefers a default route whose link is down although another exists.
    case preferredRouteLinkDown = "preferred_route_link_down"
    /// There is a route, but no address a packet could come from.
    case noSourceAddress = "no_source_address"
    /// The Wi-Fi radio is switched off, and there is only Wi-Fi.
    case rfkillWifi = "rfkill_wifi"
    /// The cellular radio is switched off, and there is only cellular.
    case rfkillWwan = "rfkill_wwan"
    /// The configuration forbids what is there (`require_vpn`, a monitor's types).
    case policy = "policy"
    /// The gateway does not answer, and the configuration makes that count (rule S52).
    case gatewayUnreachable = "gateway_unreachable"
    /// A packet filter or an IPsec policy of this machine refuses connections (rule S55).
    case blockedByFirewall = "blocked_by_firewall"
    /// A tunnel has no peer, or no IPsec policy, for packets to the Internet (rule S18).
    case noPeer = "no_peer"
}

public struct ReasonSubject: Hashable, Sendable {
    public var interface: String?
    /// The address family to name, when only one is concerned.
    public var family: AddressFamily?
    public var table: UInt32?
    /// Another interface that would work, for `preferredRouteLinkDown`.
    public var alternative: String?
    /// The unmet requirement, for `policy`, such as `require_vpn`.
    public var requirement: String?
    /// The obstacle, where the reason alone would mislead.
    public var obstacle: Obstacle?
    /// The Wi-Fi of the interface, when it has some.
    public var radio: Radio?

    public struct Radio: Hashable, Sendable {
        /// The network's name, when it is known and may be shown.
        public var network: String?

        public init(network: String? = nil) { self.network = network }
    }

    /// What keeps packets from leaving although other things are in order.
    public enum Obstacle: Hashable, Sendable {
        /// Packets from this address are refused, by a rule or a route for it; others are not.
        case source(IPAddress)
        /// The reason holds for what carries this interface, which the subject names if known: the route of a tunnel's
        /// own packets, or the port of a bridge behind which the router is.
        case lower(of: String)
        /// No route leads to the remote end of this tunnel.
        case remote(IPAddress, of: String)
        /// What refuses connections behind the forwarding table.
        case output(OutputObstacle)
        /// A program keeps the carrier off (`protodown`).
        case heldDown
        /// IPv6 is switched off on the interface.
        case ipv6Disabled
        /// The MTU of the interface is so many bytes: below 1280 the kernel removes IPv6 (RFC 8200 section 5).
        case tooSmallForIPv6(mtu: Int)
        /// The default route leads to the machine itself.
        case loopback
        /// The default route leads by a port, whose traffic belongs to this master.
        case port(of: String)
        /// It has no ports to send through.
        case noPorts
        /// It is a bond in mode active-backup that holds none of its ports for active.
        case noActivePort
        /// It is a team that no daemon has given a mode, so that the kernel drops all packets.
        case noTeamMode
        /// The spanning tree of this bridge holds the port in a state other than forwarding.
        case notForwarding(of: String, BridgePortState)
        /// Another machine has this address too (RFC 4862 section 5.4).
        case duplicate(IPAddress)
        /// The interface has no address of its own to solicit IPv6 neighbours with.
        case noLinkLocal
        /// Replies arrive in this VRF, and sockets outside of it do not receive them.
        case repliesStay(in: String)
        /// The interface is in this VRF, whose table only programs that are bound to it use.
        case inVRF(String)
        /// A route leads into this VRF, whose own table has none.
        case noRouteInVRF(String)
        /// A tunnel refuses what the table sends into it.
        case tunnel(TunnelRefusal)
        /// No rule leads to the table of local addresses, so that packets to this address are not delivered.
        case noLocalTable(IPAddress)
        /// Replies to this address arrive where the route back to their source does not lead, and are dropped (`rp_filter` 1).
        case reversePathFilter(IPAddress)
        /// ARP and Neighbor Discovery are off, so that packets do not carry the hardware address of the router.
        case noARP
        /// A switch or a key of the device keeps the radio off.
        case hardware
    }

    /// Names what is known.
    public init(
        interface: String? = nil,
        family: AddressFamily? = nil,
        table: UInt32? = nil,
        alternative: String? = nil,
        requirement: String? = nil,
        obstacle: Obstacle? = nil
    ) {
        self.interface = interface
        self.family = family
        self.table = table
        self.alternative = alternative
        self.requirement = requirement
        self.obstacle = obstacle
    }
}

public struct PathInterface: Hashable, Sendable {
    public var name: String
    public var index: Int
    public var type: InterfaceType

    public init(name: String, index: Int, type: InterfaceType) {
        self.name = name
        self.index = index
        self.type = type
    }
}

/// What an interface is, in Apple's words.
public enum InterfaceType: String, Hashable, Sendable, CaseIterable {
    /// A tunnel, a bridge without ports, or something unknown.
    case other
    /// A Wi-Fi station.
    case wifi
    case cellular
    /// A cable, real or virtual.
    case wiredEthernet
    case loopback
}

public struct FamilyPath: Hashable, Sendable {
    /// The interfaces in use, in the order of the route's live nexthops.
    public var interfaces: [PathInterface]
    /// The routers in use; empty on point-to-point links.
    public var gateways: [Gateway]
    public var source: IPAddress
    /// The addresses of packets that use other nexthops of a multipath route (rule S31).
    public var otherSources: [IPAddress]
    /// Whether the route has no router on a link where each destination has to answer ARP or Neighbor Solicitation itself.
    public var isOnLink: Bool
    /// Whether it is such a route, and no destination that is known to have been resolved answered (rule S52).
    public var isUnanswered: Bool

    /// All addresses packets come from, the one of the probe first.
    public var sources: [IPAddress] { [source] + otherSources }

    public init(
        interfaces: [PathInterface],
        gateways: [Gateway],
        source: IPAddress,
        otherSources: [IPAddress] = [],
        isOnLink: Bool = false,
        isUnanswered: Bool = false
    ) {
        self.interfaces = interfaces
        self.gateways = gateways
        self.source = source
        self.otherSources = otherSources
        self.isOnLink = isOnLink
        self.isUnanswered = isUnanswered
    }
}

public struct Gateway: Hashable, Sendable {
    /// Its address, with the interface as scope when it is link-local.
    public var address: ScopedAddress
    public var interface: String
    /// The family of the packets it routes (the address may be of the other one, RFC 8950).
    public var family: AddressFamily
    public var metric: UInt32
    /// Whether it answers: `false` when it did not answer the last probe; `true` only where gateways are probed
    /// (rule S52).
    public var isReachable: Bool?

    public init(
        address: ScopedAddress,
        interface: String,
        family: AddressFamily,
        metric: UInt32 = 0,
        isReachable: Bool? = nil
    ) {
        self.address = address
        self.interface = interface
        self.family = family
        self.metric = metric
        self.isReachable = isReachable
    }
}

public struct DNSState: Hashable, Sendable {
    /// The servers that programs query in the end, in order.
    public var servers: [DNSServer]
    /// Domains that are appended to short names.
    public var search: [String]
    /// Where the servers were read, such as `/etc/resolv.conf` or `systemd-resolved`.
    public var source: String
    /// Whether at least one of them can be reached (rule S35).
    public var isUsable: Bool
    /// What keeps programs from a server before any query; `nil` where nothing does.
    public var problem: DNSProblem?

    /// Describes name servers; the default is that there are none.
    public init(
        servers: [DNSServer] = [],
        search: [String] = [],
        source: String = "",
        isUsable: Bool = false,
        problem: DNSProblem? = nil
    ) {
        self.servers = servers
        self.search = search
        self.source = source
        self.isUsable = isUsable
        self.problem = problem
    }
}

/// The quality of a link, in Apple's words (rule S39).
public enum LinkQuality: String, Hashable, Sendable, CaseIterable {
    /// Nothing is known.
    case unknown
    case minimal
    case moderate
    case good
}

/// Something that works but deserves attention.
public enum PathWarning: String, Hashable, Sendable, CaseIterable {
    /// A nexthop of a multipath route is dead (rule S31).
    case degraded
    /// The only IPv6 source is a unique local address (rule S25).
    case ulaOnly = "ula_only"
    /// Packets would carry the address of another interface (rule S24).
    case borrowedSource = "borrowed_source"
    /// The only source address is deprecated (rule S24).
    case deprecatedSource = "deprecated_source"
    /// The only source address is IPv4 link-local (RFC 3927).
    case linkLocalSource = "link_local_source"
    /// An interface in use is dormant: it sends, but what is behind it may not let it in before 802.1X is done (rule S12).
    case waitsForAuthentication = "waits_for_authentication"
    /// A bond, team or HSR link in use has a port that does not work, and sends by the others (rule S15).
    case redundancyLost = "redundancy_lost"
    /// A gateway in use does not answer ARP or Neighbor Solicitation, or, on a link without one, no destination (rule S52).
    case gatewayUnresolved = "gateway_unresolved"
    /// UDP datagrams that no connect(2) went before use another route than connections, or leave alone (rule S20).
    case datagramsDiffer = "datagrams_differ"
    /// A packet filter or an IPsec policy refuses datagrams of this process, and perhaps more (rule S55).
    case datagramsRefused = "datagrams_refused"
    /// The router's promise or the address is about to run out without a refresh (rule S28).
    case expiring
}
