// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import Testing

/// Evidence of a destination that works, for tests to break in one place.
enum Working {
    static let address = IPAddress.v4(0xCB00_7150)
    static let address6 = Healthy.address6

    static func path(_ address: IPAddress, gateway: IPAddress? = Healthy.gateway) -> DestinationEvidence.Path {
        var path = DestinationEvidence.Path(ScopedAddress(address))
        path.route = .known(.found(interface: "eth0", gateway: gateway))
        path.echo = .known(true)
        path.roundTrip = .milliseconds(12)
        path.connection = .known(.connected)
        path.connectTime = .milliseconds(13)
        return path
    }

    static func destination(
        _ service: DestinationEvidence.Service = .page(isSecure: true),
        _ change: (inout DestinationEvidence) -> Void = { _ in }
    ) -> DestinationEvidence {
        var destination = DestinationEvidence("https://a.test/", host: "a.test", port: 443, service)
        destination.lookup = .known(.found)
        destination.paths = [path(address), path(address6)]
        destination.exchange = .known(.answered(status: 200, location: nil, isUpgraded: false))
        change(&destination)
        return destination
    }

    /// What a judge says of a destination alone, in a network that was not looked at.
    static func judged(
        _ service: DestinationEvidence.Service = .page(isSecure: true),
        _ change: (inout DestinationEvidence) -> Void = { _ in }
    ) -> Diagnosis {
        var evidence = Evidence()
        evidence.isNetworkExamined = false
        evidence.destination = destination(service, change)
        return RuleEvaluator().evaluate(evidence)
    }

    /// What a judge says of a destination that is silent in a network that `change` breaks.
    static func masked(
        _ destination: DestinationEvidence = silent,
        _ change: (inout Evidence) -> Void = { _ in }
    ) -> Diagnosis {
        Healthy.broken { evidence in
            evidence.destination = destination
            change(&evidence)
        }
    }

    static var silent: DestinationEvidence { destination { $0.silence() } }
}

extension DestinationEvidence {
    mutating func silence(_ connection: ReachEvidence.Connection = .silent, echo: Bool = false) {
        for place in paths.indices {
            paths[place].echo = .known(echo)
            paths[place].connection = .known(connection)
        }
        exchange = .notAsked
    }

    mutating func reroute(_ route: DestinationEvidence.Route) {
        for place in paths.indices {
            paths[place] = Path(paths[place].address)
            paths[place].route = .known(route)
        }
        exchange = .notAsked
    }
}

/// A destination that is broken in one place, and what is said of it.
private struct Broken: Sendable, CustomTestStringConvertible {
    let code: VerdictCode
    let say: String
    let action: String
    let service: DestinationEvidence.Service
    let change: @Sendable (inout DestinationEvidence) -> Void

    init(
        _ code: VerdictCode,
        _ say: String,
        _ action: String,
        _ service: DestinationEvidence.Service = .page(isSecure: true),
        change: @escaping @Sendable (inout DestinationEvidence) -> Void
    ) {
        self.code = code
        self.say = say
        self.action = action
        self.service = service
        self.change = change
    }

    var testDescription: String { code.rawValue }
}

private let both = "203.0.113.80 and 2001:db8:ff::80"

private let finding: [Broken] = [
    Broken(
        .destinationNoSuchName,
        "there is no host named a.test",
        "check the spelling, or contact the operator of the domain"
    ) { $0.lookup = .known(.noSuchName) },
    Broken(
        .destinationNoAddress,
        "the name a.test has no address",
        "check the spelling, or ask the operator of the domain to add an A or AAAA record"
    ) { $0.lookup = .known(.noAddress) },
    Broken(
        .destinationUnresolved,
        "the name a.test could not be looked up: no answer in time",
        "contact the operator of the name servers of a.test; `nwpath dns` shows those of this machine"
    ) { $0.lookup = .known(.failed("no answer in time")) },
    Broken(
        .destinationNoRoute,
        "there is no route to a.test (\(both))",
        "`ip route get 203.0.113.80`, then add a route or a default route"
    ) { $0.reroute(.missing) },
    Broken(
        .destinationDiscarded,
        "the IPv4 route `blackhole 203.0.113.0/24` discards packets to a.test (blackhole)",
        "`ip route del blackhole 203.0.113.0/24`"
    ) { $0.reroute(.discarded(type: "blackhole", text: "blackhole 203.0.113.0/24")) },
    Broken(
        .destinationBlocked,
        "a local firewall rule drops packets to a.test (\(both))",
        "`nft list ruleset`: check the output hook"
    ) { destination in
        destination.silence()
        for place in destination.paths.indices { destination.paths[place].isRefused = true }
    },
    Broken(
        .destinationUnreachable,
        "198.18.0.1 reports that a.test (\(both)) is unreachable",
        "contact the operator of 198.18.0.1, or a.test itself"
    ) { destination in
        destination.silence()
        destination.paths[0].unreachableFrom = Healthy.provider
    },
    Broken(
        .destinationSilent,
        "no reply comes from a.test (\(both))",
        "contact the operator of a.test: it is down, or a filter drops packets to it"
    ) { $0.silence() },
    Broken(
        .destinationSilent,
        "no reply comes from a.test (\(both))",
        "contact the operator of a.test: it is down, or a filter drops packets to it; "
            + "`nwpath diagnose a.test:PORT` tests a port that matters",
        .host
    ) { $0.silence() },
    Broken(
        .destinationSilent,
        "no reply comes from a.test (203.0.113.80) on the local link",
        "check that a.test is on, and that its address is correct"
    ) { destination in
        destination.paths = [Working.path(Working.address, gateway: nil)]
        destination.silence()
        destination.paths[0].unreachableFrom = Healthy.own
    },
]

private let talking: [Broken] = [
    Broken(
        .destinationPartlySilent,
        "a.test does not answer at 2001:db8:ff::80; it works at 203.0.113.80",
        "contact the operator of a.test: its name has an address that does not work"
    ) { destination in
        destination.paths[1].connection = .known(.silent)
        destination.paths[1].echo = .known(false)
    },
    Broken(
        .destinationPartlySilent,
        "a.test refuses connections at 203.0.113.80; it works at 2001:db8:ff::80",
        "contact the operator of a.test: its name has an address that does not work"
    ) { $0.paths[0].connection = .known(.refused) },
    Broken(
        .destinationPortClosed,
        "TCP port 443 of a.test (\(both)) is closed; the host is up",
        "start the service at a.test, or check the port number",
        .port
    ) { $0.silence(.refused) },
    Broken(
        .destinationPortSilent,
        "a.test (\(both)) answers ping but drops connections to TCP port 443",
        "ask the operator of a.test, or of the firewall in front of it, to open TCP port 443",
        .port
    ) { $0.silence(echo: true) },
    Broken(
        .destinationCertificate,
        "the certificate of a.test does not verify: self-signed certificate",
        "check the name, or ask the operator of a.test for a certificate of a trusted authority"
    ) { $0.exchange = .known(.untrusted(detail: "self-signed certificate", isAboutTime: false)) },
    Broken(
        .destinationCertificateDates,
        "the certificate of a.test is out of date: certificate has expired",
        "ask the operator of a.test to renew it, and check the clock of this machine"
    ) { $0.exchange = .known(.untrusted(detail: "certificate has expired", isAboutTime: true)) },
    Broken(
        .destinationTLS,
        "no encrypted connection to a.test can be made: wrong version number",
        "check that port 443 of a.test uses TLS"
    ) { $0.exchange = .known(.unencrypted(detail: "wrong version number")) },
    Broken(
        .destinationNoAnswer,
        "a.test accepts connections but sends no HTTP response: no answer in time",
        "check the service at a.test: it hangs, or uses another protocol"
    ) { $0.exchange = .known(.unanswered(detail: "no answer in time")) },
    Broken(
        .destinationStalled,
        "https://a.test/ returns status 200, but its body stops after 1000 of 90000 bytes",
        "check the service at a.test: it stops in the middle of a response"
    ) { $0.exchange = .known(.stalled(status: 200, read: 1000, length: 90_000)) },
    Broken(
        .destinationStatus,
        "https://a.test/ returns status 503",
        "check the service at a.test: the network works"
    ) { $0.exchange = .known(.answered(status: 503, location: nil, isUpgraded: false)) },
    Broken(
        .destinationNoUpgrade,
        "https://a.test/ does not open a WebSocket: it answers with status 200",
        "check the path of the URL, and that no proxy removes the Upgrade header",
        .webSocket(isSecure: false)
    ) { _ in },
    Broken(
        .destinationNoUpgrade,
        "https://a.test/ does not open a WebSocket: it answers with a wrong Sec-WebSocket-Accept",
        "check the path of the URL, and that no proxy removes the Upgrade header",
        .webSocket(isSecure: true)
    ) { $0.exchange = .known(.answered(status: 101, location: nil, isUpgraded: false)) },
]

@Suite struct DestinationTests {
    @Test(arguments: finding + talking)
    fileprivate func `a step that fails has one code, one sentence and one action`(broken: Broken) throws {
        let diagnosis = Working.judged(broken.service, broken.change)
        #expect(diagnosis.codes == [broken.code])
        let verdict = try #require(diagnosis.verdicts.first)
        #expect(verdict.say == broken.say)
        #expect(verdict.action == broken.action)
        #expect(verdict.severity == (broken.code == .destinationPartlySilent ? .degraded : .broken))
        #expect(diagnosis.state(broken.code.layer) == .faulty([broken.code]))
        let isOwn = broken.code.layer == .route || broken.code == .destinationBlocked
        #expect(diagnosis.faultDomain == (isOwn ? .host : .remote))
    }

    @Test func `every code of a destination is spoken here`() {
        let all = VerdictCode.allCases.filter { $0.layer > .performance }
        #expect(Set((finding + talking).map(\.code)) == Set(all))
    }

    @Test func `a missing page is a warning, and a redirect is right`() {
        let missing = Working.judged { $0.exchange = .known(.answered(status: 404, location: nil, isUpgraded: false)) }
        #expect(missing.codes == [.destinationStatus] && missing.severity == .warning)
        let moved = Working.judged { $0.exchange = .known(.answered(status: 301, location: "/x", isUpgraded: false)) }
        #expect(moved.codes == [])
    }

    @Test(
        arguments: [
            (.host, [.resolve, .route, .reach]), (.port, [.resolve, .route, .reach, .tcp]),
            (.page(isSecure: false), [.resolve, .route, .reach, .tcp, .http]),
            (.page(isSecure: true), [.resolve, .route, .reach, .tcp, .tls, .http]),
            (.webSocket(isSecure: true), [.resolve, .route, .reach, .tcp, .tls, .http, .websocket]),
        ] as [(DestinationEvidence.Service, [Layer])]
    )
    func `the ladder has the steps that are needed`(service: DestinationEvidence.Service, layers: [Layer]) {
        let diagnosis = Working.judged(service) { destination in
            if case .webSocket = service {
                destination.exchange = .known(.answered(status: 101, location: nil, isUpgraded: true))
            }
        }
        #expect(diagnosis.ladder.map(\.layer) == layers)
        #expect(diagnosis.ladder.allSatisfy { $0.state == .sound } && diagnosis.faultDomain == nil)
        let literal = Working.judged(service) { $0.lookup = nil }
        #expect(literal.ladder.map(\.layer).first == .route)
    }

    @Test func `steps behind one that fails were not asked`() {
        let diagnosis = Working.judged { destination in
            destination.silence(.refused)
            destination.gaps[.tls] = "HTTP needs libcurl"
        }
        #expect(diagnosis.state(.reach) == .sound && diagnosis.state(.tcp) == .faulty([.destinationPortClosed]))
        #expect(diagnosis.state(.tls) == .notAssessed(because: "HTTP needs libcurl"))
        #expect(diagnosis.state(.http) == .notAssessed(because: "not tested"))
        #expect(diagnosis.state(.wan) == nil)
    }

    @Test func `one address with a route is enough, and one whose echo is filtered works`() {
        let single = Working.judged { destination in
            destination.paths[1] = DestinationEvidence.Path(ScopedAddress(Working.address6))
            destination.paths[1].route = .known(.missing)
        }
        #expect(single.codes == [])
        let filtered = Working.judged { destination in
            for place in destination.paths.indices { destination.paths[place].echo = .known(false) }
        }
        #expect(filtered.codes == [])
    }

    @Test(
        arguments: [
            (nil, false), ("/login", false), ("http://a.test:8080/x", false), ("HTTP://A.TEST/", false),
            ("http://login.test/", true), ("//login.test/x", true), ("https://[2001:db8::1]/", true),
        ] as [(String?, Bool)]
    )
    func `a redirect to another host over plain HTTP may be a portal's`(location: String?, mayBe: Bool) {
        let plain = Working.destination(.page(isSecure: false)) {
            $0.exchange = .known(.answered(status: 302, location: location, isUpgraded: false))
        }
        #expect(plain.mayBeForged == mayBe && !plain.isGenuine)
        var secure = plain
        secure.service = .page(isSecure: true)
        #expect(!secure.mayBeForged && secure.isGenuine)
    }
}

/// A fault of the network, and what it does to a destination.
private struct Explained: Sendable, CustomTestStringConvertible {
    let code: VerdictCode
    let destination: @Sendable (inout DestinationEvidence) -> Void
    let change: @Sendable (inout Evidence) -> Void

    init(
        _ code: VerdictCode,
        _ destination: @escaping @Sendable (inout DestinationEvidence) -> Void = { $0.silence() },
        by change: @escaping @Sendable (inout Evidence) -> Void
    ) {
        self.code = code
        self.destination = destination
        self.change = change
    }

    var testDescription: String { code.rawValue }
}

private let explainingSilence: [Explained] = [
    Explained(.routeNoDefault) { for place in $0.sending.indices { $0.sending[place].route = .known(.missing) } },
    Explained(.gatewayUnresolved) { $0.loseGateways() },
    Explained(.wanDown) { $0.cutOff() },
    Explained(.linkNoCarrier) { $0.links[0].hasCarrier = false },
    Explained(.addressDuplicate) { $0.links[0].addresses[0].otherHolders = .known(["02:00:00:00:00:66"]) },
    Explained(.captivePortal) { $0.portal.checks = [.init(anchor: "a", status: 302, location: "http://x/")] },
]

private let explainingSteps: [Explained] = [
    Explained(.dnsServfail, { $0.lookup = .known(.failed("SERVFAIL")) }) { evidence in
        evidence.dns = .known([.failing(Healthy.server), .failing(Healthy.second)])
    },
    Explained(.transportPortBlocked, { $0.silence(echo: true) }) { evidence in
        for place in evidence.reach.indices { evidence.reach[place].setPort(443, .silent) }
    },
    Explained(.transportPortReset, { $0.silence(.refused) }) { evidence in
        for place in evidence.reach.indices { evidence.reach[place].setPort(443, .refused) }
    },
    Explained(.tlsIntercepted, { $0.exchange = .known(.untrusted(detail: "x", isAboutTime: false)) }) { evidence in
        for place in 0..<2 { evidence.application.certificates[place].failure = "x" }
    },
    Explained(.clockSkew, { $0.exchange = .known(.untrusted(detail: "x", isAboutTime: true)) }) { evidence in
        evidence.application.clockOffset = .known(.seconds(99_999))
    },
    Explained(.pmtuBlackhole, { $0.exchange = .known(.unencrypted(detail: "no answer in time")) }) { evidence in
        evidence.transport.packetSizes = [
            .init(.ipv4, largest: 1396, linkMTU: 1500, isAnnounced: false, transferStalls: .known(true))
        ]
    },
]

@Suite struct DestinationMaskingTests {
    @Test func `where the network is in order, the destination is to blame`() {
        let diagnosis = Working.masked()
        #expect(diagnosis.codes == [.destinationSilent] && diagnosis.faultDomain == .remote)
        #expect(diagnosis.verdicts.first?.say.hasSuffix("; other hosts do answer") == true)
        #expect(diagnosis.ladder.count == Layer.ofNetwork.count + 6)
        #expect(diagnosis.state(.gateway) == .sound && diagnosis.state(.resolve) == .sound)
    }

    @Test(arguments: explainingSilence)
    fileprivate func `a fault of the network explains a silent destination`(explained: Explained) {
        let diagnosis = Working.masked(Working.silent, explained.change)
        #expect(diagnosis.codes == [explained.code])
        #expect(
            diagnosis.masked.contains { $0.verdict.code == .destinationSilent && $0.cause == explained.code }
        )
        #expect(diagnosis.state(.reach) == .hidden(by: explained.code))
    }

    @Test func `a family that is dead explains an address that is`() {
        let partly = Working.destination { destination in
            destination.paths[1].connection = .known(.silent)
            destination.paths[1].echo = .known(false)
        }
        #expect(Working.masked(partly) { $0.cutOff([.ipv6]) }.codes == [.ipv6Broken])
        #expect(Set(Working.masked(partly) { $0.cutOff([.ipv4]) }.codes) == [.ipv4Broken, .destinationPartlySilent])
    }

    @Test func `a host on the local link needs no way out`() {
        let near = Working.destination { destination in
            destination.paths = [Working.path(Healthy.peer, gateway: nil)]
            destination.silence()
        }
        // What was asked for comes first, whatever else is wrong.
        #expect(Working.masked(near) { $0.cutOff() }.codes == [.destinationSilent, .wanDown])
        #expect(Set(Working.masked(near) { $0.loseGateways() }.codes) == [.gatewayUnresolved, .destinationSilent])
        #expect(Working.masked(near) { $0.links[0].isUp = false }.codes == [.linkAdminDown])
        #expect(Working.masked(near) { $0.peers[0].answers = .known(false) }.codes == [.linkClientIsolation])
    }

    @Test(arguments: explainingSteps)
    fileprivate func `each step has causes of its own in the network`(explained: Explained) {
        let destination = Working.destination(.page(isSecure: true), explained.destination)
        #expect(Set(Working.masked(destination, explained.change).codes) == [explained.code])
    }

    @Test func `an anchor that is asked for by name is told once`() {
        let diagnosis = Working.masked { evidence in
            evidence.reach = [Healthy.reach(.ipv4)]
            evidence.reach[0].anchors[0].echo = .known(false)
            evidence.reach[0].anchors[0].datagrams = .known(false)
            evidence.reach[0].anchors[0].ports = [80: .silent, 443: .silent]
        }
        #expect(diagnosis.codes == [.destinationSilent])
    }

    @Test func `loss explains what it makes plausible, and no answer`() {
        func diagnosis(_ destination: DestinationEvidence, received: Int, flows: Int) -> Diagnosis {
            Working.masked(destination) { evidence in
                for index in evidence.performance.anchors.indices {
                    evidence.performance.anchors[index].received = received
                }
                evidence.queries = destination.paths.map { path in
                    var query = QueryEvidence(.destination, path.address.address, .tcp(443))
                    query.flows = flows
                    return query
                }
            }
        }
        let closed = Working.destination { $0.silence(.refused, echo: true) }
        #expect(diagnosis(closed, received: 40, flows: 0).codes == [.destinationPortClosed, .performanceLoss])
        #expect(diagnosis(Working.silent, received: 40, flows: 6).codes == [.destinationSilent, .performanceLoss])
        #expect(diagnosis(Working.silent, received: 6, flows: 2).codes == [.performanceLoss])
    }

    @Test func `a filter of this machine is no fault of a host that answers echo requests`() throws {
        let filter = LocalObstacle(.outputFilter, "the packet filter inet lab c of this machine", hint: nil)
        let diagnosis = Working.judged(.port) { destination in
            destination.silence(.blocked, echo: true)
            for index in destination.paths.indices { destination.paths[index].obstacle = filter }
        }
        #expect(diagnosis.codes == [.destinationBlocked])
        let partly = Working.judged(.port) { destination in
            destination.paths[1].connection = .known(.blocked)
            destination.paths[1].obstacle = filter
        }
        #expect(partly.codes == [.destinationBlocked] && partly.severity == .degraded)
    }

    @Test func `a line of the hosts file explains its own name only`() {
        for (name, codes) in [
            ("a.test", [VerdictCode.dnsHostsFile]), ("b.test", [.destinationSilent, .dnsHostsFile]),
        ] {
            let diagnosis = Working.masked { evidence in
                var lookup = LookupEvidence(name, .milliseconds(1), expected: [Healthy.address])
                (lookup.addresses, lookup.hostsLine) = ([Healthy.peer], "/etc/hosts:7")
                evidence.lookup = lookup
            }
            #expect(diagnosis.codes == codes)
        }
    }
}

extension NameServerEvidence {
    fileprivate static func failing(_ address: IPAddress) -> NameServerEvidence {
        var server = NameServerEvidence(address)
        server.ipv4 = .failed(code: "SERVFAIL")
        return server
    }
}

extension ReachEvidence {
    fileprivate mutating func setPort(_ port: UInt16, _ outcome: Connection) {
        for anchor in anchors.indices { anchors[anchor].ports[port] = outcome }
    }
}
