// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import OrderedJSON
public import PathModel

public struct GatewayDocument: JSONObjectWritable, Equatable, Sendable {
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

    public func write(to object: inout JSONObjectWriter) {
        object.write("address", address)
        object.write("family", family)
        object.write("interface", interface)
        object.write("metric", Int(metric))
        object.write("reachable", reachable)
    }
}

public struct DNSDocument: JSONObjectWritable, Equatable, Sendable {
    public var servers: [String]
    public var search: [String]
    public var source: String
    public var usable: Bool
    public var problem: String?

    public func write(to object: inout JSONObjectWriter) {
        object.write("servers", servers)
        object.write("search", search)
        object.write("source", source)
        object.write("usable", usable)
        if let problem { object.write("problem", problem) }
    }

    public init(_ dns: DNSState) {
        servers = dns.servers.map(\.description)
        search = dns.search
        source = dns.source
        usable = dns.isUsable
        problem = dns.problem?.description
    }
}

extension GatewayDocument {
    public static var form: Form {
        .named("Gateway", "A default gateway.")
            .member("address", .text, "Its address, link-local ones with their interface.")
            .member("family", .family, "That of the packets it takes; the address may be of the other one (RFC 8950).")
            .added("interface", InterfaceReference.form)
            .added("metric", .count)
            .member("reachable", .truth.orNull, "Whether it answers; `null` when it is not watched.")
    }
}

extension DNSDocument {
    public static var form: Form {
        .named("NameServers", definition: "dns", "Where names are resolved.")
            .member("servers", .list(of: .text), "The servers that programs query in the end, in order.")
            .added("search", .list(of: .text), "Domains appended to short names.")
            .added("source", .text, "Where they were read, such as `/etc/resolv.conf`.")
            .added("usable", .truth, "Whether at least one of them can be reached.")
            .optional(
                "problem",
                .text,
                "What prevents queries, such as a file that cannot be read; left out where nothing does."
            )
    }
}
