// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// What one evaluation does where routes, legs and addresses disagree (rules S16, S21, S24, S28, S31, S52).
@Suite struct EvaluationRoundTests {
    private func twoLegs() -> World {
        var world = World()
        world.link("eth0", 2)
        world.link("eth1", 3)
        world.add("192.0.2.10/24", on: "eth0")
        world.add("198.51.100.10/24", on: "eth1")
        world.multipath("0.0.0.0/0", [("eth0", "192.0.2.1"), ("eth1", "198.51.100.1")])
        return world
    }

    private func fail(_ world: inout World, _ index: Int, _ gateway: String) {
        let key = NeighborKey(index: index, address: IPAddress(gateway) ?? .v4(0))
        _ = world.state.track(NeighborDependencies(gateways: world.state.gatewaysInUse.union([key])))
        let entry = Neighbor(index: index, address: key.address, state: .failed)
        _ = world.state.apply(.neighbor(entry, removed: false), at: world.now)
    }

    // MARK: - Legs

    @Test func `the source is that of a leg that works, though the kernel would hash the probe onto a dead one (S31)`()
    {
        var world = twoLegs()
        world.unplug("eth0")
        let path = world.path()
        #expect(path.ipv4?.source == IPAddress("198.51.100.10"))
        #expect(path.warnings == [.degraded])
        // The question for that was bound to the leg that works.
        #expect(world.table.log.queries.contains { $0.kind == .decision && $0.outputInterface == 3 })
    }

    @Test func `an entry without flags whose link lost its carrier is dead all the same (S21)`() {
        var world = twoLegs()
        world.change("eth1") { $0.operationalState = .testing }
        #expect(world.path().names == ["eth0"])
        #expect(world.path().warnings == [.degraded])
    }

    @Test(arguments: [NexthopFlags.dead, .linkDown, [.dead, .linkDown]])
    func `the kernel's word on a leg counts before the link's (S21)`(flags: NexthopFlags) {
        var world = twoLegs()
        world.table.routes[0].nexthops[1].flags = flags
        #expect(world.path().names == ["eth0"])
        world.table.routes[0].nexthops[1].flags = .onLink
        #expect(world.path().names == ["eth0", "eth1"])
    }

    @Test func `legs of both families are joined, IPv4's order of gateways first (S34)`() {
        var world = twoLegs()
        world.add("2001:db8::10/64", on: "eth1")
        world.route("::/0", "eth1", via: "fe80::1")
        let path = world.path()
        // eth1 carries both families, so that it comes before eth0 (rule S17).
        #expect(path.names == ["eth1", "eth0"])
        #expect(path.gatewayTexts == ["192.0.2.1", "198.51.100.1", "fe80::1%eth1"])
        #expect(path.gateways.map(\.family) == [.ipv4, .ipv4, .ipv6])
    }

    // MARK: - Redirects

    @Test(arguments: [AddressFamily.ipv4, .ipv6])
    func `the router that a redirect names is the gateway, and its neighbour counts (S20)`(family: AddressFamily) {
        var world = World.ordinary()
        let (probe, router) =
            family == .ipv4 ? ("1.1.1.1", "192.0.2.2") : ("2606:4700:4700::1111", "fe80::2")
        world.table.redirects = [IPAddress(probe) ?? .v4(0): IPAddress(router) ?? .v4(0)]
        let name = family == .ipv4 ? router : "\(router)%eth0"
        let path = world.path()
        #expect(path.gatewayTexts.contains(name) && path.gateways.count == 2)
        #expect(path.warnings.isEmpty)
        let key = NeighborKey(index: 2, address: IPAddress(router) ?? .v4(0))
        #expect(world.evaluate().neighbors.gateways.contains(key))
        fail(&world, 2, router)
        #expect(world.path().warnings == [.gatewayUnresolved])
        #expect(world.path().gateways.first { $0.family == family }?.isReachable == false)
    }

    @Test func `of several nexthops only one by another interface is replaced by a redirect`() {
        var world = twoLegs()
        world.table.redirects = [.v4(0x0101_0101): .v4(0xC000_0202)]
        #expect(world.path().gatewayTexts == ["192.0.2.2", "198.51.100.1"])
        world.table.routes[0].nexthops[1] = RouteNexthop(index: 2, gateway: .v4(0xC000_0203))
        #expect(world.path().gatewayTexts == ["192.0.2.1", "192.0.2.3"])
        #expect(world.path().warnings.isEmpty)
    }

    // MARK: - Reverse path filters, links without ARP

    @Test func `a family whose answers a reverse path filter drops is not open, and the interface not available (S24)`()
    {
        var world = World.ordinary()
        world.link("eth1", 3)
        world.add("198.51.100.10/24", on: "eth1")
        world.route("0.0.0.0/0", "eth1", via: "198.51.100.1", metric: 200)
        #expect(world.path().names == ["eth0", "eth1"])
        world.table.reverseFiltered = [3]
        #expect(world.path().names == ["eth0"] && world.path().supportsIPv4)
        world.table.reverseFiltered = [2]
        // The route back of ordinary packets is their own.
        #expect(world.path().supportsIPv4)
        let marked = MonitorPolicy(name: "marked", mark: 7)
        // IPv6 has no such filter.
        #expect(world.path(marked).supportsIPv6 && !world.path(marked).supportsIPv4)
        world.removeRoutes("::/0")
        let path = world.path(marked)
        #expect(path.reason == .noSourceAddress && path.subject?.interface == "eth0")
        #expect(path.subject?.obstacle == .reversePathFilter(.v4(0xC000_020A)))
        let query = world.table.log.queries.last { $0.inputInterface == 2 }
        #expect(query?.source == .v4(0x0101_0101) && query?.mark == 7 && query?.destination == .v4(0xC000_020A))
    }

    @Test(arguments: ["veth", "bridge"])
    func `a router behind Ethernet without ARP is reached by an entry that somebody made only (S21)`(
        kind: String
    ) throws {
        var world = World.ordinary()
        world.removeRoutes("::/0")
        world.change("eth0") { link in
            link.kind = kind
            link.flags.insert(.noARP)
        }
        let path = world.path()
        #expect(path.reason == .gatewayUnreachable && path.subject?.obstacle == .noARP)
        let router = NeighborKey(index: 2, address: .v4(0xC000_0201))
        let dependencies = world.evaluate().neighbors
        #expect(dependencies.rivals.contains(router))
        _ = world.state.track(dependencies)
        let own = world.state.links[2]?.hardwareAddress ?? []
        // What the kernel fills in is the interface's own address.
        let entries = [
            (NeighborState.noARP, own, false), (.noARP, [2, 0, 0, 0, 0, 9], true), (.permanent, own, true),
            (.stale, own, true),
        ]
        for (state, address, isOpen) in entries {
            let entry = Neighbor(index: 2, address: router.address, state: state, hardwareAddress: address)
            _ = world.state.note(entry, of: router)
            #expect((world.path().status == .satisfied) == isOpen, "\(state)")
        }
    }

    @Test(arguments: ["ipvlan", "wireguard", "dummy", "netkit", "vlan", nil])
    func `links that need no hardware addresses, and what may be a modem, are left alone`(kind: String?) {
        var world = World.ordinary()
        world.change("eth0") { link in
            link.kind = kind
            link.flags.insert(.noARP)
        }
        #expect(world.path().reason != .gatewayUnreachable)
    }

    // MARK: - Gateways

    @Test func `a default route without a router is silent when destinations do not answer (S52)`() {
        var world = World()
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0")
        world.route("0.0.0.0/0", "eth0")
        world.facts.dns = DNSConfiguration(servers: [DNSServer(ScopedAddress(.v4(0x0808_0808)))])
        let probe = world.policy.probes[.ipv4]?.first ?? .v4(0)
        let wanted = [probe, .v4(0x0808_0808)].map { NeighborKey(index: 2, address: $0) }
        #expect(world.evaluate().neighbors.rivals == Set(wanted))
        #expect(world.path().warnings == [] && world.path().ipv4?.isOnLink == true)
        fail(&world, 2, "\(probe)")
        #expect(world.path().warnings == [.gatewayUnresolved] && world.path().ipv4?.isUnanswered == true)
        #expect(world.path().status == .satisfied)
        world.policy.isGatewayStrict = true
        #expect(world.path().reason == .gatewayUnreachable)
        // One that answers, as with proxy ARP, is enough.
        _ = world.state.track(NeighborDependencies(rivals: Set(wanted)))
        let entry = Neighbor(index: 2, address: .v4(0x0808_0808), state: .stale)
        _ = world.state.apply(.neighbor(entry, removed: false), at: world.now)
        #expect(world.path().warnings == [])
        world.policy.isGatewayStrict = false
        let failed = Neighbor(index: 2, address: .v4(0x0808_0808), state: .failed)
        _ = world.state.apply(.neighbor(failed, removed: false), at: world.now)
        #expect(world.path().warnings == [.gatewayUnresolved])
        // So is another destination, unless it is on the own network, or was last there long ago.
        let other = Neighbor(index: 2, address: .v4(0xCB00_7109), state: .stale)
        for (address, seconds, answers) in [(0xCB00_7109, 20, true), (0xC000_0209, 0, false), (0xCB00_7109, 60, false)]
        {
            var neighbor = other
            neighbor.address = .v4(UInt32(address))
            neighbor.confirmed = .seconds(seconds)
            world.table.neighbors = [neighbor]
            #expect(world.path().warnings.isEmpty == answers, "\(address)")
        }
        // What a longer prefix leads to says nothing of the default route, be it a host or a name server.
        world.table.neighbors[0].confirmed = .seconds(1)
        #expect(world.path().warnings == [])
        for prefix in ["203.0.113.0/24", "203.0.0.0/8"] {
            var specific = world
            specific.route(prefix, "eth0")
            #expect(specific.path().warnings == [.gatewayUnresolved], "\(prefix)")
        }
        world.table.neighbors = []
        _ = world.state.apply(.neighbor(entry, removed: false), at: world.now)
        #expect(world.path().warnings == [])
        world.route("8.8.8.0/24", "eth0")
        #expect(world.path().warnings == [.gatewayUnresolved])
        // Nothing has to answer on a link without ARP.
        world.change("eth0") { $0.flags.insert([.pointToPoint, .noARP]) }
        #expect(world.path().ipv4?.isOnLink == false && world.evaluate().neighbors.rivals.isEmpty)
    }

    @Test func `one silent gateway of two is a warning, both are an outage where that counts (S52)`() {
        var world = twoLegs()
        world.policy.isGatewayStrict = true
        fail(&world, 2, "192.0.2.1")
        #expect(world.path().status == .satisfied)
        #expect(world.path().warnings == [.gatewayUnresolved])
        #expect(world.path().gateways.map(\.isReachable) == [false, nil])
        fail(&world, 3, "198.51.100.1")
        #expect(world.path().reason == .gatewayUnreachable)
        #expect(world.path().subject?.family == .ipv4)
    }

    @Test func `a leg without a gateway cannot be silent (S52)`() {
        var world = twoLegs()
        world.policy.isGatewayStrict = true
        world.table.routes[0].nexthops[1].gateway = nil
        fail(&world, 2, "192.0.2.1")
        #expect(world.path().status == .satisfied)
        #expect(world.evaluate().neighbors.gateways == [NeighborKey(index: 2, address: .v4(0xC000_0201))])
    }

    @Test func `a silent IPv4 gateway does not take IPv6 away (S52)`() {
        var world = World.ordinary()
        world.policy.isGatewayStrict = true
        fail(&world, 2, "192.0.2.1")
        let path = world.path()
        #expect(path.status == .satisfied && !path.supportsIPv4 && path.supportsIPv6)
        // The one that is silent is watched on, else its return would not be heard.
        #expect(world.evaluate().neighbors.gateways.count == 2)
    }

    @Test func `a bridge whose gateway is behind a port without carrier is cut off (S15, S21, S35)`() {
        var world = World()
        world.link("br0", 2, kind: "bridge")
        world.link("eth0", 3) { $0.master = 2 }
        world.link("tap0", 4, kind: "tun") { $0.master = 2 }
        world.add("192.0.2.10/24", on: "br0")
        world.route("0.0.0.0/0", "br0", via: "192.0.2.1")
        world.facts.dns = DNSConfiguration(servers: [DNSServer(ScopedAddress(.v4(0x0808_0404)))])
        let gateway = NeighborKey(index: 2, address: .v4(0xC000_0201))
        #expect(world.state.track(world.evaluate().neighbors) == [gateway])
        var entry = Neighbor(index: 2, address: gateway.address, state: .reachable)
        entry.hardwareAddress = [2, 0, 0, 0, 0, 9]
        entry.port = 3
        _ = world.state.note(entry, of: gateway)
        #expect(world.path().status == .satisfied && world.path().dns.isUsable)
        world.unplug("tap0")
        #expect(world.path().status == .satisfied)
        world.unplug("eth0")
        #expect(world.path().reason == .noCarrier && !world.path().dns.isUsable)
        #expect(world.path().subject?.interface == "eth0" && world.path().subject?.obstacle == .lower(of: "br0"))
        // It is watched on, since it may turn up behind another port.
        #expect(world.evaluate().neighbors.gateways == [gateway])
        #expect(world.state.bridgedAddresses == [[2, 0, 0, 0, 0, 9]])
        world.plug("tap0")
        let learnt = BridgeEntry(bridge: 2, port: 4, hardwareAddress: [2, 0, 0, 0, 0, 9])
        #expect(world.state.apply(.bridgeEntry(learnt, removed: true), at: world.now) == nil)
        #expect(world.path().reason == .noCarrier)
        #expect(world.state.apply(.bridgeEntry(learnt, removed: false), at: world.now)?.cause == .neighbor)
        #expect(world.path().status == .satisfied)
        // Another hardware address is somebody else, who is looked for again.
        entry.hardwareAddress = [2, 0, 0, 0, 0, 8]
        entry.port = nil
        #expect(world.state.apply(.neighbor(entry, removed: false), at: world.now)?.cause == .neighbor)
        #expect(world.state.unreadNeighbors == [gateway])
        // A port that left the bridge says nothing of it.
        entry.port = 3
        _ = world.state.note(entry, of: gateway)
        #expect(world.path().reason == .noCarrier)
        world.change("eth0") { $0.master = nil }
        #expect(world.path().status == .satisfied)
    }

    // MARK: - Ends

    @Test func `a borrowed address that ends is planned with its owner (S24, S28)`() {
        var world = World()
        world.link("eth0", 2)
        world.link("lan0", 3)
        world.add("192.0.2.1/24", on: "lan0", valid: 60)
        world.route("0.0.0.0/0", "eth0")
        let expected = Expiry(subject: .address(.v4(0xC000_0201), index: 3), at: world.now + .seconds(60))
        #expect(world.evaluate().expiries == [expected])
    }

    @Test func `of the same address on two interfaces that of the leg counts, else the lower index (S24)`() {
        var world = World.ordinary()
        world.removeRoutes("::/0")
        world.link("eth1", 1000)
        world.add("192.0.2.10/24", on: "eth1", flags: .deprecated)
        #expect(world.path().warnings.isEmpty)
        world.route("0.0.0.0/0", "eth1", metric: 1)
        #expect(world.path().warnings == [.deprecatedSource])
        world.link("eth2", 1001)
        world.route("0.0.0.0/1", "eth2") { $0.source = .v4(0xC000_020A) }
        world.route("128.0.0.0/1", "eth2") { $0.source = .v4(0xC000_020A) }
        #expect(world.path().warnings == [.borrowedSource])
    }

    @Test func `a source that is a duplicate of another host's is none, wherever it stands (S24, S26)`() {
        var world = World.ordinary()
        world.removeRoutes("0.0.0.0/0")
        world.add("2001:db8::10/64", on: "eth0", flags: .duplicateDetected)
        world.table.routes[0].source = IPAddress("2001:db8::10")
        #expect(world.path().reason == .noSourceAddress)
        #expect(world.path().subject?.family == .ipv6)
    }

    // MARK: - Other interfaces

    @Test func `a default by a reject route does not make an interface available (S16)`() {
        var world = World.ordinary()
        world.link("eth1", 3)
        world.add("198.51.100.2/24", on: "eth1")
        world.route("0.0.0.0/0", metric: 900, type: .unreachable)
        #expect(world.path().names == ["eth0"])
    }

    @Test func `an interface with a route for one probe alone is not available (S16)`() {
        var world = World.ordinary()
        world.link("eth1", 3)
        world.add("198.51.100.2/24", on: "eth1")
        world.route("1.1.1.1/32", "eth1")
        #expect(world.path().names == ["eth0"])
        world.route("0.0.0.0/0", "eth1", metric: 900)
        #expect(world.path().names == ["eth0", "eth1"])
    }

    @Test func `an interface whose leg is one of several is available, if that leg works (S16)`() {
        var world = twoLegs()
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1", metric: 0)
        world.table.routes[0].metric = 50
        #expect(world.path().names == ["eth0", "eth1"])
        world.table.routes[0].nexthops[1].flags = .linkDown
        #expect(world.path().names == ["eth0"])
    }

    @Test func `a decision of an operator on a tunnel leaves open questions to what carries it (S37, S38)`() {
        var world = World()
        world.link("eth0", 3)
        world.add("10.0.0.2/30", on: "eth0")
        world.route("0.0.0.0/0", "eth0", metric: 700)
        world.link("tun0", 4, kind: "tun")
        world.add("10.8.0.2/24", on: "tun0")
        world.route("0.0.0.0/1", "tun0")
        world.route("128.0.0.0/1", "tun0")
        world.facts.devices[3] = DeviceFacts(metered: .yes)
        world.policy.interfaces = [
            InterfacePolicy(match: "tun*", isConstrained: false), InterfacePolicy(match: "eth0", isConstrained: true),
        ]
        let path = world.path()
        #expect(path.isExpensive && !path.isConstrained)
        world.policy.interfaces.removeFirst()
        #expect(world.path().isConstrained)
    }
}

/// How the kernel is asked, and what of its answers stands for the Internet (rules S16, S20, S29).
@Suite struct RouteQueriesTests {
    private func queries(_ world: World, _ monitor: MonitorPolicy = MonitorPolicy()) -> [RouteQuery] {
        _ = world.path(monitor)
        return world.table.log.leaving(world)
    }

    @Test func `mark and user are in every question of a view (S29)`() {
        let asked = queries(.ordinary(), MonitorPolicy(name: "vpn", mark: 7, uid: 1000))
        #expect(!asked.isEmpty && asked.allSatisfy { $0.mark == 7 && $0.uid == 1000 })
        #expect(queries(.ordinary()).allSatisfy { $0.mark == 0 && $0.uid == nil && $0.outputInterface == nil })
    }

    @Test func `a bound view binds every question to its interface (S29)`() {
        let asked = queries(.ordinary(), MonitorPolicy(name: "lan", outputInterface: "eth0"))
        #expect(!asked.isEmpty && asked.allSatisfy { $0.outputInterface == 2 })
    }

    @Test(arguments: [
        (["0.0.0.0/8", "1.0.0.0/8"], true), (["1.0.0.0/9"], false), (["1.0.0.0/8", "8.0.0.0/8"], true),
        (["1.1.0.0/16", "8.8.8.0/24", "9.9.9.0/24"], true), (["1.1.0.0/16", "8.8.8.0/24"], false),
        (["1.1.1.1/32", "8.8.8.8/32", "9.9.9.9/32", "208.67.222.222/32"], false),
    ])
    func `a prefix up to /8 stands for the Internet, longer ones up to /24 by their majority (S20)`(
        prefixes: [String],
        isSatisfied: Bool
    ) {
        var world = World()
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0")
        for prefix in prefixes { world.route(prefix, "eth0", via: "192.0.2.1") }
        #expect((world.path().status == .satisfied) == isSatisfied)
    }

    @Test(arguments: [("2000::/3", true), ("2606::/16", true), ("2606::/17", false)])
    func `a prefix of IPv6 up to /16 stands for the Internet (S20)`(prefix: String, isSatisfied: Bool) {
        var world = World()
        world.link("eth0", 2)
        world.add("2001:db8::10/64", on: "eth0")
        world.route(prefix, "eth0", via: "fe80::1")
        #expect(world.path().supportsIPv6 == isSatisfied)
    }

    @Test func `a short prefix behind a host route is the answer that counts (S20)`() {
        var world = World.ordinary()
        world.link("eth1", 3)
        world.add("198.51.100.2/24", on: "eth1")
        world.route("1.1.1.1/32", "eth1", via: "198.51.100.1")
        let path = world.path()
        #expect(path.ipv4?.interfaces.map(\.name) == ["eth0"])
        #expect(path.gatewayTexts.first == "192.0.2.1")
    }

    @Test func `the refusal that most probes meet is told, the first of equals (S20, S22)`() {
        var world = World.ordinary()
        world.removeRoutes("::/0")
        world.remove("2001:db8::10/64", from: "eth0")
        world.removeRoutes("0.0.0.0/0")
        let probes = PathPolicy.defaultProbes[.ipv4] ?? []
        world.policy.probes[.ipv4] = Array(probes.prefix(2))
        world.table.fixed = [probes[0]: .prohibited, probes[1]: .blackhole]
        #expect(world.path().reason == .routeProhibited)
        world.policy.probes[.ipv4] = [probes[0], probes[1], probes[2], .v4(3)]
        world.table.fixed = [probes[0]: .prohibited, probes[1]: .blackhole, probes[2]: .blackhole]
        #expect(world.path().reason == .routeBlackhole)
    }

    @Test func `without probes of a family there is no such family (S20)`() {
        var world = World.ordinary()
        world.policy.probes[.ipv6] = []
        #expect(!world.path().supportsIPv6 && world.path().supportsIPv4)
        world.policy.probes = [:]
        let asked = world.table.log.queries.count
        #expect(world.path().reason == .noDefaultRoute)
        #expect(world.table.log.queries.count == asked)
    }

    @Test(arguments: [RouteType.local, .broadcast, .multicast, .anycast, .nat, .externalResolver, .unspecified])
    func `a default that is no way out is no route (S21)`(type: RouteType) {
        var world = World.ordinary()
        world.removeRoutes("::/0")
        world.table.routes[0].type = type
        #expect(world.path().status == .unsatisfied)
        #expect(world.path().reason == .noDefaultRoute)
    }
}
