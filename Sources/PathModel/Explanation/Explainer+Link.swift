// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

extension Explainer {
    /// Follows a route from its nexthop to the neighbour.
    func follow(
        _ choice: RouteChoice?,
        _ answer: RouteAnswer,
        to destination: IPAddress,
        _ chain: inout ExplanationChain
    ) {
        let decided = choice?.decision
        let legs = answer.legs.isEmpty ? decided?.legs ?? [] : answer.legs
        let isLocal = answer.type == .local
        if isLocal, answer.prefixLength <= RoutePoll.longestPrefix(destination.family), !destination.isLoopback {
            let name = legs.first.flatMap { state.links[$0.index]?.name } ?? "lo"
            let subject = ReasonSubject(interface: name, family: destination.family, obstacle: .loopback)
            return chain.fail(.nexthop, "this machine", ReasonText(.noDefaultRoute, subject))
        }
        guard let leg = choose(legs, decided: decided) else {
            let object = answer.nexthopID.map { "nexthop object \($0)" } ?? "the route"
            chain.fail(
                .nexthop,
                "\(object) has no usable nexthop",
                hint: "`ip nexthop show`, `ip route show table all`"
            )
            return
        }
        explainNexthop(leg, of: legs, isLocal: isLocal, &chain)
        guard !chain.isBroken, let link = state.links[leg.index] else { return }
        chain.interface = link.name
        if isLocal || !explainDetour(link, destination.family, &chain) { explainLink(link, &chain) }
        explainSource(choice, answer, by: link, through: leg.gateway, to: destination, &chain)
        explainFirewall(link, isLocal: isLocal, to: destination, &chain)
        explainNeighbor(leg, link, isLocal: isLocal, to: destination, &chain)
    }

    private func explainFirewall(
        _ link: Link,
        isLocal: Bool,
        to destination: IPAddress,
        _ chain: inout ExplanationChain
    ) {
        if isLocal { return chain.fine(.firewall, "not tested: the destination is this machine") }
        guard facts.mark == 0 else { return chain.fine(.firewall, "not tested for marked packets") }
        let connections = table.output(of: .https, to: destination, by: link.index)
        if case .refused(let obstacle) = connections {
            let subject = ReasonSubject(
                interface: link.name,
                family: destination.family,
                obstacle: .output(obstacle)
            )
            return chain.fail(.firewall, nil, ReasonText(.blockedByFirewall, subject))
        }
        let datagrams = table.output(of: .quic, to: destination, by: link.index)
        guard case .refused(let obstacle) = datagrams else {
            if datagrams == .unknown { return chain.unknown(.firewall, "unknown without a test packet") }
            let what = connections == .unknown ? "UDP port 443 is" : "TCP and UDP port 443 are"
            return chain.fine(.firewall, "\(what) allowed")
        }
        let text = "\(obstacle.name) refuses UDP port 443"
        if connections == .open { return chain.fine(.firewall, "\(text), but not TCP") }
        chain.doubt(.firewall, text, hint: obstacle.hint)
    }

    /// The leg the kernel chose for these packets, which may be a dead one of several, else the first that works, else the
    /// first.
    private func choose(_ legs: [RouteLeg], decided: RouteAnswer?) -> RouteLeg? {
        if let chosen = decided?.legs.first, let leg = legs.first(where: { $0.index == chosen.index }) { return leg }
        return legs.first(where: facts.judge.isLive) ?? legs.first
    }

    // MARK: - Nexthop

    private func explainNexthop(
        _ leg: RouteLeg,
        of legs: [RouteLeg],
        isLocal: Bool,
        _ chain: inout ExplanationChain
    ) {
        let name = RouteText.name(of: leg, links: state.links)
        if isLocal { return chain.fine(.nexthop, "this machine") }
        guard let link = state.links[leg.index] else {
            chain.fail(.nexthop, "\(name) does not exist", hint: "`ip link`, `ip nexthop show`")
            return
        }
        if leg.flags.contains(.dead), link.isUsable {
            let text = RouteText.leg(leg, links: state.links)
            let fault = "the kernel marks the nexthop \(text) as dead although \(name) works"
            chain.fail(.nexthop, text, fault: fault, hint: "add the route again")
            return
        }
        let dead = legs.filter { !facts.judge.isLive($0) }
        if legs.count > 1 && dead.count == legs.count {
            let list = dead.map { "\(RouteText.leg($0, links: state.links))\(shortcoming(of: $0))" }
            chain.fail(
                .nexthop,
                list.joined(separator: "; "),
                fault: "all \(legs.count) nexthops of the route are dead: \(list.joined(separator: "; "))",
                hint: "bring one of the links up: `ip link show`"
            )
            return
        }
        var text = leg.gateway.map { "\($0) on \(name)" } ?? "directly on \(name)"
        if legs.count > 1 { text += ", one of \(legs.count)" }
        if !dead.isEmpty && legs.count > 1 {
            text += "; dead: \(dead.map { RouteText.leg($0, links: state.links) }.joined(separator: "; "))"
        }
        chain.fine(.nexthop, text)
    }

    private func shortcoming(of leg: RouteLeg) -> String {
        guard let link = state.links[leg.index], let shortcoming = link.shortcoming else { return "" }
        return " (\(shortcoming.rawValue))"
    }

    // MARK: - Link

    /// Says so when the route leads to the machine itself, or by a port of a bridge or bond.
    private func explainDetour(_ link: Link, _ family: AddressFamily, _ chain: inout ExplanationChain) -> Bool {
        var subject = ReasonSubject(interface: link.name, family: family)
        if facts.judge.isLoopback(link) {
            subject.obstacle = .loopback
        } else if link.isUsable, facts.judge.isEnslaved(link), let master = link.master.flatMap({ state.links[$0] }) {
            subject.obstacle = .port(of: master.name)
        } else {
            return false
        }
        chain.fail(.link, describe(link), ReasonText(.noDefaultRoute, subject))
        return true
    }

    func describe(_ link: Link) -> String {
        let kind = link.kind.map { " \($0)" } ?? ""
        return "\(link.name): up,\(kind) \(facts.judge.type(of: link).rawValue), mtu \(link.mtu)"
    }

    func describeCarrier(_ link: Link) -> String {
        let ports = link.kind == "bridge" ? state.ports(of: link.index).sorted().compactMap { state.links[$0] } : []
        let unplugged = ports.filter { $0.shortcoming != nil }.prefix(3).map(\.name).joined(separator: ", ")
        let exception = unplugged.isEmpty ? "" : ", but not on \(unplugged)"
        return "\(link.name): carrier\(exception), operational state \(link.operationalState)"
    }

    private func explainLink(_ link: Link, _ chain: inout ExplanationChain) {
        switch link.shortcoming {
        case nil:
            chain.fine(.link, describe(link))
            switch underlay(of: link) {
            case .link(let below): chain.fine(.carrier, "\(describeCarrier(link)), runs over \(below.name)")
            case .broken(let reason, let subject):
                chain.fail(.carrier, describeCarrier(link), ReasonText(reason, subject))
            case .unknown: chain.fine(.carrier, describeCarrier(link))
            }
        case .linkDown:
            let reason = ReasonText(.linkDown, ReasonSubject(interface: link.name))
            chain.fail(.link, "\(link.name): administratively down", reason)
        case let shortcoming?:
            chain.fine(.link, describe(link))
            let path = PathEvaluator(facts.judge).evaluate(table: table, at: facts.now).path
            let isPreferred = path.reason == .preferredRouteLinkDown && path.subject?.interface == link.name
            let own = ReasonSubject(interface: link.name, obstacle: link.obstacle(behind: shortcoming))
            let subject = isPreferred ? path.subject : own
            let reason = isPreferred ? UnsatisfiedReason.preferredRouteLinkDown : shortcoming.reason
            let words = shortcoming.rawValue.split(separator: "_").joined(separator: " ")
            chain.fail(.carrier, "\(link.name): \(words)", ReasonText(reason, subject))
        }
    }

    private func underlay(of link: Link) -> Underlay {
        guard facts.judge.isTunnel(link) else { return .unknown }
        var survey = RouteSurvey(judge: facts.judge, table: table, mark: 0, uid: nil, bound: nil)
        let view = MonitorView(MonitorPolicy(), judge: facts.judge)
        var round = EvaluationRound(judge: facts.judge, view: view, now: facts.now)
        round.askInterfaces(with: &survey)
        return round.underlay(of: link, with: &survey)
    }

    // MARK: - Source

    private func explainSource(
        _ choice: RouteChoice?,
        _ answer: RouteAnswer,
        by link: Link,
        through gateway: IPAddress?,
        to destination: IPAddress,
        _ chain: inout ExplanationChain
    ) {
        guard let choice else {
            chain.fail(
                .source,
                "the kernel rejects packets to \(destination) although a route exists",
                hint: "`ip route get \(destination)`"
            )
            return
        }
        let source = choice.source
        let isNear = destination.isLinkLocal || destination.isLoopback || destination.isMulticast
        if let source, answer.type == .local || isNear && !source.isUnspecified {
            return chain.fine(.source, "\(source)")
        }
        let hop = state.neighborState(NeighborKey(index: link.index, address: gateway ?? destination))
        let sources = SourceJudge(interfaces: facts.judge)
        let verdict = sources.evaluate(source, by: link.index, family: destination.family, hop: hop)
        guard let source, verdict.isUsable else {
            let subject = ReasonSubject(interface: link.name, family: destination.family, obstacle: verdict.obstacle)
            let text = source.map { "\($0) cannot be used beyond this machine" }
            let reason = verdict.isPending ? UnsatisfiedReason.dadPending : .noSourceAddress
            return chain.fail(.source, verdict.isPending ? nil : text, ReasonText(reason, subject))
        }
        var survey = survey()
        if survey.isForeign(source) {
            let subject = ReasonSubject(
                interface: link.name,
                family: destination.family,
                obstacle: .noLocalTable(source)
            )
            return chain.fail(.source, "\(source)", ReasonText(.noSourceAddress, subject))
        }
        let owner = verdict.held.flatMap { state.links[$0.value.index]?.name }
        var notes = owner.map { [$0] } ?? []
        notes += verdict.warnings.map(\.rawValue).sorted()
        chain.fine(.source, notes.isEmpty ? "\(source)" : "\(source) (\(notes.joined(separator: ", ")))")
    }

    // MARK: - Neighbour

    private func explainNeighbor(
        _ leg: RouteLeg,
        _ link: Link,
        isLocal: Bool,
        to destination: IPAddress,
        _ chain: inout ExplanationChain
    ) {
        if isLocal { return chain.fine(.neighbour, "not needed: the destination is this machine") }
        let address = leg.gateway ?? destination
        if !link.flags.isDisjoint(with: [.noARP, .pointToPoint, .loopback]) || address.isMulticast {
            return chain.fine(.neighbour, "not needed on \(link.name)")
        }
        guard let entry = facts.neighbors[NeighborKey(index: link.index, address: address)] else {
            return chain.unknown(.neighbour, "\(address) on \(link.name): not resolved yet")
        }
        let hardware = entry.hardwareAddress.isEmpty ? "" : " at \(Self.text(entry.hardwareAddress))"
        let text = "\(address) on \(link.name)\(hardware): \(entry.state.word)"
        switch entry.state {
        case .failed:
            let isDormant = link.operationalState == .dormant
            let cause = ReasonText(isDormant ? .dormant : .gatewayUnreachable, ReasonSubject(interface: link.name))
            let name = leg.gateway == nil ? "\(address)" : "the \(destination.family.label) gateway \(address)"
            let state = isDormant ? ", which is waiting for authentication" : ""
            let fault = "\(name) does not answer on \(link.name)\(state)"
            chain.fail(.neighbour, text, fault: fault, hint: cause.hint)
        case .none, .incomplete: chain.unknown(.neighbour, text)
        default: chain.fine(.neighbour, text)
        }
    }

    private static func text(_ hardwareAddress: [UInt8]) -> String {
        hardwareAddress.hexadecimal(separator: ":")
    }
}

extension NeighborState {
    /// As ip-neighbour(8) names it.
    fileprivate var word: String {
        switch self {
        case .noARP: "no ARP"
        default: "\(self)"
        }
    }
}
