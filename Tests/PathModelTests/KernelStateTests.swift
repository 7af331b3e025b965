// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import TestSupport
import Testing

/// The state folded from events (rules S2, S7, S14, S19, S27).
@Suite struct KernelStateTests {
    private let now: Duration = .seconds(50)

    private func link(_ index: Int, _ name: String, _ body: (inout Link) -> Void = { _ in }) -> Link {
        var link = Link(index: index, name: name, flags: [.up, .lowerUp], carrier: true, operationalState: .up)
        body(&link)
        return link
    }

    private func state(_ links: [Link], _ addresses: [InterfaceAddress] = []) -> KernelState {
        var state = KernelState()
        _ = state.replace(links: links, addresses: addresses, at: now)
        _ = state.dequeueTouched()
        return state
    }

    // MARK: - Links

    @Test func `a new link is a trigger, the same again is none`() {
        var state = KernelState()
        let first = state.apply(.link(link(2, "eth0")), at: now)
        #expect(first == Trigger(cause: .link, message: "RTM_NEWLINK", index: 2))
        #expect(state.apply(.link(link(2, "eth0")), at: now) == nil)
        #expect(state.links.count == 1)
    }

    @Test func `a carrier loss is a trigger (S2)`() {
        var state = state([link(2, "eth0")])
        let trigger = state.apply(.link(link(2, "eth0") { $0.carrier = false }), at: now)
        #expect(trigger?.needsEvaluation == true)
        #expect(state.links[2]?.isUsable == false)
    }

    @Test func `a rename keeps the index and frees the name (S19)`() {
        var state = state([link(2, "eth0")])
        _ = state.apply(.link(link(2, "wan")), at: now)
        #expect(state.link(named: "wan")?.index == 2)
        #expect(state.link(named: "eth0") == nil)
        _ = state.apply(.link(link(3, "eth0")), at: now)
        #expect(state.link(named: "eth0")?.index == 3)
    }

    @Test func `two links that swap names keep both (S19)`() {
        var state = state([link(2, "a"), link(3, "b")])
        _ = state.apply(.link(link(2, "tmp")), at: now)
        _ = state.apply(.link(link(3, "a")), at: now)
        _ = state.apply(.link(link(2, "b")), at: now)
        #expect(state.link(named: "a")?.index == 3)
        #expect(state.link(named: "b")?.index == 2)
        #expect(state.link(named: "tmp") == nil)
    }

    @Test func `a name that was taken over stays with the new link (S19)`() {
        var state = state([link(2, "a")])
        _ = state.apply(.link(link(3, "a")), at: now)
        _ = state.apply(.link(link(2, "b")), at: now)
        #expect(state.link(named: "a")?.index == 3)
        _ = state.apply(.linkRemoved(index: 2, name: "b"), at: now)
        #expect(state.link(named: "a")?.index == 3)
        #expect(state.link(named: "b") == nil)
    }

    @Test func `alternative names are names, come and go (S19)`() {
        var state = state([link(2, "eth0") { $0.alternativeNames = ["lan", "enp0s31f6"] }, link(3, "eth1")])
        #expect(state.link(named: "lan")?.index == 2 && state.link(named: "enp0s31f6")?.index == 2)
        #expect(state.namesByAlternative == ["lan": "eth0", "enp0s31f6": "eth0"])
        let trigger = state.apply(.link(link(2, "eth0") { $0.alternativeNames = ["enp0s31f6"] }), at: now)
        #expect(trigger?.needsEvaluation == true)
        #expect(state.link(named: "lan") == nil && state.link(named: "enp0s31f6")?.index == 2)
        _ = state.apply(.link(link(3, "eth1") { $0.alternativeNames = ["lan"] }), at: now)
        #expect(state.link(named: "lan")?.index == 3)
        _ = state.apply(.link(link(2, "wan") { $0.alternativeNames = ["enp0s31f6"] }), at: now)
        #expect(state.link(named: "enp0s31f6")?.name == "wan" && state.link(named: "eth0") == nil)
        _ = state.apply(.linkRemoved(index: 2, name: "wan"), at: now)
        #expect(state.link(named: "enp0s31f6") == nil && state.namesByAlternative == ["lan": "eth1"])
    }

    @Test func `a name goes before an alternative one, and one that moved stays with the new link (S19)`() {
        var state = state([link(2, "a") { $0.alternativeNames = ["b"] }, link(3, "b")])
        #expect(state.link(named: "b")?.index == 3)
        _ = state.apply(.link(link(3, "c") { $0.alternativeNames = ["b"] }), at: now)
        _ = state.apply(.link(link(2, "a")), at: now)
        #expect(state.link(named: "b")?.index == 3)
        _ = state.apply(.link(link(2, "b")), at: now)
        #expect(state.link(named: "b")?.index == 2)
        _ = state.apply(.linkRemoved(index: 2, name: "b"), at: now)
        #expect(state.link(named: "b")?.index == 3)
    }

    @Test func `a removed link takes its addresses along (S19)`() {
        var state = state([link(2, "eth0")], [World.address("192.0.2.1/24", index: 2)])
        let trigger = state.apply(.linkRemoved(index: 2, name: "eth0"), at: now)
        #expect(trigger == Trigger(cause: .link, message: "RTM_DELLINK", index: 2))
        #expect(state.links.isEmpty)
        #expect(state.addresses.isEmpty)
        #expect(state.routableInterfaces.isEmpty)
        #expect(state.link(named: "eth0") == nil)
        #expect(state.apply(.linkRemoved(index: 2, name: "eth0"), at: now) == nil)
    }

    // MARK: - S7

    @Test(arguments: [nil, 9] as [Int?])
    func `a bridge message asks for port and master and removes nothing (S7)`(master: Int?) {
        var state = state([link(2, "p0") { $0.master = 9 }, link(9, "br0") { $0.kind = "bridge" }])
        let trigger = state.apply(.bridgePort(index: 2, master: master), at: now)
        #expect(trigger?.reread == [2, 9])
        #expect(trigger?.needsEvaluation == false)
        #expect(state.links.count == 2)
    }

    @Test func `a bridge message for a port nobody knows asks for both (S7)`() {
        var state = state([link(9, "br0")])
        #expect(state.apply(.bridgePort(index: 5, master: 9), at: now)?.reread == [5, 9])
    }

    @Test func `a hint changes nothing of a link, and has it read again`() {
        let wireless = link(3, "wlan0") {
            $0.hardwareAddress = [2, 0, 0, 0, 0, 0]
            $0.operationalState = .up
        }
        var state = state([wireless])
        let trigger = state.apply(.linkHint(index: 3), at: now)
        #expect(trigger?.reread == [3])
        #expect(trigger?.needsEvaluation == false)
        #expect(state.links[3] == wireless)
        #expect(state.apply(.linkHint(index: 9), at: now)?.reread == [9], "one that was not known yet is read, too")
    }

    // MARK: - S14

    @Test func `a port's event asks for its master and the masters above (S14)`() {
        var state = state([
            link(2, "eth0") { $0.master = 3 }, link(3, "bond0") { $0.master = 4 }, link(4, "br0"),
        ])
        let trigger = state.apply(
            .link(
                link(2, "eth0") {
                    $0.master = 3
                    $0.carrier = false
                }
            ),
            at: now
        )
        #expect(trigger?.reread == [3, 4])
        #expect(trigger?.needsEvaluation == true)
    }

    @Test func `a port that changes its master asks for both (S14)`() {
        var state = state([link(2, "eth0") { $0.master = 3 }, link(3, "br0"), link(4, "br1")])
        let trigger = state.apply(.link(link(2, "eth0") { $0.master = 4 }), at: now)
        #expect(trigger?.reread == [3, 4])
        #expect(state.ports(of: 3).isEmpty)
        #expect(state.ports(of: 4) == [2])
        _ = state.apply(.link(link(2, "eth0")), at: now)
        #expect(state.ports(of: 4).isEmpty)
    }

    @Test func `a repeated event of a port still asks for the master, whose state comes late (S14)`() {
        let port = link(2, "eth0") { $0.master = 3 }
        var state = state([port, link(3, "br0")])
        let trigger = state.apply(.link(port), at: now)
        #expect(trigger?.reread == [3])
        #expect(trigger?.needsEvaluation == false)
    }

    @Test func `a removed port asks for its master (S14)`() {
        var state = state([link(2, "eth0") { $0.master = 3 }, link(3, "br0")])
        #expect(state.apply(.linkRemoved(index: 2, name: "eth0"), at: now)?.reread == [3])
        #expect(state.ports(of: 3).isEmpty)
    }

    @Test func `a link asks for what stands on it, but not for the end of a veth (S14)`() {
        var state = state([
            link(2, "eth0"),
            link(3, "eth0.5") {
                $0.kind = "vlan"
                $0.lower = 2
            },
            link(4, "v0") {
                $0.kind = "veth"
                $0.lower = 2
            },
        ])
        #expect(state.apply(.link(link(2, "eth0") { $0.carrier = false }), at: now)?.reread == [3])
        _ = state.apply(.linkRemoved(index: 3, name: "eth0.5"), at: now)
        #expect(state.apply(.link(link(2, "eth0")), at: now)?.reread == [])
    }

    @Test func `masters in a circle end (S14)`() {
        var state = state([link(2, "a") { $0.master = 3 }, link(3, "b") { $0.master = 2 }])
        #expect(
            state.apply(
                .link(
                    link(2, "a") {
                        $0.mtu = 1400; $0.master = 3
                    }
                ),
                at: now
            )?.reread == [3]
        )
    }

    @Test func `what was read again is stored, or found gone (S14)`() {
        var state = state([link(3, "br0")])
        #expect(state.reread(3, as: link(3, "br0"), at: now) == false)
        #expect(state.reread(3, as: link(3, "br0") { $0.carrier = false }, at: now) == true)
        #expect(state.reread(3, as: nil, at: now) == true)
        #expect(state.reread(3, as: nil, at: now) == false)
        #expect(state.links.isEmpty)
    }

    // MARK: - Addresses

    @Test func `a gateway that another program vouches for is silent once it did not answer a probe (S52)`() {
        var state = KernelState()
        let key = NeighborKey(index: 2, address: .v4(0xC000_0201))
        _ = state.track(NeighborDependencies(gateways: [key]))
        func note(_ neighbor: NeighborState, _ hardware: UInt8 = 1) -> Bool? {
            var entry = Neighbor(
                index: 2,
                address: key.address,
                state: neighbor,
                hardwareAddress: [2, 0, 0, 0, 0, hardware]
            )
            entry.isExternallyValidated = true
            _ = state.note(entry, of: key)
            return state.isReachable(key)
        }
        #expect(note(.stale) == nil && note(.delay) == nil && note(.probe) == nil)
        #expect(note(.stale) == false)
        // It goes on as long as it is silent.
        #expect(note(.delay) == false && note(.probe) == false && note(.stale) == false)
        #expect(note(.probe) == false && note(.reachable) == nil && note(.stale) == nil)
        // Another address comes from somebody who spoke.
        #expect(note(.probe) == nil && note(.stale, 2) == nil)
    }

    @Test func `addresses come and go`() {
        var state = state([link(2, "eth0")])
        let address = World.address("192.0.2.1/24", index: 2)
        #expect(state.apply(.address(address), at: now) == Trigger(cause: .address, message: "RTM_NEWADDR", index: 2))
        #expect(state.apply(.address(address), at: now) == nil)
        #expect(state.routableInterfaces == [2])
        let removed = state.apply(.addressRemoved(address), at: now)
        #expect(removed == Trigger(cause: .address, message: "RTM_DELADDR", index: 2))
        #expect(state.apply(.addressRemoved(address), at: now) == nil)
        #expect(state.addresses.isEmpty)
        #expect(state.routableInterfaces.isEmpty)
    }

    @Test func `an address is found again by value and length, whatever its flags`() {
        var state = state([link(2, "eth0")], [World.address("2001:db8::1/64", index: 2, flags: .tentative)])
        let trigger = state.apply(.address(World.address("2001:db8::1/64", index: 2)), at: now)
        #expect(trigger != nil)
        #expect(state.addresses[2]?.count == 1)
        #expect(state.addresses[2]?.first?.value.flags == [])
    }

    @Test(
        arguments: [
            ("127.0.0.1/8", 254, false), ("192.0.2.1/24", 0, true), ("169.254.1.1/16", 253, true),
            ("fe80::1/64", 253, false),
            ("::1/128", 254, false), ("2001:db8::1/64", 0, true), ("fd00::1/64", 0, true), ("10.0.0.1/32", 254, false),
            ("2001:db8::1/64", 253, false),
        ] as [(String, UInt8, Bool)]
    )
    func `routable are global and unique local addresses (S24)`(text: String, scope: UInt8, isRoutable: Bool) {
        let address = World.address(text, index: 2, scope: scope)
        #expect(HeldAddress(address, receivedAt: now).isRoutable == isRoutable)
        let state = state([link(2, "eth0")], [address])
        #expect(state.routableInterfaces.contains(2) == isRoutable)
    }

    @Test func `five refreshes by a router are no trigger (S27)`() {
        let stable = World.address("2001:db8::1/64", index: 2, valid: 86400)
        let temporary = World.address("2001:db8::2/64", index: 2, flags: .temporary, valid: 86400)
        var state = state([link(2, "eth0")], [stable, temporary])
        for round in 1...5 {
            for var address in [stable, temporary] {
                address.updated = UInt32(round * 1000)
                #expect(state.apply(.address(address), at: now + .seconds(round * 10)) == nil)
            }
            #expect(state.apply(.routerDNS(index: 2, servers: [], lifetime: 60), at: now) == nil)
        }
        #expect(state.addresses[2]?.first?.validUntil == now + .seconds(86450))
    }

    @Test func `a refresh that ends earlier, or comes late, is a trigger (S28)`() {
        var state = state([link(2, "eth0")], [World.address("2001:db8::1/64", index: 2, valid: 1000)])
        #expect(state.apply(.address(World.address("2001:db8::1/64", index: 2, valid: 100)), at: now) != nil)
        let late = now + .seconds(90)
        #expect(state.apply(.address(World.address("2001:db8::1/64", index: 2, valid: 100)), at: late) != nil)
        #expect(state.apply(.address(World.address("2001:db8::1/64", index: 2)), at: late) != nil)
        #expect(state.apply(.address(World.address("2001:db8::1/64", index: 2)), at: late) == nil)
    }

    // MARK: - S23 settling

    @Test func `an interface settles from coming up until its first address (S23)`() {
        var state = KernelState()
        _ = state.apply(.link(link(2, "eth0") { $0.carrier = false }), at: .seconds(10))
        #expect(state.settlingSince(2) == nil)
        _ = state.apply(.link(link(2, "eth0")), at: .seconds(20))
        #expect(state.settlingSince(2) == .seconds(20))
        _ = state.apply(.link(link(2, "eth0") { $0.mtu = 1400 }), at: .seconds(25))
        #expect(state.settlingSince(2) == .seconds(20))
        _ = state.apply(.address(World.address("fe80::1/64", index: 2, scope: 253)), at: .seconds(26))
        #expect(state.settlingSince(2) == .seconds(20))
        _ = state.apply(.address(World.address("192.0.2.1/24", index: 2)), at: .seconds(27))
        #expect(state.settlingSince(2) == nil)
        _ = state.apply(.addressRemoved(World.address("192.0.2.1/24", index: 2)), at: .seconds(28))
        #expect(state.settlingSince(2) == nil)
    }

    @Test func `an interface that was up before the start settles since the machine did (S23)`() {
        #expect(state([link(2, "eth0")]).settlingSince(2) == .zero)
    }

    // MARK: - Resync

    @Test func `a full reading tells what events did not`() {
        var state = state(
            [link(2, "eth0"), link(3, "eth1"), link(4, "eth2")],
            [World.address("192.0.2.1/24", index: 2), World.address("192.0.3.1/24", index: 3)]
        )
        let difference = state.replace(
            links: [link(2, "eth0"), link(3, "eth1") { $0.carrier = false }, link(5, "eth3")],
            addresses: [World.address("192.0.2.1/24", index: 2), World.address("192.0.3.2/24", index: 3)],
            at: now
        )
        #expect(difference.addedLinks == [5])
        #expect(difference.removedLinks == [4])
        #expect(difference.changedLinks == [3])
        #expect(difference.changedAddresses == [3])
        #expect(difference.count == 3)
        #expect(state.addresses[3]?.map(\.value.address) == [.v4(0xC000_0302)])
    }

    @Test func `a full reading of the same is no difference, refreshed lifetimes included (S27)`() {
        let links = [link(2, "eth0")]
        var state = state(links, [World.address("2001:db8::1/64", index: 2, valid: 100)])
        let difference = state.replace(
            links: links,
            addresses: [World.address("2001:db8::1/64", index: 2, valid: 90)],
            at: now + .seconds(10)
        )
        #expect(difference.isEmpty)
        #expect(difference.count == 0)
    }

    @Test func `an empty reading empties the state, as when the namespace is gone (S48)`() {
        var state = state([link(2, "eth0")], [World.address("192.0.2.1/24", index: 2)])
        let difference = state.replace(links: [], addresses: [], at: now)
        #expect(difference.removedLinks == [2])
        #expect(state.links.isEmpty && state.addresses.isEmpty)
    }

    @Test func `events and a full reading lead to the same state`() {
        var random = SeededRandom(seed: 42)
        for _ in 0..<30 {
            var links: [Int: Link] = [:]
            var addresses: [Int: [InterfaceAddress]] = [:]
            var state = KernelState()
            for _ in 0..<120 {
                let index = Int.random(in: 2...9, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0:
                    links[index] = nil
                    addresses[index] = nil
                    _ = state.apply(.linkRemoved(index: index, name: "x"), at: now)
                case 1, 2:
                    let new = link(index, "e\(index)") {
                        $0.carrier = Bool.random(using: &random)
                        $0.master = Bool.random(using: &random) ? 20 + index % 2 : nil
                    }
                    links[index] = new
                    _ = state.apply(.link(new), at: now)
                case 3 where links[index] != nil:
                    let text = "10.0.\(index).\(Int.random(in: 1...3, using: &random))/24"
                    let new = World.address(text, index: index)
                    if addresses[index]?.contains(new) != true { addresses[index, default: []].append(new) }
                    _ = state.apply(.address(new), at: now)
                default:
                    guard let old = addresses[index]?.randomElement(using: &random) else { continue }
                    addresses[index]?.removeAll { $0 == old }
                    _ = state.apply(.addressRemoved(old), at: now)
                }
            }
            #expect(state.links == links)
            #expect(state.addresses.mapValues { $0.map(\.value) } == addresses.filter { !$0.value.isEmpty })
            #expect(state.routableInterfaces == Set(addresses.filter { !$0.value.isEmpty }.keys))
            for master in [20, 21] {
                #expect(state.ports(of: master) == Set(links.values.filter { $0.master == master }.map(\.index)))
            }
            var copy = state
            let difference = copy.replace(
                links: Array(links.values),
                addresses: addresses.values.flatMap(\.self),
                at: now
            )
            #expect(difference.isEmpty)
        }
    }

    // MARK: - Other events

    @Test(
        arguments: [
            (.route(RouteNotice(family: .ipv4, prefixLength: 0, table: 254, removed: false)), .route, "RTM_NEWROUTE"),
            (.route(RouteNotice(family: .ipv6, prefixLength: 0, table: 254, removed: true)), .route, "RTM_DELROUTE"),
            (.rule(family: .ipv4, removed: false), .rule, "RTM_NEWRULE"),
            (.rule(family: .ipv6, removed: true), .rule, "RTM_DELRULE"),
            (.nexthop(id: 1, removed: false), .nexthop, "RTM_NEWNEXTHOP"),
            (.nexthop(id: 1, removed: true), .nexthop, "RTM_DELNEXTHOP"),
            (.settings(family: .ipv4, index: -1), .settings, "RTM_NEWNETCONF"),
        ] as [(KernelEvent, CauseKind, String)]
    )
    func `routes, rules, nexthops and settings are triggers alone (S2)`(
        event: KernelEvent,
        cause: CauseKind,
        message: String
    ) {
        var state = KernelState()
        #expect(state.apply(event, at: now) == Trigger(cause: cause, message: message))
        #expect(state.links.isEmpty && state.addresses.isEmpty)
    }

    @Test func `touched interfaces are told once`() {
        var state = KernelState()
        _ = state.apply(.link(link(2, "eth0")), at: now)
        _ = state.apply(.link(link(3, "eth1") { $0.master = 9 }), at: now)
        #expect(state.dequeueTouched() == [2, 3, 9])
        #expect(state.dequeueTouched() == [])
        _ = state.apply(.address(World.address("192.0.2.1/24", index: 2)), at: now)
        #expect(state.dequeueTouched() == [2])
        _ = state.apply(.linkRemoved(index: 3, name: "eth1"), at: now)
        #expect(state.dequeueTouched() == [3])
    }

    // MARK: - S52

    private let gateway = NeighborKey(index: 2, address: .v4(0xC000_0201))

    private func neighbor(_ state: NeighborState) -> KernelEvent {
        .neighbor(Neighbor(index: 2, address: gateway.address, state: state), removed: false)
    }

    private func watching(_ dependencies: NeighborDependencies? = nil, probesGateways: Bool = false) -> KernelState {
        var state = KernelState()
        _ = state.track(dependencies ?? NeighborDependencies(gateways: [gateway]), probesGateways: probesGateways)
        return state
    }

    @Test func `only watched neighbours are kept (S52)`() {
        var state = KernelState()
        #expect(state.apply(neighbor(.failed), at: now) == nil)
        #expect(state.isReachable(gateway) == nil)
        #expect(state.track(NeighborDependencies(gateways: [gateway])) == [gateway])
        #expect(state.trackedNeighbors == [gateway] && state.gatewaysInUse == [gateway])
        #expect(state.apply(neighbor(.failed), at: now) == Trigger(cause: .neighbor, message: "RTM_NEWNEIGH", index: 2))
        #expect(state.isReachable(gateway) == false)
        #expect(state.track(NeighborDependencies(rivals: [gateway])) == [])
        #expect(state.isReachable(gateway) == false && state.gatewaysInUse.isEmpty)
        #expect(state.track(NeighborDependencies()) == [])
        #expect(state.isReachable(gateway) == nil && state.trackedNeighbors.isEmpty)
    }

    @Test(
        arguments: [
            (.reachable, true), (.stale, true), (.delay, true), (.probe, true), (.noARP, true), (.permanent, true),
            (.failed, false), (.none, nil), (.incomplete, nil),
        ] as [(NeighborState, Bool?)]
    )
    func `a neighbour's state tells whether the gateway answers (S52)`(state: NeighborState, isReachable: Bool?) {
        var asking = watching(probesGateways: true)
        #expect((asking.apply(neighbor(state), at: now) != nil) == (isReachable != nil))
        #expect(asking.isReachable(gateway) == isReachable)
        // Who does not ask knows of silence only.
        var hearing = watching()
        #expect((hearing.apply(neighbor(state), at: now) != nil) == (isReachable == false))
        #expect(hearing.isReachable(gateway) == (isReachable == false ? false : nil))
    }

    @Test func `asking again or forgetting does not make a dead gateway look alive (S52)`() {
        var kernel = watching(probesGateways: true)
        _ = kernel.apply(neighbor(.failed), at: now)
        #expect(kernel.apply(neighbor(.incomplete), at: now) == nil)
        let removed = KernelEvent.neighbor(Neighbor(index: 2, address: gateway.address, state: .failed), removed: true)
        #expect(kernel.apply(removed, at: now) == nil)
        #expect(kernel.isReachable(gateway) == false)
        #expect(kernel.apply(neighbor(.reachable), at: now) != nil)
        #expect(kernel.isReachable(gateway) == true)
        #expect(kernel.apply(neighbor(.stale), at: now) == nil)
    }

    @Test func `whatever becomes of one of several routers may move the kernel's choice (S53, S54)`() {
        var kernel = watching(NeighborDependencies(rivals: [gateway]))
        for state in [NeighborState.reachable, .stale, .failed, .failed] {
            #expect(kernel.apply(neighbor(state), at: now)?.cause == .neighbor)
        }
        let removed = KernelEvent.neighbor(Neighbor(index: 2, address: gateway.address, state: .failed), removed: true)
        #expect(kernel.apply(removed, at: now)?.message == "RTM_DELNEIGH")
    }

    @Test func `what was known is forgotten when asking begins or ends (S52)`() {
        var kernel = watching()
        _ = kernel.apply(neighbor(.failed), at: now)
        #expect(kernel.track(NeighborDependencies(gateways: [gateway]), probesGateways: true) == [gateway])
        #expect(kernel.isReachable(gateway) == nil)
    }
}
