// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

extension Explainer {
    /// Finds out who refused: a rule, a route, a nexthop object, or the lack of one of them.
    func explain(
        _ refusal: RouteRefusal,
        to destination: IPAddress,
        _ matches: RuleMatches,
        _ chain: inout ExplanationChain
    ) {
        let family = destination.family
        let failure = refusal.failure
        if failure == .familyUnsupported {
            chain.fail(.rule, "\(family.label) is disabled in the kernel", hint: nil)
            return
        }
        if findRefusal(failure, to: destination, matches, &chain) { return }
        guard let general = matches.general else {
            let option = family == .ipv6 ? "ip -6" : "ip"
            chain.fail(
                .rule,
                "no \(family.label) rule selects a routing table",
                hint: "`\(option) rule add priority 32766 lookup main`"
            )
            return
        }
        if failure != .noRoute {
            chain.unknown(.rule, "unknown (one of \(matches.rules.count) rules)")
            chain.unknown(.table, "unknown")
            chain.fail(.route, "a route to \(destination): \(failure)", ReasonText(failure.reason, subject(family)))
            return
        }
        if let vrf = refusal.vrf {
            chain.fine(.rule, matches.text(of: general))
            chain.fine(.table, "\(RouteText.name(ofTable: general.table)), whose route leads into the VRF \(vrf)")
            let subject = ReasonSubject(family: family, obstacle: .noRouteInVRF(vrf))
            return chain.fail(.route, nil, ReasonText(.noDefaultRoute, subject))
        }
        if let source = refusal.source {
            // Packets without a source do match a route, so that the machine has one.
            chain.unknown(.table, "none of the tables used for packets from \(source)")
            let subject = ReasonSubject(family: family, obstacle: .source(source))
            return chain.fail(.route, nil, ReasonText(.noDefaultRoute, subject))
        }
        explainLack(of: destination, matches, general, &chain)
    }

    private func subject(_ family: AddressFamily, interface: String? = nil, table: UInt32? = nil) -> ReasonSubject {
        ReasonSubject(interface: interface, family: family, table: table)
    }

    /// Finds the first rule, or the first table it leads to, that refuses with this failure.
    private func findRefusal(
        _ failure: RouteFailure,
        to destination: IPAddress,
        _ matches: RuleMatches,
        _ chain: inout ExplanationChain
    ) -> Bool {
        let family = destination.family
        let doubtful = matches.refusals(failure)
        for step in matches.steps {
            let rule = step.rule
            if rule.refusals.contains(failure) {
                // What else has no route may be the cause as well.
                if !step.isCertain && failure == .noRoute { continue }
                guard step.isCertain else {
                    chain.unknown(.rule, matches.text(of: doubtful))
                    chain.unknown(.table, "unknown")
                    let reason = ReasonText(failure.reason, subject(family))
                    chain.fail(.route, "a route to \(destination): \(failure)", reason)
                    return true
                }
                let option = family == .ipv6 ? "ip -6" : "ip"
                chain.fail(
                    .rule,
                    rule.line,
                    fault: "the \(family.label) rule \(rule.line) refuses packets",
                    hint: "`\(option) rule show`, then `\(option) rule del priority \(rule.priority)`"
                )
                return true
            }
            guard rule.isLookup, step.isCertain else { continue }
            if let entry = reject(of: destination, in: rule.table, as: failure) {
                chain.fine(.rule, matches.text(of: rule))
                chain.fine(.table, RouteText.name(ofTable: rule.table))
                failRoute(entry, failure, to: destination, &chain)
                return true
            }
            if failure == .blackhole, let entry = defaults(in: rule.table, family).first,
                let id = entry.answer.nexthopID,
                facts.nexthops.contains(where: { $0.id == id && $0.isBlackhole })
            {
                chain.fine(.rule, matches.text(of: rule))
                chain.fine(.table, RouteText.name(ofTable: rule.table))
                chain.fine(.route, RouteText.line(entry.answer, to: destination, links: state.links))
                chain.fail(.nexthop, "nexthop object \(id) drops packets", hint: "`ip nexthop show id \(id)`")
                return true
            }
        }
        return false
    }

    private func failRoute(
        _ entry: RouteEntry,
        _ failure: RouteFailure,
        to destination: IPAddress,
        _ chain: inout ExplanationChain
    ) {
        // IPv6 shows such routes with the loopback device, which says nothing.
        var answer = entry.answer
        answer.nexthops = []
        let line = RouteText.line(answer, to: destination, links: [:])
        let reason = ReasonText(failure.reason, subject(destination.family, table: entry.answer.table))
        let fault =
            entry.destination.length == 0
            ? reason.clause : "the \(destination.family.label) route \(line) refuses packets"
        chain.fail(.route, line, fault: fault, hint: reason.hint)
    }

    /// The longest rejecting route of a table that packets to `destination` match.
    private func reject(of destination: IPAddress, in table: UInt32, as failure: RouteFailure) -> RouteEntry? {
        facts.rejects.filter { entry in
            entry.answer.table == table && entry.answer.type.refusal == failure
                && entry.destination.address.family == destination.family && entry.destination.contains(destination)
        }.max { $0.destination.length < $1.destination.length }
    }

    private func defaults(in table: UInt32, _ family: AddressFamily) -> [RouteEntry] {
        facts.defaults.filter { $0.answer.table == table && $0.destination.address.family == family }
    }

    // MARK: - Nothing matches

    private func explainLack(
        of destination: IPAddress,
        _ matches: RuleMatches,
        _ general: PolicyRule,
        _ chain: inout ExplanationChain
    ) {
        let family = destination.family
        for rule in matches.lookups {
            // The kernel passes over routes whose links are down, where so configured.
            guard let entry = defaults(in: rule.table, family).first(where: isPassedOver) else { continue }
            chain.fine(.rule, matches.text(of: rule))
            chain.fine(.table, RouteText.name(ofTable: rule.table))
            chain.fine(.route, RouteText.line(entry.answer, to: destination, links: state.links) + ", skipped")
            follow(nil, entry.answer, to: destination, &chain)
            return
        }
        let tables = Set(matches.lookups.map(\.table))
        let elsewhere = facts.defaults.first { entry in
            entry.destination.address.family == family && !tables.contains(entry.answer.table)
                && entry.answer.type == .unicast && !isPassedOver(entry)
        }
        chain.fine(.rule, matches.text(of: general))
        if let elsewhere, let vrf = state.links.values.first(where: { $0.vrfTable == elsewhere.answer.table }) {
            let interface = elsewhere.answer.nexthops.first.flatMap { state.links[$0.index]?.name }
            let subject = ReasonSubject(interface: interface, family: family, obstacle: .inVRF(vrf.name))
            let text = "\(RouteText.name(ofTable: general.table)) has no route; the VRF \(vrf.name) has one"
            return chain.fail(.table, text, ReasonText(.noDefaultRoute, subject))
        }
        if let elsewhere {
            let option = family == .ipv6 ? "ip -6" : "ip"
            let name = RouteText.name(ofTable: elsewhere.answer.table)
            chain.fail(
                .table,
                "\(RouteText.name(ofTable: general.table)) has no route; the default route is in table \(name)",
                fault: "no rule selects table \(name), which has the \(family.label) default route",
                hint: "`\(option) rule add lookup \(name)`, or add a default route to the main table"
            )
            return
        }
        chain.fine(.table, RouteText.name(ofTable: general.table))
        explainByInterface(family, &chain)
    }

    /// Whether no nexthop of a route works, so that the kernel may act as if it was not there.
    private func isPassedOver(_ entry: RouteEntry) -> Bool {
        entry.answer.type == .unicast && !entry.answer.nexthops.isEmpty
            && entry.answer.nexthops.allSatisfy { state.links[$0.index].map(interfaces.isUsable) != true }
    }

    /// Without a route the interface that got furthest is the reason: the kernel drops routes of links that are off.
    private func explainByInterface(_ family: AddressFamily, _ chain: inout ExplanationChain) {
        let path = PathEvaluator(interfaces).evaluate(interfaces.policy.standardMonitor, table: table, at: facts.now)
            .path
        let element: ExplanationElement? =
            switch path.reason {
            case .noInterface, .linkDown, .rfkillWifi, .rfkillWwan: .link
            case .noCarrier, .dormant, .wifiAuthenticationFailed: .carrier
            case .noAddress, .dadPending, .configuring: .source
            default: nil
            }
        guard let element, let reason = path.reason else {
            return chain.fail(.route, nil, ReasonText(.noDefaultRoute, lackingSubject(family)))
        }
        chain.unknown(.route, "none while the interface does not work")
        chain.unknown(.nexthop, "none")
        if let link = path.subject?.interface.flatMap({ state.link(named: $0) }) {
            chain.interface = link.name
            if element > .link { chain.fine(.link, describe(link)) }
            if element > .carrier { chain.fine(.carrier, describeCarrier(link)) }
        }
        chain.fail(element, nil, ReasonText(reason, path.subject))
    }

    /// A family that nothing leads to may be switched off on the interface that works.
    private func lackingSubject(_ family: AddressFamily) -> ReasonSubject {
        var subject = subject(family)
        guard family == .ipv6 else { return subject }
        let working = state.links.values.filter {
            interfaces.isEligible($0) && interfaces.unusableReason(of: $0) == nil
        }
        guard let link = working.min(by: { $0.index < $1.index }), let obstacle = link.ipv6Obstacle else {
            return subject
        }
        subject.interface = link.name
        subject.obstacle = obstacle
        return subject
    }
}

extension ExplanationElement: Comparable {
    /// What the kernel comes to first is less.
    public static func < (left: ExplanationElement, right: ExplanationElement) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
}

extension RouteType {
    /// What packets that match such a route are refused with; `nil` when they are not, or other rules decide.
    fileprivate var refusal: RouteFailure? {
        switch self {
        case .unreachable: .unreachable
        case .prohibit: .prohibited
        case .blackhole: .blackhole
        default: nil
        }
    }
}
