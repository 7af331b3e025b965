// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Netlink
internal import PathModel
internal import Probes

/// What the kernel says about the machine's own part of the path, read at one time without sending anything.
struct KernelFacts {
    /// The interfaces that could carry traffic, the preferred one first.
    var links: [Link] = []
    var addresses: [Int: [InterfaceAddress]] = [:]
    /// What becomes of packets for the Internet, by family.
    var routes: [InternetRoute] = []
    /// The hardware addresses of all interfaces, whatever they are for.
    var hardwareAddresses: Set<String> = []
    /// The indexes of interfaces that packets for the Internet leave by and that are tunnels.
    var tunnels: Set<Int> = []

    struct InternetRoute: Equatable {
        var family: AddressFamily
        var route: Assessment<SendEvidence.Route>
        /// The next hops, without doubles.
        var nexthops: [RouteNexthop] = []
        /// Whether there is an address that such packets may come from.
        var hasSource = false

        /// Whether packets leave this machine.
        var isOpen: Bool { route.value == .found && hasSource }
    }

    func route(_ family: AddressFamily) -> InternetRoute? { routes.first { $0.family == family } }
    func link(_ index: Int) -> Link? { links.first { $0.index == index } }

    /// The first IPv4 address of an interface, for ARP requests.
    func sender(on index: Int) -> IPAddress? {
        (addresses[index] ?? []).first { $0.address.family == .ipv4 && !$0.flags.contains(.tentative) }?.address
    }
}

/// Reads ``KernelFacts``.
struct KernelFactsReader {
    let kernel: any KernelSource
    let policy: PathPolicy
    let targets: Targets

    /// Reads links, addresses and the routes to the anchors.
    /// - Throws: ``NetlinkError`` when links or addresses cannot be read.
    func read(at now: Duration) throws(NetlinkError) -> KernelFacts {
        var state = KernelState()
        let addresses = try kernel.addresses().values
        _ = state.replace(links: try kernel.links().values, addresses: addresses, at: now)
        let interfaces = InterfaceClassifier(state: state, policy: policy)
        var facts = KernelFacts(addresses: Dictionary(grouping: addresses, by: \.index))
        facts.hardwareAddresses = Set(
            state.links.values.compactMap { HardwareAddress($0.hardwareAddress)?.description }
        )
        facts.routes = AddressFamily.allCases.map { internetRoute($0, interfaces) }
        let used = facts.routes.flatMap(\.nexthops).compactMap { state.links[$0.index] }
        facts.tunnels = Set(used.filter(interfaces.isTunnel).map(\.index))
        facts.links = candidates(interfaces, carrying: facts.routes.flatMap(\.nexthops).map(\.index))
        return facts
    }

    // MARK: - Links

    /// Those that carry traffic, then those that could; tunnels and interfaces of containers only if they carry.
    private func candidates(_ interfaces: InterfaceClassifier, carrying: [Int]) -> [Link] {
        let links = interfaces.state.links.values.sorted { $0.index < $1.index }.filter(interfaces.isEligible)
        let used = carrying.compactMap { index in links.first { $0.index == index } }
        var idle = links.filter { !interfaces.isIgnored($0) && !interfaces.isTunnel($0) }
        // Below a tunnel, too, there is a device.
        if used.allSatisfy(interfaces.isTunnel) && idle.isEmpty { idle = links.filter { Self.isContainerEnd($0) } }
        idle.sort { left, right in rank(left, interfaces) < rank(right, interfaces) }
        var seen: Set<Int> = []
        return (used + idle).filter { seen.insert($0.index).inserted }
    }

    private static func isContainerEnd(_ link: Link) -> Bool { ["veth", "macvlan", "ipvlan"].contains(link.kind) }

    private func rank(_ link: Link, _ interfaces: InterfaceClassifier) -> Int {
        let isUsable = link.flags.contains(.up) && link.carrier ?? link.flags.contains(.lowerUp)
        let isHeld = interfaces.state.routableInterfaces.contains(link.index)
        if isUsable { return isHeld ? 0 : 1 }
        return (isHeld ? 2 : 4) + (link.flags.contains(.up) ? 0 : 1)
    }

    // MARK: - Routes

    /// The addresses that stand for the Internet.
    private func destinations(_ family: AddressFamily) -> [IPAddress] {
        let anchors = targets.anchors.compactMap { $0.address(family) }
        return anchors.isEmpty ? policy.probes[family] ?? [] : anchors
    }

    private func internetRoute(_ family: AddressFamily, _ interfaces: InterfaceClassifier) -> KernelFacts.InternetRoute
    {
        var found = KernelFacts.InternetRoute(family: family, route: .notAsked)
        var failures: [(destination: IPAddress, failure: RouteFailure)] = []
        for destination in destinations(family) {
            switch kernel.lookup(RouteQuery(destination, kind: .entry)) {
            case .success(let answer):
                found.route = .known(.found)
                found.nexthops += answer.nexthops.filter { !found.nexthops.contains($0) }
            case .failure(let failure): failures.append((destination, failure))
            }
        }
        let held = interfaces.state.addresses.values.joined()
        found.hasSource = held.contains { $0.value.address.family == family && $0.isRoutable && $0.value.isSource }
        guard found.route.value == nil, !failures.isEmpty else { return found }
        found.route = .known(.missing)
        for (destination, failure) in failures {
            switch failure {
            case .blackhole, .unreachable, .prohibited: return refused(found, destination, failure)
            case .familyUnsupported: found.route = .unknown(because: "this address family is disabled in the kernel")
            case .noRoute, .noSuchInterface: break
            case .other(let code): found.route = .unknown(because: "the kernel returned error \(code)")
            }
        }
        return found
    }

    func route(to address: ScopedAddress, _ facts: KernelFacts) -> Assessment<DestinationEvidence.Route> {
        var query = RouteQuery(address.address, kind: .decision)
        if let scope = address.scope {
            query.outputInterface = Int(scope) ?? facts.links.first { $0.isNamed(scope) }?.index
        }
        switch kernel.lookup(query) {
        case .success(let answer):
            let nexthop = answer.nexthops.first
            let link = nexthop.flatMap { nexthop in (try? kernel.link(index: nexthop.index)) ?? nil }
            return .known(.found(interface: link?.name ?? "lo", gateway: nexthop?.gateway))
        case .failure(let failure):
            switch failure {
            case .blackhole, .unreachable, .prohibited:
                guard query.outputInterface == nil else { return .known(.missing) }
                let (type, text) = discarding(address.address, failure)
                return .known(.discarded(type: type, text: text))
            case .noRoute, .noSuchInterface, .familyUnsupported: return .known(.missing)
            case .other(let code): return .unknown(because: "the kernel returned error \(code)")
            }
        }
    }

    private func refused(
        _ route: KernelFacts.InternetRoute,
        _ destination: IPAddress,
        _ failure: RouteFailure
    ) -> KernelFacts.InternetRoute {
        var route = route
        let (type, text) = discarding(destination, failure)
        route.route = .known(.discarded(type: type, text: text))
        return route
    }

    /// The route that discards packets: its type and its text.
    private func discarding(_ destination: IPAddress, _ failure: RouteFailure) -> (type: String, text: String) {
        let type: RouteType =
            switch failure {
            case .unreachable: .unreachable
            case .prohibited: .prohibit
            default: .blackhole
            }
        let routes = try? kernel.routes(destination.family, type: type, limit: 10_000) { entry in
            entry.destination.contains(destination)
        }
        let best = routes?.values.max { $0.destination.length < $1.destination.length }
        return ("\(type)", Self.text(type, best))
    }

    /// Such as `blackhole default`, as `ip route del` takes it.
    private static func text(_ type: RouteType, _ entry: RouteEntry?) -> String {
        guard let entry else { return "\(type)" }
        let prefix = entry.destination.length == 0 ? "default" : "\(entry.destination)"
        let table = [0, 254].contains(entry.answer.table) ? "" : " table \(entry.answer.table)"
        let metric = entry.answer.metric == 0 ? "" : " metric \(entry.answer.metric)"
        return "\(type) \(prefix)\(table)\(metric)"
    }
}

extension InterfaceAddress {
    fileprivate var isSource: Bool { flags.isDisjoint(with: [.tentative, .duplicateDetected]) }
}

extension LinkEvidence {
    init(_ link: Link, _ addresses: [InterfaceAddress]) {
        self.init(link.name)
        isUp = link.flags.contains(.up)
        hasCarrier = link.carrier ?? link.flags.contains(.lowerUp)
        mtu = link.mtu
        self.addresses = addresses.map { held in
            var evidence = AddressEvidence(held.address)
            evidence.isTentative = held.flags.contains(.tentative) && !held.flags.contains(.optimistic)
            evidence.hasFailedDetection = held.flags.contains(.duplicateDetected)
            return evidence
        }
    }
}
