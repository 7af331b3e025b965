// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Configuration
import Glibc
import LinuxIO
import OrderedJSON
import PathModel
import Probes
import TestSupport
import Testing

@testable import PathService

/// What is tested without being named, by the path.
@Suite struct StandardTestsTests {
    private static func path(
        servers: [String] = ["192.0.2.1"],
        search: [String] = [],
        hasIPv4: Bool = true,
        hasIPv6: Bool = false,
        isExpensive: Bool = false
    ) throws -> Path {
        func family(_ family: AddressFamily, _ gateway: String, _ source: String) throws -> FamilyPath {
            let gateway = ScopedAddress(try #require(IPAddress(gateway)))
            return FamilyPath(
                interfaces: [PathInterface(name: "eth0", index: 2, type: .wiredEthernet)],
                gateways: [Gateway(address: gateway, interface: "eth0", family: family)],
                source: try #require(IPAddress(source))
            )
        }
        let addresses = try servers.map { DNSServer(ScopedAddress(try #require(IPAddress($0)))) }
        return Path(
            status: .satisfied,
            reason: nil,
            ipv4: hasIPv4 ? try family(.ipv4, "192.0.2.1", "192.0.2.7") : nil,
            ipv6: hasIPv6 ? try family(.ipv6, "2001:db8::1", "2001:db8::7") : nil,
            dns: DNSState(servers: addresses, search: search, isUsable: true),
            isExpensive: isExpensive
        )
    }

    private static func names(_ check: ConnectivitySettings.Check, _ path: Path) -> [String] {
        StandardTests(check: check).definitions(for: path).map {
            "\($0.name) \($0.question.server.map { "\($0)" } ?? "\($0.target)")"
        }
    }

    @Test func `local sends to the name servers in use, of which three count`() throws {
        let path = try Self.path(servers: ["192.0.2.1", "2001:db8::53", "192.0.2.54", "192.0.2.55"])
        #expect(
            Self.names(.local, path) == [
                "nameserver1 192.0.2.1:53", "nameserver2 [2001:db8::53]:53", "nameserver3 192.0.2.54:53",
            ]
        )
        #expect(Self.names(.off, path).isEmpty)
        #expect(Self.names(.local, try Self.path(servers: [])).isEmpty)
        #expect(Self.names(.public, Path(reason: .noCarrier)).isEmpty, "nothing can be sent")
    }

    @Test func `servers are tested over the transport that programs use`() throws {
        var path = try Self.path(servers: ["192.0.2.1", "192.0.2.2"])
        path.dns.servers[1].isQueriedOverTCP = true
        let definitions = StandardTests(check: .local).definitions(for: path)
        #expect(definitions.map(\.question.transport) == [.udp, .tcp])
    }

    @Test func `public adds hosts of the families in use and a page`() throws {
        let both = Self.names(.public, try Self.path(hasIPv6: true))
        #expect(
            both == [
                "nameserver1 192.0.2.1:53", "internet1 1.1.1.1:443", "internet2 8.8.8.8:443",
                "internet3 [2606:4700:4700::1111]:443", "portal http://connectivitycheck.gstatic.com/generate_204",
            ]
        )
        let sixth = Self.names(.public, try Self.path(servers: [], hasIPv4: false, hasIPv6: true))
        #expect(sixth.prefix(2) == ["internet1 [2606:4700:4700::1111]:443", "internet2 [2001:4860:4860::8888]:443"])
    }

    @Test func `a path that costs money is spared, and a server that refuses gets other queries`() throws {
        let spared = StandardTests(check: .public).definitions(
            for: try Self.path(search: ["example.test"], isExpensive: true)
        )
        #expect(spared.allSatisfy { $0.interval == .seconds(300) })
        #expect(spared[0].question.namesIfRefused == ["example.test", "example.com"])
        let usual = StandardTests(check: .public).definitions(for: try Self.path())
        #expect(usual.map(\.interval) == [30, 30, 30, 120].map { .seconds($0) })
        #expect(usual[0].question.namesIfRefused == ["example.com"])
    }

    @Test func `routers that no query passes are left to the kernel`() throws {
        let near = IPPrefix(.v4(0xC000_0200), length: 24)
        func uncovered(
            _ servers: [String],
            hasIPv6: Bool = false,
            _ check: ConnectivitySettings.Check = .local,
            beyond: String? = "192.0.2.1"
        ) throws -> [String] {
            let path = try Self.path(servers: servers, hasIPv6: hasIPv6)
            let gateways = StandardTests(check: check).uncoveredGateways(of: path) { address in
                near.contains(address) || address.family == .ipv6 ? nil : beyond.flatMap { IPAddress($0) }
            }
            return gateways.map { "\($0.address)" }
        }
        #expect(try uncovered(["192.0.2.1"]).isEmpty, "it is the name server")
        #expect(try uncovered(["198.51.100.53"]).isEmpty, "the queries pass it")
        #expect(try uncovered(["192.0.2.53"]) == ["192.0.2.1"])
        #expect(try uncovered(["192.0.2.1"], hasIPv6: true) == ["2001:db8::1"])
        #expect(try uncovered(["198.51.100.53"], beyond: "192.0.2.254") == ["192.0.2.1"], "they take another route")
        #expect(try uncovered(["198.51.100.53"], beyond: nil) == ["192.0.2.1"], "they may take one of several")
        #expect(try uncovered(["192.0.2.53"], .public).isEmpty, "the tests of hosts pass it")
        #expect(try uncovered([]) == ["192.0.2.1"] && uncovered([], .off).isEmpty)
    }
}

/// The service with `connectivity.check: local`: it tests the router and the name server that this machine has anyway.
@Suite(.inNamespace) struct StandardTestsServiceTests {
    private let namespace = Namespace.current
    private let router: Namespace
    private let scratch: Scratch

    /// A router that is the name server too, and a host beyond it.
    init() throws {
        router = try Namespace()
        scratch = try Scratch()
        try namespace.connect("v0", to: router, as: "v1")
        try router.ipBatch(["link set lo up", "addr add 192.0.2.1/24 dev v1"])
        try namespace.ipBatch([
            "link set lo up", "addr add 192.0.2.7/24 dev v0", "route add default via 192.0.2.1 dev v0",
        ])
        try namespace.waitUntilRunning("v0")
        try router.waitUntilRunning("v1")
        // Without an upstream the name server refuses what it was not given.
        try scratch.write("nameserver 192.0.2.1\nsearch example.test\n", to: "resolv.conf")
        try scratch.write("dns: {resolv_conf: \(scratch.file("resolv.conf"))}\n", to: "nwpath.yaml")
    }

    private func names(_ options: String...) async throws -> RunningCommand { try await names(options) }

    private func names(_ options: [String]) async throws -> RunningCommand {
        let running = try RunningCommand(
            [
                "nsenter", "--net=\(router.path)", "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null",
                "--no-hosts", "--no-resolv", "--user=root", "--pid-file=", "--listen-address=192.0.2.1",
                "--bind-interfaces",
            ] + options
        )
        try await namespace.loop.eventually("the name server") {
            try router.run("ss -Hlun sport = :53").contains(":53")
        }
        return running
    }

    /// What a name server forwards queries to: it has an answer to each.
    private func upstream() async throws -> RunningCommand {
        let script = """
            import socket
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 5300))
            while True:
                query, client = s.recvfrom(512)
                question = query[12:query.index(0, 12) + 5]
                data = b"\\0" if question[-3] == 2 else bytes([192, 0, 2, 99])
                answer = b"\\xc0\\x0c" + question[-4:] + b"\\0\\0\\0\\x3c\\0" + bytes([len(data)]) + data
                s.sendto(query[:2] + b"\\x81\\x80\\0\\1\\0\\1" + bytes(4) + question + answer, client)
            """
        let running = try RunningCommand(["nsenter", "--net=\(router.path)", "python3", "-c", script])
        try await namespace.loop.eventually("the upstream") {
            try router.run("ss -Hlun sport = :5300").contains(":5300")
        }
        return running
    }

    private func start(_ check: String = "local") async throws -> Service {
        try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch, connectivity: check)
    }

    private func headline(_ service: Service) throws -> JSONValue {
        try service.json("/api/v1/status")["headline"] ?? .null
    }

    private func wait(for state: String, _ service: Service) async throws -> JSONValue {
        try await namespace.loop.eventually(state) { try headline(service)["state"]?.string == state }
        return try headline(service)
    }

    /// Has the test run at once, which it may a second after the run before.
    private func runNow(_ service: Service) async throws {
        try await namespace.loop.eventually("a run") {
            try service.code("/api/v1/probes/nameserver1", ["-X", "POST"]) == "202"
        }
    }

    /// Counts packets that arrive at the router, by protocol, in a chain of its own.
    private func count() throws {
        try router.run([
            "nft",
            """
            add table netdev count; \
            add chain netdev count in { type filter hook ingress device v1 priority 0; }; \
            add rule netdev count in udp dport 53 counter; \
            add rule netdev count in ether type arp counter; \
            add rule netdev count in ip protocol udp udp dport != 53 counter; \
            add rule netdev count in ip protocol != udp counter
            """,
        ])
    }

    private func packets() throws -> [Int] {
        let rules = try router.run(["nft", "list", "chain", "netdev", "count", "in"]).lines
        return rules.compactMap { line in
            let words = line.split(separator: " ")
            return words.firstIndex(of: "packets").flatMap { Int(words[$0 + 1]) }
        }
    }

    @Test func `with local the name server is tested, and nothing is sent to anything else`() async throws {
        let upstream = try await upstream()
        let server = try await names("--server=127.0.0.1#5300")
        try count()
        let service = try await start()
        let connected = try await wait(for: "connected", service)
        #expect(
            connected["message"] == "the name server answers via v0 and 192.0.2.1; the Internet has not been tested"
        )
        let probes = try service.json("/api/v1/probes")["probes"]?.array ?? []
        #expect(probes.map { $0["name"]?.string } == ["nameserver1"] && probes.first?["state"] == "ok")
        let chain = try service.json("/api/v1/status")["chain"]?.array ?? []
        #expect(chain.map { $0["condition"]?.string } == ["good", "good", "good", "not_asked", "good"])
        let found = try packets()
        // One query, the router's address, and nothing else.
        #expect(
            found.count == 4 && found[0] == 1 && (1...3).contains(found[1]) && found[2] == 0 && found[3] == 0,
            "\(found)"
        )
        withExtendedLifetime((server, upstream)) {}
    }

    @Test func `a name server that dies, refuses or finds nothing is found out`() async throws {
        let upstream = try await upstream()
        var server = try await names("--server=127.0.0.1#5300")
        let service = try await start()
        _ = try await wait(for: "connected", service)
        server.signal(SIGKILL)
        _ = server.wait()
        try await runNow(service)
        let broken = try await wait(for: "dns_broken", service)
        #expect(broken["message"] == "192.0.2.1 refuses queries" && broken["cause"] == "tests")
        server = try await names("--server=127.0.0.1#5300")
        _ = try await wait(for: "connected", service)
        server.signal(SIGKILL)
        _ = server.wait()
        // A home router's without an upstream, which knows its own domain alone.
        server = try await names("--local=/example.test/", "--domain=example.test")
        try await runNow(service)
        let refusing = try await wait(for: "dns_broken", service)
        #expect(refusing["message"] == "192.0.2.1 refuses queries")
        let last = try service.json("/api/v1/probes/nameserver1")["last"]
        #expect(last?["message"]?.string?.contains("REFUSED") == true)
        withExtendedLifetime((server, upstream)) {}
    }

    @Test func `tests pause while the kernel would send nothing, and keep their figures`() async throws {
        let upstream = try await upstream()
        let server = try await names("--server=127.0.0.1#5300")
        let service = try await start()
        _ = try await wait(for: "connected", service)
        let before = try service.json("/api/v1/probes/nameserver1")["attempts"]?.int ?? 0
        try router.set("v1", isUp: false)
        _ = try await wait(for: "offline", service)
        let paused = try service.json("/api/v1/probes/nameserver1")
        #expect(paused["attempts"]?.int == before && before > 0)
        try router.set("v1", isUp: true)
        try router.waitUntilRunning("v1")
        try namespace.waitUntilRunning("v0")
        _ = try await wait(for: "connected", service)
        try await namespace.loop.eventually("a run") {
            try service.json("/api/v1/probes/nameserver1")["attempts"]?.int ?? 0 > before
        }
        let names = try service.records().compactMap { $0["event"]?.string }
        #expect(!names.contains("probe.failed") && !names.contains("probe.recovered"), "\(names)")
        withExtendedLifetime((server, upstream)) {}
    }

    @Test(
        arguments: [
            // Without an upstream, with an own domain or not, and with an upstream that is out of reach.
            ([], "example.test", "dns_broken"), ([], nil, "dns_broken"),
            (["--local=/example.test/", "--domain=example.test"], "example.test", "dns_broken"),
            (["--server=192.0.2.99", "--local=/example.test/"], "example.test", "dns_broken"),
            // With an upstream, which refuses the root alone, and one that serves its own domain alone.
            (["--server=127.0.0.1#5353", "--local=/example.test/"], "example.test", "connected"),
            (["--server=127.0.0.1#5353"], nil, "connected"),
            (["--auth-zone=example.test", "--auth-server=ns.example.test,v1"], "example.test", "connected"),
        ] as [([String], String?, String)]
    )
    func `whether names are found decides, not whether the server is there`(
        options: [String],
        domain: String?,
        state: String
    ) async throws {
        try scratch.write("nameserver 192.0.2.1\n" + (domain.map { "search \($0)\n" } ?? ""), to: "resolv.conf")
        let upstream = try RunningCommand([
            "nsenter", "--net=\(router.path)", "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null",
            "--no-hosts", "--no-resolv", "--user=root", "--pid-file=", "--listen-address=127.0.0.1", "--port=5353",
            "--bind-interfaces", "--address=/com/192.0.2.99",
        ])
        let server = try await names(options)
        let service = try await start()
        _ = try await wait(for: state, service)
        withExtendedLifetime((upstream, server)) {}
    }

    @Test func `a test by another uplink or a route of its own fails for itself`() async throws {
        let upstream = try await upstream()
        let server = try await names("--server=127.0.0.1#5300")
        let other = try Namespace()
        try namespace.connect("w0", to: other, as: "w1")
        try other.ipBatch(["link set lo up", "addr add 198.51.100.1/24 dev w1"])
        try namespace.ipBatch([
            "addr add 198.51.100.7/24 dev w0", "link property add dev w0 altname backup0",
            "route add 203.0.113.0/24 via 198.51.100.1 dev w0",
        ])
        try namespace.waitUntilRunning("w0")
        let probe = "interval: 1s, timeout: 300ms, threshold: 2"
        let configuration = """
            dns: {resolv_conf: \(scratch.file("resolv.conf"))}
            probes:
              active:
                bound: {target: 10.9.9.9, interface: backup0, \(probe)}
                vpn: {target: 203.0.113.9, \(probe)}

            """
        try scratch.write(configuration, to: "nwpath.yaml")
        let service = try await start()
        // Two silent hosts beyond the router would be no Internet.
        let headline = try await wait(for: "degraded", service)
        #expect(headline["message"] == "2 of 3 tests fail: bound (timeout), vpn (timeout)")
        let states = try service.records().compactMap { $0["headline"]?["state"]?.string }
        #expect(!states.contains("no_internet"), "\(states)")
        withExtendedLifetime((server, upstream)) {}
    }

    @Test func `a router that is gone is named within seconds`() async throws {
        let upstream = try await upstream()
        let server = try await names("--server=127.0.0.1#5300")
        let service = try await start()
        _ = try await wait(for: "connected", service)
        try router.ip("link set v1 arp off")
        try router.ip("addr flush dev v1")
        try await runNow(service)
        let gone = try await wait(for: "local_only", service)
        #expect(gone["message"] == "192.0.2.1 on v0 does not answer")
        let probe = try service.json("/api/v1/probes/nameserver1")
        let since = try #require(gone["since"]?.string.flatMap(WallTime.init))
        if let failing = probe["failing_since"]?.string.flatMap(WallTime.init) {
            #expect(abs((since - failing) / .seconds(1)) < 0.1, "dated from the first query without an answer")
        }
        withExtendedLifetime((server, upstream)) {}
    }

    @Test func `a router that the queries do not pass is probed beside them`() async throws {
        // The name server is another machine of the same network.
        try router.ip("addr add 192.0.2.53/24 dev v1")
        try scratch.write("nameserver 192.0.2.53\nsearch example.test\n", to: "resolv.conf")
        let upstream = try await upstream()
        let server = try await names("--listen-address=192.0.2.53", "--server=127.0.0.1#5300")
        let service = try await start()
        _ = try await wait(for: "connected", service)
        try await namespace.loop.eventually("the router's answer") {
            try service.json("/api/v1/gateways")["gateways"]?.array?.first?["reachable"]?.bool == true
        }
        withExtendedLifetime((server, upstream)) {}
    }

    @Test func `off tests nothing, and a reload brings the tests back`() async throws {
        try scratch.write(
            "connectivity: {check: off}\ndns: {resolv_conf: \(scratch.file("resolv.conf"))}\n",
            to: "nwpath.yaml"
        )
        let upstream = try await upstream()
        let server = try await names("--server=127.0.0.1#5300")
        try count()
        let process = try RunningCommand(
            [
                "nsenter", "--net=\(namespace.path)", try Place.program, "serve", "--no-mdns", "--config",
                scratch.file("nwpath.yaml"), "--log-file", scratch.file("log"), "--state-dir", scratch.path, "--listen",
                "unix:" + scratch.file("s.sock"),
            ],
            captures: true
        )
        func get(_ path: String) throws -> JSONValue {
            try JSONValue(
                parsing: Command.run(["curl", "-s", "--unix-socket", scratch.file("s.sock"), "http://localhost\(path)"])
            )
        }
        await namespace.loop.eventually("an answer") {
            (try? get("/api/v1/status")["headline"]?["state"]) == "connected"
        }
        #expect(try get("/api/v1/probes")["probes"]?.array?.isEmpty == true)
        #expect(try packets() == [0, 0, 0, 0])
        try scratch.write(
            "connectivity: {check: local}\ndns: {resolv_conf: \(scratch.file("resolv.conf"))}\n",
            to: "nwpath.yaml"
        )
        process.signal(SIGHUP)
        try await namespace.loop.eventually("a test") { try get("/api/v1/probes/nameserver1")["state"] == "ok" }
        process.signal(SIGTERM)
        #expect(process.wait() == 0)
        withExtendedLifetime((server, upstream)) {}
    }
}
