// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import PathModel

/// Evaluates the machine's connection as a whole: what the kernel would do, and what answered.
///
/// The first rule that fits gives the state, so that a cause comes before what follows from it:
/// 1. The path is not satisfied: `offline`, or `local_only` when only a route is missing.
/// 2. No gateway in use answers: `local_only`. So is a default route without one, where no destination answers on the link,
///    or where packets come from an IPv4 link-local address, which routers do not forward (RFC 3927), and no test is answered.
/// 3. A portal answers: `login_needed`.
/// 4. A verdict of something that stops all traffic, or connections that are unanswered in all families: `no_internet`.
/// 5. A test answers again, and others that failed have not been repeated since: `checking`.
/// 6. Nothing comes back from any test beyond the gateway, and one failed as often as its threshold; or, where there are
///    none, from several name servers beyond it: `no_internet`.
/// 7. No name server is configured or in reach, or a verdict or all tests say that none answers, and hosts beyond the
///    gateway do: `dns_broken`.
/// 8. A test fails for want of what this machine itself lacks, such as local ports: `degraded`. Such a failure says nothing of
///    the network, or of a name server.
/// 9. A test failed, and nothing of its kind answered since, or nothing has a result: `checking`.
/// 10. A verdict says that something is slower than it should be: `slow`; is worse otherwise, or most tests fail, or all of
///    one family: `degraded`.
/// 11. Something beyond answered: `online`; else `connected`.
///
/// A host that answers with an error has answered. Tests whose packets have another route than those of the path say
/// nothing of what is beyond its gateway. An answer counts until a test of the same kind fails after it. A verdict that
/// something stops all traffic does not stand against an answer that is newer than its last confirmation.
public final class HeadlineEvaluator {
    private let facts: HeadlineFacts
    private let verdicts: [VerdictTracker.Standing]
    private let text: HeadlineText
    /// A test that fails as often as its threshold, the last time for want of what this machine lacks.
    private let shortOf: ProbeObservation?
    /// The tests that count, by what they test.
    private let beyond, servers, elsewhere: [ProbeObservation]

    /// How long failures of a path that has just become satisfied decide nothing: two tests a second apart.
    private static let settling = Duration.milliseconds(1500)
    /// How far apart readings see the same break in several families.
    private static let margin = Duration.milliseconds(400)

    public init(_ all: HeadlineFacts) {
        var facts = all
        for index in facts.probes.indices {
            let probe = facts.probes[index]
            facts.probes[index].failingSince = probe.failingSince.map { max($0, all.statusSince) }
            guard probe.isFailing, let last = probe.lastStart, last < all.statusSince + Self.settling else { continue }
            facts.probes[index].isFailing = false
        }
        shortOf = facts.probes.first { $0.isFailing && $0.shortage != nil }
        for index in facts.probes.indices where facts.probes[index].shortage != nil { facts.probes[index].disregard() }
        self.facts = facts
        beyond = facts.tests(of: .beyond)
        servers = facts.tests(of: .nameServer)
        elsewhere = facts.tests(of: .elsewhere)
        text = HeadlineText(path: facts.path)
        verdicts = facts.verdicts.filter { !facts.contradict($0) }
    }

    /// The headline.
    public var headline: Headline {
        let finding = finding
        return Headline(
            state: finding.state,
            message: finding.message,
            hint: finding.hint,
            cause: finding.cause,
            began: finding.began,
            chain: ChainBuilder(facts: facts, verdicts: verdicts, evaluation: self, finding: finding).chain,
            familyChains: familyChains
        )
    }

    private var familyChains: [FamilyChain] {
        guard facts.path.status == .satisfied, facts.path.supportsIPv4, facts.path.supportsIPv6 else { return [] }
        let chains = AddressFamily.allCases.map { family in
            FamilyChain(family, HeadlineEvaluator(facts.restricted(to: family)).headline.chain)
        }
        let wrong = chains.map { $0.chain.map(\.condition.isWrong) }
        return Set(wrong).count > 1 ? chains : []
    }

    struct Finding {
        var state: Headline.State
        var message: String
        var hint: String?
        var cause: Headline.Cause?
        /// When it began; see ``Headline/began``.
        var began: Duration?
        /// The element of the chain that is at fault.
        var element: ChainElement.Kind?
    }

    private var finding: Finding {
        unsatisfied ?? silentGateways ?? silentLink ?? portal ?? stopped ?? stalled ?? recovering ?? silent
            ?? withoutNames ?? short ?? checking ?? worse ?? good
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
            cause: Headline.Cause(reason.rawValue),
            element: isLocal ? .gateway : .interface
        )
    }

    private var silentGateways: Finding? {
        let gateways = facts.path.gateways
        guard let first = gateways.first, facts.path.hasSilentGateways else { return nil }
        return Finding(
            state: .localOnly,
            message: text.silent(gateways),
            hint: ReasonText(.gatewayUnreachable, ReasonSubject(interface: first.interface)).hint,
            cause: Headline.Cause(UnsatisfiedReason.gatewayUnreachable.rawValue),
            began: firstFailure(of: beyond + servers),
            element: .gateway
        )
    }

    private var silentLink: Finding? {
        let families = [facts.path.ipv4, facts.path.ipv6].compactMap(\.self)
        guard let first = families.first, let interface = first.interfaces.first?.name,
            !hasInternet, families.allSatisfy({ $0.isUnanswered || $0.isLinkLocalOnly })
        else { return nil }
        return Finding(
            state: .localOnly,
            message: first.isLinkLocalOnly
                ? HeadlineText.linkLocal(first.source, on: interface) : HeadlineText.unanswered(on: interface),
            hint: first.isLinkLocalOnly ? HeadlineText.linkLocalHint(interface) : HeadlineText.unansweredHint,
            cause: Headline.Cause(UnsatisfiedReason.gatewayUnreachable.rawValue),
            began: firstFailure(of: beyond + servers),
            element: .gateway
        )
    }

    private var portal: Finding? {
        if let standing = verdicts.first(where: { $0.verdict.code == .captivePortal || $0.verdict.code == .captiveAPI })
        {
            return Finding(state: .loginNeeded, standing, .internet)
        }
        // A portal that has not answered for long may be gone, or this machine may be in another network.
        func stands(_ probe: ProbeObservation) -> Bool {
            probe.isCaptive && (probe.lastCaptive.map { isFresh($0, for: probe.validity) } ?? false)
        }
        guard let probe = facts.probes.first(where: stands) else { return nil }
        return Finding(
            state: .loginNeeded,
            message: text.portal(probe),
            hint: HeadlineText.portalHint,
            cause: Headline.Cause("portal"),
            began: probe.captiveSince,
            element: .internet
        )
    }

    private var stopped: Finding? {
        let broken = verdicts.filter { $0.verdict.severity == .broken && $0.verdict.stopsEverything }
        let lost = broken.map { $0.verdict.family.map { [$0] } ?? AddressFamily.allCases }.joined()
        let used = AddressFamily.allCases.filter { $0 == .ipv4 ? facts.path.supportsIPv4 : facts.path.supportsIPv6 }
        guard let standing = broken.first, Set(used).isSubset(of: lost) else { return nil }
        var finding: Finding
        switch standing.verdict.code.layer {
        case .link, .address, .local: finding = Finding(state: .offline, standing, .interface)
        case .gateway where standing.verdict.code == .gatewayUnresolved:
            finding = Finding(state: .localOnly, standing, .gateway)
        case .gateway: finding = Finding(state: .noInternet, standing, .gateway)
        default: finding = Finding(state: .noInternet, standing, .internet)
        }
        let tests = beyond + servers.filter { !$0.bypassesGateway }
        finding.began = [standing.since, firstFailure(of: tests)].compactMap(\.self).min()
        return finding
    }

    /// Connections of every family and by every gateway in use are unanswered, and no test answered since.
    private var stalled: Finding? {
        let stalls = self.stalls
        guard let first = stalls.min(by: { ($0.stalledSince ?? .zero) < ($1.stalledSince ?? .zero) }),
            let since = first.stalledSince
        else { return nil }
        let families = Set(stalls.map(\.family))
        let isElsewhere =
            AddressFamily.allCases.contains { !families.contains($0) && isProved($0, since: since + Self.margin) }
            || facts.traffic.contains { isAnswered($0) && ($0.answered ?? .zero) > since + Self.margin }
        let hasAnswer = beyond.contains { ($0.answered ?? .zero) > since + HeadlineFacts.repetition }
        guard !isElsewhere, !hasAnswer else { return nil }
        guard facts.now - since >= HeadlineFacts.stallHold else {
            return Finding(state: .checking, message: text.unanswered(stalls), began: since)
        }
        return Finding(
            state: .noInternet,
            message: text.unanswered(stalls),
            hint: HeadlineText.nothingAnswersHint,
            cause: Headline.Cause(VerdictCode.trafficStalled.rawValue, isSpecific: false),
            began: since,
            element: .internet
        )
    }

    private var stalls: [TrafficObservation] { facts.traffic.filter { $0.stalledSince != nil } }

    /// Whether something of a family was answered by what is beyond the gateway since `start`.
    private func isProved(_ family: AddressFamily, since start: Duration) -> Bool {
        facts.traffic.contains { $0.family == family && isAnswered($0) && ($0.answered ?? .zero) > start }
            || beyond.contains { $0.family == family && isAnswered($0) && ($0.answered ?? .zero) > start }
    }

    /// Whether connections are answered, and no test beyond the gateway failed since the last answer.
    private func isAnswered(_ traffic: TrafficObservation) -> Bool {
        guard traffic.stalledSince == nil, let answered = traffic.answered else { return false }
        return isFresh(answered, for: TrafficObservation.validity) && answered >= lastUnanswered
    }

    /// A test or an examination has just been answered again, and others that failed have not been repeated since.
    private var recovering: Finding? {
        let probes = beyond + servers
        if let examination = facts.examination, examination.reachedDNS || examination.reachedInternet,
            facts.now - examination.ended < HeadlineFacts.repetition,
            let probe = (examination.reachedDNS ? probes : beyond)
                .first(where: { $0.isFailing && ($0.lastStart ?? .zero) < examination.started })
        {
            return Finding(state: .checking, message: text.failed(probe))
        }
        guard let newest = probes.compactMap(\.answeringSince).max(), facts.now - newest < HeadlineFacts.repetition,
            probes.contains(where: { $0.isFailing && ($0.lastStart ?? newest) < newest }),
            let probe = probes.first(where: { $0.answeringSince == newest })
        else { return nil }
        return Finding(state: .checking, message: text.answersAgain(probe))
    }

    private var withoutNames: Finding? {
        let dns = facts.path.dns
        guard dns.isUsable else {
            return Finding(
                state: .dnsBroken,
                message: dns.unusableText,
                hint: HeadlineText.noNameServerHint,
                cause: Headline.Cause("no_name_server"),
                element: .dns
            )
        }
        if let standing = verdicts.first(where: { $0.verdict.code.layer == .dns && $0.verdict.severity == .broken }) {
            var finding = Finding(state: .dnsBroken, standing, .dns)
            finding.began = [standing.since, firstFailure(of: servers)].compactMap(\.self).min()
            return finding
        }
        let names = servers.isEmpty ? beyond.filter(\.failsAtName) : servers
        if isDecided(names), !hasNames, !hasInternet || !servers.isEmpty, isConfirmedBeyond(since: names) {
            return Finding(
                state: .dnsBroken,
                message: servers.isEmpty
                    ? text.namesUnknown(names)
                    : text.namesFail(names, areAlone: beyond.isEmpty && facts.traffic.isEmpty),
                hint: HeadlineText.namesFailHint,
                cause: .tests,
                began: firstFailure(of: names),
                element: .dns
            )
        }
        return nil
    }

    /// Whether hosts beyond the gateway have answered since name servers began to fail, or none can.
    ///
    /// Else it may be that nothing beyond the gateway answers, which the runs that go on will show.
    private func isConfirmedBeyond(since names: [ProbeObservation]) -> Bool {
        let hosts = beyond.filter { !$0.failsAtName && $0.shortage == nil }
        guard let first = firstFailure(of: names) else { return true }
        guard !hosts.isEmpty else { return isExamined(names, since: first) }
        return hosts.contains { $0.failingSince == nil && ($0.answered ?? .zero) >= first }
            || hosts.allSatisfy { $0.failingSince != nil }
    }

    /// Whether an examination began since these tests failed, and one failed after its end.
    ///
    /// Servers that refuse or answer with an error, and failures for which no examination comes, decide alone.
    private func isExamined(_ tests: [ProbeObservation], since first: Duration) -> Bool {
        let hasReplies = tests.allSatisfy { $0.failure == "dns" || $0.isRefused }
        guard facts.examinesFailures, !hasReplies, facts.now - first < HeadlineFacts.examination else { return true }
        guard let examination = facts.examination, examination.started >= first else { return false }
        return tests.contains { ($0.lastStart ?? .zero) >= examination.ended }
    }

    private var silent: Finding? {
        let tests = beyond + servers.filter { $0.shortage == nil }
        if isDecided(tests), !hasInternet, let first = firstFailure(of: tests),
            facts.examination?.isSilent == true, startOfExamination >= first
        {
            return unanswered(by: tests)
        }
        // Where name servers fail as well, one test that failed often enough decides for all.
        let (hostsBeyond, able) = (beyond.filter { $0.shortage == nil }, servers.filter { $0.shortage == nil })
        let hosts = hostsBeyond.isEmpty && areBeyond(able) ? able : hostsBeyond
        // One closed port or wrong page is the fault of its host; where several hosts fail so, a router may answer for them.
        let isAllSilent = hosts.allSatisfy { $0.isSilent || $0.failsAtName }
        guard isDecided(hosts) || isDecided(beyond + servers), !hasInternet,
            hosts.contains(where: { !$0.failsAtName }),
            isAllSilent || targets(of: hosts.filter { $0.isSilent || $0.isRefused }) > 1,
            !isContradicted(hosts, areSilent: isAllSilent)
        else { return nil }
        return unanswered(by: hosts)
    }

    private func unanswered(by tests: [ProbeObservation]) -> Finding {
        Finding(
            state: .noInternet,
            message: text.nothingAnswers(tests),
            hint: HeadlineText.nothingAnswersHint,
            cause: .tests,
            began: firstFailure(of: tests),
            element: .internet
        )
    }

    /// Whether something else shows that packets pass the gateway since these hosts fail: the failure is theirs, or that of
    /// one family.
    private func isContradicted(_ hosts: [ProbeObservation], areSilent: Bool) -> Bool {
        let families = Set(hosts.map(\.family))
        if families == [.ipv6], facts.path.supportsIPv4 { return true }
        guard let first = firstFailure(of: hosts) else { return false }
        if facts.traffic.contains(where: { $0.stalledSince == nil && ($0.answered ?? .zero) > first }) { return true }
        return servers.contains { server in
            guard !server.bypassesGateway, isAnswered(server), (server.answered ?? .zero) >= first else { return false }
            let isOfOtherFamily = !families.contains(server.family) && !families.contains(nil)
            return targets(of: hosts) == 1 || !areSilent || isOfOtherFamily
        }
    }

    private func targets(of probes: [ProbeObservation]) -> Int { Set(probes.map { $0.address ?? $0.name }).count }

    /// Whether several name servers are hosts beyond the gateway, from none of which anything comes back.
    private func areBeyond(_ servers: [ProbeObservation]) -> Bool {
        servers.count > 1 && servers.allSatisfy { !$0.bypassesGateway && $0.isSilent }
    }

    private var short: Finding? {
        guard let shortOf, let shortage = shortOf.shortage else { return nil }
        return Finding(
            state: .degraded,
            message: "\(shortage), so that the test \(shortOf.name) cannot run",
            hint: Verdict.action(onShortage: shortage),
            cause: Headline.Cause("resources"),
            began: shortOf.failingSince,
            element: .host
        )
    }

    private var checking: Finding? {
        let isOpen = beyond.contains { !$0.isFailing }
        if !hasInternet, isOpen, let probe = beyond.first(where: { $0.failingSince != nil }) {
            return Finding(state: .checking, message: text.failed(probe), began: firstFailure(of: beyond))
        }
        if !hasNames, let probe = servers.first(where: { $0.failingSince != nil }) {
            return Finding(state: .checking, message: text.failed(probe), began: firstFailure(of: servers))
        }
        guard !hasInternet else { return nil }
        let isComing = servers.contains { $0.lastStart == nil && $0.answered == nil }
        if facts.awaitsExamination || isOpen || isComing {
            return Finding(state: .checking, message: HeadlineText.noResultYet)
        }
        guard lastExamination(\.isSilent), let examination = facts.examination else { return nil }
        return Finding(state: .checking, message: HeadlineText.silentExamination, began: examination.ended)
    }

    private var worse: Finding? {
        if let standing = verdicts.first(where: { $0.verdict.severity >= .degraded }) {
            let state: Headline.State = standing.verdict.code.isSlowness ? .slow : .degraded
            let elements: [Layer: ChainElement.Kind] = [.dns: .dns, .link: .interface]
            var finding = Finding(state: state, standing, elements[standing.verdict.code.layer] ?? .internet)
            finding.began = max(standing.since, recovery ?? .zero)
            return finding
        }
        if let stall = stalls.first(where: { facts.now - ($0.stalledSince ?? .zero) >= HeadlineFacts.stallHold }) {
            return Finding(
                state: .degraded,
                message: text.unanswered(stalls),
                hint: HeadlineText.nothingAnswersHint,
                cause: Headline.Cause(VerdictCode.trafficStalled.rawValue, isSpecific: false),
                began: stall.stalledSince,
                element: .internet
            )
        }
        if facts.path.supportsIPv4, facts.path.supportsIPv6, let lost = AddressFamily.allCases.first(where: isLost) {
            let tests = beyond.filter { $0.family == lost }
            return Finding(
                state: .degraded,
                message: text.nothingAnswers(over: lost, tests),
                hint: HeadlineText.nothingAnswersHint,
                cause: .tests,
                began: max(tests.compactMap(\.failingSince).min() ?? .zero, recovery ?? .zero),
                element: .internet
            )
        }
        let isNoneRight = !beyond.isEmpty && beyond.allSatisfy { $0.isFailing && !$0.failsAtName }
        guard failing.count * 2 > tested.count || isNoneRight && !hasInternet else { return nil }
        let since = failing.compactMap(\.failingSince).sorted()
        return Finding(
            state: .degraded,
            message: text.tally(failing, of: tested),
            hint: HeadlineText.someFailHint,
            cause: .tests,
            began: max(since[min(tested.count / 2, since.count - 1)], recovery ?? .zero),
            element: failing.allSatisfy { $0.position == .nameServer } ? .dns : .internet
        )
    }

    /// Whether all of several tests beyond the gateway fail that use a family; one alone may be dead itself.
    private func isLost(_ family: AddressFamily) -> Bool {
        let tests = beyond.filter { $0.family == family }
        return tests.count > 1 && tests.allSatisfy { $0.isFailing && $0.isSilent }
    }

    private var good: Finding {
        guard hasInternet else {
            return Finding(
                state: .connected,
                message: text.connected(
                    hasNames: hasNames,
                    failing: failing,
                    of: tested
                ),
                hint: HeadlineText.connectedHint,
                began: recovery
            )
        }
        return Finding(
            state: .online,
            message: text.online(failing: failing, of: tested, isTested: isTested),
            hint: failing.isEmpty ? nil : HeadlineText.onlineHint,
            began: recovery
        )
    }

    // MARK: - Evidence

    private var tested: [ProbeObservation] { beyond + servers + elsewhere }
    private var failing: [ProbeObservation] { tested.filter(\.isFailing) }

    private func lastExamination(_ what: KeyPath<ExaminationSummary, Bool>) -> Bool {
        guard let examination = facts.examination else { return false }
        return examination[keyPath: what] && isFresh(examination.ended, for: examination.validity)
    }

    private func isFresh(_ time: Duration, for validity: Duration) -> Bool { facts.isFresh(time, for: validity) }

    /// Whether its answer counts: it is the newest result of that probe, and newer than any failure of its kind.
    func isAnswered(_ probe: ProbeObservation) -> Bool {
        guard probe.failingSince == nil, let answered = probe.answered else { return false }
        let limit: Duration =
            switch probe.position {
            case .beyond: lastUnanswered
            case .nameServer: newestFailure(of: servers)
            case .gateway, .near, .elsewhere: .zero
            }
        return isFresh(answered, for: probe.validity) && answered >= limit
    }

    /// Whether something beyond the gateway answered, be it with an error.
    var hasInternet: Bool { isTested || facts.traffic.contains(where: isAnswered) }

    /// Whether a test or an examination shows it.
    private var isTested: Bool {
        beyond.contains(where: isAnswered)
            || beyond.contains { $0.hasReply && isReplyNew($0) } && targets(of: beyond.filter(\.isSilent)) < 2
            || lastExamination(\.reachedInternet) && startOfExamination >= newestFailure(of: beyond)
    }

    private func isReplyNew(_ probe: ProbeObservation) -> Bool {
        probe.lastStart.map { isFresh($0, for: probe.validity) && $0 >= lastUnanswered } ?? false
    }

    /// Whether a name server answered.
    var hasNames: Bool {
        let limit = newestFailure(of: servers)
        return facts.probes.contains { $0.findsName && isAnswered($0) && ($0.answered ?? .zero) >= limit }
            || lastExamination(\.reachedDNS) && startOfExamination >= limit
    }

    private var startOfExamination: Duration { facts.examination?.started ?? .zero }

    /// When the newest row of failures started.
    private func newestFailure(of probes: [ProbeObservation]) -> Duration {
        probes.compactMap(\.failingSince).max() ?? .zero
    }

    /// When a test beyond the gateway last began to fail, or an examination ended in which nothing there answered.
    private var lastUnanswered: Duration {
        let unanswered = facts.examination.flatMap { $0.isSilent ? $0.ended : nil } ?? .zero
        return max(newestFailure(of: beyond.filter { !$0.hasReply }), unanswered)
    }

    /// Whether each fails that could run, and one of those that failed after the last answer as often as its threshold.
    private func isDecided(_ probes: [ProbeObservation]) -> Bool {
        let probes = probes.filter { $0.shortage == nil }
        guard let first = firstFailure(of: probes), probes.allSatisfy({ $0.failingSince != nil }) else { return false }
        return probes.contains { $0.isFailing && ($0.failingSince ?? .zero) >= first }
    }

    /// When the first test failed after the last answer of any of them.
    private func firstFailure(of probes: [ProbeObservation]) -> Duration? {
        let answered = probes.compactMap(\.answered).max() ?? .zero
        return probes.compactMap(\.failingSince).filter { $0 >= answered }.min()
    }

    /// When the first of those tests answered again that answer since the reported state began.
    private var recovery: Duration? {
        (beyond + servers).compactMap(\.answeringSince).filter { $0 > facts.reportedSince }.min()
    }
}

extension HeadlineFacts {
    /// How long after an answer others that failed are awaited; where packets are lost all the time some always fail.
    fileprivate static let repetition = Duration.seconds(5)
    /// How long connections are unanswered before that is reported: what a short break lost is sent again meanwhile.
    fileprivate static let stallHold = Duration.milliseconds(3500)
    /// How long an examination of failures that began is waited for.
    fileprivate static let examination = Duration.seconds(20)

    /// The probes of a position that count: where the last run was not assessed, as long as the result before it does.
    fileprivate func tests(of position: ProbeObservation.Position) -> [ProbeObservation] {
        probes.filter { probe in
            probe.position == position
                && (probe.isAssessable || probe.assessed.map { isFresh($0, for: probe.validity) } ?? false)
        }
    }

    fileprivate func isFresh(_ time: Duration, for validity: Duration) -> Bool {
        time >= statusSince && now - time <= validity
    }

    /// When the same facts may show another headline: an answer expires, or others that failed are awaited no longer.
    var expiry: Duration? {
        let tick = Duration.nanoseconds(1)
        var ends = probes.flatMap { probe in
            let results = [probe.answered, probe.assessed, probe.lastStart, probe.lastCaptive]
            return results.compactMap(\.self).map { $0 + probe.validity + tick }
        }
        ends += probes.compactMap(\.answeringSince).map { $0 + Self.repetition }
        ends += probes.compactMap(\.failingSince).map { $0 + Self.examination }
        ends += traffic.compactMap(\.stalledSince).map { $0 + Self.stallHold }
        ends += traffic.compactMap(\.answered).map { $0 + TrafficObservation.validity + tick }
        if let examination {
            ends.append(examination.ended + (probes.contains(where: \.isFailing) ? Self.repetition : .zero))
            ends.append(examination.ended + examination.validity + tick)
        }
        return ends.filter { $0 > now }.min()
    }
}

extension ProbeObservation {
    /// Leaves the last failures out: the last right answer counts as long as it is fresh.
    fileprivate mutating func disregard() {
        (isFailing, failingSince, isAssessable, assessed) = (false, nil, false, answered)
    }

    /// Whether it fails, and nothing came back.
    fileprivate var isSilent: Bool {
        failingSince != nil && !hasReply && !isRefused && failure != "dns"
    }
    fileprivate var isRefused: Bool { failingSince != nil && failure == "refused" }
    /// Whether it fails although its target answers, with a wrong status, a certificate that does not verify and the like.
    fileprivate var hasReply: Bool { failingSince != nil && ["status", "tls", "answer"].contains(failure) }
    /// Whether it fails before it gets to its target.
    var failsAtName: Bool { failingSince != nil && failure == "dns" && position == .beyond }
}

extension HeadlineFacts {
    /// Whether a probe answered what a verdict says that it cannot, after the verdict was confirmed last.
    fileprivate func contradict(_ standing: VerdictTracker.Standing) -> Bool {
        let verdict = standing.verdict
        guard verdict.severity == .broken else { return false }
        let isAnswered = traffic.contains { traffic in
            traffic.stalledSince == nil && (traffic.answered ?? .zero) > standing.lastSeen && verdict.stopsEverything
                && (verdict.family == nil || verdict.family == traffic.family)
        }
        return isAnswered
            || probes.contains { probe in
                guard let answered = probe.answered, answered > standing.lastSeen else { return false }
                if verdict.code.layer == .dns { return probe.position == .nameServer }
                return probe.position == .beyond && verdict.stopsEverything
                    && (verdict.family == nil || verdict.family == probe.family)
            }
    }
}
