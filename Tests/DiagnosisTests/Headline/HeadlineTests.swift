// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import PathModel
import Testing

/// The state of the way out, from what the kernel would do and what answered.
@Suite struct HeadlineTests {
    private static let eth0 = PathInterface(name: "eth0", index: 2, type: .wiredEthernet)

    private static func address(_ text: String) -> IPAddress {
        guard let address = IPAddress(text) else { preconditionFailure("\(text) is no address") }
        return address
    }

    /// A satisfied path of both families, which began 100 s after the boot; it is 200 s later now.
    private static func facts(
        gateways: Bool? = nil,
        hasIPv6: Bool = true,
        dns: DNSState = DNSState(servers: [DNSServer(ScopedAddress(address("192.0.2.53")))], isUsable: true)
    ) -> HeadlineFacts {
        func family(_ gateway: String, _ family: AddressFamily, _ source: String) -> FamilyPath {
            let gateway = Gateway(
                address: ScopedAddress(address(gateway)),
                interface: "eth0",
                family: family,
                isReachable: gateways
            )
            return FamilyPath(interfaces: [eth0], gateways: [gateway], source: address(source))
        }
        let path = Path(
            status: .satisfied,
            reason: nil,
            interfaces: [eth0],
            ipv4: family("192.0.2.1", .ipv4, "192.0.2.7"),
            ipv6: hasIPv6 ? family("2001:db8::1", .ipv6, "2001:db8::7") : nil,
            dns: dns
        )
        return HeadlineFacts(host: "office-7", path: path, statusSince: .seconds(100), now: .seconds(300))
    }

    private static func offline(_ reason: UnsatisfiedReason) -> HeadlineFacts {
        let path = Path(status: .unsatisfied, reason: reason, subject: ReasonSubject(interface: "eth0"))
        return HeadlineFacts(host: "office-7", path: path)
    }

    private static func verdict(
        _ code: VerdictCode,
        _ severity: Severity = .broken,
        family: AddressFamily? = nil
    ) -> VerdictTracker.Standing {
        let verdict = Verdict(code, severity, family: family, say: "\(code.rawValue) it is", action: "mend it")
        return VerdictTracker.Standing(verdict, since: .seconds(280), lastSeen: .seconds(295))
    }

    private static func judge(_ facts: HeadlineFacts, _ change: (inout HeadlineFacts) -> Void = { _ in }) -> Headline {
        var facts = facts
        change(&facts)
        return HeadlineEvaluator(facts).headline
    }

    /// The conditions of the chain, a letter each.
    private static func chain(_ headline: Headline) -> String {
        #expect(headline.chain.map(\.kind) == ChainElement.Kind.allCases)
        let letters: [ChainElement.Condition: String] = [
            .good: "+", .degraded: "~", .broken: "x", .notReached: ".", .notAsked: "?",
        ]
        return headline.chain.compactMap { letters[$0.condition] }.joined()
    }

    private static let fresh = ProbeObservation("web", .beyond, answered: .seconds(290), roundTrip: .milliseconds(12))

    @Test func `nothing beyond was tested: connected, and it says so`() {
        let headline = Self.judge(Self.facts())
        #expect(headline.state == .connected)
        #expect(
            headline.message
                == "the route via eth0 and 192.0.2.1 looks fine; nothing beyond the gateway has been tested"
        )
        #expect(
            headline.hint
                == "run `nwpath diagnose` to test it once, `nwpath setup --public` to test it continuously"
        )
        #expect(Self.chain(headline) == "++???")
    }

    @Test func `an answer from beyond makes it online, and those in between good`() {
        let headline = Self.judge(Self.facts()) { $0.probes = [Self.fresh] }
        #expect(headline.state == .online && headline.hint == nil)
        #expect(headline.message == "all tests answer via eth0 and 192.0.2.1")
        #expect(Self.chain(headline) == "++++?")
        #expect(headline.chain[3].roundTrip == .milliseconds(12))
        let examined = Self.judge(Self.facts()) {
            $0.examination = ExaminationSummary(
                started: .seconds(240),
                ended: .seconds(250),
                validity: .seconds(60),
                reachedInternet: true,
                reachedDNS: true
            )
        }
        #expect(examined.state == .online && Self.chain(examined) == "+++++")
    }

    @Test(arguments: [
        ProbeObservation("printer", .near, answered: .seconds(299)),
        ProbeObservation("router", .gateway, answered: .seconds(299)),
        ProbeObservation("ping", .beyond, isAssessable: false),
    ])
    func `what is no evidence of the Internet leaves it connected`(probe: ProbeObservation) {
        #expect(Self.judge(Self.facts()) { $0.probes = [probe] }.state == .connected)
    }

    @Test(arguments: [
        // Too old, from before the path was what it is, or no result yet.
        ProbeObservation("web", .beyond, answered: .seconds(110)),
        ProbeObservation("web", .beyond, answered: .seconds(99)),
        ProbeObservation("web", .beyond),
    ])
    func `while a first result is to come it is being checked`(probe: ProbeObservation) {
        let headline = Self.judge(Self.facts()) { $0.probes = [probe] }
        #expect(headline.state == .checking && headline.message == "no test has a result yet")
        #expect(headline.began == nil && headline.cause == nil && Self.chain(headline) == "++???")
        #expect(Self.judge(Self.facts()) { $0.awaitsExamination = true }.state == .checking)
    }

    @Test func `a test that is no longer assessed counts as long as its last result`() {
        func state(_ change: (inout ProbeObservation) -> Void) -> Headline.State {
            var probe = ProbeObservation("ping", .beyond, answered: .seconds(110), isAssessable: false)
            change(&probe)
            return Self.judge(Self.facts()) { $0.probes = [probe] }.state
        }
        #expect(state { $0.assessed = .seconds(110) } == .connected, "its answer is 190 s old")
        #expect(state { ($0.answered, $0.assessed) = (.seconds(130), .seconds(130)) } == .online)
        #expect(state { ($0.failingSince, $0.assessed) = (.seconds(110), .seconds(130)) } == .checking)
        #expect(state { ($0.failingSince, $0.assessed) = (.seconds(110), .seconds(115)) } == .connected)
        #expect(state { $0.isAssessable = true } == .checking, "its next result is to come")
    }

    @Test func `between the first failure and the decision it is being checked`() {
        func sign(_ name: String, failing: Int? = nil, decided: Bool = false, answered: Int? = nil) -> ProbeObservation
        {
            ProbeObservation(
                name,
                .beyond,
                isFailing: decided,
                failingSince: failing.map { .seconds($0) },
                answered: answered.map { .seconds($0) },
                failure: failing == nil ? nil : "timeout"
            )
        }
        func judge(_ probes: ProbeObservation...) -> Headline { Self.judge(Self.facts()) { $0.probes = probes } }
        // The other one answered before that, which proves nothing any more.
        let first = judge(sign("a", failing: 292, answered: 270), sign("b", answered: 280))
        #expect(first.state == .checking && first.began == .seconds(292))
        #expect(first.message == "a (timeout) failed; testing again" && Self.chain(first) == "++???")
        #expect(judge(sign("a", failing: 292, answered: 270), sign("b", answered: 293)).state == .online)
        let both = judge(sign("a", failing: 292, answered: 270), sign("b", failing: 294, answered: 280))
        #expect(both.state == .checking && both.began == .seconds(292))
        // One failed as often as its threshold, the other at least once.
        let decided = judge(
            sign("a", failing: 292, decided: true, answered: 270),
            sign("b", failing: 294, answered: 280)
        )
        #expect(decided.state == .noInternet && decided.began == .seconds(292))
        // A target that has been dead for long decides nothing about the one that begins to fail.
        let old = judge(sign("dead", failing: 10, decided: true), sign("b", failing: 294, answered: 290))
        #expect(old.state == .checking && old.began == .seconds(294))
        let all = judge(sign("dead", failing: 10, decided: true), sign("b", failing: 294, decided: true, answered: 290))
        #expect(all.state == .noInternet && all.began == .seconds(294))
    }

    @Test func `the first answer after an outage is followed by a test of the others`() {
        let a = ProbeObservation("a", .beyond, answered: .seconds(298), answeringSince: .seconds(298))
        var b = ProbeObservation("b", .beyond, isFailing: true, failingSince: .seconds(200), lastStart: .seconds(290))
        let first = Self.judge(Self.facts()) { $0.probes = [a, b] }
        #expect(first.state == .checking && first.message == "a answers again; testing the others")
        #expect(first.began == nil)
        b.lastStart = .seconds(299)
        let half = Self.judge(Self.facts()) { ($0.probes, $0.reportedSince) = ([a, b], .seconds(200)) }
        #expect(half.state == .online && half.began == .seconds(298))
        let c = ProbeObservation("c", .beyond, isFailing: true, failingSince: .seconds(200), lastStart: .seconds(299))
        let most = Self.judge(Self.facts()) { ($0.probes, $0.reportedSince) = ([a, b, c], .seconds(200)) }
        #expect(most.state == .degraded && most.began == .seconds(298))
    }

    @Test func `an answer that is newer than a verdict stands against it`() {
        func state(_ code: VerdictCode, _ position: ProbeObservation.Position, answered: Int) -> Headline.State {
            Self.judge(Self.facts(hasIPv6: false)) {
                $0.verdicts = [Self.verdict(code, family: .ipv4)]
                $0.probes = [ProbeObservation("a", position, family: .ipv4, answered: .seconds(answered))]
            }.state
        }
        #expect(state(.wanDown, .beyond, answered: 294) == .noInternet, "it was seen at 295")
        #expect(state(.wanDown, .beyond, answered: 296) == .online)
        #expect(state(.wanDown, .nameServer, answered: 296) == .noInternet)
        #expect(state(.dnsUnreachable, .nameServer, answered: 296) == .connected)
        #expect(state(.dnsUnreachable, .beyond, answered: 296) == .dnsBroken)
        #expect(state(.captivePortal, .beyond, answered: 296) == .loginNeeded)
        let other = Self.judge(Self.facts()) {
            $0.verdicts = [Self.verdict(.upstreamBlackhole, family: .ipv6)]
            $0.probes = [ProbeObservation("a", .beyond, family: .ipv4, answered: .seconds(296))]
        }
        #expect(other.state == .degraded, "it is about the other family")
    }

    @Test func `what failed while there was no path decides nothing once there is one`() {
        func state(lastStart: Int) -> Headline {
            Self.judge(Self.facts()) {
                $0.statusSince = .seconds(298)
                $0.probes = [
                    ProbeObservation(
                        "a",
                        .beyond,
                        isFailing: true,
                        failingSince: .seconds(200),
                        lastStart: .seconds(lastStart)
                    )
                ]
            }
        }
        #expect(state(lastStart: 297).state == .checking && state(lastStart: 299).state == .checking)
        #expect(state(lastStart: 299).began == .seconds(298))
        #expect(state(lastStart: 300).state == .noInternet && state(lastStart: 300).began == .seconds(298))
    }

    @Test func `an examination proves nothing that failed after it began`() {
        func state(failing: Int) -> Headline.State {
            Self.judge(Self.facts()) {
                $0.examination = ExaminationSummary(
                    started: .seconds(280),
                    ended: .seconds(290),
                    validity: .seconds(60),
                    reachedInternet: true,
                    reachedDNS: true
                )
                $0.probes = [ProbeObservation("a", .beyond, isFailing: true, failingSince: .seconds(failing))]
            }.state
        }
        #expect(state(failing: 270) == .degraded && state(failing: 281) == .noInternet)
    }

    @Test func `an examination in which nothing answered is repeated, and nothing is slow then`() {
        func state(probed: Int?, _ verdicts: [VerdictTracker.Standing] = []) -> Headline {
            Self.judge(Self.facts()) {
                $0.examination = ExaminationSummary(
                    started: .seconds(270),
                    ended: .seconds(280),
                    validity: .seconds(60),
                    reachedInternet: false,
                    reachedDNS: false,
                    isSilent: true
                )
                $0.probes = probed.map { [ProbeObservation("web", .beyond, answered: .seconds($0))] } ?? []
                $0.verdicts = verdicts
            }
        }
        let silent = state(probed: nil)
        #expect(silent.state == .checking && silent.began == .seconds(280))
        #expect(silent.message == "nothing answered in the last diagnosis; testing again")
        #expect(state(probed: 275).state == .checking, "it answered before that")
        #expect(state(probed: 281).state == .online)
        #expect(state(probed: nil, [Self.verdict(.performanceLoss, .degraded)]).state == .checking)
        let down = state(probed: 290, [Self.verdict(.wanDown)])
        #expect(down.state == .noInternet && down.began == .seconds(280) && down.cause?.code == "wan.down")
    }

    @Test(arguments: UnsatisfiedReason.allCases)
    func `an unsatisfied path is offline, or local only where an interface works`(reason: UnsatisfiedReason) {
        let headline = Self.judge(Self.offline(reason)) {
            // What was said before the cable was pulled explains nothing.
            $0.verdicts = [Self.verdict(.wanDown), Self.verdict(.dnsUnreachable)]
            $0.probes = [ProbeObservation("web", .beyond, isFailing: true)]
        }
        let local: Set<UnsatisfiedReason> = [
            .noDefaultRoute, .routeUnreachable, .routeProhibited, .routeBlackhole, .gatewayUnreachable,
            .preferredRouteLinkDown,
        ]
        #expect(headline.state == (local.contains(reason) ? .localOnly : .offline))
        let text = ReasonText(reason, ReasonSubject(interface: "eth0"))
        #expect(headline.message == text.clause && headline.hint == text.hint)
        #expect(Self.chain(headline) == (local.contains(reason) ? "++x.." : "+x..."))
    }

    @Test func `silent gateways are local only; one of two is not`() {
        let headline = Self.judge(Self.facts(gateways: false)) { $0.probes = [Self.fresh] }
        #expect(headline.state == .localOnly)
        #expect(headline.message == "192.0.2.1 and 2001:db8::1 on eth0 do not answer")
        #expect(headline.hint == "check the router: `ip neighbor show dev eth0`")
        let apart = Self.judge(Self.facts(gateways: false)) { $0.path.ipv6?.gateways[0].interface = "wlan0" }
        #expect(apart.message == "192.0.2.1 on eth0 and 2001:db8::1 on wlan0 do not answer")
        #expect(Self.chain(headline) == "++x..")
        #expect(Self.judge(Self.facts(gateways: true)).state == .connected)
    }

    @Test func `a portal wants a login, whoever found it`() {
        let page = ProbeObservation("web", .beyond, isCaptive: true, lastCaptive: .seconds(290))
        let probe = Self.judge(Self.facts()) { $0.probes = [page] }
        #expect(probe.state == .loginNeeded && Self.chain(probe) == "++?x.")
        let verdict = Self.judge(Self.facts()) { $0.verdicts = [Self.verdict(.captivePortal, .degraded)] }
        #expect(verdict.state == .loginNeeded && verdict.message == "captive.portal it is")
    }

    @Test(
        arguments: [
            (VerdictCode.wanDown, Headline.State.noInternet, "++?x."), (.upstreamBlackhole, .noInternet, "++?x."),
            (.gatewayNotForwarding, .noInternet, "++x.."), (.gatewayUnresolved, .localOnly, "++x.."),
            (.firewallLocal, .offline, "+x..."), (.linkIsolated, .offline, "+x..."),
        ]
    )
    func `a verdict that stops everything says where`(code: VerdictCode, state: Headline.State, chain: String) {
        let headline = Self.judge(Self.facts()) { $0.verdicts = [Self.verdict(code)] }
        #expect(headline.state == state && headline.message == "\(code.rawValue) it is" && headline.hint == "mend it")
        #expect(Self.chain(headline) == chain)
    }

    @Test func `one family of two is worse, both or the only one is no Internet`() {
        let one = Self.verdict(.upstreamBlackhole, family: .ipv6)
        let other = Self.verdict(.upstreamBlackhole, family: .ipv4)
        let half = Self.judge(Self.facts()) { ($0.verdicts, $0.probes) = ([one], [Self.fresh]) }
        #expect(half.state == .degraded && Self.chain(half) == "+++~?")
        #expect(Self.judge(Self.facts()) { $0.verdicts = [one, other] }.state == .noInternet)
        #expect(Self.judge(Self.facts(hasIPv6: false)) { $0.verdicts = [other] }.state == .noInternet)
    }

    @Test func `without names DNS is broken, and the chain shows that the rest is not`() {
        let verdict = Self.judge(Self.facts()) {
            ($0.verdicts, $0.probes) = ([Self.verdict(.dnsUnreachable)], [Self.fresh])
        }
        #expect(verdict.state == .dnsBroken && Self.chain(verdict) == "++++x")
        let server = DNSServer(ScopedAddress(Self.address("192.0.2.53")))
        let unusable = Self.judge(Self.facts(dns: DNSState(servers: [server], isUsable: false)))
        #expect(unusable.state == .dnsBroken)
        #expect(unusable.message == "no name server is reachable: 192.0.2.53")
        // Such as a systemd-resolved without any upstream, which refuses every name.
        let none = Self.judge(Self.facts(dns: DNSState())) { $0.probes = [Self.fresh] }
        #expect(none.state == .dnsBroken && Self.chain(none) == "++++x")
        #expect(none.message == "no name server is configured")
        for (problem, message) in [
            (
                .unreadable(source: "/etc/resolv.conf", error: "Permission denied (EACCES)"),
                "no name server is known, because /etc/resolv.conf cannot be read: Permission denied (EACCES)"
            ),
            (
                .noServer(source: "/etc/resolv.conf"),
                "no name server is configured in /etc/resolv.conf, and none answers at 127.0.0.1"
            ),
            (
                .domainsOnly(stub: "systemd-resolved"),
                "no name server for all domains is configured: 192.0.2.53 is for some domains only"
            ),
        ] as [(DNSProblem, String)] {
            let limited = Self.judge(Self.facts(dns: DNSState(servers: [server], isUsable: false, problem: problem)))
            #expect(limited.state == .dnsBroken && limited.message == message)
        }
    }

    @Test func `all probes beyond fail: no Internet, unless an examination got through`() {
        let failing = [
            ProbeObservation("a", .beyond, isFailing: true, failure: "timeout"),
            ProbeObservation("b", .beyond, isFailing: true),
            ProbeObservation("router", .gateway, answered: .seconds(299), roundTrip: .milliseconds(1)),
        ]
        let headline = Self.judge(Self.facts()) { $0.probes = failing }
        #expect(headline.state == .noInternet)
        #expect(headline.message == "nothing beyond 192.0.2.1 answers (2 of 2 tests fail: a (timeout), b)")
        #expect(Self.chain(headline) == "+++x." && headline.chain[2].roundTrip == .milliseconds(1))
        func examined(at end: Int) -> Headline {
            Self.judge(Self.facts()) {
                $0.probes = failing
                $0.examination = ExaminationSummary(
                    started: .seconds(240),
                    ended: .seconds(end),
                    validity: .seconds(60),
                    reachedInternet: true,
                    reachedDNS: false
                )
            }
        }
        #expect(examined(at: 299).state == .checking, "they are repeated now")
        let examined = examined(at: 290)
        #expect(examined.state == .degraded && examined.message == "2 of 2 tests fail: a (timeout), b")
    }

    @Test func `no name is found: DNS is broken, unless nothing else answers either`() {
        func sign(
            _ name: String,
            _ failure: String,
            _ detail: String? = nil,
            at address: String = "192.0.2.53"
        ) -> ProbeObservation {
            ProbeObservation(
                name,
                .nameServer,
                address: address,
                isFailing: true,
                failure: failure,
                failureDetail: detail
            )
        }
        let names = sign("names", "timeout")
        let alone = Self.judge(Self.facts()) { $0.probes = [names] }
        #expect(alone.state == .dnsBroken && alone.chain[4].condition == .broken)
        #expect(alone.message == "192.0.2.53 does not answer queries; nothing else beyond 192.0.2.1 is tested")
        let beside = Self.judge(Self.facts()) { $0.probes = [names, Self.fresh] }
        #expect(beside.state == .dnsBroken && Self.chain(beside) == "++++x")
        let answering = ProbeObservation("n2", .nameServer, answered: .seconds(290))
        let second = Self.judge(Self.facts()) { $0.probes = [names, answering, Self.fresh] }
        #expect(second.state == .online && Self.chain(second) == "++++~")
        let dead = Self.judge(Self.facts()) { $0.probes = [names, ProbeObservation("far", .beyond, isFailing: true)] }
        #expect(
            dead.state == .noInternet && dead.message.hasPrefix("nothing beyond 192.0.2.1 answers (1 of 1 tests fails")
        )
        func message(_ probes: ProbeObservation...) -> String {
            Self.judge(Self.facts()) { $0.probes = probes }.message
        }
        #expect(message(sign("names", "refused", "connection refused")) == "192.0.2.53 refuses queries")
        #expect(
            message(sign("names", "dns", "the server refused the query (REFUSED)")) == "192.0.2.53 refuses queries"
        )
        #expect(
            message(sign("names", "dns", "server failure (SERVFAIL)"))
                == "192.0.2.53 answers SERVFAIL: it cannot reach other name servers, or DNSSEC validation fails"
        )
        #expect(
            message(sign("names", "dns", "no such name (NXDOMAIN)"))
                == "192.0.2.53 returns no address for the tested name: no such name (NXDOMAIN)"
        )
        #expect(
            message(names, sign("n2", "refused", at: "192.0.2.54"))
                == "no name server answers (2 of 2 tests fail: names (timeout), n2 (refused))"
        )
    }

    @Test func `a test that fails at its own name blames the name server, and nothing beyond`() {
        let page = ProbeObservation("page", .beyond, isFailing: true, failure: "dns")
        let names = ProbeObservation(
            "nameserver1",
            .nameServer,
            address: "192.0.2.53",
            isFailing: true,
            failure: "timeout"
        )
        let good = ProbeObservation("nameserver1", .nameServer, answered: .seconds(290))
        func judge(_ probes: ProbeObservation...) -> Headline { Self.judge(Self.facts()) { $0.probes = probes } }
        let both = judge(page, names)
        #expect(both.state == .dnsBroken && both.message == "192.0.2.53 does not answer queries")
        let alone = judge(page)
        #expect(
            alone.state == .dnsBroken && alone.message == "host names do not resolve (1 of 1 tests fails: page (dns))"
        )
        // Its name alone is wrong.
        let wrong = judge(page, good)
        #expect(wrong.state == .connected)
        #expect(
            wrong.message == "the name server answers via eth0 and 192.0.2.1; 1 of 2 tests fails: page (dns)"
        )
        #expect(judge(page, Self.fresh).state == .online)
        let far = ProbeObservation("far", .beyond, isFailing: true, failure: "timeout")
        #expect(judge(page, far, names).state == .noInternet)
    }

    @Test func `most tests fail: degraded; a few: online with a word about them`() {
        let bad = ["a", "b", "c", "d"].map { ProbeObservation($0, .beyond, isFailing: true) }
        let most = Self.judge(Self.facts()) { $0.probes = [Self.fresh] + bad.prefix(3) }
        #expect(most.state == .degraded && most.message == "3 of 4 tests fail: a, b, c" && Self.chain(most) == "+++~?")
        let many = Self.judge(Self.facts()) { $0.probes = [Self.fresh] + bad }
        #expect(many.message == "4 of 5 tests fail: a, b, c and others")
        let few = Self.judge(Self.facts()) { $0.probes = [Self.fresh, Self.fresh, bad[0]] }
        #expect(
            few.state == .online
                && few.message == "the Internet connection works via eth0 and 192.0.2.1, but 1 of 3 tests fails: a"
                && Self.chain(few) == "+++~?"
        )
    }

    @Test func `what is degraded is slow, and what is a warning is not`() {
        let slow = Self.judge(Self.facts()) {
            ($0.verdicts, $0.probes) = ([Self.verdict(.dnsSlow, .degraded)], [Self.fresh])
        }
        #expect(slow.state == .slow && slow.message == "dns.slow it is" && Self.chain(slow) == "++++~")
        let warned = Self.judge(Self.facts()) {
            ($0.verdicts, $0.probes) = ([Self.verdict(.pmtuReduced, .warning)], [Self.fresh])
        }
        #expect(warned.state == .online && Self.chain(warned) == "+++~?")
    }

    @Test func `a cable that damages frames is the interface's, and a link that nothing passes nobody's`() {
        let damaged = Self.judge(Self.facts()) {
            ($0.verdicts, $0.probes) = ([Self.verdict(.linkErrors, .degraded)], [Self.fresh])
        }
        #expect(damaged.state == .degraded && Self.chain(damaged) == "+~++?")
        let spare = Self.judge(Self.facts()) {
            ($0.verdicts, $0.probes) = ([Self.verdict(.linkErrors, .warning)], [Self.fresh])
        }
        #expect(spare.state == .online && Self.chain(spare) == "++++?")
    }

    @Test func `a portal that has not answered for long, or in another network, wants no login`() {
        var portal = ProbeObservation("page", .beyond, isFailing: true, failingSince: .seconds(150), isCaptive: true)
        (portal.captiveSince, portal.lastCaptive) = (.seconds(160), .seconds(290))
        let standing = Self.judge(Self.facts()) { $0.probes = [portal] }
        #expect(standing.state == .loginNeeded && standing.began == .seconds(160))
        portal.lastCaptive = .seconds(110)
        #expect(Self.judge(Self.facts()) { $0.probes = [portal] }.state == .noInternet)
        portal.lastCaptive = .seconds(290)
        let moved = Self.judge(Self.facts()) { ($0.probes, $0.statusSince) = ([portal], .seconds(295)) }
        #expect(moved.state != .loginNeeded)
    }

    @Test func `a test that can no longer be made keeps nothing checking`() {
        var old = ProbeObservation("far", .beyond, answered: .seconds(101), lastStart: .seconds(299))
        old.isAssessable = false
        #expect(Self.judge(Self.facts()) { $0.probes = [old] }.state == .connected)
        (old.answered, old.assessed) = (.seconds(290), .seconds(290))
        #expect(Self.judge(Self.facts()) { $0.probes = [old] }.state == .online, "the answer before still counts")
    }

    @Test func `name servers alone fail only where hosts beyond answered since`() {
        func servers(_ count: Int, near: Bool = false, failure: String = "timeout") -> [ProbeObservation] {
            (1...count).map { number in
                var server = ProbeObservation("nameserver\(number)", .nameServer, address: "198.51.100.\(number)")
                (server.isFailing, server.failingSince) = (true, .seconds(280))
                (server.lastStart, server.failure, server.bypassesGateway) = (.seconds(283), failure, near)
                return server
            }
        }
        var host = ProbeObservation("host", .beyond, answered: .seconds(270), lastStart: .seconds(282))
        let open = Self.judge(Self.facts()) { $0.probes = servers(1) + [host] }
        #expect(open.state == .checking, "the run that goes on will show it")
        host.answered = .seconds(281)
        let decided = Self.judge(Self.facts()) { $0.probes = servers(1) + [host] }
        #expect(decided.state == .dnsBroken && decided.message == "198.51.100.1 does not answer queries")
        let one = Self.judge(Self.facts()) { $0.probes = servers(1) }
        #expect(one.state == .dnsBroken)
        #expect(one.message == "198.51.100.1 does not answer queries; nothing else beyond 192.0.2.1 is tested")
        let two = Self.judge(Self.facts()) { $0.probes = servers(2) }
        #expect(two.state == .noInternet && two.began == .seconds(280))
        #expect(two.message.hasPrefix("nothing beyond 192.0.2.1 answers (2 of 2 tests fail: nameserver1 (timeout)"))
        for probes in [servers(2, near: true), servers(2, failure: "dns"), servers(2, failure: "refused")] {
            #expect(Self.judge(Self.facts()) { $0.probes = probes }.state == .dnsBroken)
        }
    }

    @Test func `a gateway stands beside its own interface`() {
        let headline = Self.judge(Self.facts()) { facts in
            let wifi = PathInterface(name: "wlan0", index: 3, type: .wifi)
            facts.path.ipv4 = nil
            facts.path.interfaces.insert(wifi, at: 0)
        }
        #expect(headline.message == "the route via wlan0 looks fine; nothing beyond the gateway has been tested")
        #expect(headline.chain[1].name == "wlan0" && headline.chain[2].name == nil)
    }

    @Test func `a name that was found shows that names are found`() {
        var probe = Self.fresh
        probe.findsName = true
        #expect(Self.chain(Self.judge(Self.facts()) { $0.probes = [probe] }) == "+++++")
    }

    @Test func `each family has a chain of its own where one alone is broken`() throws {
        func conditions(_ headline: Headline) -> [String] {
            headline.familyChains.map { chain in
                "\(chain.family) " + chain.chain.map(\.condition.rawValue).joined(separator: " ")
            }
        }
        let far = ProbeObservation("far", .beyond, family: .ipv4, answered: .seconds(290))
        let far6 = ProbeObservation("far6", .beyond, family: .ipv6, isFailing: true, answered: .seconds(150))
        let names = ProbeObservation("names", .nameServer, family: .ipv4, answered: .seconds(290))
        let one = Self.judge(Self.facts(gateways: true)) { $0.probes = [far, far6, names] }
        #expect(one.state == .online)
        #expect(
            conditions(one) == ["ipv4 good good good good good", "ipv6 good good good broken not_reached"]
        )
        let verdict = Self.judge(Self.facts(gateways: true)) { facts in
            facts.probes = [far, names]
            facts.verdicts = [Self.verdict(.ipv6Broken, family: .ipv6)]
        }
        #expect(conditions(verdict).last?.hasSuffix("broken not_reached") == true)
        // Nothing is wrong, nobody was asked, both are broken, or there is one family: one chain tells it all.
        #expect(conditions(Self.judge(Self.facts()) { $0.probes = [far, names] }).isEmpty)
        #expect(conditions(Self.judge(Self.facts())).isEmpty)
        let both = Self.judge(Self.facts()) { facts in
            facts.probes = [ProbeObservation("far", .beyond, family: .ipv4, isFailing: true), far6]
        }
        #expect(both.state == .noInternet && conditions(both).isEmpty)
        #expect(conditions(Self.judge(Self.facts(hasIPv6: false)) { $0.probes = [far, far6] }).isEmpty)
        #expect(conditions(Self.judge(Self.offline(.noCarrier)) { $0.probes = [far, far6] }).isEmpty)
    }
}
