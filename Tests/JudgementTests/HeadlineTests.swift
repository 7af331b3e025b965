// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import Judgement
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
    ) -> Verdict {
        Verdict(code, severity, family: family, say: "\(code.rawValue) it is", action: "mend it")
    }

    private static func judge(_ facts: HeadlineFacts, _ change: (inout HeadlineFacts) -> Void = { _ in }) -> Headline {
        var facts = facts
        change(&facts)
        return HeadlineJudge(facts).headline
    }

    /// The conditions of the chain, a letter each.
    private static func chain(_ headline: Headline) -> String {
        #expect(headline.chain.map(\.kind) == ChainElement.Kind.allCases)
        let letters: [ChainElement.Condition: String] = [
            .good: "+", .degraded: "~", .broken: "x", .notReached: ".", .notAsked: "?",
        ]
        return headline.chain.compactMap { letters[$0.condition] }.joined()
    }

    private static let fresh = ProbeSign("web", .beyond, answered: .seconds(290), roundTrip: .milliseconds(12))

    @Test func `nobody beyond was asked: connected, and it says so`() {
        let headline = Self.judge(Self.facts())
        #expect(headline.state == .connected)
        #expect(headline.message == "the kernel would send through eth0 to 192.0.2.1; nobody beyond was asked")
        #expect(headline.hint == "`nwpath diagnose` asks")
        #expect(Self.chain(headline) == "++???")
    }

    @Test func `an answer from beyond makes it online, and those in between good`() {
        let headline = Self.judge(Self.facts()) { $0.probes = [Self.fresh] }
        #expect(headline.state == .online && headline.hint == nil)
        #expect(headline.message == "what was asked answers through eth0 to 192.0.2.1")
        #expect(Self.chain(headline) == "++++?")
        #expect(headline.chain[3].roundTrip == .milliseconds(12))
        let examined = Self.judge(Self.facts()) {
            $0.examination = ExaminationSign(
                ended: .seconds(250),
                validity: .seconds(60),
                reachedInternet: true,
                reachedDNS: true
            )
        }
        #expect(examined.state == .online && Self.chain(examined) == "+++++")
    }

    @Test(
        arguments: [
            // It is too old, or from before the path was what it is.
            ProbeSign("web", .beyond, answered: .seconds(110)), ProbeSign("web", .beyond, answered: .seconds(99)),
            ProbeSign("web", .beyond), ProbeSign("printer", .near, answered: .seconds(299)),
            ProbeSign("router", .gateway, answered: .seconds(299)),
        ]
    )
    func `what is no evidence of the Internet leaves it connected`(probe: ProbeSign) {
        #expect(Self.judge(Self.facts()) { $0.probes = [probe] }.state == .connected)
    }

    @Test func `an examination in which nobody answered says so, and nothing is slow then`() {
        func state(probed: Int?, _ verdicts: [Verdict] = []) -> Headline {
            Self.judge(Self.facts()) {
                $0.examination = ExaminationSign(
                    ended: .seconds(280),
                    validity: .seconds(60),
                    reachedInternet: false,
                    reachedDNS: false,
                    isSilent: true
                )
                $0.probes = probed.map { [ProbeSign("web", .beyond, answered: .seconds($0))] } ?? []
                $0.verdicts = verdicts
            }
        }
        let silent = state(probed: nil)
        #expect(silent.state == .connected)
        #expect(silent.message.hasSuffix("; nothing beyond answered when it was tested last"))
        #expect(state(probed: 270).state == .online, "one round is not certain yet")
        #expect(state(probed: nil, [Self.verdict(.performanceLoss, .degraded)]).state == .connected)
        #expect(state(probed: 290, [Self.verdict(.wanDown)]).state == .noInternet)
    }

    @Test(arguments: UnsatisfiedReason.allCases)
    func `an unsatisfied path is offline, or local only where an interface works`(reason: UnsatisfiedReason) {
        let headline = Self.judge(Self.offline(reason)) {
            // What was said before the cable was pulled explains nothing.
            $0.verdicts = [Self.verdict(.wanDown), Self.verdict(.dnsUnreachable)]
            $0.probes = [ProbeSign("web", .beyond, isFailing: true)]
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
        #expect(Self.chain(headline) == "++x..")
        #expect(Self.judge(Self.facts(gateways: true)).state == .connected)
    }

    @Test func `a portal wants a login, whoever found it`() {
        let probe = Self.judge(Self.facts()) { $0.probes = [ProbeSign("web", .beyond, isCaptive: true)] }
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
        #expect(half.state == .slow && Self.chain(half) == "+++~?")
        #expect(Self.judge(Self.facts()) { $0.verdicts = [one, other] }.state == .noInternet)
        #expect(Self.judge(Self.facts(hasIPv6: false)) { $0.verdicts = [other] }.state == .noInternet)
    }

    @Test func `without names there is no Internet, and the chain says that the way is there`() {
        let verdict = Self.judge(Self.facts()) {
            ($0.verdicts, $0.probes) = ([Self.verdict(.dnsUnreachable)], [Self.fresh])
        }
        #expect(verdict.state == .noInternet && Self.chain(verdict) == "++++x")
        let server = DNSServer(ScopedAddress(Self.address("192.0.2.53")))
        let unusable = Self.judge(Self.facts(dns: DNSState(servers: [server], isUsable: false)))
        #expect(unusable.state == .noInternet)
        #expect(unusable.message == "no name server can be reached: 192.0.2.53")
        // Such as a systemd-resolved without any upstream, which refuses every name.
        let none = Self.judge(Self.facts(dns: DNSState())) { $0.probes = [Self.fresh] }
        #expect(none.state == .noInternet && Self.chain(none) == "++++x")
        #expect(none.message == "no name server is configured")
    }

    @Test func `all probes beyond fail: no Internet, unless an examination got through`() {
        let failing = [
            ProbeSign("a", .beyond, isFailing: true, failure: "timeout"), ProbeSign("b", .beyond, isFailing: true),
            ProbeSign("router", .gateway, answered: .seconds(299), roundTrip: .milliseconds(1)),
        ]
        let headline = Self.judge(Self.facts()) { $0.probes = failing }
        #expect(headline.state == .noInternet)
        #expect(headline.message == "nothing beyond 192.0.2.1 answers: 2 of 2 probes fail: a (timeout), b")
        #expect(Self.chain(headline) == "+++x." && headline.chain[2].roundTrip == .milliseconds(1))
        let examined = Self.judge(Self.facts()) {
            $0.probes = failing
            $0.examination = ExaminationSign(
                ended: .seconds(299),
                validity: .seconds(60),
                reachedInternet: true,
                reachedDNS: false
            )
        }
        #expect(examined.state == .slow && examined.message == "2 of 2 probes fail: a (timeout), b")
    }

    @Test func `no name is found: no Internet, unless nothing else answers either`() {
        let names = ProbeSign("names", .nameServer, isFailing: true, failure: "timeout")
        let alone = Self.judge(Self.facts()) { $0.probes = [names] }
        #expect(alone.state == .noInternet && alone.chain[4].condition == .broken)
        #expect(alone.message == "no name server answers: 1 of 1 probes fail: names (timeout)")
        let beside = Self.judge(Self.facts()) { $0.probes = [names, Self.fresh] }
        #expect(beside.state == .noInternet && Self.chain(beside) == "++++x")
        let second = Self.judge(Self.facts()) { $0.probes = [names, ProbeSign("n2", .nameServer), Self.fresh] }
        #expect(second.state == .online && Self.chain(second) == "++++~")
        let dead = Self.judge(Self.facts()) { $0.probes = [names, ProbeSign("far", .beyond, isFailing: true)] }
        #expect(dead.state == .noInternet && dead.message.hasPrefix("nothing beyond 192.0.2.1 answers: "))
    }

    @Test func `most probes fail: slow; a few: online with a word about them`() {
        let bad = ["a", "b", "c", "d"].map { ProbeSign($0, .beyond, isFailing: true) }
        let most = Self.judge(Self.facts()) { $0.probes = [Self.fresh] + bad.prefix(3) }
        #expect(most.state == .slow && most.message == "3 of 4 probes fail: a, b, c" && Self.chain(most) == "+++~?")
        let many = Self.judge(Self.facts()) { $0.probes = [Self.fresh] + bad }
        #expect(many.message == "4 of 5 probes fail: a, b, c and others")
        let few = Self.judge(Self.facts()) { $0.probes = [Self.fresh, Self.fresh, bad[0]] }
        #expect(few.state == .online && few.message.hasSuffix("; 1 of 3 probes fail: a") && Self.chain(few) == "+++~?")
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

    @Test func `a name that was found shows that names are found`() {
        var probe = Self.fresh
        probe.findsName = true
        #expect(Self.chain(Self.judge(Self.facts()) { $0.probes = [probe] }) == "+++++")
    }

    @Test func `a change is told once its state stood for a second, with how long the one before stood`() {
        let (good, bad) = (Self.judge(Self.facts()), Self.judge(Self.offline(.noCarrier)))
        var keeper = HeadlineKeeper()
        keeper.note(good, at: .seconds(1))
        #expect(keeper.due == nil && keeper.takeChange(at: .seconds(9)) == nil, "the first is told by nobody")
        let better = Self.judge(Self.facts(gateways: true))
        keeper.note(better, at: .seconds(2))
        #expect(keeper.due == nil && keeper.since == .seconds(1), "the state is the same")
        keeper.note(bad, at: .seconds(10))
        #expect(keeper.due == .seconds(11) && keeper.takeChange(at: .milliseconds(10_900)) == nil)
        let change = keeper.takeChange(at: .seconds(11))
        #expect(change?.headline == bad && change?.since == .seconds(10))
        #expect(change?.previous == better, "as it was judged last")
        #expect(change?.previous.state == .connected && change?.previousDuration == .seconds(9))
        #expect(keeper.due == nil && keeper.takeChange(at: .seconds(12)) == nil, "it was told")
        // What is over within a second is not told.
        keeper.note(good, at: .seconds(20))
        keeper.note(bad, at: .milliseconds(20_500))
        #expect(keeper.due == nil && keeper.since == .milliseconds(20_500))
        keeper.note(good, at: .seconds(30))
        #expect(keeper.takeChange(at: .seconds(31))?.previousDuration == .seconds(20))
    }

    @Test func `each family has a chain of its own where one alone is broken`() throws {
        func conditions(_ headline: Headline) -> [String] {
            headline.familyChains.map { chain in
                "\(chain.family) " + chain.chain.map(\.condition.rawValue).joined(separator: " ")
            }
        }
        let far = ProbeSign("far", .beyond, family: .ipv4, answered: .seconds(290))
        let far6 = ProbeSign("far6", .beyond, family: .ipv6, isFailing: true, answered: .seconds(150))
        let names = ProbeSign("names", .nameServer, answered: .seconds(290))
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
            facts.probes = [ProbeSign("far", .beyond, family: .ipv4, isFailing: true), far6]
        }
        #expect(both.state == .noInternet && conditions(both).isEmpty)
        #expect(conditions(Self.judge(Self.facts(hasIPv6: false)) { $0.probes = [far, far6] }).isEmpty)
        #expect(conditions(Self.judge(Self.offline(.noCarrier)) { $0.probes = [far, far6] }).isEmpty)
    }
}
