// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import Testing

@Suite struct LocalRuleTests {
    @Test func `no default route hides what lies behind it`() {
        let diagnosis = Healthy.broken { evidence in
            for place in evidence.sending.indices { evidence.sending[place].route = .known(.missing) }
            evidence.gateways = []
            evidence.cutOff()
        }
        #expect(diagnosis.codes == [.routeNoDefault] && diagnosis.faultDomain == .host)
        #expect(diagnosis.state(.performance) == .hidden(by: .routeNoDefault))
    }

    @Test func `a route that throws packets away is named`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.sending[0].route = .known(.discarded(type: "blackhole", text: "blackhole default"))
            evidence.cutOff([.ipv4])
        }
        #expect(diagnosis.codes == [.routeBlackhole])
        #expect(try #require(diagnosis.verdicts.first).action == "`ip route del blackhole default`")
        #expect(diagnosis.masked.map(\.verdict.code) == [.ipv4Broken])
    }

    @Test func `a filter is one verdict when it stops everything, and one of a family otherwise`() {
        let all = Healthy.broken { evidence in
            for place in evidence.sending.indices { evidence.sending[place].refused = 10 }
            evidence.loseGateways()
        }
        #expect(all.codes == [.firewallLocal] && all.verdicts.first?.family == nil)
        let one = Healthy.broken { evidence in
            evidence.sending[1].refused = 10
            evidence.cutOff([.ipv6])
        }
        #expect(one.codes == [.firewallLocal] && one.verdicts.first?.family == .ipv6)
        let some = Healthy.broken { $0.sending[0].refused = 9 }
        #expect(some.codes == [])
        let untried = Healthy.broken { evidence in
            for place in evidence.sending.indices { evidence.sending[place].attempts = 0 }
        }
        #expect(untried.codes == [])
    }

    @Test(arguments: [(answers: false, around: true, isDead: true), (false, false, false), (true, true, false)])
    func `a tunnel that carries nothing is told only when the device below works`(
        answers: Bool,
        around: Bool,
        isDead: Bool
    ) {
        let diagnosis = Healthy.broken { evidence in
            evidence.sending[0].tunnel = .init(
                interface: "wg0",
                device: "eth0",
                answers: answers,
                answersAround: around
            )
        }
        #expect(diagnosis.codes == (isDead ? [.routeDeadTunnel] : []))
    }

    @Test func `a tunnel that carries neither family is one fault, two tunnels are two`() throws {
        func tunnels(_ names: [String]) -> Diagnosis {
            Healthy.broken { evidence in
                for (place, name) in names.enumerated() {
                    evidence.sending[place].tunnel = .init(
                        interface: name,
                        device: "eth0",
                        answers: false,
                        answersAround: true
                    )
                }
            }
        }
        let one = tunnels(["tun0", "tun0"])
        #expect(one.codes == [.routeDeadTunnel] && one.verdicts.first?.family == nil)
        #expect(try #require(one.verdicts.first).say.hasPrefix("the default route uses the tunnel tun0"))
        let two = tunnels(["tun0", "tun1"]).verdicts
        #expect(two.map(\.family) == [.ipv4, .ipv6])
        #expect(try #require(two.last).say.hasPrefix("the IPv6 default route uses the tunnel tun1"))
    }

    @Test func `a second address that nobody answers has no rule of its own`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.sending[0].sources.append(.init(Healthy.second, answers: false))
        }
        #expect(diagnosis.codes == [.routeAsymmetric])
        #expect(try #require(diagnosis.verdicts.first).say.hasPrefix("packets from 198.51.100.53 get no reply"))
        let none = Healthy.broken { evidence in
            evidence.sending[0].sources = [
                .init(Healthy.own, answers: false), .init(Healthy.second, answers: false),
            ]
        }
        #expect(none.codes == [])
    }

    @Test func `a gateway that leads nowhere while DHCP offers another one is the wrong one`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].dhcp = .known([
                DHCPOffer(server: Healthy.peer, router: Healthy.peer, routerAnswers: .known(true))
            ])
            evidence.gateways[0].answersEcho = .known(false)
            evidence.gateways[0].answersHopLimit = .known(false)
            evidence.cutOff([.ipv4])
        }
        #expect(diagnosis.codes == [.routeWrongGateway])
        #expect(Set(diagnosis.masked.map(\.verdict.code)) == [.gatewayNotForwarding, .ipv4Broken])
        #expect(
            try #require(diagnosis.verdicts.first).action == "`ip route replace default via 10.77.0.20 dev eth0`"
        )
    }
}

@Suite struct GatewayRuleTests {
    @Test func `a gateway that does not answer hides everything above, wrong names and clocks included`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.loseGateways()
            evidence.dns = .known([Healthy.nameServer(Healthy.server)])
            evidence.application.clockOffset = .known(.seconds(90))
        }
        #expect(diagnosis.codes == [.gatewayUnresolved])
        #expect(diagnosis.masked.contains { $0.verdict.code == .clockSkew && $0.cause == .gatewayUnresolved })
        let first = try #require(diagnosis.verdicts.first)
        #expect(first.say == "the gateway 10.77.0.1 on eth0 does not answer ARP while other hosts do")
        #expect(diagnosis.state(.dns) == .hidden(by: .gatewayUnresolved))
    }

    @Test func `the gateway of one family hides that family alone`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.gateways[1].hardwareAddresses = .known([])
            evidence.cutOff([.ipv6])
            evidence.loseOnLink(30)
        }
        #expect(Set(diagnosis.codes) == [.gatewayUnresolved, .linkLoss])
        #expect(diagnosis.masked.map(\.verdict.code) == [.ipv6Broken])
    }

    @Test func `one of two gateways may be gone`() {
        let diagnosis = Healthy.broken { evidence in
            var twin = Healthy.router(Healthy.peer)
            twin.hardwareAddresses = .known([])
            evidence.gateways.append(twin)
        }
        #expect(diagnosis.codes == [.gatewayUnresolved] && diagnosis.severity == .degraded)
    }

    @Test func `two answers for one gateway are a conflict, which explains loss and a dead family`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.gateways[0].hardwareAddresses = .known(["02:00:00:00:00:01", "02:00:00:00:00:66"])
            evidence.cutOff([.ipv4])
            evidence.performance.anchors = [Healthy.train("a", median: .milliseconds(400))]
            evidence.loseOnLink(30)
        }
        #expect(diagnosis.codes == [.gatewayARPConflict])
        #expect(Set(diagnosis.masked.map(\.verdict.code)) == [.linkLoss, .ipv4Broken, .performanceHighLatency])
    }

    @Test func `a router that answers ARP and nothing else is hung`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.cutOff()
            for place in evidence.gateways.indices {
                evidence.gateways[place].answersEcho = .known(false)
                evidence.gateways[place].answersHopLimit = .known(false)
            }
        }
        #expect(Set(diagnosis.codes) == [.gatewayNotForwarding])
        #expect(diagnosis.masked.map(\.verdict.code).contains(.wanDown))
    }
}

@Suite struct ReachRuleTests {
    @Test func `hops of two families are told once`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.cutOff()
            evidence.reach[0].hops = [.init(1, Healthy.gateway)]
            evidence.reach[1].hops = [.init(1, Healthy.gateway6)]
        }
        #expect(diagnosis.codes == [.wanDown])
        #expect(try #require(diagnosis.verdicts.first).evidence == [.init("hops", "1:10.77.0.1")])
    }

    @Test func `the gateway alone answers: the line is down`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.cutOff()
            evidence.dns = .known([NameServerEvidence(Healthy.second)])
        }
        #expect(diagnosis.codes == [.wanDown] && diagnosis.faultDomain == .provider)
        #expect(try #require(diagnosis.verdicts.first).confidence == .likely)
    }

    @Test func `somebody who says that there is no way is believed`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.cutOff()
            evidence.reach[0].unreachableFrom = Healthy.gateway
        }
        let verdict = try #require(diagnosis.verdicts.first)
        #expect(diagnosis.codes == [.wanDown] && verdict.confidence == .certain)
        #expect(verdict.say == "10.77.0.1 reports that the Internet is unreachable")
    }

    @Test func `packets that vanish further on name the last router`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.cutOff()
            evidence.reach[0].hops = [.init(1, Healthy.gateway), .init(2, Healthy.provider)]
        }
        #expect(diagnosis.codes == [.upstreamBlackhole])
        #expect(
            try #require(diagnosis.verdicts.first).say
                == "packets are lost after hop 2 (198.18.0.1), beyond the gateway"
        )
    }

    @Test func `one ordinary packet whose hop limit ran out proves a loop`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.cutOff()
            evidence.reach[0].loopAt = Healthy.provider
            evidence.reach[0].hops = [.init(1, Healthy.gateway), .init(2, Healthy.provider)]
        }
        #expect(diagnosis.codes == [.upstreamLoop])
    }

    @Test(arguments: [(family: AddressFamily.ipv4, code: VerdictCode.ipv4Broken), (.ipv6, .ipv6Broken)])
    func `one family that leads nowhere is broken while the other one works`(
        family: AddressFamily,
        code: VerdictCode
    ) throws {
        let diagnosis = Healthy.broken { $0.cutOff([family]) }
        #expect(diagnosis.codes == [code])
        #expect(try #require(diagnosis.verdicts.first).say.hasSuffix("; \(family == .ipv4 ? "IPv6" : "IPv4") works"))
    }

    @Test func `any answer of any protocol is an answer`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.cutOff([.ipv4])
            evidence.reach[0].anchors[0].ports[443] = .refused
        }
        #expect(!diagnosis.codes.contains(.ipv4Broken))
    }
}

@Suite struct PortalRuleTests {
    @Test func `a portal hides the line, ports, time and names that it rewrites`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.cutOff([.ipv6])
            evidence.portal.checks = ["a", "b"].map {
                .init(anchor: $0, status: 302, location: "http://login.example/")
            }
            evidence.portal.isHTTPSGenuine = .known(false)
            evidence.application.certificates = [.init(anchor: "a", failure: "self-signed")]
            evidence.application.clockOffset = .known(.seconds(30))
            var server = Healthy.nameServer(Healthy.server)
            server.nonexistent = .answered([Healthy.gateway])
            server.known = .answered([Healthy.gateway])
            evidence.dns = .known([server])
        }
        #expect(diagnosis.codes == [.captivePortal])
        #expect(try #require(diagnosis.verdicts.first).action == "log in at http://login.example/")
        #expect(diagnosis.state(.transport) == .hidden(by: .captivePortal))
        #expect(diagnosis.state(.dns) == .sound)
    }

    @Test func `what the network itself announces is certain`() throws {
        let captive = Healthy.broken { evidence in
            evidence.portal.api = .known(.init(isCaptive: true, portal: "https://login.example/"))
        }
        #expect(captive.codes == [.captivePortal])
        #expect(try #require(captive.verdicts.first).confidence == .certain)
        let free = Healthy.broken { $0.portal.api = .known(.init(isCaptive: false)) }
        #expect(free.codes == [] && free.notes.map(\.code) == [.captiveAPI])
    }

    @Test(arguments: [
        (status: 511, isGenuine: true, code: VerdictCode?.some(.captivePortal)), (200, false, .captivePortal),
        (200, true, .httpIntercepted), (500, true, nil),
    ])
    func `the status and HTTPS together decide`(status: Int, isGenuine: Bool, code: VerdictCode?) {
        let diagnosis = Healthy.broken { evidence in
            evidence.portal.checks = ["a", "b"].map { .init(anchor: $0, status: status) }
            evidence.portal.isHTTPSGenuine = .known(isGenuine)
        }
        #expect(diagnosis.codes == [code].compactMap(\.self))
    }

    @Test func `one genuine answer shows that the way is free`() {
        let diagnosis = Healthy.broken { $0.portal.checks[0] = .init(anchor: "a", status: 302) }
        #expect(diagnosis.codes == [])
    }
}
