// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// The verdict on name servers (rule S35).
@Suite struct DNSEvaluatorTests {
    private func server(_ text: String, scope: String? = nil, index: Int? = nil) -> DNSServer {
        DNSServer(ScopedAddress(IPAddress(text) ?? .v4(0), scope: scope), interfaceIndex: index)
    }

    private func verdict(_ dns: DNSConfiguration, _ change: (inout World) -> Void = { _ in }) -> Bool {
        var world = World.ordinary()
        world.facts.dns = dns
        change(&world)
        return world.path().supportsDNS
    }

    @Test func `a server behind the default route counts (S35)`() {
        #expect(verdict(DNSConfiguration(servers: [server("8.8.8.8")])))
    }

    @Test func `a server that no route leads to does not (S35)`() {
        #expect(!verdict(DNSConfiguration(servers: [server("8.8.8.8")])) { $0.table.routes = [] })
    }

    @Test func `one reachable server is enough, and the rest is not asked about (S35)`() {
        var world = World.ordinary()
        world.table.fixed[.v4(0x0808_0808)] = nil
        world.table.fixed[.v4(0x0A0A_0A0A)] = .unreachable
        world.facts.dns = DNSConfiguration(servers: [server("10.10.10.10"), server("8.8.8.8"), server("9.9.9.9")])
        let evaluation = world.evaluate()
        #expect(evaluation.path.supportsDNS)
        #expect(evaluation.lookups == 9)
    }

    @Test func `no server is no DNS (S35)`() {
        #expect(!verdict(DNSConfiguration(servers: [])))
    }

    @Test func `a server over a dead link does not count (S35)`() {
        #expect(!verdict(DNSConfiguration(servers: [server("8.8.8.8")])) { $0.unplug("eth0") })
    }

    @Test(arguments: [true, false]) func `a server on this machine's own address counts when it answers (S35)`(
        answers: Bool
    ) throws {
        let own = try #require(IPAddress("192.0.2.10"))
        let dns = DNSConfiguration(servers: [server("192.0.2.10")], servedHere: answers ? [own] : [])
        #expect(verdict(dns) { $0.route("192.0.2.10/32", "lo", type: .local) } == answers)
    }

    @Test func `a question needs a source that answers come to (S24, S35)`() {
        #expect(!verdict(DNSConfiguration(servers: [server("8.8.8.8")])) { $0.flush("eth0") })
        // By the loopback interface nothing leaves.
        #expect(
            !verdict(DNSConfiguration(servers: [server("8.8.8.8")])) {
                $0.removeRoutes("0.0.0.0/0")
                $0.route("0.0.0.0/0", "lo")
            }
        )
        // A link-local source serves on the link alone.
        for (text, scope, isUsable) in [
            ("fe80::53", "eth0", true), ("2001:db8:53::53", nil, false), ("fe80::53", nil, false),
        ] as [(String, String?, Bool)] {
            let verdict = verdict(DNSConfiguration(servers: [server(text, scope: scope)])) {
                $0.remove("2001:db8::10/64", from: "eth0")
                $0.route("fe80::/64", "eth0") { $0.source = IPAddress("fe80::10") }
            }
            #expect(verdict == isUsable, "\(text)")
        }
    }

    @Test func `an IPv4-mapped address is asked by IPv4 (S35)`() {
        #expect(verdict(DNSConfiguration(servers: [server("::ffff:8.8.8.8")])) { $0.removeRoutes("::/0") })
        #expect(!verdict(DNSConfiguration(servers: [server("::ffff:8.8.8.8")])) { $0.removeRoutes("0.0.0.0/0") })
    }

    @Test func `a server behind a black hole does not count (S35)`() {
        #expect(
            !verdict(DNSConfiguration(servers: [server("192.0.2.53")])) {
                $0.route("192.0.2.53/32", type: .blackhole)
            }
        )
    }

    @Test(arguments: [true, false])
    func `a loopback server counts when something listens (S35)`(isListening: Bool) {
        let loopback = IPAddress.v4(0x7F00_0001)
        let dns = DNSConfiguration(servers: [server("127.0.0.1")], servedHere: isListening ? [loopback] : [])
        #expect(verdict(dns) == isListening)
    }

    @Test func `a server of this machine counts only where packets to it stay here (S35)`() throws {
        let dns = DNSConfiguration(servers: [server("127.0.0.1")], servedHere: [.v4(0x7F00_0001)])
        #expect(!verdict(dns) { $0.table.fixed[.v4(0x7F00_0001)] = .noRoute })
        // The rule for the table local is behind one that leads elsewhere.
        #expect(
            !verdict(dns) {
                $0.table.leadsToLocal = false
                $0.route("127.0.0.1/32", "eth0") { $0.source = .v4(0x7F00_0001) }
            }
        )
        // A recording does not have the answer.
        #expect(verdict(dns) { $0.table.fixed[.v4(0x7F00_0001)] = .other(5) })
        // The sockets of the C library are not bound to the interface of a monitor.
        var world = World.ordinary()
        world.facts.dns = dns
        #expect(world.path(MonitorPolicy(outputInterface: "eth0")).supportsDNS)
    }

    @Test(arguments: [("0.0.0.0", "127.0.0.1"), ("::", "::1")])
    func `an address that stands for any is loopback (S35)`(text: String, loopback: String) throws {
        let served = try #require(IPAddress(loopback))
        for answers in [true, false] {
            let dns = DNSConfiguration(servers: [server(text)], servedHere: answers ? [served] : [])
            #expect(verdict(dns) { $0.add("::1/128", on: "lo", scope: 254) } == answers)
        }
    }

    @Test(arguments: [(Transport.dns, false), (.dnsOverTCP, true)])
    func `over TCP the fate of connections counts (S35)`(transport: Transport, usesTCP: Bool) {
        for isQueriedOverTCP in [false, true] {
            var server = server("8.8.8.8")
            server.isQueriedOverTCP = isQueriedOverTCP
            let dns = DNSConfiguration(servers: [server])
            let isUsable = verdict(dns) {
                $0.table.rules.append(
                    FakeTable.Rule(priority: 1, failure: .prohibited, transport: transport)
                )
            }
            #expect(isUsable == (isQueriedOverTCP != usesTCP))
        }
    }

    @Test func `servers behind a stub are not behind another loopback server (S35)`() {
        var dns = DNSConfiguration(servers: [server("127.0.0.1")], upstream: [], servedHere: [.v4(0x7F00_0001)])
        #expect(!verdict(dns))
        dns.stubs = [.v4(0x7F00_0035)]
        #expect(verdict(dns))
    }

    @Test func `servers for some domains only do not resolve names in general (S35)`() {
        var limited = server("8.8.8.8")
        limited.isForDomainsOnly = true
        for (upstream, problem) in [
            ([limited], .domainsOnly(stub: "systemd-resolved")), ([], .noUpstream(stub: "systemd-resolved")),
            ([limited, server("9.9.9.9")], nil),
        ] as [([DNSServer], DNSProblem?)] {
            var world = World.ordinary()
            world.facts.dns = DNSConfiguration(
                servers: [server("127.0.0.53")],
                upstream: upstream,
                source: "systemd-resolved",
                servedHere: [.v4(0x7F00_0035)]
            )
            let dns = world.path().dns
            #expect(dns.isUsable == (problem == nil) && dns.problem == problem && dns.servers == upstream)
        }
    }

    @Test func `a file that cannot be read is named (S36)`() {
        var world = World.ordinary()
        world.facts.dns = DNSConfiguration(source: "/etc/resolv.conf", unreadable: "Permission denied (EACCES)")
        let dns = world.path().dns
        #expect(!dns.isUsable)
        #expect(dns.problem?.description == "/etc/resolv.conf cannot be read: Permission denied (EACCES)")
    }

    @Test func `a server beside a stub counts by itself (S35)`() {
        let dns = DNSConfiguration(
            servers: [server("127.0.0.53"), server("8.8.8.8")],
            upstream: [server("10.9.9.9")],
            servedHere: [.v4(0x7F00_0035)]
        )
        #expect(verdict(dns) { $0.table.fixed[.v4(0x0A09_0909)] = .noRoute })
        #expect(
            !verdict(dns) {
                $0.table.fixed[.v4(0x0A09_0909)] = .noRoute
                $0.table.fixed[.v4(0x0808_0808)] = .noRoute
            }
        )
    }

    @Test func `the C library's default for a missing file is a loopback server (S35)`() {
        #expect(DNSConfiguration().servers.map(\.description) == ["127.0.0.1"])
        #expect(!verdict(DNSConfiguration()))
    }

    @Test(arguments: [
        (["8.8.8.8"], true, true), ([], true, false), (["8.8.8.8"], false, false), (["10.9.9.9"], true, false),
    ])
    func `a stub needs a listener and an upstream server that can be reached (S35)`(
        upstream: [String],
        isListening: Bool,
        isUsable: Bool
    ) {
        let dns = DNSConfiguration(
            servers: [server("127.0.0.53")],
            upstream: upstream.map { server($0) },
            servedHere: isListening ? [.v4(0x7F00_0035)] : []
        )
        let verdict = verdict(dns) { $0.table.fixed[.v4(0x0A09_0909)] = .noRoute }
        #expect(verdict == isUsable)
    }

    @Test func `the servers behind a stub are the ones that are shown (S35)`() {
        var world = World.ordinary()
        world.facts.dns = DNSConfiguration(
            servers: [server("127.0.0.53")],
            upstream: [server("8.8.8.8")],
            search: ["example.test"],
            source: "systemd-resolved",
            servedHere: [.v4(0x7F00_0035)]
        )
        let dns = world.path().dns
        #expect(dns.servers.map(\.description) == ["8.8.8.8"])
        #expect(dns.search == ["example.test"])
        #expect(dns.source == "systemd-resolved")
    }

    @Test func `a loopback server behind a stub is the stub's own affair (S35)`() {
        let dns = DNSConfiguration(
            servers: [server("127.0.0.53")],
            upstream: [server("127.0.0.1")],
            servedHere: [.v4(0x7F00_0035)]
        )
        #expect(verdict(dns))
    }

    @Test func `a link-local server is asked about on its own interface (S35)`() {
        var world = World.ordinary()
        world.route("fe80::/64", "eth0")
        world.facts.dns = DNSConfiguration(servers: [server("fe80::53", scope: "eth0")])
        #expect(world.path().supportsDNS)
        #expect(world.table.log.queries.last?.outputInterface == 2)
    }

    @Test(arguments: [("eth0", true), ("2", true), ("eth9", false), ("99", false), ("lo", false)])
    func `a scope is a name or a number, and one that is gone reaches nobody (S35)`(scope: String, isUsable: Bool) {
        var world = World.ordinary()
        world.route("fe80::/64", "eth0")
        // The interface that the source names does not stand in for the one in the address.
        world.facts.dns = DNSConfiguration(servers: [server("fe80::53", scope: scope, index: 2)])
        #expect(world.path().supportsDNS == isUsable)
    }

    @Test func `a server of an interface is asked about on that interface (S35)`() {
        var world = World.ordinary()
        world.facts.dns = DNSConfiguration(servers: [server("8.8.8.8", index: 2)])
        #expect(world.path().supportsDNS)
        #expect(world.table.log.queries.last?.outputInterface == 2)
    }

    @Test func `a local server counts even when the path is not satisfied (S35)`() {
        var world = World.ordinary()
        world.table.routes = []
        world.route("192.0.2.0/24", "eth0")
        world.facts.dns = DNSConfiguration(servers: [server("192.0.2.1")])
        #expect(world.path().status == .unsatisfied)
        #expect(world.path().supportsDNS)
    }

    @Test func `a monitor's mark is used for name servers too (S29, S35)`() {
        var world = World.ordinary()
        world.facts.dns = DNSConfiguration(servers: [server("8.8.8.8")])
        _ = world.path(MonitorPolicy(mark: 9, uid: 5))
        #expect(world.table.log.leaving(world).allSatisfy { $0.mark == 9 && $0.uid == 5 })
    }
}
