// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
@testable import Netlink
import TestSupport
import Testing

@Suite(.inNamespace) struct KernelMonitorTests {
    /// A monitor with what it heard.
    private final class Ear {
        let monitor: KernelMonitor
        var notices: [KernelNotice] = []
        var batches: [EventBatch] = []
        var resyncs = 0

        init(groups: Set<EventGroup> = Set(EventGroup.allCases), bufferSize: Int = 8 << 20) throws {
            monitor = try KernelMonitor(loop: Namespace.current.loop, groups: groups, bufferSize: bufferSize)
            monitor.onEvents = { [unowned self] batch in
                batches.append(batch)
                notices += batch.notices
            }
            monitor.onResync = { [unowned self] in resyncs += 1 }
            try monitor.attach(NotificationFilter(neighbors: [.of("192.0.2.7")]))
            try monitor.start()
        }

        deinit { monitor.stop() }

        func heard(_ type: String, where matches: (KernelEvent) -> Bool = { _ in true }) -> Bool {
            notices.contains { $0.type.description == type && matches($0.event) }
        }
    }

    private let namespace = Namespace.current

    @Test func `every kind of change is heard under the kernel's name`() async throws {
        let ear = try Ear()
        let peer = try namespace.uplink()
        try namespace.ipBatch([
            "route add default via 192.0.2.1 dev v0", "route add ::/0 via 2001:db8:1::1 dev v0",
            "nexthop add id 4 via 192.0.2.1 dev v0", "nexthop del id 4", "rule add pref 77 table 201",
            "rule del pref 77",
            "neigh add 192.0.2.7 lladdr 02:00:00:00:00:07 dev v0", "neigh del 192.0.2.7 dev v0",
            "addr del 192.0.2.2/24 dev v0",
        ])
        try namespace.run("sysctl -qw net.ipv4.conf.v0.ignore_routes_with_linkdown=1")
        try namespace.ip("link del v0")
        await namespace.loop.eventually("RTM_DELLINK") { ear.heard("RTM_DELLINK") }
        let index = try #require(
            ear.notices.lazy.compactMap {
                if case .link(let link) = $0.event, link.name == "v0" { link.index } else { nil }
            }
            .first
        )
        #expect(
            ear.heard("RTM_NEWADDR") { if case .address(let address) = $0 { address.index == index } else { false } }
        )
        #expect(ear.heard("RTM_DELADDR"))
        let route = RouteNotice(family: .ipv4, prefixLength: 0, table: 254, removed: false)
        #expect(ear.heard("RTM_NEWROUTE") { $0 == .route(route) })
        #expect(ear.heard("RTM_DELROUTE") { if case .route(let gone) = $0 { gone.removed } else { false } })
        #expect(ear.heard("RTM_NEWNEXTHOP") { $0 == .nexthop(id: 4, removed: false) })
        #expect(ear.heard("RTM_DELNEXTHOP") { $0 == .nexthop(id: 4, removed: true) })
        #expect(ear.heard("RTM_NEWRULE") { $0 == .rule(family: .ipv4, removed: false) })
        #expect(ear.heard("RTM_DELRULE") { $0 == .rule(family: .ipv4, removed: true) })
        #expect(ear.heard("RTM_NEWNETCONF") { $0 == .settings(family: .ipv4, index: index) })
        #expect(
            ear.heard("RTM_NEWNEIGH") {
                if case .neighbor(let entry, false) = $0 { entry.state == .permanent } else { false }
            }
        )
        #expect(ear.heard("RTM_DELLINK") { $0 == .linkRemoved(index: index, name: "v0") })
        #expect(ear.monitor.statistics.undecodable == 0)
        #expect(ear.monitor.statistics.messages[.link, default: 0] > 2)
        #expect(ear.monitor.statistics.messages[.nexthop] == 2)
        #expect(ear.batches.allSatisfy { $0.boot > .zero && $0.wall.nanoseconds > 0 })
        withExtendedLifetime(peer) {}
    }

    @Test func `the peer's carrier is heard`() async throws {
        let peer = try namespace.uplink()
        let ear = try Ear()
        try peer.set("v1", isUp: false)
        await namespace.loop.eventually("the carrier's loss") {
            ear.heard("RTM_NEWLINK") { if case .link(let link) = $0 { link.carrier == false } else { false } }
        }
    }

    @Test func `20,000 long prefixes are dropped in the kernel while the default is not`() async throws {
        let peer = try namespace.uplink()
        try namespace.ip("route add default via 192.0.2.1 dev v0")
        let ear = try Ear(groups: [.ipv4Route])
        let routes = (0..<20_000).map { "10.\($0 / 256).\($0 % 256).0/24 dev v0" }
        var lines = routes.map { "route add \($0)" }
        lines.insert("route replace default via 192.0.2.9 dev v0", at: 10_000)
        try namespace.ipBatch(lines)
        await namespace.loop.eventually("the default's change") { !ear.notices.isEmpty }
        #expect(ear.notices.count == 1)
        #expect(ear.monitor.statistics.messages == [.ipv4Route: 1])
        #expect(ear.monitor.statistics.overruns == 0)
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: [
        ("0.0.0.0/1", true), ("128.0.0.0/1", true), ("10.0.0.0/8", true), ("10.0.0.0/9", false), ("10.1.0.0/16", false),
        ("2000::/3", true), ("2001::/16", true), ("2001::/17", false), ("::/0", true), ("2001:db8:9::/48", false),
    ])
    func `prefixes that may stand for the Internet pass`(prefix: String, passes: Bool) async throws {
        let peer = try namespace.uplink()
        let ear = try Ear(groups: [.ipv4Route, .ipv6Route])
        try namespace.ip("route add \(prefix) dev v0 table 201")
        // The default in another table comes after it, and always passes.
        try namespace.ip("route add default dev v0 table 202")
        let isMark = { (event: KernelEvent) in
            if case .route(let route) = event { route.table == 202 } else { false }
        }
        await namespace.loop.eventually("the mark") { ear.notices.contains { isMark($0.event) } }
        #expect(ear.notices.filter { !isMark($0.event) }.count == (passes ? 1 : 0))
        withExtendedLifetime(peer) {}
    }

    @Test func `a bridge that lets a port go does not remove the link`() async throws {
        try namespace.ipBatch([
            "link add b0 type bridge", "link add p0 type veth peer name p1", "link set p0 master b0", "link set p0 up",
            "link set b0 up",
        ])
        let kernel = try LiveKernel()
        let port = try #require(try kernel.link(named: "p0"))
        let ear = try Ear(groups: [.link])
        try namespace.ip("link set p0 nomaster")
        await namespace.loop.eventually("the bridge's message") {
            ear.heard("RTM_DELLINK") { $0 == .bridgePort(index: port.index, master: nil) }
        }
        #expect(!ear.heard("RTM_DELLINK") { if case .linkRemoved = $0 { true } else { false } })
        #expect(try kernel.link(named: "p0")?.master == nil)
        try namespace.ip("link set p0 master b0")
        await namespace.loop.eventually("the bridge's message") {
            ear.heard("RTM_NEWLINK") { $0 == .bridgePort(index: port.index, master: port.master) }
        }
    }

    @Test func `an overrun throws the stale messages away and asks for a resync`() async throws {
        let peer = try namespace.uplink()
        let ear = try Ear(groups: [.ipv4Address, .ipv4Route], bufferSize: 4096)
        #expect(ear.monitor.bufferSize < 65_536)
        try namespace.ipBatch(
            (0..<500).map { "addr add 10.9.\($0 / 250).\($0 % 250 + 1)/32 dev v0" }
                + ["route add default via 192.0.2.1 dev v0"]
        )
        await namespace.loop.eventually("the resync") { ear.resyncs == 1 }
        #expect(ear.monitor.statistics.overruns == 1)
        #expect(ear.notices.isEmpty && !ear.monitor.isRecovering)
        // It hears on.
        try namespace.ip("route del default")
        await namespace.loop.eventually("the next event") { ear.heard("RTM_DELROUTE") }
        #expect(ear.monitor.statistics.overruns == 1)
        withExtendedLifetime(peer) {}
    }

    @Test func `a stopped monitor hears what it missed when it starts again`() async throws {
        let ear = try Ear(groups: [.link])
        ear.monitor.stop()
        ear.monitor.stop()
        try namespace.ip("link add b0 type bridge")
        #expect(ear.notices.isEmpty)
        try ear.monitor.start()
        try ear.monitor.start()
        await namespace.loop.eventually("the link") { ear.heard("RTM_NEWLINK") }
    }

    @Test func `what another process sends is passed over`() async throws {
        var victim = try EventSocket(groups: [.link])
        let port = victim.port
        try namespace.run(["python3", "-c", forgery, String(port)])
        let received = victim.receive { _, _ in Issue.record("a forged message was handed over") }
        #expect(received == .foreign)
        let then = victim.receive { _, _ in }
        #expect(then == .nothing)
    }

    @Test func `when the links go with their namespace nothing spins`() async throws {
        let peer = try namespace.uplink()
        let ear = try Ear()
        peer.loop.stop()
        await namespace.loop.eventually("the link's end") {
            ear.heard("RTM_DELLINK") { if case .linkRemoved(_, "v0") = $0 { true } else { false } }
        }
        let kernel = try LiveKernel()
        #expect(try kernel.links().values.map(\.name) == ["lo"])
        let before = ear.batches.count
        await namespace.loop.sleep(for: .milliseconds(20))
        #expect(ear.batches.count <= before + 2)
    }

    @Test func `dumps under churn are whole or say that they are not`() async throws {
        let churn = try RunningCommand([
            "nsenter", "--net=\(namespace.path)", "sh", "-c",
            "while :; do ip link add c0 type veth peer name c1; ip link del c0; done",
        ])
        let kernel = try LiveKernel()
        for _ in 0..<50 {
            let links = try kernel.links()
            #expect(links.undecodable == 0)
            #expect(links.values.first?.name == "lo")
            #expect(Set(links.values.map(\.index)).count == links.values.count)
        }
        churn.signal(9)
        _ = churn.wait()
        // What the shell began last goes on for a moment without it.
        try namespace.wait(for: "the end of the churn") {
            _ = try? namespace.ip("link del c0")
            return try kernel.links().values.count == 1
        }
        #expect(try kernel.links() == Dump([try #require(try kernel.link(named: "lo"))]))
    }
}

/// Sends an RTM_DELLINK to the netlink port in its argument, as no kernel would.
private let forgery = """
    import socket, struct, sys
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    s.sendto(struct.pack('=IHHII', 32, 17, 0, 0, 0) + b'\\0' * 16, (int(sys.argv[1]), 0))
    """
