// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import PathModel

/// Judges the machine's way out as a whole: what the kernel would do, and what answered.
///
/// The first rule that fits gives the state, so that a cause comes before what follows from it:
/// 1. The path is not satisfied: `offline`, or `local_only` when only a route is missing.
/// 2. No gateway in use answers: `local_only`.
/// 3. A portal answers: `login_needed`.
/// 4. A verdict of something that stops all traffic: `no_internet`.
/// 5. No name server is configured or in reach, or a verdict or all probes say that none answers: `dns_broken`.
/// 6. All probes beyond the gateway fail, and nothing else beyond answered: `no_internet`.
/// 7. A verdict says that something is slower than it should be: `slow`; is worse otherwise, or most probes fail:
///    `degraded`.
/// 8. Something beyond answered: `online`; else `connected`.
public struct HeadlineJudge {
    private let facts: HeadlineFacts

    public init(_ facts: HeadlineFacts) {
        self.facts = facts
    }

    /// The headline.
    public var headline: Headline {
        let finding = finding
        return Headline(
            state: finding.state,
            message: finding.message,
            hint: finding.hint,
            chain: chain,
            familyChains: familyChains
        )
    }

    private var chain: [ChainElement] { ChainBuilder(facts: facts, signs: self, finding: finding).chain }

    private var familyChains: [FamilyChain] {
        guard facts.path.status == .satisfied, facts.path.supportsIPv4, facts.path.supportsIPv6 else { return [] }
        let chains = AddressFamily.allCases.map { family in
            FamilyChain(family, HeadlineJudge(facts.restricted(to: family)).chain)
        }
        let wrong = chains.map { $0.chain.map(\.condition.isWrong) }
        return Set(wrong).count > 1 ? chains : []
    }

    struct Finding {
        var state: Headline.State
        var message: String
        var hint: String?
        /// The element of the chain that is to blame.
        var element: ChainElement.Kind?
    }

    private var finding: Finding {
        unsatisfied ?? silentGateways ?? portal ?? stopped ?? withoutNames ?? silentProbes ?? worse ?? good
    }

    // MARK: - Rules

    private var unsatisfied: Finding? {
        guard facts.path.status != .satisfied else { return nil }
        let reason = facts.path.reason ?? .noInterface
        let text = ReasonText(reason, facts.path.subject)
        let isLocal = reason.leavesNetworkInReach
        return Finding(
            state: isLocal ? .localOnly : .offline,
            message: text.clause,
            hint: text.hint,
            element: isLocal ? .gateway : .interface
        )
    }

    private var silentGateways: Finding? {
        let gateways = facts.path.gateways
        guard let first = gateways.first, gateways.allSatisfy({ $0.isReachable == false }) else { return nil }
        let names = gateways.map { "\($0.address)" }.joined(separator: " and ")
        let text = ReasonText(.gatewayUnreachable, ReasonSubject(interface: first.interface))
        let verb = gateways.count == 1 ? "does" : "do"
        return Finding(
            state: .localOnly,
            message: "\(names) on \(first.interface) \(verb) not answer",
            hint: text.hint,
            element: .gateway
        )
    }

    private var portal: Finding? {
        if let verdict = facts.verdicts.first(where: { $0.code == .captivePortal || $0.code == .captiveAPI }) {
            return Finding(state: .loginNeeded, verdict, .internet)
        }
        guard let probe = facts.probes.first(where: \.isCaptive) else { return nil }
        return Finding(
            state: .loginNeeded,
            message: "a portal answers the probe \(probe.name)",
            hint: "open a web page and log in",
            element: .internet
        )
    }

    private var stopped: Finding? {
        let broken = facts.verdicts.filter { $0.severity == .broken && $0.isOfWay }
        let lost = broken.map { verdict in verdict.family.map { [$0] } ?? AddressFamily.allCases }.joined()
        let used = AddressFamily.allCases.filter { $0 == .ipv4 ? facts.path.supportsIPv4 : facts.path.supportsIPv6 }
        guard let verdict = broken.first, Set(used).isSubset(of: lost) else { return nil }
        switch verdict.code.layer {
        case .link, .address, .local: return Finding(state: .offline, verdict, .interface)
        case .gateway where verdict.code == .gatewayUnresolved: return Finding(state: .localOnly, verdict, .gateway)
        case .gateway: return Finding(state: .noInternet, verdict, .gateway)
        default: return Finding(state: .noInternet, verdict, .internet)
        }
    }

    private var withoutNames: Finding? {
        if let verdict = facts.verdicts.first(where: { $0.code.layer == .dns && $0.severity == .broken }) {
            return Finding(state: .dnsBroken, verdict, .dns)
        }
        let asked = facts.probes.filter { $0.place == .nameServer }
        if !asked.isEmpty, asked.allSatisfy(\.isFailing), !hasNames, silentProbes == nil {
            return Finding(
                state: .dnsBroken,
                message: "no name server answers: \(tally(asked, of: asked))",
                hint: "`nwpath diagnose` finds out why",
                element: .dns
            )
        }
        let dns = facts.path.dns
        guard !dns.isUsable else { return nil }
        let servers = dns.servers.map(\.description).joined(separator: ", ")
        return Finding(
            state: .dnsBroken,
            message: servers.isEmpty ? "no name server is configured" : "no name server can be reached: \(servers)",
            hint: "`nwpath dns` shows them and where they come from",
            element: .dns
        )
    }

    private var silentProbes: Finding? {
        let beyond = beyond
        guard !beyond.isEmpty, beyond.allSatisfy(\.isFailing), !hasInternet else { return nil }
        let gateway = facts.path.gateways.first.map { "beyond \($0.address)" } ?? "that was asked"
        return Finding(
            state: .noInternet,
            message: "nothing \(gateway) answers: \(tally(beyond, of: beyond))",
            hint: "`nwpath diagnose` finds out where it ends",
            element: .internet
        )
    }

    private var worse: Finding? {
        if let verdict = facts.verdicts.first(where: { $0.severity >= .degraded }), !lastExamination(\.isSilent) {
            return Finding(state: verdict.code.isSlowness ? .slow : .degraded, verdict, verdict.code.layer == .dns ? .dns : .internet)
        }
        let asked = facts.probes.filter { $0.isBeyond || $0.place == .nameServer }
        let failing = asked.filter(\.isFailing)
        guard failing.count * 2 > asked.count else { return nil }
        let isNames = failing.allSatisfy { $0.place == .nameServer }
        return Finding(
            state: .degraded,
            message: tally(failing, of: asked),
            hint: "`nwpath probe` shows why, `nwpath diagnose` where it ends",
            element: isNames ? .dns : .internet
        )
    }

    private var good: Finding {
        let by = facts.path.interfaces.first.map { " through \($0.name)" } ?? ""
        let to = facts.path.gateways.first.map { " to \($0.address)" } ?? ""
        guard hasInternet else {
            let isSilent = lastExamination(\.isSilent)
            return Finding(
                state: .connected,
                message: "the kernel would send\(by)\(to); "
                    + (isSilent ? "nothing beyond answered when it was tested last" : "nobody beyond was asked"),
                hint: isSilent ? "it is tested again in a moment" : "`nwpath diagnose` asks"
            )
        }
        let failing = beyond.filter(\.isFailing)
        let exception = failing.isEmpty ? "" : "; \(tally(failing, of: beyond))"
        return Finding(
            state: .online,
            message: "what was asked answers\(by)\(to)\(exception)",
            hint: failing.isEmpty ? nil : "`nwpath probe` shows why"
        )
    }

    // MARK: - Signs

    private var beyond: [ProbeSign] { facts.probes.filter(\.isBeyond) }

    private func lastExamination(_ what: KeyPath<ExaminationSign, Bool>) -> Bool {
        guard let examination = facts.examination else { return false }
        return examination[keyPath: what] && isFresh(examination.ended, for: examination.validity)
    }

    private func isFresh(_ moment: Duration, for validity: Duration) -> Bool {
        moment >= facts.statusSince && facts.now - moment <= validity
    }

    func isAnswered(_ probe: ProbeSign) -> Bool {
        !probe.isFailing && probe.answered.map { isFresh($0, for: probe.validity) } ?? false
    }

    /// Whether something beyond the gateway answered.
    var hasInternet: Bool { lastExamination(\.reachedInternet) || beyond.contains(where: isAnswered) }

    /// Whether a name server answered.
    var hasNames: Bool {
        lastExamination(\.reachedDNS) || facts.probes.contains { $0.findsName && isAnswered($0) }
    }

    private func tally(_ failing: [ProbeSign], of all: [ProbeSign]) -> String {
        let names = failing.prefix(3).map { probe in probe.name + (probe.failure.map { " (\($0))" } ?? "") }
        let more = failing.count > names.count ? " and others" : ""
        return "\(failing.count) of \(all.count) probes fail: \(names.joined(separator: ", "))\(more)"
    }
}

extension HeadlineJudge.Finding {
    init(state: Headline.State, _ verdict: Verdict, _ element: ChainElement.Kind) {
        self.init(state: state, message: verdict.say, hint: verdict.action, element: element)
    }
}

extension VerdictCode {
    /// Whether what it is about works, and takes longer than it should.
    fileprivate var isSlowness: Bool {
        switch self {
        case .dnsSlow, .dnsAAAATimeout, .performanceHighLatency, .performanceJitter, .performanceBufferbloat,
            .performanceLowThroughput:
            true
        default: false
        }
    }
}

extension Verdict {
    /// Whether it is about what every packet needs.
    fileprivate var isOfWay: Bool { code.layer <= .wan && code.layer != .captive }
}

extension UnsatisfiedReason {
    /// Whether an interface works all the same, so that its own network is in reach.
    fileprivate var leavesNetworkInReach: Bool {
        switch self {
        case .noDefaultRoute, .routeUnreachable, .routeProhibited, .routeBlackhole, .gatewayUnreachable,
            .preferredRouteLinkDown:
            true
        case .noInterface, .linkDown, .noCarrier, .dormant, .noAddress, .dadPending, .configuring, .noSourceAddress,
            .rfkillWifi, .rfkillWwan, .policy, .blockedByFirewall:
            false
        }
    }
}
