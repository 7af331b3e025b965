// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// Outages of which the kernel says little or nothing, as its events and tables show them (rule S2).
///
/// Each goes through the whole chain: event, trigger, settling, evaluation, publication.
@Suite struct SilentCaseTests {
    /// One monitor with everything around it.
    private struct Chain {
        var world: World
        var debounce = DebounceState()
        var tracker = PathTracker()
        var published: [PathChange] = []

        init(_ world: World) {
            self.world = world
            evaluate()
        }

        /// Takes an event as the kernel would send it.
        mutating func hear(_ event: KernelEvent) -> Trigger? {
            let trigger = world.state.apply(event, at: world.now)
            if trigger?.needsEvaluation == true { debounce.trigger(at: world.now) }
            return trigger
        }

        /// Lets time pass until the burst is over.
        mutating func settle() {
            while case .wait(let duration) = debounce.next(at: world.now) {
                world.now += duration
                if debounce.next(at: world.now) == .evaluate { return evaluate() }
            }
        }

        mutating func evaluate() {
            let path = world.path()
            _ = world.memory.note(path)
            if let change = tracker.update(path, at: world.now) { published.append(change) }
        }

        var statuses: [PathStatus] { published.map(\.current.status) }
    }

    private func ipv4() -> World {
        var world = World.ordinary()
        world.removeRoutes("::/0")
        world.remove("2001:db8::10/64", from: "eth0")
        return world
    }

    private func link(_ world: World, _ change: (inout Link) -> Void) throws -> KernelEvent {
        var link = try #require(world.state.link(named: "eth0"))
        change(&link)
        return .link(link)
    }

    @Test func `carrier lost: both routes stay, only the link is told (S2)`() throws {
        var chain = Chain(World.ordinary())
        let event = try link(chain.world) {
            $0.carrier = false
            $0.operationalState = .lowerLayerDown
            $0.flags.remove(.lowerUp)
        }
        let trigger = chain.hear(event)
        #expect(trigger?.cause == .link)
        chain.settle()
        #expect(chain.statuses == [.satisfied, .unsatisfied])
        #expect(chain.published.last?.current.reason == .noCarrier)
        #expect(chain.published.last?.at == .seconds(1000) + .milliseconds(100))
    }

    @Test func `taken down: the IPv4 route goes without a word, the address stays (S2)`() throws {
        var chain = Chain(ipv4())
        chain.world.table.routes = []
        let trigger = chain.hear(
            try link(chain.world) {
                $0.flags = []
                $0.carrier = nil
                $0.operationalState = .down
            }
        )
        #expect(trigger?.needsEvaluation == true)
        chain.settle()
        #expect(chain.published.last?.current.reason == .linkDown)
        #expect(chain.published.last?.current.subject?.interface == "eth0")
    }

    @Test func `last IPv4 address deleted: the route goes without a word (S2)`() {
        var chain = Chain(ipv4())
        chain.world.table.routes = []
        let trigger = chain.hear(.addressRemoved(World.address("192.0.2.10/24", index: 2)))
        #expect(trigger?.cause == .address)
        chain.settle()
        #expect(chain.published.last?.current.reason == .noAddress)
    }

    @Test func `link deleted: one message, no route event (S2)`() {
        var chain = Chain(World.ordinary())
        chain.world.table.routes = []
        let trigger = chain.hear(.linkRemoved(index: 2, name: "eth0"))
        #expect(trigger?.message == "RTM_DELLINK")
        chain.settle()
        #expect(chain.published.last?.current.reason == .noInterface)
    }

    @Test func `nexthop object deleted: only the nexthop is told (S2)`() {
        var chain = Chain(ipv4())
        chain.world.table.routes = []
        let trigger = chain.hear(.nexthop(id: 7, removed: true))
        #expect(trigger?.cause == .nexthop)
        chain.settle()
        #expect(chain.published.last?.current.reason == .noDefaultRoute)
    }

    @Test func `router lifetime over: nothing is told, the plan looks in time (S2, S28)`() throws {
        var world = World.ordinary()
        world.removeRoutes("0.0.0.0/0")
        world.remove("192.0.2.10/24", from: "eth0")
        world.table.routes[0].expiresIn = 3
        var chain = Chain(world)
        var plan = ExpiryPlan()
        var looks = 0
        while chain.statuses.last == .satisfied, looks < 10 {
            var evaluation = chain.world.evaluate()
            plan.apply(to: &evaluation, at: chain.world.now)
            let next = try #require(evaluation.nextCheck)
            let passed = next - chain.world.now
            chain.world.now = next
            let left = (chain.world.table.routes[0].expiresIn ?? 0) - passed / .seconds(1)
            chain.world.table.routes[0].expiresIn = left
            if left <= 0 { chain.world.removeRoutes("::/0") }
            if chain.world.table.routes.isEmpty { chain.evaluate() }
            looks += 1
        }
        #expect(chain.statuses == [.satisfied, .unsatisfied])
        let lateness = chain.world.now - .seconds(1003)
        #expect(lateness >= .zero && lateness <= .milliseconds(200))
        #expect(looks <= 3)
    }

    @Test func `route replaced: one new route, no deleted one, and the path moves (S2)`() {
        var world = ipv4()
        world.link("eth1", 3)
        world.add("198.51.100.10/24", on: "eth1")
        var chain = Chain(world)
        chain.world.removeRoutes("0.0.0.0/0")
        chain.world.route("0.0.0.0/0", "eth1", via: "198.51.100.1", metric: 100)
        _ = chain.hear(.route(RouteNotice(family: .ipv4, prefixLength: 0, table: 254, removed: false)))
        chain.settle()
        #expect(chain.statuses == [.satisfied, .satisfied])
        let text = chain.published.last.map { PathSentence.change($0, monitor: "default") }
        #expect(text == "Path default moved from eth0 to eth1")
    }

    @Test func `a bridge's late state is read with its port's event (S14)`() throws {
        var world = World()
        world.link("br0", 5, kind: "bridge")
        world.link("eth0", 2) { $0.master = 5 }
        world.add("192.0.2.10/24", on: "br0")
        world.route("0.0.0.0/0", "br0", via: "192.0.2.1")
        var chain = Chain(world)
        #expect(chain.statuses == [.satisfied])
        let trigger = chain.hear(try link(chain.world) { $0.carrier = false })
        #expect(trigger?.reread == [5])
        var bridge = try #require(chain.world.state.link(named: "br0"))
        bridge.carrier = false
        let isNews = chain.world.state.reread(5, as: bridge, at: chain.world.now)
        #expect(isNews)
        chain.settle()
        #expect(chain.published.last?.current.reason == .noCarrier)
        #expect(chain.published.last?.current.subject?.interface == "br0")
    }

    @Test func `a thousand containers come and go without a path event (S15, lesson 7)`() {
        var world = World.ordinary()
        world.link("docker0", 5, kind: "bridge")
        world.add("172.17.0.1/16", on: "docker0")
        var chain = Chain(world)
        for cycle in 0..<1000 {
            let index = 100 + cycle
            var veth = Link(
                index: index,
                name: "veth\(cycle)",
                flags: [.up, .lowerUp],
                carrier: true,
                operationalState: .up
            )
            veth.kind = "veth"
            _ = chain.hear(.link(veth))
            veth.master = 5
            veth.portKind = "bridge"
            _ = chain.hear(.link(veth))
            _ = chain.hear(.address(World.address("fe80::\(String(index, radix: 16))/64", index: index, scope: 253)))
            if cycle % 50 == 0 { chain.settle() }
            _ = chain.hear(.bridgePort(index: index, master: 5))
            _ = chain.hear(.linkRemoved(index: index, name: veth.name))
        }
        chain.settle()
        #expect(chain.published.count == 1)
        #expect(chain.world.state.links.count == 3)
        #expect(chain.world.state.addresses.count == 3)
        #expect(chain.world.state.ports(of: 5).isEmpty)
    }

    @Test func `a flapping carrier is folded, and the end is right (S42)`() throws {
        var chain = Chain(World.ordinary())
        for step in 0..<41 {
            let isUp = step % 2 == 1
            _ = chain.hear(try link(chain.world) { $0.carrier = isUp })
            chain.world.now += .milliseconds(20)
            if chain.debounce.next(at: chain.world.now) == .evaluate { chain.evaluate() }
        }
        chain.settle()
        #expect(chain.statuses.last == .unsatisfied)
        #expect(chain.published.count <= 3)
    }
}
