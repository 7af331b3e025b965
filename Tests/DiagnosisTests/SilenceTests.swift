// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import PathModel
import Testing

/// What queries that got no answer mean, by what became of them on further flows and on this machine.
let silences: [Spoken] = [
    Spoken(
        .routeReversePath,
        .broken,
        "replies from 203.0.113.80 arrive, and the reverse path filter of this machine drops them",
        "`sysctl net.ipv4.conf.all.rp_filter`"
    ) { $0.obstruct(443, .init(.reversePath, "the reverse path filter of this machine", hint: rpFilter)) },
    Spoken(
        .gatewayStaticEntry,
        .broken,
        "the static neighbour entry of the gateway 10.77.0.1 on eth0 is 02:00:00:00:00:99, but the gateway answers from "
            + "02:00:00:00:00:01",
        "`ip neigh del 10.77.0.1 dev eth0`"
    ) { evidence in
        evidence.cutOff([.ipv4])
        evidence.gateways[0].staticEntry = "02:00:00:00:00:99"
    },
    Spoken(
        .gatewayBlocksHost,
        .broken,
        "the gateway 10.77.0.1 reaches the Internet, since it resolves new names, but forwards nothing for this machine",
        "check the router: a filter or parental control for this machine, or a full session table"
    ) { evidence in
        evidence.cutOff()
        evidence.dns = .known([Healthy.nameServer(Healthy.gateway)])
    },
    Spoken(
        .upstreamFlowsLost,
        .degraded,
        "7 of 12 new connections get no answer, each from a port of its own, and the others lose nothing: one of several "
            + "parallel links beyond the gateway drops everything",
        "report to the provider: one leg of a bundle or of equal routes (ECMP) is dead"
    ) { $0.retry(flows: [7: 3, 5: 2]) },
    Spoken(
        .uplinkDown,
        .degraded,
        "nothing beyond the gateway answers by eth1 (10.77.0.20), which shares connections with eth0; eth0 works",
        "check the router and the line of eth1, or take it out of the default route"
    ) { $0.share(with: Healthy.peer) },
    Spoken(
        .transportTCPBlocked,
        .broken,
        "no TCP connection gets beyond the gateway; UDP does",
        "check the firewall of the router, then ask the provider: TCP packets are dropped"
    ) { evidence in
        evidence.closePorts([80: .silent, 443: .silent])
        evidence.silenceStreams()
    },
    Spoken(
        .transportTLSBlocked,
        .broken,
        "TLS handshakes with all tested hosts are dropped; connections and plain HTTP work",
        "check for a filter of the router or provider that blocks TLS"
    ) { $0.failHandshakes(isSilent: true) },
    Spoken(
        .transportQUICBlocked,
        .warning,
        "QUIC is dropped on the path (UDP port 443); other UDP and TCP work",
        "allow outgoing UDP port 443 at the firewall: browsers lose time before they use TCP"
    ) { $0.transport.quic = [.init(anchor: "a", isOffered: true, isSilent: true)] },
    Spoken(
        .dnsNotUsed,
        .broken,
        "programs find no name: the line `hosts: files` of /etc/nsswitch.conf has no `dns`, although name servers answer",
        "add `dns` to the line `hosts:` of /etc/nsswitch.conf"
    ) { evidence in
        var lookup = LookupEvidence("a.test", .milliseconds(1), expected: [Healthy.address])
        (lookup.failure, lookup.sourcesWithoutDNS) = ("no such name", "hosts: files")
        evidence.lookup = lookup
    },
    Spoken(
        .dnsHostsFile,
        .broken,
        "/etc/hosts:7 gives a.test the address 10.77.0.20; name servers answer 203.0.113.80",
        "correct or remove the line of a.test in /etc/hosts"
    ) { evidence in
        var lookup = LookupEvidence("a.test", .milliseconds(1), expected: [Healthy.address])
        (lookup.addresses, lookup.hostsLine) = ([Healthy.peer], "/etc/hosts:7")
        evidence.lookup = lookup
    },
    Spoken(
        .proxyUnreachable,
        .broken,
        "the proxy http://10.77.0.9:3128 (https_proxy and http_proxy) does not answer: connection refused",
        "start the proxy, or correct https_proxy and http_proxy; unset it where no proxy is needed"
    ) { $0.proxies = proxies(failure: "connection refused", isReached: false) },
    Spoken(
        .proxyFailing,
        .broken,
        "the proxy http://10.77.0.9:3128 (https_proxy and http_proxy) accepts connections but gets no answer of a.test: "
            + "no answer in time",
        "check the log of the proxy: it gets no answer, or wants a password"
    ) { evidence in
        evidence.proxies = proxies(failure: "no answer in time", isReached: true)
        // Around the proxy nothing may pass.
        for family in evidence.reach.indices {
            for index in evidence.reach[family].anchors.indices {
                evidence.reach[family].anchors[index].ports[443] = .silent
            }
        }
    },
    Spoken(
        .proxyRequired,
        .info,
        "the web is reached through the proxy http://10.77.0.9:3128 (https_proxy) only: direct connections are dropped",
        "nothing; programs need https_proxy"
    ) { evidence in
        evidence.proxies = proxies(failure: nil, isReached: true)
        evidence.cutOff()
        evidence.dns = .known([Healthy.nameServer(Healthy.server)])
    },
    Spoken(
        .dnsSearchDead,
        .degraded,
        "the search domain old.test gets no answer, though other names do: lookups of short names wait for seconds",
        "remove old.test from the line `search` of /etc/resolv.conf, or from the DHCP server"
    ) { evidence in
        guard var servers = evidence.dns.value else { return }
        for index in servers.indices { servers[index].silentDomains = ["old.test"] }
        evidence.dns = .known(servers)
    },
]

private func proxies(failure: String?, isReached: Bool) -> [ProxyEvidence] {
    ["https_proxy", "http_proxy"].map {
        ProxyEvidence($0, "http://10.77.0.9:3128", host: "a.test", isReached: isReached, failure: failure)
    }
}

private let rpFilter = "`sysctl net.ipv4.conf.all.rp_filter`"

@Suite struct SilenceTests {
    private static let filter = LocalObstacle(
        .outputFilter,
        "the packet filter inet lab c of this machine",
        hint: "`nft list chain inet lab c`"
    )

    @Test(arguments: [QueryProtocol.tcp(443), .udp(53)])
    func `a filter of this machine is named in place of the network`(kind: QueryProtocol) throws {
        let diagnosis = Healthy.broken { evidence in
            var query = QueryEvidence(.anchor("a"), Healthy.address, kind)
            query.obstacle = Self.filter
            evidence.queries = [query]
            for index in evidence.reach[0].anchors.indices { evidence.reach[0].anchors[index].ports[443] = .blocked }
        }
        #expect(diagnosis.codes == [.firewallLocal] && diagnosis.faultDomain == .host)
        let verdict = try #require(diagnosis.verdicts.first)
        #expect(verdict.say == "\(Self.filter.text) drops packets to \(kind), before they leave this machine")
        #expect(verdict.action == Self.filter.hint)
    }

    @Test func `one cause is one verdict, whatever it hits`() {
        let diagnosis = Healthy.broken { evidence in
            for (address, port) in [(Healthy.address, UInt16(80)), (Healthy.address, 443), (Healthy.address6, 443)] {
                var query = QueryEvidence(.anchor("a"), address, .tcp(port))
                query.obstacle = Self.filter
                evidence.queries.append(query)
            }
        }
        #expect(diagnosis.codes == [.firewallLocal])
    }

    @Test func `the only name server behind a route that refuses packets leaves no names`() throws {
        for count in 1...2 {
            let diagnosis = Healthy.broken { evidence in
                var servers = [Healthy.nameServer(Healthy.second), Healthy.nameServer(Healthy.server)]
                var query = QueryEvidence(.nameServer, Healthy.second, .udp(53))
                query.obstacle = .init(
                    .path(.route),
                    "the IPv4 route blackhole 198.51.100.53 refuses packets",
                    hint: nil
                )
                servers[0].obstacle = query.obstacle
                evidence.queries = [query]
                evidence.dns = .known(Array(servers.prefix(count)))
            }
            #expect(diagnosis.codes == [.routeBlackhole])
            #expect(diagnosis.severity == (count == 1 ? .broken : .degraded))
        }
    }

    @Test func `a family without a route is a fault where the network or an address promises it`() {
        for (promise, codes) in [(String?.none, []), ("eth0 has the address 10.77.0.10", [VerdictCode.routeNoDefault])]
        {
            let diagnosis = Healthy.broken { evidence in
                evidence.sending[0].route = .known(.missing)
                evidence.sending[0].promise = promise
                evidence.gateways.removeFirst()
                evidence.reach.removeFirst()
                evidence.transport.packetSizes = []
            }
            #expect(diagnosis.codes == codes)
        }
    }

    @Test func `replies that arrive are the own input filter's`() throws {
        let diagnosis = Healthy.broken {
            $0.obstruct(443, .init(.inputFilter, "the packet filter inet filter input of this machine", hint: nil))
        }
        let verdict = try #require(diagnosis.verdicts.first)
        #expect(diagnosis.codes == [.firewallLocal])
        #expect(
            verdict.say
                == "replies from 203.0.113.80 (TCP port 443) arrive, and the packet filter inet filter input of this "
                + "machine drops them"
        )
    }

    @Test func `flows that are lost at random are loss, not a dead link`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.retry(flows: [6: 4])
            for index in evidence.performance.anchors.indices { evidence.performance.anchors[index].received = 24 }
        }
        #expect(diagnosis.codes == [.performanceLoss])
    }

    @Test(arguments: [[6: 5], [6: 3], [6: 0, 5: 0], [6: 2, 5: 0]])
    func `one flow, or one host, is no evidence of a dead link`(flows: [Int: Int]) {
        #expect(Healthy.broken { $0.retry(flows: flows) }.codes == [])
    }

    @Test func `a dead uplink beside one that works explains what is lost by it`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.share(with: Healthy.peer)
            // All anchors may be behind the dead one.
            evidence.cutOff([.ipv4])
            evidence.sending[0].sources.append(.init(Healthy.peer, answers: false))
        }
        #expect(diagnosis.codes == [.uplinkDown])
        let unresolved = Healthy.broken { evidence in
            evidence.share(with: Healthy.peer)
            var router = Healthy.router(Healthy.peer)
            router.interface = "eth1"
            router.hardwareAddresses = .known([])
            evidence.gateways.append(router)
        }
        #expect(unresolved.codes == [.gatewayUnresolved])
        #expect(unresolved.severity == .degraded)
    }

    @Test func `the gateway below a tunnel carries both families`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.cutOff()
            var router = Healthy.router(Healthy.gateway)
            router.hardwareAddresses = .known([])
            router.carriesTunnel = true
            evidence.gateways = [router]
        }
        #expect(diagnosis.codes == [.gatewayUnresolved])
    }

    @Test func `an MTU that removes IPv6 is broken where there is no IPv4`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].mtu = 1200
            evidence.links[0].addresses = []
            evidence.gateways = []
            evidence.reach = []
            evidence.sending = [AddressFamily.ipv4, .ipv6].map {
                var sending = SendEvidence($0)
                sending.route = .known(.missing)
                return sending
            }
        }
        #expect(diagnosis.codes == [.linkMTUTooSmall] && diagnosis.severity == .broken)
    }

    @Test func `a filter of one port hides nothing else`() {
        let dead = Healthy.broken { evidence in
            evidence.cutOff()
            evidence.obstruct(80, Self.filter)
        }
        #expect(dead.codes == [.wanDown, .firewallLocal])
        let nameless = Healthy.broken { evidence in
            evidence.obstruct(80, Self.filter)
            evidence.dns = .known(
                (evidence.dns.value ?? []).map {
                    var server = NameServerEvidence($0.address)
                    server.ipv4 = .silent
                    return server
                }
            )
        }
        #expect(nameless.codes == [.dnsUnreachable, .firewallLocal])
    }

    @Test func `a filter that drops every reply hides the gateway and the line`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.cutOff()
            let input = LocalObstacle(.inputFilter, "the packet filter inet filter input of this machine", hint: nil)
            for family in evidence.reach.indices {
                evidence.obstruct(80, input, family)
                evidence.obstruct(443, input, family)
            }
        }
        #expect(diagnosis.codes == [.firewallLocal])
    }

    @Test func `a proxy that reaches something is not at fault where one host is`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.proxies = proxies(failure: "CONNECT tunnel failed, response 503", isReached: true)
            evidence.proxies[1].failure = nil
        }
        #expect(diagnosis.codes == [] && diagnosis.notes.isEmpty)
    }

    @Test func `what a filter of this machine loses decides how bad it is`() {
        for (port, severity) in [(UInt16(80), Severity.degraded), (443, .broken)] {
            #expect(Healthy.broken { $0.obstruct(port, Self.filter) }.severity == severity)
        }
        let whole = Healthy.broken { evidence in
            evidence.obstruct(80, Self.filter)
            for index in evidence.reach[0].anchors.indices { evidence.reach[0].anchors[index].ports[443] = nil }
        }
        #expect(whole.severity == .broken)
    }

    @Test func `echo requests that are limited lose nothing where connections do not`() {
        for (repeated, codes) in [(0, []), (12, [VerdictCode.performanceLoss])] {
            let diagnosis = Healthy.broken { evidence in
                for index in evidence.performance.anchors.indices { evidence.performance.anchors[index].received = 20 }
                evidence.performance.connections = [.init(target: "a", made: 20, repeated: repeated)]
            }
            #expect(diagnosis.codes == codes)
            #expect(diagnosis.notes.contains { $0.code == .icmpFiltered } == codes.isEmpty)
        }
    }

    @Test func `datagrams that are lost are loss, whatever connections say`() {
        let diagnosis = Healthy.broken { evidence in
            for index in evidence.performance.anchors.indices {
                evidence.performance.anchors[index].received = 40
                evidence.performance.anchors[index].isEcho = false
            }
            evidence.performance.connections = [.init(target: "a", made: 20, repeated: 0)]
        }
        #expect(diagnosis.codes == [.performanceLoss])
    }

    @Test func `a name server beyond the gateway shows that the line works`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.cutOff()
            evidence.dns = .known([Healthy.nameServer(Healthy.second)])
        }
        #expect(diagnosis.codes == [.targetDown] && diagnosis.faultDomain == .remote)
    }

    @Test func `large packets that are lost towards this machine stall handshakes, not requests`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.failHandshakes(isSilent: true)
            evidence.transport.packetSizes[0].largest = 1400
            evidence.transport.packetSizes[0].transferStalls = .known(false)
        }
        #expect(diagnosis.codes == [.pmtuBlackhole])
        let verdict = try #require(diagnosis.verdicts.first)
        #expect(verdict.say.hasSuffix("are lost without an ICMP error, towards this machine"))
        #expect(verdict.evidence.contains(.init("direction", "received")))
    }

    @Test func `large packets that are lost towards this machine stall long answers of name servers`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.transport.packetSizes[0].largest = 1400
            evidence.transport.packetSizes[0].transferStalls = .known(false)
            guard var servers = evidence.dns.value else { return }
            for index in servers.indices { servers[index].textByStream = .silent }
            evidence.dns = .known(servers)
        }
        #expect(diagnosis.codes == [.pmtuBlackhole])
    }

    @Test func `TCP over the name servers' port shows that ports are filtered, not TCP`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.reach.removeLast()
            evidence.closePorts([80: .silent, 443: .silent])
        }
        #expect(Set(diagnosis.codes) == [.transportPortBlocked] && diagnosis.verdicts.count == 2)
    }

    @Test func `two owners of the gateway's address are no fault where nothing is lost`() {
        let owners = Set(["02:00:00:00:00:01", "02:00:00:00:00:66"])
        for (received, codes) in [(60, []), (40, [VerdictCode.gatewayARPConflict])] {
            let diagnosis = Healthy.broken { evidence in
                evidence.gateways[0].hardwareAddresses = .known(owners)
                evidence.performance.gateway?.received = received
            }
            #expect(diagnosis.codes == codes)
        }
    }

    @Test func `two DHCP servers with equal offers are redundancy`() {
        for (router, codes) in [(Healthy.gateway, []), (Healthy.peer, [VerdictCode.dhcpRogue])] {
            let diagnosis = Healthy.broken { evidence in
                evidence.links[0].dhcp = .known([
                    DHCPOffer(server: Healthy.gateway, router: Healthy.gateway),
                    DHCPOffer(server: Healthy.peer, router: router),
                ])
            }
            #expect(diagnosis.codes == codes)
        }
    }

    @Test func `the owner of the name server is the domain of its fault`() {
        for (address, domain) in [
            (Healthy.gateway, FaultDomain.gateway), (Healthy.server, .link), (Healthy.second, .remote),
        ] {
            let diagnosis = Healthy.broken { evidence in
                var server = NameServerEvidence(address)
                server.ipv4 = .silent
                evidence.dns = .known([server])
                evidence.onLink = [Healthy.server, Healthy.gateway]
            }
            #expect(diagnosis.codes == [.dnsUnreachable] && diagnosis.faultDomain == domain)
        }
    }

    @Test func `one cause in both families is one verdict`() throws {
        let ports = Healthy.broken { evidence in
            for family in evidence.reach.indices {
                for index in evidence.reach[family].anchors.indices {
                    evidence.reach[family].anchors[index].ports[443] = .silent
                }
            }
        }
        #expect(ports.codes == [.transportPortBlocked])
        let port = try #require(ports.verdicts.first)
        #expect(port.family == nil)
        #expect(
            port.say == "connections to TCP port 443 are dropped on the path, for all targets, by IPv4 and IPv6; "
                + "other ports work"
        )
        let holes = Healthy.broken { evidence in
            evidence.transport.packetSizes = [
                .init(.ipv4, largest: 1390, linkMTU: 1500, isAnnounced: false, transferStalls: .known(true)),
                .init(.ipv6, largest: 1396, linkMTU: 1500, isAnnounced: false, transferStalls: .known(true)),
            ]
        }
        #expect(holes.codes == [.pmtuBlackhole])
        let hole = try #require(holes.verdicts.first)
        #expect(
            hole.say == "IPv4 packets above 1390 and IPv6 packets above 1396 bytes are lost without an ICMP error"
        )
    }

    @Test func `an anchor that refuses connections while others accept them is down`() throws {
        let diagnosis = Healthy.broken { $0.reach[0].anchors[1].ports = [80: .refused, 443: .refused] }
        #expect(diagnosis.codes == [.targetDown])
        let verdict = try #require(diagnosis.verdicts.first)
        #expect(verdict.say == "b (203.0.113.80) answers, but accepts no connection to TCP port 80 and 443; others do")
    }

    @Test func `an address that the kernel should not choose is named`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.cutOff([.ipv4])
            evidence.sending[0].sources = [.init(Healthy.own, answers: false), .init(Healthy.peer, answers: true)]
        }
        #expect(diagnosis.codes == [.routeAsymmetric] && diagnosis.severity == .broken)
        let verdict = try #require(diagnosis.verdicts.first)
        #expect(
            verdict.say == "packets from 10.77.0.10, which the kernel chooses, get no reply; those from 10.77.0.20 do"
        )
    }

    @Test func `below a tunnel the device counts`() {
        let diagnosis = Healthy.broken { evidence in
            var tunnel = LinkEvidence("tun0")
            tunnel.isTunnel = true
            evidence.links[0].isUp = false
            evidence.links.insert(tunnel, at: 0)
        }
        #expect(diagnosis.codes == [.linkAdminDown])
    }

    @Test func `a user whose packets are dropped is named`() throws {
        let diagnosis = Healthy.broken { $0.blockedUsers = [.init(name: "alice", chain: "inet filter output")] }
        #expect(diagnosis.codes == [.firewallLocal] && diagnosis.severity == .warning)
        let verdict = try #require(diagnosis.verdicts.first)
        #expect(verdict.say.hasSuffix("drops everything that programs of the user alice send"))
    }
}

extension Evidence {
    fileprivate mutating func obstruct(_ port: UInt16, _ obstacle: LocalObstacle, _ family: Int = 0) {
        for index in reach[family].anchors.indices {
            let anchor = reach[family].anchors[index]
            var query = QueryEvidence(.anchor(anchor.name), anchor.address, .tcp(port))
            query.obstacle = obstacle
            queries.append(query)
            reach[family].anchors[index].ports[port] = .blocked
        }
    }

    /// Queries to the first anchor with so many further flows, of which so many were answered.
    fileprivate mutating func retry(flows: [Int: Int]) {
        for (index, (count, answered)) in flows.sorted(by: { $0.key > $1.key }).enumerated() {
            let address = index == 0 ? Healthy.address : Healthy.second
            var query = QueryEvidence(.anchor("\(index)"), address, .tcp(443))
            (query.flows, query.answered) = (count, answered)
            queries.append(query)
        }
    }

    /// The gateway shares the packets of IPv4 with another one, by which nothing answers.
    fileprivate mutating func share(with other: IPAddress) {
        uplinks = [UplinkEvidence("eth0", Healthy.gateway, .ipv4), UplinkEvidence("eth1", other, .ipv4)]
        uplinks[0].answers = true
    }

    fileprivate mutating func closePorts(_ ports: [UInt16: ReachEvidence.Connection]) {
        for family in reach.indices {
            for index in reach[family].anchors.indices { reach[family].anchors[index].ports = ports }
        }
        portal.checks = []
        portal.isHTTPSGenuine = .known(false)
        application.certificates = []
    }

    fileprivate mutating func silenceStreams() {
        guard var servers = dns.value else { return }
        for index in servers.indices { servers[index].stream = .silent }
        dns = .known(servers)
    }

    fileprivate mutating func failHandshakes(isSilent: Bool) {
        application.certificates = []
        portal.isHTTPSGenuine = .known(false)
        application.failedHandshakes = ["a", "b"].map {
            .init(anchor: $0, family: .ipv4, port: 443, isSilent: isSilent)
        }
    }
}
