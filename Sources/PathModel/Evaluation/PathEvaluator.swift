// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// Turns what is known into what the kernel would do with the next packet.
public struct PathEvaluator: Sendable {
    /// Interfaces beyond this number are not asked about one by one; the ones that ever carried traffic come first.
    public static let maximumBoundInterfaces = 256

    /// How often to look whether a router speaks again whose route ran out and is still there (rule S28).
    static let lapsedInterval = Duration.milliseconds(500)

    /// How often to test whether a tunnel still refuses packets: neither peers nor policies are announced (rule S18).
    static let tunnelInterval = Duration.seconds(2)

    private let judge: InterfaceJudge

    /// Evaluates what `judge` knows.
    public init(_ judge: InterfaceJudge) {
        self.judge = judge
    }

    /// Answers the question of one monitor.
    ///
    /// An ordinary machine costs five to eight lookups.
    /// - Parameters:
    ///   - monitor: The question.
    ///   - table: The kernel's forwarding table.
    ///   - qualities: The quality of links, by interface index (rule S39).
    ///   - now: The time since boot.
    /// - Returns: The path, and what to do so that it stays true.
    public func evaluate(
        _ monitor: MonitorPolicy = MonitorPolicy(),
        table: some ForwardingTable,
        qualities: [Int: LinkQuality] = [:],
        at now: Duration
    ) -> Evaluation {
        let view = MonitorView(monitor, judge: judge)
        var survey = RouteSurvey(
            classifier: judge,
            table: table,
            mark: monitor.mark,
            uid: monitor.uid,
            bound: view.bound?.index
        )
        var round = EvaluationRound(classifier: judge, view: view, now: now)
        if !view.isMissing {
            round.askFamilies(with: &survey)
            round.askInterfaces(with: &survey)
            round.followTunnels(with: &survey)
            round.askOtherWays(with: &survey)
        }
        var path = round.path(with: &survey)
        if let first = path.interfaces.first, path.status == .satisfied {
            path.linkQuality = qualities[first.index] ?? .unknown
        }
        let expiries = round.expiries
        var checks = expiries.map(\.at)
        if path.reason == .configuring, let end = round.configuringEnd { checks.append(end) }
        if round.isRefusedByTunnel { checks.append(now + Self.tunnelInterval) }
        if round.keepsLapsed { checks.append(now + Self.lapsedInterval) }
        return Evaluation(
            path: Path(path),
            expiries: expiries,
            nextCheck: checks.min(),
            neighbors: survey.neighbors,
            lookups: survey.lookups,
            restsOn: survey.restsOn,
            outdatedLinks: survey.outdatedLinks
        )
    }
}

/// A monitor's question with names resolved.
struct MonitorView {
    let monitor: MonitorPolicy
    /// The interface or VRF that packets are bound to.
    let bound: Link?
    /// Whether packets are bound to an interface that does not exist.
    let isMissing: Bool
    private let judge: InterfaceJudge

    init(_ monitor: MonitorPolicy, judge: InterfaceJudge) {
        self.monitor = monitor
        self.judge = judge
        bound = monitor.outputInterface.flatMap { judge.state.link(named: $0) }
        isMissing = monitor.outputInterface != nil && bound == nil
    }

    /// Whether the monitor asks for some types of interfaces only.
    var isConstrained: Bool { monitor.requiredType != nil || !monitor.prohibitedTypes.isEmpty }

    /// Whether a route may be refused for the interfaces it takes.
    var makesDemands: Bool { isConstrained || judge.policy.requiresVPN }

    /// Whether the interface lies within the question (rules S29, S30).
    func covers(_ link: Link) -> Bool {
        guard let bound else { return judge.vrf(of: link) == nil }
        return bound.kind == "vrf" ? link.master == bound.index : link.index == bound.index
    }

    /// What the monitor asks for that an interface of this type is not; `nil` when it counts.
    func unmetDemand(of link: Link) -> String? {
        guard isConstrained else { return nil }
        let type = judge.type(of: link)
        if let required = monitor.requiredType, required != type { return "required_type \(required.rawValue)" }
        return monitor.prohibitedTypes.contains(type) ? "prohibited_type \(type.rawValue)" : nil
    }

    /// As unmetDemand(of:), with the demand of the operator for a tunnel.
    func unmetDemand(ofWayBy link: Link) -> String? {
        if let demand = unmetDemand(of: link) { return demand }
        return judge.policy.requiresVPN && !judge.isTunnel(link) ? "require_vpn" : nil
    }
}
