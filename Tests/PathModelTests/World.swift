// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// A small network to evaluate: links, addresses, routes and what providers say.
struct World {
    var state = KernelState()
    var table = FakeTable()
    var facts = ProviderFacts(dns: DNSConfiguration(servers: []))
    var policy = PathPolicy()
    var memory = InterfaceMemory()
    var qualities: [Int: LinkQuality] = [:]
    var now: Duration = .seconds(1000)

    /// Has a loopback link only.
    init() {
        var loopback = Link(index: 1, name: "lo", flags: [.up, .loopback, .lowerUp], hardwareType: 772, carrier: true)
        loopback.mtu = 65536
        add(loopback)
        add("127.0.0.1/8", on: "lo", scope: 254)
        add("127.0.0.53/8", on: "lo", scope: 254)
    }

    /// An ordinary machine: `eth0` with both families.
    static func ordinary() -> World {
        var world = World()
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0")
        world.add("2001:db8::10/64", on: "eth0")
        world.add("fe80::10/64", on: "eth0", scope: 253)
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1", metric: 100)
        world.route("::/0", "eth0", via: "fe80::1", metric: 1024)
        return world
    }

    var classifier: InterfaceClassifier {
        InterfaceClassifier(state: state, facts: facts, policy: policy, memory: memory)
    }

    func index(_ name: String) -> Int { state.link(named: name)?.index ?? -1 }

    // MARK: - Links

    mutating func add(_ link: Link) {
        _ = state.apply(.link(link), at: now)
    }

    /// Adds a link that works; hardware unless a kind is given.
    mutating func link(_ name: String, _ index: Int, kind: String? = nil, _ body: (inout Link) -> Void = { _ in }) {
        var link = Link(index: index, name: name, flags: [.up, .lowerUp], carrier: true, operationalState: .up)
        link.kind = kind
        body(&link)
        add(link)
    }

    mutating func change(_ name: String, _ body: (inout Link) -> Void) {
        guard var link = state.link(named: name) else { return }
        body(&link)
        add(link)
    }

    /// Takes the carrier away, as a cable does.
    mutating func unplug(_ name: String) {
        change(name) {
            $0.carrier = false
            $0.flags.remove(.lowerUp)
            $0.operationalState = .lowerLayerDown
        }
    }

    mutating func plug(_ name: String) {
        change(name) {
            $0.carrier = true
            $0.flags.insert([.up, .lowerUp])
            $0.operationalState = .up
        }
    }

    /// Takes the link down; its IPv4 and IPv6 routes go with it.
    mutating func setDown(_ name: String) {
        change(name) {
            $0.flags.remove([.up, .lowerUp])
            $0.carrier = nil
            $0.operationalState = .down
        }
        let index = index(name)
        table.routes.removeAll { $0.nexthops.contains { $0.index == index } }
    }

    mutating func delete(_ name: String) {
        let index = index(name)
        _ = state.apply(.linkRemoved(index: index, name: name), at: now)
        table.routes.removeAll { $0.nexthops.contains { $0.index == index } }
    }

    // MARK: - Addresses

    static func address(
        _ text: String,
        index: Int,
        scope: UInt8 = 0,
        flags: AddressFlags = [],
        valid: UInt32? = nil
    ) -> InterfaceAddress {
        let parts = text.split(separator: "/")
        return InterfaceAddress(
            index: index,
            address: IPAddress(parts[0]) ?? .v4(0),
            prefixLength: Int(parts[1]) ?? 0,
            scope: scope,
            flags: flags,
            validSeconds: valid
        )
    }

    mutating func add(
        _ text: String,
        on name: String,
        scope: UInt8 = 0,
        flags: AddressFlags = [],
        valid: UInt32? = nil
    ) {
        let address = Self.address(text, index: index(name), scope: scope, flags: flags, valid: valid)
        _ = state.apply(.address(address), at: now)
    }

    mutating func remove(_ text: String, from name: String) {
        _ = state.apply(.addressRemoved(Self.address(text, index: index(name))), at: now)
    }

    mutating func flush(_ name: String) {
        for held in state.addresses[index(name)] ?? [] { _ = state.apply(.addressRemoved(held.value), at: now) }
    }

    // MARK: - Routes

    mutating func route(
        _ prefix: String,
        _ interface: String? = nil,
        via gateway: String? = nil,
        metric: UInt32 = 0,
        table number: UInt32 = 254,
        type: RouteType = .unicast,
        _ body: (inout FakeTable.Route) -> Void = { _ in }
    ) {
        let nexthops =
            interface.map { [RouteNexthop(index: index($0), gateway: gateway.flatMap { IPAddress($0) })] } ?? []
        var route = FakeTable.Route(prefix: IPPrefix(prefix) ?? IPPrefix(.v4(0), length: 32), table: number, type: type)
        route.metric = metric
        route.nexthops = nexthops
        body(&route)
        table.routes.append(route)
    }

    /// A route with several legs.
    mutating func multipath(_ prefix: String, _ nexthops: [(interface: String, gateway: String)]) {
        let nexthops = nexthops.map { RouteNexthop(index: index($0.interface), gateway: IPAddress($0.gateway)) }
        route(prefix) { $0.nexthops = nexthops }
    }

    mutating func removeRoutes(_ prefix: String, table number: UInt32 = 254) {
        table.routes.removeAll { $0.prefix == IPPrefix(prefix) && $0.table == number }
    }

    mutating func rule(
        _ priority: UInt32,
        table number: UInt32 = 254,
        _ body: (inout FakeTable.Rule) -> Void = { _ in }
    ) {
        var rule = FakeTable.Rule(priority: priority, table: number)
        body(&rule)
        table.rules.append(rule)
    }

    // MARK: - Asking

    func evaluate(_ monitor: MonitorPolicy = MonitorPolicy()) -> Evaluation {
        var table = table
        table.state = state
        return PathEvaluator(classifier).evaluate(monitor, table: table, qualities: qualities, at: now)
    }

    func path(_ monitor: MonitorPolicy = MonitorPolicy()) -> Path { evaluate(monitor).path }
}

extension Path {
    /// The names of the interfaces, best first.
    var names: [String] { interfaces.map(\.name) }
    /// The gateways as text.
    var gatewayTexts: [String] { gateways.map { "\($0.address)" } }
}
