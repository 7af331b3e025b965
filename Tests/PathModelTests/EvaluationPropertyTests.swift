// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import TestSupport
import Testing

/// What holds for every evaluation, on random networks.
@Suite(.computing) struct EvaluationPropertyTests {
    /// A network of up to five interfaces with random faults.
    private static func world(_ random: inout SeededRandom) -> World {
        var world = World()
        let kinds: [String?] = [nil, nil, "veth", "wwan", "tun", "bridge"]
        for index in 2..<(2 + Int.random(in: 0...5, using: &random)) {
            let name = "if\(index)"
            world.link(name, index, kind: kinds.randomElement(using: &random) ?? nil)
            if Bool.random(using: &random) { world.add("10.0.\(index).2/24", on: name) }
            if Bool.random(using: &random) {
                let flags: [AddressFlags] = [[], [], .tentative, .deprecated]
                world.add("2001:db8:\(index)::2/64", on: name, flags: flags.randomElement(using: &random) ?? [])
            }
            // What the kernel makes of equals is a question of neighbours (rules S53, S54).
            let metric = UInt32.random(in: 1...5, using: &random) * 100 + UInt32(index)
            if Bool.random(using: &random) { world.route("0.0.0.0/0", name, via: "10.0.\(index).1", metric: metric) }
            if Bool.random(using: &random) { world.route("::/0", name, via: "fe80::\(index)", metric: metric) }
            switch Int.random(in: 0..<8, using: &random) {
            case 0: world.unplug(name)
            case 1: world.setDown(name)
            case 2: world.change(name) { $0.operationalState = .dormant }
            case 3: world.facts.wireless[index] = WirelessFacts(mode: 2)
            case 4: world.facts.devices[index] = DeviceFacts(metered: .yes, phase: .connecting)
            default: break
            }
        }
        if Int.random(in: 0..<6, using: &random) == 0 { world.route("0.0.0.0/0", metric: 250, type: .unreachable) }
        world.facts.dns = DNSConfiguration(servers: [DNSServer(ScopedAddress(.v4(0x0808_0404)))])
        return world
    }

    /// The plain answer: would this one packet leave by a link that works, with an address of its own; `nil` by a
    /// tunnel, for what that runs over is another question.
    private static func leaves(_ world: World, _ family: AddressFamily) -> Bool? {
        var table = world.table
        table.state = world.state
        guard let probe = PathPolicy.defaultProbes[family]?.first,
            case .success(let answer) = table.lookup(RouteQuery(probe, kind: .decision)),
            let nexthop = answer.nexthops.first, let link = world.state.links[nexthop.index],
            let source = answer.preferredSource
        else { return false }
        if link.kind == "tun" { return nil }
        let isUp =
            link.flags.contains(.up) && link.carrier == true
            && [.up, .unknown, .dormant].contains(link.operationalState)
        return isUp && !source.isLoopback && !source.isUnspecified && !(family == .ipv6 && source.isLinkLocal)
    }

    @Test func `the answer is what the kernel would do with the next packet (S20, S21)`() {
        var seen: [PathStatus: Int] = [:]
        for seed in UInt64(0)..<1500 {
            var random = SeededRandom(seed: seed)
            let world = Self.world(&random)
            let path = world.path()
            if let leaves = Self.leaves(world, .ipv4) { #expect(path.supportsIPv4 == leaves, "seed \(seed)") }
            if let leaves = Self.leaves(world, .ipv6) { #expect(path.supportsIPv6 == leaves, "seed \(seed)") }
            #expect((path.status == .satisfied) == (path.supportsIPv4 || path.supportsIPv6), "seed \(seed)")
            seen[path.status, default: 0] += 1
        }
        #expect(seen.count == 3)
        for count in seen.values { #expect(count > 15) }
    }

    @Test func `a path is consistent in itself`() {
        for seed in UInt64(0)..<1500 {
            var random = SeededRandom(seed: seed)
            let world = Self.world(&random)
            let path = world.path()
            #expect((path.reason == nil) == (path.status == .satisfied))
            #expect(path.status == .satisfied || path.warnings.isEmpty)
            #expect(path.status == .satisfied || !path.isExpensive)
            #expect(Set(path.interfaces.map(\.index)).count == path.interfaces.count)
            let used = Set((path.ipv4?.interfaces ?? []) + (path.ipv6?.interfaces ?? []))
            #expect(Set(path.interfaces.prefix(used.count)) == used)
            for interface in path.interfaces {
                let link = world.state.links[interface.index]
                #expect(link?.isUsable == true)
                #expect(link?.name == interface.name)
            }
            for gateway in path.gateways { #expect(used.contains { $0.name == gateway.interface }) }
            if let reason = path.reason, let name = path.subject?.interface {
                #expect(world.state.link(named: name) != nil, "\(reason)")
            }
            if path.reason == .preferredRouteLinkDown {
                #expect(path.names.contains(path.subject?.alternative ?? ""))
                #expect(!path.names.contains(path.subject?.interface ?? ""))
            }
        }
    }

    @Test func `the same facts give the same path, in whatever order they came`() {
        for seed in UInt64(0)..<300 {
            var random = SeededRandom(seed: seed)
            let world = Self.world(&random)
            var other = world
            var state = KernelState()
            let links = world.state.links.values.shuffled(using: &random)
            let addresses = world.state.addresses.values.flatMap(\.self).map(\.value)
            for link in links { _ = state.apply(.link(link), at: world.now) }
            for address in addresses { _ = state.apply(.address(address), at: world.now) }
            other.state = state
            other.table.routes.shuffle(using: &random)
            var (left, right) = (world.path(), other.path())
            // Only the first event of a link tells when it began to settle.
            for reason in [UnsatisfiedReason.configuring, .noAddress] {
                if left.reason == reason { left.reason = .noAddress }
                if right.reason == reason { right.reason = .noAddress }
            }
            if left.reason == .noSourceAddress || right.reason == .noSourceAddress { continue }
            #expect(left == right, "seed \(seed)")
        }
    }

    @Test func `questions are few`() {
        for seed in UInt64(0)..<500 {
            var random = SeededRandom(seed: seed)
            let world = Self.world(&random)
            let evaluation = world.evaluate()
            // Three questions per family, two per further interface and family, two for a server; where there is no
            // default, two for each address that stands for the Internet, from up to four sources.
            let interfaces = world.state.routableInterfaces.count
            let isPlain = evaluation.path.supportsIPv4 && evaluation.path.supportsIPv6
            #expect(evaluation.lookups <= (isPlain ? 6 : 28 + 60) + 6 * interfaces + 3, "seed \(seed)")
            #expect(evaluation.lookups == world.table.log.queries.count)
            for query in world.table.log.queries where query.outputInterface != nil {
                #expect(world.state.routableInterfaces.contains(query.outputInterface ?? 0))
            }
        }
    }

    @Test func `a monitor of a type never lists another type`() {
        for seed in UInt64(0)..<300 {
            var random = SeededRandom(seed: seed)
            let world = Self.world(&random)
            let type = InterfaceType.allCases.randomElement(using: &random) ?? .wifi
            let required = world.path(MonitorPolicy(requiredType: type))
            #expect(required.interfaces.allSatisfy { $0.type == type })
            #expect((required.ipv4?.interfaces ?? []).allSatisfy { $0.type == type })
            if required.status == .satisfied { #expect(!required.interfaces.isEmpty) }
            let prohibited = world.path(MonitorPolicy(prohibitedTypes: [type]))
            #expect(prohibited.interfaces.allSatisfy { $0.type != type })
            #expect((prohibited.ipv6?.interfaces ?? []).allSatisfy { $0.type != type })
            let everything = world.path(MonitorPolicy(prohibitedTypes: [.loopback]))
            if world.path().status == .satisfied { #expect(everything.status == .satisfied) }
        }
    }

    @Test func `recovery from every fault is complete`() {
        for seed in UInt64(0)..<300 {
            var random = SeededRandom(seed: seed)
            var world = World.ordinary()
            let whole = world.path()
            switch Int.random(in: 0..<5, using: &random) {
            case 0:
                world.unplug("eth0")
                #expect(world.path().status == .unsatisfied)
                world.plug("eth0")
            case 1:
                world.change("eth0") { $0.operationalState = .testing }
                #expect(world.path().reason == .noCarrier)
                world.plug("eth0")
            case 2:
                let routes = world.table.routes
                world.setDown("eth0")
                #expect(world.path().reason == .linkDown)
                world.plug("eth0")
                world.table.routes = routes
            case 3:
                world.rule(1) { $0.failure = .prohibited }
                #expect(world.path().reason == .routeProhibited)
                world.table.rules.removeLast()
            default:
                let addresses = world.state.addresses[2] ?? []
                world.flush("eth0")
                #expect(world.path().status == .unsatisfied)
                for held in addresses { _ = world.state.apply(.address(held.value), at: world.now) }
            }
            #expect(world.path() == whole)
        }
    }
}
