// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import PathModel

/// Reads systemd-resolved's Manager and Link properties (org.freedesktop.resolve1(5)).
enum ResolvedReader {
    static let name = "org.freedesktop.resolve1"
    static let path = "/org/freedesktop/resolve1"
    static let interface = "org.freedesktop.resolve1.Manager"
    static let linkInterface = "org.freedesktop.resolve1.Link"
    private static let limit = 256

    /// The object of a link: its index, whose first digit is escaped as sd_bus_path_encode(3) does.
    static func path(ofLink index: Int) -> String { "\(path)/link/_3\(index)" }

    /// What a link is used for, of its properties.
    struct LinkUse: Equatable {
        /// Whether its servers are queried at all: such a link has no address, for example.
        var isUsed = true
        /// Whether they resolve names in general.
        var isDefault: Bool
    }

    /// The servers behind the stub, global and of the links that are used for DNS.
    ///
    /// Which of them names in general are resolved by follows `dns_scope_good_domain` of systemd: those of the links, and of
    /// the global configuration, that have the domain `~.`; where none has it, the global ones and those of links whose
    /// property DefaultRoute is true. The fallback ones follow where there are no others, and from systemd 257 on where
    /// no others are for names in general, which shows in the current server (`manager_get_dns_server`).
    ///
    /// - Parameters:
    ///   - properties: Those of the Manager.
    ///   - uses: What links are used for, by interface index; without it a link has a default route unless it has a domain
    ///     for routing only.
    ///   - names: Finds the names of interfaces.
    /// - Returns: `nil` when the properties do not name servers in any known form.
    static func servers(
        _ properties: BusObjects.Properties,
        uses: [Int: LinkUse] = [:],
        names: InterfaceNames
    ) -> [DNSServer]? {
        guard let all = list(properties["DNSEx"] ?? properties["DNS"], names) else { return nil }
        let fallback = list(properties["FallbackDNSEx"] ?? properties["FallbackDNS"], names) ?? []
        guard !all.isEmpty else { return fallback }
        let domains = domains(properties)
        let main = all.filter { uses[$0.interfaceIndex ?? 0]?.isUsed != false }
        let rooted = Set(domains.filter(\.isRoot).map(\.index)).intersection(main.map { $0.interfaceIndex ?? 0 })
        let servers = main.map { server in
            let index = server.interfaceIndex ?? 0
            var server = server
            if !rooted.isEmpty {
                server.isForDomainsOnly = !rooted.contains(index)
            } else if index > 0 {
                let isRouted = domains.contains { $0.index == index && $0.isRoutingOnly }
                server.isForDomainsOnly = !(uses[index]?.isDefault ?? !isRouted)
            }
            return server
        }
        guard servers.allSatisfy(\.isForDomainsOnly) else { return servers }
        let current = current(properties, names)
        return servers + (fallback.contains { $0.address == current } ? fallback : [])
    }

    /// The server that is used for names in general, once a query chose it; changes of CurrentDNSServerEx are not announced.
    private static func current(_ properties: BusObjects.Properties, _ names: InterfaceNames) -> ScopedAddress? {
        list(properties["CurrentDNSServer"].map { .list([$0]) }, names)?.first?.address
    }

    /// Whether fallback servers may be used beside servers for some domains only, which no query has shown yet.
    static func isUndecided(
        _ properties: BusObjects.Properties,
        uses: [Int: LinkUse],
        names: InterfaceNames
    ) -> Bool {
        let fallback = list(properties["FallbackDNSEx"] ?? properties["FallbackDNS"], names) ?? []
        guard !fallback.isEmpty, current(properties, names) == nil, !links(properties).isEmpty,
            let servers = servers(properties, uses: uses, names: names)
        else { return false }
        return !servers.isEmpty && servers.allSatisfy(\.isForDomainsOnly)
    }

    /// What decides which servers are used.
    struct Settings: Equatable {
        private let properties: BusObjects.Properties
        private let uses: [Int: LinkUse]

        init(_ properties: BusObjects.Properties, uses: [Int: LinkUse]) {
            let names: Set = ["DNS", "DNSEx", "FallbackDNS", "FallbackDNSEx", "Domains"]
            self.properties = properties.filter { names.contains($0.key) }
            self.uses = uses
        }
    }

    /// Arguments of ResolveHostname that make it choose the current server and send nothing: any interface, a name of a domain
    /// that is reserved for documentation (RFC 2606), IPv4, and `SD_RESOLVED_NO_NETWORK`.
    static let lookupWithoutNetwork: [BusArgument] = [
        .int32(0), .text("nwpath.example"), .int32(2), .uint64(1 << 15),
    ]

    /// The indexes of the links that have servers.
    static func links(_ properties: BusObjects.Properties) -> Set<Int> {
        let entries = (properties["DNSEx"] ?? properties["DNS"])?.list ?? []
        return Set(entries.prefix(limit).compactMap { $0.list?.first?.number }.filter { $0 > 0 })
    }

    /// What a link is used for, of its properties; DefaultRoute is false as well while it is not used for DNS, which
    /// ScopesMask distinguishes (`SD_RESOLVED_DNS` is 1).
    static func use(_ properties: BusObjects.Properties) -> LinkUse? {
        guard let scopes = properties["ScopesMask"]?.number, let isDefault = properties["DefaultRoute"]?.flag else {
            return nil
        }
        return LinkUse(isUsed: scopes & 1 != 0, isDefault: isDefault)
    }

    private struct Domain {
        let index: Int
        let name: String
        let isRoutingOnly: Bool
        var isRoot: Bool { name == "." || name.isEmpty }
    }

    /// `Domains`: (interface, domain, whether it is for routing only).
    private static func domains(_ properties: BusObjects.Properties) -> [Domain] {
        (properties["Domains"]?.list ?? []).prefix(limit).compactMap { entry in
            guard let fields = entry.list, fields.count == 3, let index = fields[0].number, let name = fields[1].text,
                let isRoutingOnly = fields[2].flag
            else { return nil }
            return Domain(index: index, name: name, isRoutingOnly: isRoutingOnly)
        }
    }

    /// Reads servers: (interface, family, address, port, name); those of a property without `Ex` lack the last two.
    private static func list(_ value: BusValue?, _ names: InterfaceNames) -> [DNSServer]? {
        guard let entries = value?.list else { return nil }
        var servers: [DNSServer] = []
        for entry in entries.prefix(limit) {
            guard let fields = entry.list, fields.count >= 3, let index = fields[0].number,
                let bytes = fields[2].bytes, let address = IPAddress(bytes: bytes.span)
            else { continue }
            let port = fields.count > 3 ? fields[3].number.flatMap { UInt16(exactly: $0) } : nil
            let server = DNSServer(
                ScopedAddress(address, scope: index > 0 ? names.name(index) : nil),
                port: port == 0 || port == 53 ? nil : port,
                interfaceIndex: index > 0 ? index : nil
            )
            if !servers.contains(server) { servers.append(server) }
        }
        return servers
    }
}
