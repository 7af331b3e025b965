// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Configuration
internal import Diagnosis
internal import PathModel
internal import Probes

/// The tests that need no configuration but `connectivity.check`.
///
/// Pure: a path in, probes out. `local` sends to the name servers of this machine only, one query each; the routers that
/// these queries do not pass are left to the kernel's own neighbour discovery (``uncoveredGateways(of:route:)``).
struct StandardTests {
    static let interval = Duration.seconds(30)
    /// The same on a path that costs money or should be spared.
    static let frugalInterval = Duration.seconds(300)
    /// How often the page is fetched that a captive portal replaces.
    static let portalInterval = Duration.seconds(120)
    /// What a server that refuses the first query is queried for after the search domain.
    static let publicName = "example.com"
    /// Such as the C library's MAXNS.
    static let maximumServers = 3

    let check: ConnectivitySettings.Check

    /// The probes for a path; none while the kernel would send nothing.
    func definitions(for path: Path) -> [ProbeDefinition] {
        guard path.status == .satisfied else { return [] }
        let isFrugal = path.isExpensive || path.isConstrained
        let interval = isFrugal ? Self.frugalInterval : Self.interval
        switch check {
        case .off: return []
        case .local: return nameServers(of: path, interval)
        case .public: return nameServers(of: path, interval) + hosts(for: path, interval) + [portal(interval)]
        }
    }

    private func nameServers(of path: Path, _ interval: Duration) -> [ProbeDefinition] {
        path.dns.servers.prefix(Self.maximumServers).enumerated().map { index, server in
            // The root's name servers are no secret, and a server that forwards queries has to find them out.
            var question = ServerQuestion(
                server: SocketAddress(server.address, port: server.port ?? 53),
                record: .nameServers,
                transport: server.isQueriedOverTCP ? .tcp : .udp
            )
            // A server of the own domain refuses everything else, and some refuse the root alone.
            question.namesIfRefused = path.dns.search.prefix(1) + [Self.publicName]
            return ProbeDefinition(
                name: "nameserver\(index + 1)",
                method: .dns,
                target: .domain("."),
                question: question,
                interval: interval
            )
        }
    }

    private func hosts(for path: Path, _ interval: Duration) -> [ProbeDefinition] {
        let anchors = Targets.publicDefaults.anchors
        let wanted = [
            path.supportsIPv4 ? anchors.compactMap(\.ipv4) : [],
            path.supportsIPv6 ? Array(anchors.compactMap(\.ipv6).prefix(path.supportsIPv4 ? 1 : 2)) : [],
        ].joined()
        return wanted.enumerated().map { index, address in
            ProbeDefinition(
                name: "internet\(index + 1)",
                method: .tcp,
                target: .host(.address(ScopedAddress(address)), port: 443),
                interval: interval
            )
        }
    }

    private func portal(_ interval: Duration) -> ProbeDefinition {
        let targets = Targets.publicDefaults
        let host = targets.anchors.first(where: \.hasPage)?.host ?? ""
        return ProbeDefinition(
            name: "portal",
            method: .http,
            target: PageAddress("http://\(host)\(targets.path)").map(ProbeTarget.page) ?? .gateway,
            page: PageExpectation(statuses: [204]),
            interval: max(interval, Self.portalInterval)
        )
    }

    /// The gateways in use that no standard test passes.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - route: The gateway of the route to an address; `nil` where it is on the link, or where it may be one of several.
    /// - Returns: Gateways of the path.
    func uncoveredGateways(of path: Path, route: (IPAddress) -> IPAddress?) -> [Gateway] {
        guard check != .off, path.status == .satisfied else { return [] }
        let passed = Set(definitions(for: path).compactMap(\.fixedAddress).map { route($0) ?? $0 })
        return path.gateways.filter { !passed.contains($0.address.address) }
    }
}

extension ProbeDefinition {
    /// The address that it sends to, where that is known before it runs.
    fileprivate var fixedAddress: IPAddress? {
        if let server = question.server { return server.address.address }
        guard case .host(.address(let address), _) = target else { return nil }
        return address.address
    }
}
