// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import OrderedJSON
public import PathModel

public struct GatewayDocument: MemberDeclaring, Equatable, Sendable {
    public var address: String
    public var family: String
    public var interface: InterfaceReference
    public var metric: UInt32
    public var reachable: Bool?

    public init(_ gateway: Gateway) {
        address = "\(gateway.address)"
        family = gateway.family.rawValue
        interface = InterfaceReference(named: gateway.interface)
        metric = gateway.metric
        reachable = gateway.isReachable
    }

    public static let members = Members<Self>.named("Gateway", "A default gateway.")
        .member("address", "Its address, link-local ones with their interface.") { $0.address }
        .member(
            "family",
            as: .family,
            "That of the packets it takes; the address may be of the other one (RFC 8950)."
        ) { $0.family }
        .added("interface") { $0.interface }
        .added("metric") { Int($0.metric) }
        .member("reachable", "Whether it answers; `null` when it is not watched.") { $0.reachable }
}

public struct DNSDocument: MemberDeclaring, Equatable, Sendable {
    public var servers: [String]
    public var search: [String]
    public var source: String
    public var usable: Bool
    public var problem: String?

    public static let members = Members<Self>.named("NameServers", definition: "dns", "Where names are resolved.")
        .member("servers", "The servers that programs query in the end, in order.") { $0.servers }
        .added("search", "Domains appended to short names.") { $0.search }
        .added("source", "Where they were read, such as `/etc/resolv.conf`.") { $0.source }
        .added("usable", "Whether at least one of them can be reached.") { $0.usable }
        .optional(
            "problem",
            "What prevents queries, such as a file that cannot be read; left out where nothing does."
        ) { $0.problem }

    public init(_ dns: DNSState) {
        servers = dns.servers.map(\.description)
        search = dns.search
        source = dns.source
        usable = dns.isUsable
        problem = dns.problem?.description
    }
}
