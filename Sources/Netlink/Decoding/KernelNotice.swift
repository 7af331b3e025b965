// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetlink

/// One notification: what it says, and what the kernel calls it.
public struct KernelNotice: Hashable, Sendable {
    /// The kind of the message, such as `RTM_NEWLINK`.
    public var type: MessageType
    public var event: KernelEvent

    public init(type: MessageType, event: KernelEvent) {
        self.type = type
        self.event = event
    }
}

/// What became of one message of the event socket.
enum DecodedNotice {
    case notice(KernelNotice)
    /// It is of a kind that says nothing about paths.
    case ignored
    /// It is not what its type promises.
    case malformed

    static func decode(type number: UInt16, _ body: Span<UInt8>) -> DecodedNotice {
        let isRemoval = number & 3 == 1
        let event: KernelEvent?
        switch Int(number) {
        case RTM_NEWLINK, RTM_DELLINK:
            // IPv6 and others report their own part of a link in this form, without carrier and kind.
            guard body.count < 16 || [0, 7].contains(body[0]) else { return .ignored }
            event = Self.link(body, isRemoval: isRemoval)
        case RTM_NEWADDR, RTM_DELADDR:
            event = InterfaceAddress(decoding: body).map { isRemoval ? .addressRemoved($0) : .address($0) }
        case RTM_NEWROUTE, RTM_DELROUTE:
            guard body.count < 12 || AddressFamily(kernel: body[0]) != nil else { return .ignored }
            event = Self.route(body, isRemoval: isRemoval)
        case RTM_NEWRULE, RTM_DELRULE:
            event = Self.family(body, atLeast: 12).map { .rule(family: $0, removed: isRemoval) }
        case RTM_NEWNEXTHOP, RTM_DELNEXTHOP:
            event = Nexthop(decoding: body).map { .nexthop(id: $0.id, removed: isRemoval) }
        case RTM_NEWNEIGH, RTM_DELNEIGH:
            if body.count >= 12, body[0] == BridgeEntry.family {
                // Entries of other kinds of link, such as vxlan, have this family too.
                guard let entry = BridgeEntry(decoding: body) else { return .ignored }
                event = .bridgeEntry(entry, removed: isRemoval)
                break
            }
            guard body.count < 12 || AddressFamily(kernel: body[0]) != nil else { return .ignored }
            event = Neighbor(decoding: body).map { .neighbor($0, removed: isRemoval) }
        case RTM_NEWNETCONF, RTM_DELNETCONF:
            event = Self.settings(body)
        case RTM_NEWNDUSEROPT:
            guard let servers = RouterDNSOption(decoding: body) else { return .malformed }
            guard !servers.addresses.isEmpty else { return .ignored }
            event = .routerDNS(index: servers.index, servers: servers.addresses, lifetime: servers.lifetime)
        default:
            return .ignored
        }
        return event.map { .notice(KernelNotice(type: MessageType(rawValue: number), event: $0)) } ?? .malformed
    }

    /// A bridge's message about its port has the form of a link message, and never says that the link is gone.
    private static func link(_ body: Span<UInt8>, isRemoval: Bool) -> KernelEvent? {
        guard body.count >= 16 else { return nil }
        guard body[0] != 7 else { return bridgePort(body, isRemoval: isRemoval) }
        guard let link = Link(decoding: body) else { return nil }
        // Every description has an MTU, also when it is 0.
        guard isRemoval || contains(IFLA_MTU, body) else { return .linkHint(index: link.index) }
        return isRemoval ? .linkRemoved(index: link.index, name: link.name) : .link(link)
    }

    private static func contains(_ kind: Int, _ body: Span<UInt8>) -> Bool {
        var attributes = AttributeReader(body, from: 16)
        while attributes.advance() {
            if attributes.kind == kind { return true }
        }
        return false
    }

    private static func bridgePort(_ body: Span<UInt8>, isRemoval: Bool) -> KernelEvent? {
        var master: Int?
        var attributes = AttributeReader(body, from: 16)
        while attributes.advance() {
            if attributes.kind == IFLA_MASTER { master = attributes.index }
        }
        guard !attributes.isMalformed else { return nil }
        return .bridgePort(index: body.index(at: 4), master: isRemoval ? nil : master)
    }

    private static func route(_ body: Span<UInt8>, isRemoval: Bool) -> KernelEvent? {
        guard let entry = RouteEntry(decoding: body) else { return nil }
        return .route(
            RouteNotice(
                family: entry.destination.address.family,
                prefixLength: entry.answer.prefixLength,
                table: entry.answer.table,
                removed: isRemoval
            )
        )
    }

    private static func family(_ body: Span<UInt8>, atLeast count: Int) -> AddressFamily? {
        body.count >= count ? AddressFamily(kernel: body[0]) : nil
    }

    private static func settings(_ body: Span<UInt8>) -> KernelEvent? {
        guard body.count >= 4 else { return nil }
        var index = 0
        var attributes = AttributeReader(body, from: 4)
        while attributes.advance() {
            if attributes.kind == NETCONFA_IFINDEX { index = attributes.index }
        }
        return attributes.isMalformed ? nil : .settings(family: AddressFamily(kernel: body[0]), index: index)
    }
}

/// The RDNSS options (RFC 8106 section 5.1) of an `RTM_NEWNDUSEROPT`.
private struct RouterDNSOption {
    let index: Int
    private(set) var addresses: [IPAddress] = []
    private(set) var lifetime: UInt32 = 0

    /// Reads `struct nduseroptmsg` and the options behind it.
    /// - Returns: `nil` when an option is not whole; other options than RDNSS are passed over.
    init?(decoding body: Span<UInt8>) {
        guard body.count >= 16 else { return nil }
        index = body.index(at: 4)
        let end = 16 + Int(body.host16(at: 2))
        guard end <= body.count else { return nil }
        var start = 16
        while start < end {
            guard end - start >= 8 else { return nil }
            let length = 8 * Int(body[start + 1])
            guard length >= 8, length <= end - start else { return nil }
            if body[start] == 25 { readServers(body.extracting(start..<start + length)) }
            start += length
        }
    }

    private mutating func readServers(_ option: Span<UInt8>) {
        lifetime = option.network32(at: 4)
        var start = 8
        while option.count - start >= 16 {
            if let address = IPAddress(bytes: option.extracting(start..<start + 16)) { addresses.append(address) }
            start += 16
        }
    }
}
