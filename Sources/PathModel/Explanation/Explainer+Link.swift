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
        let nexthops = choice?.nexthops ?? answer.nexthops
        let isLocal = answer.type == .local
        if isLocal, answer.prefixLength <= RoutePoll.longestPrefix(destination.family), !destination.isLoopback {
            let name = nexthops.first.flatMap { state.links[$0.index]?.name } ?? "lo"
            let subject = ReasonSubject(interface: name, family: destination.family, obstacle: .loopback)
            return chain.fail(.nexthop, "this machine", ReasonText(.noDefaultRoute, subject))
        }
        guard let nexthop = choose(nexthops, decided: decided) else {
            let object = answer.nexthopID.map { "nexthop object \($0)" } ?? "the route"
            chain.fail(
                .nexthop,
                "\(object) has no usable nexthop",
                hint: "`ip nexthop show`, `ip route show table all`"
            )
            return
        }
        explainNexthop(nexthop, of: nexthops, isLocal: isLocal, redirect: choice?.redirect, &chain)
        guard !chain.isBroken, let link = state.links[nexthop.index] else { return }
        chain.interface = link.name
        if isLocal || !explainDetour(link, destination.family, &chain) {
            explainLink(link, by: nexthop, decided: decided, to: destination, &chain)
        }
        explainSource(choice, answer, by: link, through: nexthop.gateway, to: destination, &chain)
        explainFirewall(link, isLocal: isLocal, from: choice?.source, to: destination, &chain)
        explainNeighbor(nexthop, link, isLocal: isLocal, to: destination, &chain)
    }

    private func explainFirewall(
        _ link: Link,
        isLocal: Bool,
        from source: IPAddress?,
        to destination: IPAddress,
        _ chain: inout ExplanationChain
    ) {
        if isLocal { return chain.fine(.firewall, "not tested: the destination is this machine") }
        guard facts.mark == 0 else { return chain.fine(.firewall, "not tested for marked packets") }
        guard let transport else { return chain.unknown(.firewall, "not tested") }
        let connections = table.output(of: transport, from: source, to: destination, by: link.index)
        if case .refused(let obstacle) = connections {
            let subject = ReasonSubject(
                interface: link.name,
                family: destination.family,
                obstacle: .output(obstacle)
            )
            return chain.fail(.firewall, nil, ReasonText(.blockedByFirewall, subject))
        }
        guard transport == .https else {
            if connections == .unknown { return chain.unknown(.firewall, "unknown without a test packet") }
            return chain.fine(.firewall, "\(transport.number == 6 ? "TCP" : "UDP") port \(transport.port) is allowed")
        }
        let datagrams = table.output(of: .quic, from: source, to: destination, by: link.index)
        guard case .refused(let obstacle) = datagrams else {
            if datagrams == .unknown { return chain.unknown(.firewall, "unknown without a test packet") }
            let what = connections == .unknown ? "UDP port 443 is" : "TCP and UDP port 443 are"
            return chain.fine(.firewall, "\(what) allowed")
        }
        let text = "\(obstacle.name) refuses UDP port 443"
        if connections == .open { return chain.fine(.firewall, "\(text), but not TCP") }
        chain.suspect(.firewall, text, hint: obstacle.hint)
    }

    /// The nexthop the kernel chose for these packets, which may be a dead one of several, else the first that works, else the
    /// first.
    private func choose(_ nexthops: [RouteNexthop], decided: RouteAnswer?) -> RouteNexthop? {
        if let chosen = decided?.nexthops.first, let nexthop = nexthops.first(where: { $0.index == chosen.index }) {
            return nexthop
        }
        return nexthops.first(where: interfaces.isLive) ?? nexthops.first
    }

    // MARK: - Nexthop

    private func explainNexthop(
        _ nexthop: RouteNexthop,
        of nexthops: [RouteNexthop],
        isLocal: Bool,
        redirect: RouteNexthop?,
        _ chain: inout ExplanationChain
    ) {
        let name = RouteText.name(of: nexthop, links: state.links)
        if isLocal { return chain.fine(.nexthop, "this machine") }
        guard let link = state.links[nexthop.index] else {
            chain.fail(.nexthop, "\(name) does not exist", hint: "`ip link`, `ip nexthop show`")
            return
        }
        if nexthop.flags.contains(.dead), interfaces.isUsable(link) {
            let text = RouteText.nexthop(nexthop, links: state.links)
            let fault = "the kernel marks the nexthop \(text) as dead although \(name) works"
            chain.fail(.nexthop, text, fault: fault, hint: "add the route again")
            return
        }
        let dead = nexthops.filter { !interfaces.isLive($0) }
        if nexthops.count > 1 && dead.count == nexthops.count {
            let list = dead.map { "\(RouteText.nexthop($0, links: state.links))\(unusableReason(of: $0))" }
            chain.fail(
                .nexthop,
                list.joined(separator: "; "),
                fault: "all \(nexthops.count) nexthops of the route are dead: \(list.joined(separator: "; "))",
                hint: "bring one of the links up: `ip link show`"
            )
            return
        }
        var text = nexthop.gateway.map { "\($0) on \(name)" } ?? "directly on \(name)"
        if redirect == nexthop { text += ", by an ICMP redirect" }
        if nexthops.count > 1 { text += ", one of \(nexthops.count)" }
        if !dead.isEmpty && nexthops.count > 1 {
            text += "; dead: \(dead.map { RouteText.nexthop($0, links: state.links) }.joined(separator: "; "))"
        }
        chain.fine(.nexthop, text)
    }

    private func unusableReason(of nexthop: RouteNexthop) -> String {
        guard let link = state.links[nexthop.index], let unusableReason = interfaces.fault(of: link)?.problem else {
            return ""
        }
        return " (\(unusableReason.rawValue))"
    }

    // MARK: - Link

    /// Says so when the route leads to the machine itself, or by a port of a bridge or bond.
    private func explainDetour(_ link: Link, _ family: AddressFamily, _ chain: inout ExplanationChain) -> Bool {
        var subject = ReasonSubject(interface: link.name, family: family)
        if interfaces.isLoopback(link) {
            subject.obstacle = .loopback
        } else if interfaces.isUsable(link), interfaces.isEnslaved(link),
            let master = link.master.flatMap({ state.links[$0] })
        {
            subject.obstacle = .port(of: master.name)
        } else {
            return false
        }
        chain.fail(.link, describe(link), ReasonText(.noDefaultRoute, subject))
        return true
    }

    func describe(_ link: Link) -> String {
        let kind = link.kind.map { " \($0)" } ?? ""
        let text = "\(link.name): up,\(kind) \(interfaces.type(of: link).rawValue), mtu \(link.mtu)"
        guard !link.unknownAttributes.isEmpty else { return text }
        return text + "; has something this version does not know: \(link.unknownAttributes.asAttributes)"
    }

    /// The path MTU of the destination, where it is not that of the link: learned by ICMP, or set for the route.
    private func pathMTU(_ decided: RouteAnswer?, by link: Link, to destination: IPAddress) -> String {
        guard let decided, let mtu = decided.mtu, mtu != link.mtu else { return "" }
        guard let seconds = decided.exception?.expiresIn else { return "; path MTU \(mtu), set for the route" }
        return "; path MTU \(mtu) to \(destination), learned by ICMP, expires in \(Int(seconds)) s"
    }

    func describeCarrier(_ link: Link) -> String {
        if let wifi = interfaces.wifi(of: link) { return "\(link.name): \(wifi.clause)" }
        let hasPorts = link.kind.map(InterfaceKind.isAggregate) ?? false
        let ports = hasPorts ? state.ports(of: link.index).sorted().compactMap { state.links[$0] } : []
        let unplugged = ports.filter { $0.unusableReason != nil }.prefix(3).map(\.name).joined(separator: ", ")
        let exception = unplugged.isEmpty ? "" : ", but not on \(unplugged)"
        // Tunnels have no other.
        let operational = link.operationalState == .unknown ? "" : ", operational state \(link.operationalState)"
        return "\(link.name): carrier\(exception)\(operational)"
    }

    private func explainLink(
        _ link: Link,
        by nexthop: RouteNexthop,
        decided: RouteAnswer?,
        to destination: IPAddress,
        _ chain: inout ExplanationChain
    ) {
        let classifier = interfaces
        guard let unusableReason = classifier.linkProblem(of: link) else {
            chain.fine(.link, describe(link) + pathMTU(decided, by: link, to: destination))
            if let fault = classifier.brokenPort(of: nexthop)?.fault ?? classifier.fault(of: link) {
                let subject = classifier.subject(fault.port ?? link, obstacle: fault.obstacle)
                return chain.fail(.carrier, nil, ReasonText(fault.problem.reason, subject))
            }
            if let (bridge, port, fault) = classifier.suspectPort(of: nexthop) {
                let subject = ReasonSubject(interface: port.name, obstacle: fault.obstacle)
                let text = "\(port.name), a port of \(bridge.name), does not forward"
                return chain.suspect(.carrier, text, hint: ReasonText(fault.problem.reason, subject).hint)
            }
            return explainTunnel(link, to: destination, &chain)
        }
        if unusableReason == .linkDown {
            return chain.fail(.link, "\(link.name): administratively down", reasonOfLinkDown(link))
        }
        chain.fine(.link, describe(link))
        let path = PathEvaluator(classifier).evaluate(classifier.policy.standardMonitor, table: table, at: facts.now)
            .path
        let isPreferred = path.reason == .preferredRouteLinkDown && path.subject?.interface == link.name
        let own = classifier.subject(link, obstacle: link.obstacle(behind: unusableReason))
        let subject = isPreferred ? path.subject : own
        let reason = isPreferred ? UnsatisfiedReason.preferredRouteLinkDown : unusableReason.reason
        let words = unusableReason.rawValue.split(separator: "_").joined(separator: " ")
        let text = classifier.wifi(of: link) == nil ? "\(link.name): \(words)" : describeCarrier(link)
        chain.fail(.carrier, text, ReasonText(reason, subject))
    }

    /// A radio that rfkill has switched off cannot be set up.
    private func reasonOfLinkDown(_ link: Link) -> ReasonText {
        if let blocked = interfaces.blockedRadio(of: link) { return ReasonText(.rfkillWifi, blocked) }
        return ReasonText(.linkDown, ReasonSubject(interface: link.name))
    }

    /// Says what a tunnel makes of the packets, and what carries its own.
    private func explainTunnel(_ link: Link, to destination: IPAddress, _ chain: inout ExplanationChain) {
        guard interfaces.isTunnel(link) else { return chain.fine(.carrier, describeCarrier(link)) }
        var queries = RouteQueries(classifier: interfaces, table: table, mark: 0, uid: nil, bound: nil)
        let view = MonitorView(interfaces.policy.standardMonitor, classifier: interfaces)
        var round = EvaluationRound(classifier: interfaces, view: view, now: facts.now)
        // What carries a tunnel may follow from the rules that lead the default route into it.
        round.evaluateFamilies(with: &queries)
        round.findOtherInterfaces(with: &queries)
        if facts.mark == 0, let (reason, found) = round.fault(of: link, to: destination, with: &queries) {
            var subject = found
            subject.family = subject.family ?? destination.family
            return chain.fail(.carrier, nil, ReasonText(reason, subject))
        }
        switch round.underlay(of: link, with: &queries) {
        case .link(let below): chain.fine(.carrier, "\(describeCarrier(link)), runs over \(below.name)")
        case .broken(let reason, var subject):
            subject.family = subject.family ?? destination.family
            chain.fail(.carrier, nil, ReasonText(reason, subject))
        case .unknown: chain.fine(.carrier, describeCarrier(link))
        }
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
        let sources = SourceEvaluator(interfaces: interfaces)
        let verdict = sources.evaluate(source, by: link.index, family: destination.family, hop: hop)
        guard let source, verdict.isUsable else {
            let subject = ReasonSubject(interface: link.name, family: destination.family, obstacle: verdict.obstacle)
            let text = source.map { "\($0) cannot be used beyond this machine" }
            let reason = verdict.isPending ? UnsatisfiedReason.dadPending : .noSourceAddress
            return chain.fail(.source, verdict.isPending ? nil : text, ReasonText(reason, subject))
        }
        var queries = makeQueries()
        if let obstacle = queries.obstacle(toReplies: source, from: destination, by: link.index) {
            let subject = ReasonSubject(interface: link.name, family: destination.family, obstacle: obstacle)
            return chain.fail(.source, "\(source)", ReasonText(.noSourceAddress, subject))
        }
        let owner = verdict.held.flatMap { state.links[$0.value.index]?.name }
        var notes = owner.map { [$0] } ?? []
        notes += verdict.warnings.map(\.rawValue).sorted()
        chain.fine(.source, notes.isEmpty ? "\(source)" : "\(source) (\(notes.joined(separator: ", ")))")
    }

    // MARK: - Neighbour

    private func explainNeighbor(
        _ nexthop: RouteNexthop,
        _ link: Link,
        isLocal: Bool,
        to destination: IPAddress,
        _ chain: inout ExplanationChain
    ) {
        if isLocal { return chain.fine(.neighbour, "not needed: the destination is this machine") }
        let address = nexthop.gateway ?? destination
        if interfaces.isMute(nexthop) {
            let subject = ReasonSubject(interface: link.name, family: destination.family, obstacle: .noARP)
            return chain.fail(
                .neighbour,
                "\(address) on \(link.name): ARP is off",
                ReasonText(.gatewayUnreachable, subject)
            )
        }
        if !link.flags.isDisjoint(with: [.noARP, .pointToPoint, .loopback]) || address.isMulticast {
            return chain.fine(.neighbour, "not needed on \(link.name)")
        }
        let key = NeighborKey(index: link.index, address: address)
        guard let entry = facts.neighbors[key] else {
            return chain.unknown(.neighbour, "\(address) on \(link.name): not resolved yet")
        }
        let hardware = entry.hardwareAddress.isEmpty ? "" : " at \(Self.text(entry.hardwareAddress))"
        let text = "\(address) on \(link.name)\(hardware): \(entry.state.word)"
        switch entry.state {
        case .incomplete where !facts.unanswered.contains(key), .none: chain.unknown(.neighbour, text)
        case .failed, .incomplete:
            let isDormant = link.operationalState == .dormant
            let cause = ReasonText(isDormant ? .dormant : .gatewayUnreachable, interfaces.subject(link))
            let name = nexthop.gateway == nil ? "\(address)" : "the \(destination.family.label) gateway \(address)"
            let state = isDormant ? ", which is waiting for authentication" : ""
            let fault = "\(name) does not answer on \(link.name)\(state)"
            chain.fail(.neighbour, text, fault: fault, hint: cause.hint)
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
