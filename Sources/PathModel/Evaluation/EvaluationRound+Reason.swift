// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// An interface that might have carried the traffic, with what prevents that.
struct ReasonCandidate {
    let index: Int
    let type: InterfaceType
    let unusableReason: UnusableReason?
    var works: Bool { unusableReason == nil }
    /// 0 for hardware and what the operator or the past vouches for, 1 for what containers use, 2 for tunnels.
    let tier: Int
    private let order: (Int, Int, Int, Int, Int, Int)

    /// Ranks a link; `isKnown` where it carried traffic before, or must.
    init(link: Link, type: InterfaceType, unusableReason: UnusableReason?, tier: Int, isKnown: Bool) {
        index = link.index
        self.type = type
        self.unusableReason = unusableReason
        self.tier = tier
        let progress = Self.progress(unusableReason)
        order = (tier, progress >= 5 ? 0 : 1, isKnown ? 0 : 1, -progress, type.rank, link.index)
    }

    /// How far an interface got; more is further.
    private static func progress(_ unusableReason: UnusableReason?) -> Int {
        switch unusableReason {
        case nil, .noRoute: 7
        case .dadPending: 6
        case .noAddress: 5
        case .dormant, .authenticationFailed: 4
        case .testing: 3
        case .noCarrier, .lowerLayerDown: 2
        default: 1
        }
    }

    /// Whether this one explains the state better: by its tier, by how far it got, then by preference.
    func precedes(_ other: ReasonCandidate) -> Bool { order < other.order }
}

extension EvaluationRound {
    /// Why no packet leaves (rule S22).
    ///
    /// A route that exists and fails explains most; without one the interface that got furthest does.
    mutating func unsatisfiedReason() -> (UnsatisfiedReason, ReasonSubject?) {
        if view.isMissing {
            return (.noInterface, ReasonSubject(interface: view.monitor.outputInterface))
        }
        let ordered = AddressFamily.allCases.compactMap { outcomes[$0] }
        for outcome in ordered {
            if case .silent(let uplink) = outcome { return (.gatewayUnreachable, subject(of: uplink)) }
        }
        let requirement = ordered.compactMap { outcome in
            if case .forbidden(_, let requirement) = outcome { requirement } else { nil }
        }.first
        if let requirement, requirement == "require_vpn" { return (.policy, ReasonSubject(requirement: requirement)) }
        for outcome in ordered {
            switch outcome {
            case .stranded(let uplink, let reason, var subject):
                subject.family = subject.family ?? uplink.family
                return (reason, subject)
            case .dead(let uplink): return reason(ofDead: uplink)
            case .filtered(let uplink, let obstacle):
                var subject = subject(of: uplink)
                subject.obstacle = .output(obstacle)
                return (.blockedByFirewall, subject)
            case .noSource(let uplink, let verdict): return reason(ofSourceless: uplink, verdict)
            default: continue
            }
        }
        for family in AddressFamily.allCases {
            guard case .refused(let refusal)? = outcomes[family], let vrf = refusal.vrf else { continue }
            return (.noDefaultRoute, ReasonSubject(family: family, obstacle: .noRouteInVRF(vrf)))
        }
        return reasonOfInterfaces(requirement: requirement)
    }

    private func subject(of uplink: Uplink) -> ReasonSubject {
        ReasonSubject(
            interface: uplink.namedIndex.flatMap { classifier.state.links[$0]?.name },
            family: uplink.family,
            table: uplink.answer.table
        )
    }

    /// The kernel would send into links that are down, perhaps although another one works.
    private func reason(ofDead uplink: Uplink) -> (UnsatisfiedReason, ReasonSubject?) {
        var subject = subject(of: uplink)
        let dead = Set(uplink.dead.map(\.index))
        if let mute = uplink.dead.first(where: classifier.isMute).flatMap({ classifier.state.links[$0.index] }),
            classifier.fault(of: mute) == nil
        {
            (subject.interface, subject.obstacle) = (mute.name, .noARP)
            return (.gatewayUnreachable, subject)
        }
        if let other = others.first(where: { !dead.contains($0.link.index) }) {
            subject.alternative = other.link.name
            return (.preferredRouteLinkDown, subject)
        }
        guard let link = uplink.namedIndex.flatMap({ classifier.state.links[$0] }) else { return (.noCarrier, subject) }
        if classifier.isLoopback(link) {
            subject.obstacle = .loopback
            return (.noDefaultRoute, subject)
        }
        if classifier.isUsable(link), classifier.isEnslaved(link),
            let master = link.master.flatMap({ classifier.state.links[$0] })
        {
            subject.obstacle = .port(of: master.name)
            return (.noDefaultRoute, subject)
        }
        let broken = (uplink.live + uplink.dead).lazy.compactMap(classifier.brokenPort).first
        let fault = classifier.fault(of: link) ?? broken?.fault ?? LinkFault(problem: .noCarrier)
        subject.interface = fault.port?.name ?? subject.interface
        subject.obstacle = fault.obstacle
        subject.radio = classifier.radio(of: fault.port ?? link)
        return (fault.problem.reason, subject)
    }

    /// There is a route by a link that works, but no address to come from.
    private mutating func reason(
        ofSourceless uplink: Uplink,
        _ verdict: SourceEvaluator.Verdict
    ) -> (UnsatisfiedReason, ReasonSubject?) {
        var subject = subject(of: uplink)
        if verdict.isPending { return (.dadPending, subject) }
        subject.obstacle = verdict.obstacle
        guard verdict.obstacle == nil, let index = uplink.namedIndex else { return (.noSourceAddress, subject) }
        if let link = classifier.state.links[index], link.operationalState == .dormant {
            subject.radio = classifier.radio(of: link)
            return (.dormant, subject)
        }
        if isConfiguring(index) { return (.configuring, subject) }
        return (.noSourceAddress, subject)
    }

    /// No family has a route: the interface that got furthest gives the reason.
    private mutating func reasonOfInterfaces(requirement: String?) -> (UnsatisfiedReason, ReasonSubject?) {
        let candidates = reasonCandidates()
        let radios = classifier.facts.radios
        let hasOther = candidates.contains { $0.tier == 0 && $0.type != .wifi && $0.type != .cellular }
        if !hasOther, !candidates.contains(where: { $0.unusableReason == nil }) {
            let hasModem = candidates.contains { $0.type == .cellular } || radios.hasWwan
            if radios.isWifiBlocked, radios.hasWifi, allows(.wifi),
                !hasModem || radios.isWwanBlocked || !allows(.cellular)
            {
                return (.rfkillWifi, ReasonSubject(obstacle: radios.isWifiBlockedByHardware ? .hardware : nil))
            }
            if radios.isWwanBlocked, radios.hasWwan, allows(.cellular), !radios.hasWifi || !allows(.wifi) {
                return (.rfkillWwan, ReasonSubject())
            }
        }
        guard let best = candidates.min(by: { $0.precedes($1) }), let link = classifier.state.links[best.index] else {
            if let requirement { return (.policy, ReasonSubject(requirement: requirement)) }
            if let (link, vrf) = vrfMember() {
                return (.noDefaultRoute, ReasonSubject(interface: link.name, obstacle: .inVRF(vrf.name)))
            }
            return (.noInterface, nil)
        }
        var subject = classifier.subject(link)
        switch best.unusableReason {
        case .noAddress where isConfiguring(best.index): return (.configuring, subject)
        case .linkDown where classifier.blockedRadio(of: link) != nil:
            return (.rfkillWifi, classifier.blockedRadio(of: link))
        case nil: break
        case let unusableReason?:
            let fault = classifier.fault(of: link)
            subject.interface = fault?.port?.name ?? link.name
            subject.radio = classifier.radio(of: fault?.port ?? link)
            subject.obstacle = fault?.obstacle ?? link.obstacle(behind: unusableReason)
            return (unusableReason.reason, subject)
        }
        let (refusal, family) = decisiveRefusal()
        subject.family = family
        subject.obstacle = refusal.source.map { .source($0) }
        return (refusal.failure.reason, subject)
    }

    /// An interface that could carry traffic if programs were bound to its VRF.
    private func vrfMember() -> (link: Link, vrf: Link)? {
        guard view.bound == nil else { return nil }
        let members = classifier.state.links.values.compactMap { link in
            classifier.vrf(of: link).map { (link: link, vrf: $0) }
        }
        return members.filter { classifier.isEligible($0.link) && classifier.unusableReason(of: $0.link) == nil }
            .min { $0.link.index < $1.link.index }
    }

    private func allows(_ type: InterfaceType) -> Bool {
        (view.monitor.requiredType ?? type) == type && !view.monitor.prohibitedTypes.contains(type)
    }

    func reasonCandidates() -> [ReasonCandidate] {
        var candidates: [ReasonCandidate] = []
        for link in classifier.state.links.values {
            guard classifier.isEligible(link), view.covers(link), view.unmetRequirement(of: link) == nil else {
                continue
            }
            let unusableReason = classifier.unusableReason(of: link)
            // Who switches off an interface that has an address means that one.
            let isConfigured = unusableReason == .linkDown && classifier.state.routableInterfaces.contains(link.index)
            let isKnown =
                classifier.memory.everAvailable.contains(link.index) || classifier.isRequired(link) || isConfigured
            let isTunnel = classifier.isTunnel(link)
            // The tunl0 and sit0 that kernel modules bring along explain nothing.
            if isTunnel, !isKnown, !link.flags.contains(.up) { continue }
            candidates.append(
                ReasonCandidate(
                    link: link,
                    type: classifier.type(of: link),
                    unusableReason: unusableReason,
                    tier: isKnown ? 0 : isTunnel ? 2 : classifier.isPlumbing(link) ? 1 : 0,
                    isKnown: isKnown
                )
            )
        }
        return candidates
    }

    /// Whether the interface came up just now and may still get an address (rule S23); notes when that ends.
    private mutating func isConfiguring(_ index: Int) -> Bool {
        guard let since = classifier.state.settlingSince(index) else { return false }
        let end = since + classifier.policy.configuringWindow
        guard now < end else { return false }
        configuringEnd = end
        return true
    }

    /// The refusal to report: an explicit one before a missing route, of the families that have an address.
    private func decisiveRefusal() -> (refusal: RouteRefusal, family: AddressFamily?) {
        let sources = SourceEvaluator(interfaces: classifier)
        let addressed = AddressFamily.allCases.filter { family in
            classifier.state.routableInterfaces.contains { index in
                guard let link = classifier.state.links[index], classifier.isUsable(link), view.covers(link) else {
                    return false
                }
                return sources.hasSource(index, family: family)
            }
        }
        let refusals = addressed.compactMap { family -> (RouteRefusal, AddressFamily)? in
            if case .refused(let refusal) = outcomes[family] { (refusal, family) } else { nil }
        }
        if let decisive = refusals.first(where: { $0.0.failure.isExplicit || $0.0.source != nil }) { return decisive }
        return (refusals.first?.0 ?? RouteRefusal(failure: .noRoute), nil)
    }
}

extension RouteFailure {
    /// Whether a route or rule says no, rather than that there is none.
    var isExplicit: Bool { self == .unreachable || self == .prohibited || self == .blackhole }

    var reason: UnsatisfiedReason {
        switch self {
        case .unreachable: .routeUnreachable
        case .prohibited: .routeProhibited
        case .blackhole: .routeBlackhole
        case .noSuchInterface: .noInterface
        case .noRoute, .familyUnsupported, .other: .noDefaultRoute
        }
    }
}

extension UnusableReason {
    var reason: UnsatisfiedReason {
        switch self {
        case .linkDown: .linkDown
        case .noCarrier, .lowerLayerDown, .notPresent, .testing: .noCarrier
        case .notForwarding: .portNotForwarding
        case .dormant: .dormant
        case .authenticationFailed: .wifiAuthenticationFailed
        case .dadPending: .dadPending
        case .noRoute: .noDefaultRoute
        case .loopback, .enslaved, .ignored: .noInterface
        case .noAddress: .noAddress
        }
    }
}
