// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
@testable import PathEngine
import PathModel
import TestSupport
import Testing

/// The pure part, with a made-up kernel and a clock that the test moves.
@Suite struct EngineCoreTests {
    /// An engine core with one link, and a table that says what the test wants.
    private final class World {
        var core: EngineCore
        let clock = ManualClock()
        var table = Table()

        init(_ settings: EngineSettings = .usual, isFirst: Bool = true) {
            core = EngineCore(settings)
            _ = core.replace(links: [World.link], addresses: [World.address], at: clock.boot)
            guard isFirst else { return }
            core.trigger(cause(.initial), at: clock.boot)
            _ = evaluate()
        }

        static let link = Link(index: 2, name: "eth0", flags: [.up, .lowerUp], carrier: true, operationalState: .up)
        static let address = InterfaceAddress(index: 2, address: .of("10.1.0.2"), prefixLength: 24)
        static let down = Link(index: 2, name: "eth0", flags: [.up], carrier: false, operationalState: .down)

        func cause(_ kind: CauseKind, _ source: String = "test") -> EngineCause {
            EngineCause(kind, source: source, received: clock.wall)
        }

        func hear(_ type: UInt16, _ event: KernelEvent) -> [Int] {
            let notice = KernelNotice(type: MessageType(rawValue: type), event: event)
            return core.apply(EventBatch(notices: [notice], boot: clock.boot, wall: clock.wall))
        }

        func evaluate() -> EngineUpdate? { core.evaluate(table, clock: clock) }
    }

    /// A table with one default route by link 2, or a failure.
    private struct Table: ForwardingTable {
        var failure: RouteFailure?
        var flags: NexthopFlags = []
        var expiresIn: Double?
        /// What is left of an IPv6 default.
        var lapsed: Double?

        func defaultRoutes(_ family: AddressFamily, table: UInt32) -> [RouteAnswer] {
            family == .ipv6 ? lapsed.map { [RouteAnswer(expiresIn: $0)] } ?? [] : []
        }

        func lookup(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure> {
            if query.destination.family == .ipv6 { return .failure(.noRoute) }
            if query.destination == .of("10.1.0.2") { return .success(RouteAnswer(type: .local, prefixLength: 32)) }
            if let failure { return .failure(failure) }
            let nexthop = RouteNexthop(index: 2, gateway: .of("10.1.0.1"), flags: flags)
            return .success(
                RouteAnswer(nexthops: [nexthop], preferredSource: .of("10.1.0.2"), expiresIn: expiresIn)
            )
        }
    }

    // MARK: - The first look

    @Test func `the first look names the beginning as its cause, whatever was known before`() throws {
        let world = World(isFirst: false)
        world.core.apply(ProviderFacts(isConnecting: true), cause: world.cause(.dns), at: world.clock.boot)
        #expect(!world.core.isPending)
        world.core.trigger(world.cause(.initial), at: world.clock.boot)
        let update = try #require(world.evaluate())
        #expect(update.isFirst && update.cause.kind == .initial)
        #expect(update.changes.isEmpty, "what was there is no change")
        #expect(update.paths.map(\.monitor) == ["default"])
        #expect(world.core.interfaces.map(\.name) == ["eth0"])
        #expect(world.evaluate() == nil)
    }

    // MARK: - Settling

    @Test func `a burst is evaluated after it, and named after its first sign (S42, S44)`() throws {
        let world = World()
        world.table.failure = .noRoute
        #expect(world.core.next(at: world.clock.boot) == .idle)
        let notice = RouteNotice(family: .ipv4, prefixLength: 0, table: 254, removed: true)
        #expect(world.hear(25, .route(notice)) == [])
        #expect(world.core.next(at: world.clock.boot) == .wait(.milliseconds(100)))
        world.clock.advance(by: .milliseconds(60))
        _ = world.hear(33, .rule(family: .ipv4, removed: true))
        #expect(world.core.next(at: world.clock.boot) == .wait(.milliseconds(100)))
        world.clock.advance(by: .milliseconds(100))
        #expect(world.core.next(at: world.clock.boot) == .evaluate)
        let update = try #require(world.evaluate())
        #expect(update.cause.kind == .route && update.cause.message == "RTM_DELROUTE")
        #expect(update.paths.first?.change.current.reason == .noDefaultRoute)
        #expect(world.core.next(at: world.clock.boot) == .idle)
    }

    @Test func `a burst that does not end is evaluated after a second (S42)`() {
        let world = World()
        var waited = Duration.zero
        while waited < .seconds(5) {
            _ = world.hear(32, .rule(family: .ipv4, removed: false))
            if world.core.next(at: world.clock.boot) == .evaluate { break }
            world.clock.advance(by: .milliseconds(50))
            waited += .milliseconds(50)
        }
        #expect(waited == .seconds(1))
    }

    @Test func `what was undone within a burst is not told, and starts no other cause`() throws {
        let world = World()
        world.table.failure = .noRoute
        _ = world.hear(25, .route(RouteNotice(family: .ipv4, prefixLength: 0, table: 254, removed: true)))
        world.table.failure = nil
        #expect(world.evaluate() == nil)
        world.clock.advance(by: .seconds(1))
        _ = world.hear(16, .link(World.down))
        #expect(try #require(world.evaluate()).cause.kind == .link)
    }

    @Test func `without quiet time a sign is evaluated at once (S42)`() {
        let world = World(.prompt)
        _ = world.hear(32, .rule(family: .ipv4, removed: false))
        #expect(world.core.next(at: world.clock.boot) == .evaluate)
    }

    @Test func `what the kernel announces before it does it is looked at again (S42)`() throws {
        let world = World(.prompt)
        let now = { world.clock.boot }
        _ = world.hear(25, .route(RouteNotice(family: .ipv4, prefixLength: 0, table: 254, removed: true)))
        #expect(world.core.next(at: now()) == .evaluate)
        // The route is still there.
        #expect(world.evaluate() == nil)
        #expect(world.core.next(at: now()) == .wait(.milliseconds(20)))
        world.table.failure = .noRoute
        world.clock.advance(by: .milliseconds(20))
        #expect(world.core.isChangeDue(at: now()) && world.core.isCheckDue(at: now()))
        #expect(world.core.next(at: now()) == .evaluate)
        let update = try #require(world.evaluate())
        #expect(update.cause.kind == .route && update.cause.message == "RTM_DELROUTE")
        #expect(update.paths.first?.change.current.status == .unsatisfied)
        #expect(!world.core.isChangeDue(at: now()) && world.core.next(at: now()) == .idle)
    }

    @Test func `the same answers of the kernel save that second evaluation (S42)`() {
        let world = World(.prompt)
        let now = { world.clock.boot }
        let removal = RouteNotice(family: .ipv4, prefixLength: 0, table: 254, removed: true)
        _ = world.hear(25, .route(removal))
        _ = world.evaluate()
        #expect(!world.core.isConfirmable(at: now()), "too early")
        world.clock.advance(by: .milliseconds(20))
        #expect(world.core.isConfirmable(at: now()))
        var other = world.core
        other.trigger(EngineCause(.dns, source: "test", received: world.clock.wall), at: now())
        #expect(!other.isConfirmable(at: now()), "something else changed")
        other = world.core
        let router = NeighborKey(index: 2, address: .of("10.1.0.1"))
        let isNews = other.apply(Neighbor(index: 2, address: router.address, state: .failed), of: router)
        #expect(isNews && !other.isConfirmable(at: now()), "the router's entry was read, and does not answer")
        world.core.confirm()
        #expect(!world.core.isChangeDue(at: now()) && world.core.next(at: now()) == .idle)
        _ = world.hear(25, .route(removal))
        _ = world.evaluate()
        #expect(world.core.next(at: now()) == .wait(.milliseconds(20)), "the next announcement begins anew")
    }

    @Test func `a link that lookups count as down before its message is read (S42)`() throws {
        let world = World(.prompt)
        world.table.flags = .linkDown
        let revision = world.core.linkRevision
        _ = world.hear(32, .rule(family: .ipv4, removed: false))
        let found = world.core.evaluate(world.table, clock: world.clock, link: { $0 == 2 ? World.down : nil })
        let update = try #require(found)
        #expect(update.paths.first?.change.current.reason == .noCarrier)
        guard case .interfaceChanged(let view, let changed, _)? = update.changes.first else {
            Issue.record("\(update.changes)")
            return
        }
        #expect(view.index == 2 && changed.contains(.carrier) && world.core.linkRevision == revision + 1)
        // The message has nothing new.
        _ = world.hear(16, .link(World.down))
        #expect(world.core.next(at: world.clock.boot) == .idle)
    }

    @Test func `another message does not end what an early answer may have missed (S42)`() {
        let world = World(.prompt)
        let now = { world.clock.boot }
        _ = world.hear(25, .route(RouteNotice(family: .ipv4, prefixLength: 0, table: 254, removed: true)))
        _ = world.evaluate()
        world.clock.advance(by: .milliseconds(25))
        _ = world.hear(32, .rule(family: .ipv4, removed: false))
        #expect(world.core.isChangeDue(at: now()))
        _ = world.evaluate()
        #expect(!world.core.isChangeDue(at: now()) && world.core.next(at: now()) == .idle)
    }

    @Test func `a link that lookups count as down for long is read once (S42)`() {
        let world = World(.prompt)
        var read = 0
        func evaluate() {
            _ = world.hear(32, .rule(family: .ipv4, removed: false))
            _ = world.core.evaluate(
                world.table,
                clock: world.clock,
                link: { _ in
                    read += 1
                    return World.link
                }
            )
        }
        world.table.flags = .dead
        for _ in 0..<3 { evaluate() }
        #expect(read == 1)
        world.table.flags = []
        evaluate()
        world.table.flags = .dead
        evaluate()
        #expect(read == 2)
    }

    @Test func `a burst that ends later brings that look (S42)`() {
        let world = World()
        let now = { world.clock.boot }
        _ = world.hear(25, .route(RouteNotice(family: .ipv4, prefixLength: 0, table: 254, removed: true)))
        #expect(world.core.next(at: now()) == .wait(.milliseconds(100)))
        world.clock.advance(by: .milliseconds(100))
        #expect(world.core.next(at: now()) == .evaluate)
        _ = world.evaluate()
        #expect(world.core.next(at: now()) == .idle)
    }

    // MARK: - Moments

    @Test func `what runs out is looked at when it does, even within a burst, and not in a loop (S28)`() throws {
        let world = World()
        world.table.expiresIn = 4
        _ = world.hear(24, .route(RouteNotice(family: .ipv4, prefixLength: 0, table: 254, removed: false)))
        world.clock.advance(by: .milliseconds(100))
        _ = world.evaluate()
        let check = try #require(world.core.nextCheck)
        #expect(check - world.clock.boot == .milliseconds(3001))
        #expect(world.core.next(at: world.clock.boot) == .wait(.milliseconds(3001)))
        world.clock.advance(by: .milliseconds(2990))
        _ = world.hear(32, .rule(family: .ipv4, removed: false))
        #expect(world.core.next(at: world.clock.boot) == .wait(.milliseconds(11)))
        world.clock.advance(by: .milliseconds(11))
        #expect(world.core.isCheckDue(at: world.clock.boot))
        #expect(world.core.next(at: world.clock.boot) == .evaluate)
        world.table.expiresIn = 1
        let update = try #require(world.evaluate())
        #expect(update.paths.first?.change.current.warnings == [.expiring])
        #expect(!world.core.isCheckDue(at: world.clock.boot))
    }

    @Test func `a route that ran out is looked for while the kernel may take it up again (S28)`() throws {
        let world = World()
        world.table.expiresIn = 1
        _ = world.evaluate()
        world.clock.advance(by: .milliseconds(1050))
        world.table = Table(failure: .noRoute, lapsed: -0.05)
        #expect(world.core.next(at: world.clock.boot) == .evaluate)
        let lost = try #require(world.evaluate())
        #expect(lost.cause.kind == .expiry && lost.cause.source == "timer")
        #expect(world.core.next(at: world.clock.boot) == .wait(.milliseconds(500)))
        world.clock.advance(by: .milliseconds(500))
        world.table = Table(expiresIn: 1800)
        #expect(world.core.next(at: world.clock.boot) == .evaluate)
        #expect(world.evaluate()?.paths.first?.change.current.status == .satisfied)
        world.table = Table(failure: .noRoute)
        _ = world.evaluate()
        #expect(world.core.next(at: world.clock.boot) == .idle, "once the kernel removed it")
    }

    // MARK: - Readings

    @Test func `an event of a port asks for its master (S14)`() {
        let world = World()
        var port = World.link
        port.master = 3
        let bridge = Link(
            index: 3,
            name: "br0",
            flags: [.up, .lowerUp],
            carrier: true,
            operationalState: .up,
            kind: "bridge"
        )
        #expect(world.hear(16, .link(bridge)) == [])
        #expect(world.hear(16, .link(port)) == [3])
        _ = world.evaluate()
        var lost = bridge
        lost.carrier = false
        #expect(!world.core.isPending)
        world.core.reread(3, as: bridge, cause: world.cause(.link), at: world.clock.boot)
        #expect(!world.core.isPending, "no news")
        world.core.reread(3, as: lost, cause: world.cause(.link), at: world.clock.boot)
        #expect(world.core.isPending)
        _ = world.evaluate()
        world.core.reread(3, as: nil, cause: world.cause(.link), at: world.clock.boot)
        #expect(world.core.state.links[3] == nil)
    }

    @Test func `the ledger tells interfaces that came, changed and went, ignored ones not`() throws {
        let world = World()
        let plug = Link(index: 5, name: "eth1", flags: [.up], carrier: false, operationalState: .down)
        let plumbing = Link(
            index: 6,
            name: "veth7",
            flags: [.up],
            carrier: false,
            operationalState: .down,
            kind: "veth"
        )
        _ = world.hear(16, .link(plug))
        _ = world.hear(16, .link(plumbing))
        let added = try #require(world.evaluate())
        #expect(added.paths.isEmpty)
        guard case .interfaceAdded(let view) = added.changes.first, added.changes.count == 1 else {
            Issue.record("\(added.changes)")
            return
        }
        #expect(view.name == "eth1")
        #expect(world.core.interfaces.map(\.name) == ["eth0", "eth1", "veth7"])
        var named = plug
        named.name = "lan0"
        _ = world.hear(16, .link(named))
        let renamed = try #require(world.evaluate())
        guard case .interfaceChanged(_, changed: [.name], _) = renamed.changes.first else {
            Issue.record("\(renamed.changes)")
            return
        }
        _ = world.hear(17, .linkRemoved(index: 5, name: "lan0"))
        _ = world.hear(17, .linkRemoved(index: 6, name: "veth7"))
        #expect(try #require(world.evaluate()).changes.count == 1)
        #expect(world.core.interfaces.map(\.name) == ["eth0"])
    }

    // MARK: - Providers and settings

    @Test func `facts count once, and an equal set of them is no sign`() throws {
        let world = World()
        let facts = ProviderFacts(devices: [2: DeviceFacts(metered: .yes)])
        world.core.apply(facts, cause: world.cause(.policy, "NetworkManager"), at: world.clock.boot)
        #expect(world.core.isPending)
        let update = try #require(world.evaluate())
        #expect(update.cause.source == "NetworkManager")
        #expect(update.paths.first?.change.changed == [.isExpensive])
        world.core.apply(facts, cause: world.cause(.policy), at: world.clock.boot)
        #expect(!world.core.isPending)
    }

    @Test func `the signal of the first interface is its quality, at most one change in 30 s (S39)`() throws {
        let world = World()
        func wifi(_ signal: Int) -> ProviderFacts {
            ProviderFacts(wireless: [2: WirelessFacts(mode: 2, signal: signal)])
        }
        world.core.apply(wifi(-50), cause: world.cause(.policy), at: world.clock.boot)
        #expect(try #require(world.evaluate()).paths.first?.change.current.linkQuality == .good)
        world.clock.advance(by: .seconds(10))
        world.core.apply(wifi(-68), cause: world.cause(.policy), at: world.clock.boot)
        let change = try #require(world.evaluate()).paths.first?.change
        #expect(change?.current.linkQuality == .moderate && change?.changed == [.linkQuality])
        world.clock.advance(by: .seconds(10))
        world.core.apply(wifi(-80), cause: world.cause(.policy), at: world.clock.boot)
        #expect(world.evaluate() == nil, "20 s too early")
        #expect(world.core.next(at: world.clock.boot) == .wait(.seconds(20)))
        world.clock.advance(by: .seconds(20))
        #expect(world.core.next(at: world.clock.boot) == .evaluate)
        #expect(try #require(world.evaluate()).paths.first?.change.current.linkQuality == .minimal)
        world.core.apply(ProviderFacts(), cause: world.cause(.policy), at: world.clock.boot)
        #expect(try #require(world.evaluate()).paths.first?.change.current.linkQuality == .unknown)
        #expect(world.core.nextCheck == nil)
    }

    @Test func `a modem's signal is a quality too (S39)`() {
        let world = World()
        let facts = ProviderFacts(cellular: [2: CellularFacts(signalQuality: 45)])
        world.core.apply(facts, cause: world.cause(.policy), at: world.clock.boot)
        #expect(world.evaluate()?.paths.first?.change.current.linkQuality == .moderate)
    }

    @Test func `speed and duplex of the first interface's cable are its quality, unless a radio tells (S39)`() throws {
        let world = World()
        func apply(_ megabits: Int, isFull: Bool, wireless: [Int: WirelessFacts] = [:]) -> Path? {
            let cables = [2: WiredFacts(megabits: megabits, isFullDuplex: isFull)]
            let facts = ProviderFacts(wireless: wireless, wired: cables)
            world.core.apply(facts, cause: world.cause(.policy), at: world.clock.boot)
            return world.evaluate()?.paths.first?.change.current
        }
        #expect(apply(1000, isFull: true)?.linkQuality == .good)
        let slow = try #require(apply(10, isFull: false))
        #expect(slow.linkQuality == .minimal && slow.status == .satisfied)
        world.clock.advance(by: .seconds(29))
        #expect(apply(1000, isFull: true) == nil, "a change a second too early")
        world.clock.advance(by: .seconds(1))
        #expect(world.evaluate()?.paths.first?.change.current.linkQuality == .good)
        world.clock.advance(by: .seconds(30))
        let radio = WirelessFacts(mode: 2, signal: -90)
        #expect(apply(1000, isFull: true, wireless: [2: radio])?.linkQuality == .minimal)
    }

    @Test func `changed monitors begin anew, the others go on`() throws {
        var settings = EngineSettings.usual.with {
            $0.monitors = [MonitorPolicy(name: "a", mark: 1), MonitorPolicy(name: "b", mark: 2)]
        }
        let world = World(settings)
        let since = try #require(world.core.monitor(named: "a")).tracker.since
        world.clock.advance(by: .seconds(9))
        settings.policy.monitors = [MonitorPolicy(name: "a", mark: 1), MonitorPolicy(name: "b", mark: 3)]
        settings.quiet = .milliseconds(10)
        world.core.apply(settings, cause: world.cause(.policy, "configuration"), at: world.clock.boot)
        #expect(world.core.next(at: world.clock.boot) == .wait(.milliseconds(10)))
        let update = try #require(world.evaluate())
        #expect(update.paths.map(\.monitor) == ["b"] && update.paths.first?.change.previous == nil)
        #expect(world.core.monitor(named: "a")?.tracker.since == since)
        #expect(world.core.monitor(named: "b")?.tracker.since == world.clock.boot)
        #expect(world.core.monitor(named: "z") == nil)
    }

    // MARK: - Flapping and sleep

    @Test func `flapping is folded, and its end is told with the number of changes`() throws {
        let world = World(.prompt)
        var actions: [FlapDamper.Action] = []
        for number in 0..<12 {
            world.table.failure = number % 2 == 0 ? .noRoute : nil
            world.clock.advance(by: .seconds(1))
            actions += world.evaluate()?.paths.map(\.flapping) ?? []
        }
        let expected: [FlapDamper.Action] =
            Array(repeating: .publish, count: 7) + [.start(changes: 8)] + Array(repeating: .suppress, count: 4)
        #expect(actions == expected)
        var flappingEnded: [String: Int] = [:]
        for _ in 0..<20 where flappingEnded.isEmpty {
            guard case .wait(let delay) = world.core.next(at: world.clock.boot) else { break }
            world.clock.advance(by: delay)
            flappingEnded = world.evaluate()?.flappingEnded ?? [:]
        }
        #expect(flappingEnded == ["default": 4])
        #expect(world.core.next(at: world.clock.boot) == .idle)
    }

    @Test func `what happened before a sleep is no flapping (S49)`() {
        let world = World(.prompt)
        for number in 0..<12 {
            world.table.failure = number % 2 == 0 ? .noRoute : nil
            world.clock.advance(by: .seconds(1))
            if number % 6 == 5 { world.core.slept(until: world.clock.boot) }
            #expect(world.evaluate()?.paths.map(\.flapping) == [.publish])
        }
    }

    // MARK: - Gateways

    @Test func `the entry of a new gateway is read before the path is published (S52)`() throws {
        var settings = EngineSettings.usual
        settings.gatewayInterval = .seconds(10)
        let world = World(settings, isFirst: false)
        world.core.trigger(world.cause(.initial), at: world.clock.boot)
        var asked: [NeighborKey] = []
        let update = world.core.evaluate(world.table, clock: world.clock) { key, _ in
            asked.append(key)
            return Neighbor(index: key.index, address: key.address, state: .failed)
        }
        #expect(asked == [NeighborKey(index: 2, address: .of("10.1.0.1"))])
        let path = try #require(update?.paths.first?.change.current)
        #expect(path.warnings == [.gatewayUnresolved] && path.gateways.map(\.isReachable) == [false])
        let entry = Neighbor(index: 2, address: .of("10.1.0.1"), state: .reachable)
        _ = world.hear(28, .neighbor(entry, removed: false))
        #expect(try #require(world.evaluate()).paths.first?.change.current.warnings == [])
    }

    @Test func `new gateways are asked at once, all of them again after the interval (S52)`() {
        let (one, two) = (
            NeighborKey(index: 2, address: .of("10.1.0.1")), NeighborKey(index: 3, address: .of("fe80::1"))
        )
        var schedule = GatewaySchedule(interval: .seconds(10))
        #expect(schedule.due == nil)
        #expect(schedule.track([one], at: .seconds(100)) == [one])
        #expect(schedule.due == .seconds(110))
        #expect(schedule.track([one, two], at: .seconds(105)) == [two])
        #expect(schedule.dequeueDue(at: .seconds(109)) == [])
        #expect(schedule.dequeueDue(at: .seconds(111)) == [one, two])
        #expect(schedule.due == .seconds(121))
        #expect(schedule.track([], at: .seconds(112)) == [])
        #expect(schedule.due == nil && schedule.dequeueDue(at: .seconds(500)) == [])
        var off = GatewaySchedule(interval: nil)
        #expect(off.track([one], at: .zero) == [] && off.due == nil && off.dequeueDue(at: .seconds(9)) == [])
    }
}
