// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import Testing

/// A fault, alone in a healthy network, and every word that is said of it.
struct Spoken: Sendable, CustomTestStringConvertible {
    let code: VerdictCode
    let severity: Severity
    let say: String
    let action: String
    let change: @Sendable (inout Evidence) -> Void

    init(
        _ code: VerdictCode,
        _ severity: Severity,
        _ say: String,
        _ action: String,
        change: @escaping @Sendable (inout Evidence) -> Void
    ) {
        self.code = code
        self.severity = severity
        self.say = say
        self.action = action
        self.change = change
    }

    var testDescription: String { code.rawValue }
}

/// The cable, addresses, and the machine itself.
private let nearby: [Spoken] = [
    Spoken(.linkNone, .broken, "there is no network interface", "check the driver and `ip link`") { $0.links = [] },
    Spoken(.linkAdminDown, .broken, "eth0 is down", "`ip link set eth0 up`") { $0.links[0].isUp = false },
    Spoken(
        .linkNoCarrier,
        .broken,
        "eth0 has no carrier",
        "check the cable, the switch port or the access point"
    ) { $0.links[0].hasCarrier = false },
    Spoken(
        .linkFlapping,
        .degraded,
        "eth0 lost its carrier once in 1.5 s",
        "replace the cable, then try another switch port"
    ) { $0.links[0].carrierChanges = 2 },
    Spoken(
        .linkIsolated,
        .broken,
        "eth0 has a carrier, but nothing is received: wrong VLAN or dead port",
        "check the VLAN of the switch port"
    ) { evidence in
        evidence.links[0].received = .known(0)
        evidence.links[0].dhcp = .known([])
        evidence.peers = []
        evidence.loseGateways()
    },
    Spoken(
        .linkMTUTooSmall,
        .degraded,
        "the MTU of eth0 is 1200: below 1280 the kernel removes IPv6",
        "`ip link set eth0 mtu 1500`, then add static IPv6 addresses again"
    ) { $0.links[0].mtu = 1200 },
    Spoken(
        .linkLoss,
        .degraded,
        "15 % of the packets on eth0 are lost already to the gateway",
        "check the cable or the radio, and the counters in `ip -s link show eth0`"
    ) { $0.loseOnLink(51) },
    Spoken(
        .linkClientIsolation,
        .warning,
        "10.77.0.20 on the same link does not answer; the gateway does",
        "switch off client isolation at the access point, or check that the peers are on"
    ) { $0.peers[0].answers = .known(false) },
    Spoken(
        .mdnsBlocked,
        .warning,
        "10.77.0.20 answers unicast mDNS; multicast to 224.0.0.251 is filtered",
        "allow multicast at the access point or switch (IGMP snooping needs a querier)"
    ) { $0.peers[0].answersMulticast = .known(false) },
    Spoken(
        .addressNone,
        .broken,
        "eth0 has no address; a DHCP server does answer",
        "start the DHCP client on eth0"
    ) { $0.links[0].addresses = [] },
    Spoken(
        .addressLinkLocalOnly,
        .broken,
        "eth0 has only a link-local address; no DHCP server answers",
        "check the DHCP server, or configure a static address"
    ) { evidence in
        evidence.links[0].addresses = [AddressEvidence(.v4(0xA9FE_0102))]
        evidence.links[0].dhcp = .known([])
    },
    Spoken(
        .addressDuplicate,
        .broken,
        "10.77.0.10 on eth0 is also used by 02:00:00:00:00:66",
        "change the address on one of the two hosts, and look for a static address inside the DHCP range"
    ) { $0.links[0].addresses[0].otherHolders = .known(["02:00:00:00:00:66"]) },
    Spoken(
        .addressDADFailed,
        .degraded,
        "2001:db8::a on eth0 is also used by another host, so the kernel does not use it",
        "change the address on one of the two hosts"
    ) { $0.links[0].addresses[1].hasFailedDetection = true },
    Spoken(
        .dhcpRogue,
        .degraded,
        "2 DHCP servers on eth0 offer different networks: 10.77.0.1 and 10.77.0.20",
        "find the rogue server and switch it off"
    ) { evidence in
        evidence.links[0].dhcp = .known(
            [Healthy.gateway, Healthy.peer].map { DHCPOffer(server: $0, router: $0) }
        )
    },
    Spoken(
        .routerRogue,
        .degraded,
        "2 routers announce different IPv6 prefixes on eth0: 2001:db8::a%eth0 and fe80::1%eth0",
        "find the rogue router and switch off its router advertisements"
    ) { evidence in
        evidence.links[0].routers = .known([
            RouterAnnouncement(source: Healthy.gateway6, prefixes: [IPPrefix(Healthy.own6, length: 64)]),
            RouterAnnouncement(source: Healthy.own6, prefixes: []),
        ])
    },
    Spoken(
        .hostResources,
        .degraded,
        "no local port is left (EADDRNOTAVAIL), so that tests cannot run",
        "`ss -s` counts connections, `sysctl net.ipv4.ip_local_port_range` shows the ports; restart what uses them"
    ) { $0.shortage = "no local port is left (EADDRNOTAVAIL)" },
    Spoken(
        .hostResources,
        .degraded,
        "no file descriptor of this process is left (EMFILE), so that tests cannot run",
        "raise the limit of open files: LimitNOFILE= with `systemctl edit nwpath` for the service, "
            + "`ulimit -n` for what a shell starts"
    ) { $0.shortage = "no file descriptor of this process is left (EMFILE)" },
    Spoken(
        .hostResources,
        .degraded,
        "no file descriptor of this machine is left (ENFILE), so that tests cannot run",
        "`sysctl fs.file-nr` shows the open files and their limit; raise it with `sysctl -w fs.file-max=NUMBER`, "
            + "or restart what uses them"
    ) { $0.shortage = "no file descriptor of this machine is left (ENFILE)" },
    Spoken(
        .hostResources,
        .degraded,
        "no thread is left (EAGAIN), so that tests cannot run",
        "raise the limit of threads: TasksMax= with `systemctl edit nwpath` for the service, "
            + "`ulimit -u` for what a shell starts"
    ) { $0.shortage = "no thread is left (EAGAIN)" },
    Spoken(
        .hostResources,
        .degraded,
        "no memory is left (ENOMEM), so that tests cannot run",
        "`free -m` shows the memory; restart what uses it"
    ) { $0.shortage = "no memory is left (ENOMEM)" },
    Spoken(
        .firewallLocal,
        .broken,
        "a local firewall rule drops every IPv6 packet that this machine sends",
        "`nft list ruleset`: check the output hook"
    ) { $0.sending[1].refused = 10 },
    Spoken(
        .routeNoDefault,
        .broken,
        "there is no default route",
        "`ip route show default`, then `ip route add default via GATEWAY`"
    ) { evidence in
        for place in evidence.sending.indices { evidence.sending[place].route = .known(.missing) }
    },
    Spoken(
        .routeBlackhole,
        .broken,
        "the IPv6 route `prohibit default` discards packets (prohibit)",
        "`ip -6 route del prohibit default`"
    ) { $0.sending[1].route = .known(.discarded(type: "prohibit", text: "prohibit default")) },
    Spoken(
        .routeDeadTunnel,
        .broken,
        "the IPv4 default route uses the tunnel wg0, which passes no traffic; eth0 works",
        "restart the VPN, or take wg0 down"
    ) { $0.sending[0].tunnel = .init(interface: "wg0", device: "eth0", answers: false, answersAround: true) },
    Spoken(
        .routeAsymmetric,
        .warning,
        "packets from 198.51.100.53 get no reply; those from 10.77.0.10 do",
        "add a rule for each source: `ip rule add from ADDRESS table TABLE`"
    ) { $0.sending[0].sources.append(.init(Healthy.second, answers: false)) },
    Spoken(
        .routeWrongGateway,
        .broken,
        "the default route points to 10.77.0.1, which does not forward packets; DHCP offers 10.77.0.20",
        "`ip route replace default via 10.77.0.20 dev eth0`"
    ) { evidence in
        let offer = DHCPOffer(server: Healthy.peer, router: Healthy.peer, routerAnswers: .known(true))
        evidence.links[0].dhcp = .known([offer])
        evidence.cutOff([.ipv4])
    },
    Spoken(
        .gatewayUnresolved,
        .broken,
        "the gateway fe80::1 on eth0 does not answer neighbour solicitations while other hosts do",
        "check that the router is on and that fe80::1 is its address"
    ) { $0.gateways[1].hardwareAddresses = .known([]) },
    Spoken(
        .gatewayARPConflict,
        .degraded,
        "2 hosts answer ARP for the gateway 10.77.0.1: 02:00:00:00:00:01 and 02:00:00:00:00:66",
        "find the other host that uses the router's address (misconfiguration or spoofing)"
    ) { evidence in
        evidence.gateways[0].hardwareAddresses = .known(["02:00:00:00:00:01", "02:00:00:00:00:66"])
        evidence.performance.gateway?.received = 40
    },
    Spoken(
        .gatewayNotForwarding,
        .broken,
        "the gateway 10.77.0.1 answers ARP but does not forward packets",
        "restart the router"
    ) { evidence in
        evidence.gateways[0].answersEcho = .known(false)
        evidence.gateways[0].answersHopLimit = .known(false)
        evidence.cutOff([.ipv4])
    },
]

/// What lies beyond the gateway.
private let beyond: [Spoken] = [
    Spoken(
        .captivePortal,
        .broken,
        "the network requires a login before it forwards packets",
        "open any http:// page in a browser and log in"
    ) { $0.portal.checks = [.init(anchor: "a", status: 511)] },
    Spoken(.captiveAPI, .info, "the network announces a captive portal API", "nothing") {
        $0.portal.api = .known(.init(isCaptive: false))
    },
    Spoken(
        .httpIntercepted,
        .warning,
        "plain HTTP to a is intercepted (status 200); HTTPS is not",
        "check for a proxy or filter, or use HTTPS only"
    ) { $0.portal.checks = [.init(anchor: "a", status: 200)] },
    Spoken(
        .wanDown,
        .broken,
        "the gateway is reachable, but nothing beyond it answers",
        "check the modem and the provider"
    ) { $0.cutOff() },
    Spoken(
        .wanDown,
        .broken,
        "neither the gateway nor anything beyond it answers",
        "check the router, then the modem and the provider"
    ) { evidence in
        evidence.cutOff()
        for place in evidence.gateways.indices {
            evidence.gateways[place].hardwareAddresses = .unknown(because: "needs CAP_NET_RAW")
            evidence.gateways[place].answersEcho = .known(false)
            evidence.gateways[place].answersHopLimit = .known(false)
        }
    },
    Spoken(
        .upstreamBlackhole,
        .broken,
        "packets are lost after hop 2 (198.18.0.1), beyond the gateway",
        "report to the provider: no reply comes from beyond 198.18.0.1"
    ) { evidence in
        evidence.cutOff()
        evidence.reach[0].hops = [.init(1, Healthy.gateway), .init(2, Healthy.provider)]
    },
    Spoken(
        .upstreamLoop,
        .broken,
        "packets loop beyond the gateway: 198.18.0.1 reports that their hop limit was exceeded",
        "report to the provider: a routing loop at 198.18.0.1"
    ) { evidence in
        evidence.cutOff()
        evidence.reach[0].loopAt = Healthy.provider
    },
    Spoken(
        .ipv4Broken,
        .broken,
        "IPv4 does not get beyond the gateway, packets are lost after hop 2 (198.18.0.1); IPv6 works",
        "ask the provider, and check the router's NAT"
    ) { evidence in
        evidence.cutOff([.ipv4])
        evidence.reach[0].hops = [.init(2, Healthy.provider)]
    },
    Spoken(
        .ipv6Broken,
        .broken,
        "IPv6 does not get beyond the gateway, according to fe80::1; IPv4 works",
        "ask the provider, or disable IPv6 until it works: every connection tries it first"
    ) { evidence in
        evidence.cutOff([.ipv6])
        evidence.reach[1].unreachableFrom = Healthy.gateway6
    },
    Spoken(
        .dnsNoConfig,
        .broken,
        "no name server is configured",
        "check /etc/resolv.conf and the DHCP client"
    ) { $0.dns = .known([]) },
    Spoken(
        .dnsUnreachable,
        .broken,
        "the name server 10.77.0.53 does not answer",
        "try `dig @10.77.0.53 example.com`; use another name server"
    ) { $0.changeServers(to: [Healthy.server]) { $0.ipv4 = .silent } },
    Spoken(
        .dnsServerDead,
        .degraded,
        "the name server 198.51.100.53 does not answer; 1 of 2 do",
        "remove 198.51.100.53 from the configuration: programs wait 5 s for it"
    ) { evidence in
        var dead = NameServerEvidence(Healthy.second)
        dead.ipv4 = .silent
        evidence.dns = .known([Healthy.nameServer(Healthy.server), dead])
    },
    Spoken(
        .dnsServfail,
        .broken,
        "10.77.0.53 answers every query with SERVFAIL",
        "check the log of the server: it cannot reach other servers, or DNSSEC validation fails"
    ) { $0.changeServers(to: [Healthy.server]) { $0.ipv4 = .failed(code: "SERVFAIL") } },
    Spoken(
        .dnsSlow,
        .degraded,
        "name servers take 2.3 s per query, not counting the round trip",
        "use another name server"
    ) { evidence in
        evidence.changeServers(to: [Healthy.server]) { server in
            server = Healthy.nameServer(server.address)
            server.latency = .milliseconds(2301)
        }
    },
    Spoken(
        .dnsAAAATimeout,
        .degraded,
        "10.77.0.53 answers A queries but not AAAA queries: each lookup takes seconds",
        "use another name server, or `options timeout:1 attempts:1` in /etc/resolv.conf"
    ) { evidence in
        evidence.changeServers(to: [Healthy.server]) { server in
            server.ipv4 = .answered([])
            server.ipv6 = .silent
        }
    },
    Spoken(
        .dnsNXRewrite,
        .warning,
        "10.77.0.53 answers 10.77.0.20 for a name that does not exist",
        "use another name server: this one invents addresses for names that do not exist"
    ) { $0.changeServers(to: [Healthy.server]) { $0.nonexistent = .answered([Healthy.peer]) } },
    Spoken(
        .dnsWrongAnswer,
        .broken,
        "10.77.0.53 answers that there is no such name for a name whose address is 203.0.113.80",
        "use another name server: this one, or a device on the path to it, changes answers"
    ) { evidence in
        evidence.changeServers(to: [Healthy.server]) { server in
            server.known = .noSuchName
            server.expected = [Healthy.address]
        }
    },
    Spoken(
        .dnsTCPBlocked,
        .degraded,
        "10.77.0.53 answers over UDP but not over TCP, so large answers are lost",
        "open TCP port 53 in the firewall"
    ) { evidence in
        evidence.changeServers(to: [Healthy.server]) { server in
            server.ipv4 = .answered([])
            server.stream = .silent
        }
    },
]

/// What works, and how well.
private let quality: [Spoken] = [
    Spoken(
        .transportPortBlocked,
        .broken,
        "IPv4 connections to TCP port 443 are dropped on the path, for all targets; other ports work",
        "ask the operator of the firewall to open TCP port 443"
    ) { evidence in
        for place in evidence.reach[0].anchors.indices { evidence.reach[0].anchors[place].ports[443] = .silent }
    },
    Spoken(
        .transportPortReset,
        .broken,
        "IPv6 connections to TCP port 80 are refused on the path, for all targets; other ports work",
        "ask the operator of the firewall to open TCP port 80"
    ) { evidence in
        for place in evidence.reach[1].anchors.indices { evidence.reach[1].anchors[place].ports[80] = .refused }
    },
    Spoken(
        .transportUDPBlocked,
        .degraded,
        "UDP is dropped on the path; TCP works",
        "ask the operator of the firewall to allow outgoing UDP: QUIC, calls, VPNs and time need it"
    ) { evidence in
        for family in evidence.reach.indices {
            for place in evidence.reach[family].anchors.indices {
                evidence.reach[family].anchors[place].datagrams = .known(false)
            }
        }
        evidence.transport.timeAnswers = .known(false)
    },
    Spoken(
        .pmtuBlackhole,
        .broken,
        "IPv6 packets above 1396 bytes are lost without an ICMP error",
        "clamp the TCP segment size to 1336 at the router, or let ICMP \"too big\" through"
    ) { evidence in
        evidence.transport.packetSizes = [
            .init(.ipv6, largest: 1396, linkMTU: 1500, isAnnounced: false, transferStalls: .known(true))
        ]
    },
    Spoken(
        .pmtuReduced,
        .info,
        "IPv4 packets up to 1420 bytes pass; path MTU discovery works",
        "nothing"
    ) { $0.transport.packetSizes = [.init(.ipv4, largest: 1420, linkMTU: 1500, isAnnounced: true)] },
    Spoken(
        .tlsIntercepted,
        .broken,
        "the TLS certificates of all tested hosts fail to verify: unknown authority",
        "check for a proxy that intercepts TLS, and decide whether to trust its certificate authority"
    ) { $0.application.certificates = [.init(anchor: "a", failure: "unknown authority")] },
    Spoken(
        .clockSkew,
        .degraded,
        "the clock of this machine is 90 s slow",
        "`timedatectl set-ntp true`, or check the time service: certificates depend on it"
    ) { $0.application.clockOffset = .known(.seconds(-90)) },
    Spoken(
        .targetDown,
        .warning,
        "a (203.0.113.80) does not answer; others do",
        "contact the operator of a"
    ) { evidence in
        evidence.reach[0].anchors[0].echo = .known(false)
        evidence.reach[0].anchors[0].datagrams = .known(false)
        evidence.reach[0].anchors[0].ports = [:]
    },
    Spoken(
        .performanceLoss,
        .degraded,
        "10 % of the packets are lost beyond the gateway; almost none on the link",
        "report it to the provider, with the time of day"
    ) { evidence in
        for place in evidence.performance.anchors.indices { evidence.performance.anchors[place].received = 54 }
    },
    Spoken(
        .performanceHighLatency,
        .degraded,
        "the round trip to the Internet takes 620 ms; expected are at most 250 ms",
        "check for a VPN, a satellite link, or a full queue"
    ) { $0.performance.anchors = [Healthy.train("a", median: .milliseconds(620))] },
    Spoken(
        .performanceJitter,
        .warning,
        "round trips vary by 81 ms around 40 ms",
        "check for heavy traffic on the line, or a weak radio link"
    ) { evidence in
        var train = Healthy.train("a", median: .milliseconds(40))
        train.ninetyFifthPercentile = .milliseconds(120)
        evidence.performance.anchors = [train]
    },
    Spoken(
        .performanceBufferbloat,
        .degraded,
        "latency grows from 12 ms to 1.2 s under load (41 round trips per minute)",
        "switch on CAKE or FQ-CoDel at the router"
    ) { evidence in
        evidence.performance.load = .init(
            idle: .milliseconds(12),
            loaded: .milliseconds(1200),
            roundTripsPerMinute: 41,
            down: 20,
            up: 2
        )
    },
    Spoken(
        .trafficStalled,
        .degraded,
        "8 of 8 connections through 192.0.2.1 on eth0 unanswered for 1.4 s; the gateway itself answers",
        "check the modem and the provider"
    ) {
        $0.traffic = [
            Healthy.connections(.stalled, "8 of 8 connections through 192.0.2.1 on eth0 unanswered for 1.4 s")
        ]
    },
    Spoken(
        .trafficLoss,
        .degraded,
        "4.8 % of segments through 192.0.2.1 on eth0 sent again",
        "check the cable or radio link, then the provider"
    ) { $0.traffic = [Healthy.connections(.lossy, "4.8 % of segments through 192.0.2.1 on eth0 sent again")] },
    Spoken(
        .trafficDestinationStalled,
        .warning,
        "3 of 3 connections to 198.51.100.0/24 unanswered for 2.1 s; other destinations answer",
        "report to the operator of the hosts in 198.51.100.0/24"
    ) { evidence in
        evidence.reach = []
        evidence.traffic = [
            Healthy.connections(
                .stalled,
                "3 of 3 connections to 198.51.100.0/24 unanswered for 2.1 s",
                to: "198.51.100.0/24",
                othersAnswer: true
            )
        ]
    },
    Spoken(
        .trafficDestinationStalled,
        .warning,
        "The only connection to 198.51.100.0/24 unanswered for 5 s; no other destination is in use",
        "check the router and the provider, then the hosts in 198.51.100.0/24"
    ) { evidence in
        evidence.reach = []
        let sentence = "The only connection to 198.51.100.0/24 unanswered for 5 s"
        evidence.traffic = [Healthy.connections(.stalled, sentence, to: "198.51.100.0/24")]
    },
    Spoken(
        .icmpFiltered,
        .info,
        "ICMP echo is filtered; TCP works",
        "nothing; `ping` is no valid test here"
    ) { evidence in
        for family in evidence.reach.indices {
            for place in evidence.reach[family].anchors.indices {
                evidence.reach[family].anchors[place].echo = .known(false)
            }
        }
    },
]

extension Evidence {
    /// Leaves only these name servers, each as `change` has it and otherwise not asked.
    fileprivate mutating func changeServers(to servers: [IPAddress], _ change: (inout NameServerEvidence) -> Void) {
        dns = .known(
            servers.map { address in
                var server = NameServerEvidence(address)
                server.ipv4 = .answered([])
                change(&server)
                return server
            }
        )
    }
}

@Suite struct SentenceTests {
    @Test(arguments: nearby + beyond + quality + silences)
    func `a fault alone has one code, one sentence and one action`(spoken: Spoken) throws {
        let diagnosis = Healthy.broken(by: spoken.change)
        let told = spoken.severity == .info ? diagnosis.notes : diagnosis.verdicts
        #expect(told.map(\.code) == [spoken.code])
        #expect(spoken.severity > .info || diagnosis.verdicts.isEmpty)
        let verdict = try #require(told.first)
        #expect(verdict.severity == spoken.severity)
        #expect(verdict.say == spoken.say)
        #expect(verdict.action == spoken.action)
    }

    @Test func `every code of the vocabulary is spoken here`() {
        // Throughput is judged by the operator's figures alone, which a healthy network does not have.
        let spoken = Set((nearby + beyond + quality + silences).map(\.code)).union([.performanceLowThroughput])
        // What is said of a destination, and what counters show, are in tests of their own.
        #expect(spoken == Set(VerdictCode.allCases.filter { $0.layer <= .performance && !$0.isOfCounters }))
    }
}
