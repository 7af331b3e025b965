// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// Derives from the known state what the kernel would do with the next packet.
public struct PathEvaluator: Sendable {
    /// Interfaces beyond this number are not evaluated one by one; the ones that ever carried traffic come first.
    public static let maximumBoundInterfaces = 256

    /// How often to check whether a router advertises again whose route ran out and is still there (rule S28).
    static let lapsedInterval = Duration.milliseconds(500)

    /// How often to test whether a tunnel still refuses packets: neither peers nor policies are announced (rule S18).
    static let tunnelInterval = Duration.seconds(2)

    private let classifier: InterfaceClassifier

    /// Evaluates what `classifier` knows.
    public init(_ classifier: InterfaceClassifier) {
        self.classifier = classifier
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
        let view = MonitorView(monitor, classifier: classifier)
        var queries = RouteQueries(
            classifier: classifier,
            table: table,
            mark: monitor.mark,
            uid: monitor.uid,
            bound: view.bound?.index
        )
        var round = EvaluationRound(classifier: classifier, view: view, now: now)
        if !view.isMissing {
            round.evaluateFamilies(with: &queries)
            round.findOtherInterfaces(with: &queries)
            round.followTunnels(with: &queries)
            round.findOtherUplinks(with: &queries)
        }
        var path = round.path(with: &queries)
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
            neighbors: queries.neighbors,
            lookups: queries.lookups,
            restsOn: queries.restsOn,
            outdatedLinks: queries.outdatedLinks
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
    private let classifier: InterfaceClassifier

    init(_ monitor: MonitorPolicy, classifier: InterfaceClassifier) {
        self.monitor = monitor
        self.classifier = classifier
        bound = monitor.outputInterface.flatMap { classifier.state.link(named: $0) }
        isMissing = monitor.outputInterface != nil && bound == nil
    }

    /// Whether the monitor is restricted to some types of interfaces.
    var isConstrained: Bool { monitor.requiredType != nil || !monitor.prohibitedTypes.isEmpty }

    /// Whether a route may be refused for the interfaces it uses.
    var hasRequirements: Bool { isConstrained || classifier.policy.requiresVPN }

    /// Whether the interface lies within the question (rules S29, S30).
    func covers(_ link: Link) -> Bool {
        guard let bound else { return classifier.vrf(of: link) == nil }
        return bound.kind == "vrf" ? link.master == bound.index : link.index == bound.index
    }

    /// The requirement that an interface of this type does not meet; `nil` when it counts.
    func unmetRequirement(of link: Link) -> String? {
        guard isConstrained else { return nil }
        let type = classifier.type(of: link)
        if let required = monitor.requiredType, required != type { return "required_type \(required.rawValue)" }
        return monitor.prohibitedTypes.contains(type) ? "prohibited_type \(type.rawValue)" : nil
    }

    /// As unmetRequirement(of:), with the operator's requirement of a tunnel.
    func unmetRequirement(ofRouteBy link: Link) -> String? {
        if let requirement = unmetRequirement(of: link) { return requirement }
        return classifier.policy.requiresVPN && !classifier.isTunnel(link) ? "require_vpn" : nil
    }
}
