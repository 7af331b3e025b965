// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// Knows which faults follow from which.
///
/// Each rule comes from a diagnosis that reported a consequence as the cause.
struct MaskingGraph {
    private let faults: [Verdict]
    private let families: Set<AddressFamily>
    private let destination: DestinationEvidence?

    /// Makes a graph of faults.
    init(_ faults: [Verdict], families: Set<AddressFamily>, destination: DestinationEvidence? = nil) {
        self.faults = faults.sortedByLayer()
        self.families = families
        self.destination = destination
    }

    /// The lowest fault that explains `fault`; `nil` when it is a root cause.
    func cause(of fault: Verdict) -> VerdictCode? {
        faults.first { $0 != fault && explains($0, fault) }?.code
    }

    /// Whether nothing can be said of a layer because of a fault below it.
    func hides(_ layer: Layer) -> Bool { coverOf(layer) != nil }

    /// The fault below because of which nothing can be said of a layer.
    func coverOf(_ layer: Layer) -> VerdictCode? {
        faults.first { $0.code.layer < layer && (stopsAll($0) || $0.code == .captivePortal && layer > .dns) }?.code
    }

    private func explains(_ cause: Verdict, _ fault: Verdict) -> Bool {
        if fault.code.layer > .performance {
            return cause.code.layer <= .performance && explainsDestination(cause, fault)
        }
        // A proxy on this machine's own networks needs nothing beyond the gateway.
        let isNearProxy = fault.code == .proxyUnreachable && [.host, .gateway].contains(fault.domain)
        let isAbove = cause.code.layer < fault.code.layer && !(isNearProxy && cause.code.layer > .gateway)
        if isAbove && stops(cause) {
            // A fault of one family explains what happens to that family, and what happens to both if nothing is left.
            if cause.family == nil || cause.family == fault.family { return true }
            if fault.family == nil && stopsAll(cause) { return true }
        }
        if isAbove && hasOwnCause(cause, for: fault) { return true }
        switch cause.code {
        case .wanDown, .upstreamBlackhole, .upstreamLoop, .ipv4Broken, .ipv6Broken:
            return fault.code == .trafficStalled && (cause.family ?? fault.family) == fault.family
        case .performanceLoss, .linkLoss:
            return fault.code == .trafficLoss || Self.lost.contains(fault.code)
                || (cause.lostShare ?? 0) >= 0.2 && Self.mostlyLost.contains(fault.code)
        case .firewallLocal, .routeReversePath, .routeBlackhole:
            return [.trafficStalled, .trafficDestinationStalled].contains(fault.code)
                && (cause.family ?? fault.family) == fault.family
        case .linkErrors, .linkDuplex, .linkWeakSignal:
            // A cable that damages one of many thousand frames explains no loss that anybody measures.
            guard cause.severity >= .degraded else { return false }
            return [.linkLoss, .trafficLoss, .performanceLoss].contains(fault.code)
        case .trafficStalled where fault.code == .trafficDestinationStalled:
            return fault.family == cause.family
        case .captivePortal: return Self.behindPortal.contains(fault.code)
        case .linkFlapping: return Self.interrupted.contains(fault.code) || fault.code.layer == .performance
        case .pmtuBlackhole:
            return [.dnsTCPBlocked, .performanceLowThroughput, .tlsIntercepted, .transportTLSBlocked].contains(
                fault.code
            )
        case .addressDuplicate, .gatewayARPConflict:
            // Answers go to the other holder, or packets to the wrong one: now and then, or always.
            guard fault.family == nil || fault.family == cause.family else { return false }
            return Self.misdirected.contains(fault.code) || fault.code.layer == .performance
        case .transportUDPBlocked: return [.clockSkew, .transportQUICBlocked].contains(fault.code)
        case .uplinkDown:
            guard fault.family == nil || cause.family == nil || fault.family == cause.family else { return false }
            return fault.code == .routeAsymmetric || fault.code == .gatewayNotForwarding
                || fault.code.layer >= .wan && Self.interrupted.union(Self.lost).contains(fault.code)
                || [.performanceLoss, .trafficLoss, .upstreamFlowsLost, .transportQUICBlocked].contains(fault.code)
        case .gatewayUnresolved where fault.code == .uplinkDown:
            return fault.evidence.contains { $0.value.split(separator: " ").contains { $0 == cause.subject ?? "" } }
        case .upstreamFlowsLost:
            guard fault.family == nil || cause.family == nil || fault.family == cause.family else { return false }
            return Self.interrupted.contains(fault.code) || fault.code == .performanceLoss || fault.code == .trafficLoss
        case .transportTCPBlocked:
            return [
                .dnsTCPBlocked, .transportPortBlocked, .transportTLSBlocked, .pmtuBlackhole, .trafficStalled,
                .trafficDestinationStalled, .targetDown,
            ].contains(fault.code)
        case .transportPortBlocked: return fault.code == .transportTLSBlocked
        // Where there is a proxy, connections around it may be forbidden.
        case .proxyUnreachable, .proxyFailing:
            return [
                .transportPortBlocked, .transportPortReset, .transportTCPBlocked, .transportTLSBlocked, .dnsTCPBlocked,
                .transportQUICBlocked, .targetDown,
            ].contains(fault.code)
        case .dnsWrongAnswer: return fault.code == .dnsNXRewrite
        case .gatewayStaticEntry:
            guard fault.family == nil || fault.family == cause.family else { return false }
            return Self.misdirected.contains(fault.code) || fault.code.layer == .performance
        default: return false
        }
    }

    /// What is wrong with the network explains what is wrong with a destination beyond it.
    private func explainsDestination(_ cause: Verdict, _ fault: Verdict) -> Bool {
        let isNear = destination?.isNear == true && fault.code.layer != .resolve
        if stops(cause) && (!isNear || cause.code.layer <= .address || cause.code == .firewallLocal) {
            if cause.family == nil || cause.family == fault.family { return true }
            if fault.family == nil && stopsAll(cause) { return true }
        }
        if isNear { return [.addressDuplicate, .linkClientIsolation].contains(cause.code) }
        switch cause.code {
        case .captivePortal: return true
        // The kernel chooses the uplink by the destination.
        case .addressDuplicate, .gatewayARPConflict, .uplinkDown:
            return fault.unanswered != nil || fault.code == .destinationUnreachable
        case .dnsNoConfig, .dnsUnreachable, .dnsServfail, .dnsServerDead, .dnsAAAATimeout, .dnsSlow:
            return fault.code == .destinationUnresolved
        case .dnsNotUsed: return fault.code.layer == .resolve
        case .dnsHostsFile: return cause.subject == destination?.host
        case .firewallLocal, .routeReversePath, .routeBlackhole:
            return fault.code == .destinationUnresolved || fault.code == .destinationBlocked
        case .upstreamFlowsLost, .performanceLoss, .linkLoss: return isPlausible(fault, underLossOf: cause)
        case .transportTCPBlocked: return fault.code.layer >= .tcp || fault.code == .destinationSilent
        case .transportTLSBlocked: return fault.code == .destinationTLS || fault.code == .destinationNoAnswer
        case .dnsWrongAnswer: return [.resolve, .reach, .tcp, .tls].contains(fault.code.layer)
        case .transportPortBlocked: return fault.code == .destinationPortSilent && cause.subject == fault.subject
        case .transportPortReset: return fault.code == .destinationPortClosed && cause.subject == fault.subject
        case .pmtuBlackhole:
            return [.destinationTLS, .destinationNoAnswer, .destinationStalled].contains(fault.code)
        case .tlsIntercepted: return fault.code == .destinationCertificate
        case .clockSkew: return fault.code == .destinationCertificateDates
        case .proxyUnreachable, .proxyFailing: return destination?.proxy != nil
        default: return false
        }
    }

    /// Whether as many packets in a row may have been lost by chance.
    private func isPlausible(_ fault: Verdict, underLossOf cause: Verdict) -> Bool {
        guard let share = cause.lostShare, cause.family == nil || fault.family == nil || cause.family == fault.family
        else { return false }
        guard let unanswered = fault.unanswered else {
            // An exchange sends each packet again until its time is over.
            return share >= 0.2 && [.destinationNoAnswer, .destinationStalled, .destinationTLS].contains(fault.code)
        }
        // A flow has two packets, which a dead link loses together.
        let lost = cause.code == .upstreamFlowsLost ? share : share * share
        return (0..<unanswered).reduce(1.0) { chance, _ in chance * lost } > 0.001
    }

    /// Whether nothing of a family gets past it.
    private func stops(_ fault: Verdict) -> Bool {
        fault.severity == .broken && fault.code.layer <= .wan && fault.code.layer != .captive
            && fault.code != .addressDuplicate && !fault.isPartial
    }

    private func stopsAll(_ fault: Verdict) -> Bool {
        guard stops(fault) else { return false }
        guard fault.family != nil else { return true }
        let stopped = Set(faults.filter(stops).compactMap(\.family))
        return families.isSubset(of: stopped)
    }

    /// A family with a cause of its own is not called broken as well.
    private func hasOwnCause(_ cause: Verdict, for fault: Verdict) -> Bool {
        guard fault.code == .ipv4Broken || fault.code == .ipv6Broken, cause.family == fault.family else { return false }
        return [.routerRogue, .linkMTUTooSmall, .routeWrongGateway, .gatewayARPConflict].contains(cause.code)
    }

    /// The faults that follow where packets arrive at another host.
    private static let misdirected: Set<VerdictCode> = [
        .linkLoss, .linkClientIsolation, .mdnsBlocked, .gatewayUnresolved, .gatewayNotForwarding, .gatewayBlocksHost,
        .wanDown,
        .upstreamBlackhole, .ipv4Broken, .ipv6Broken, .trafficStalled, .trafficDestinationStalled, .dnsUnreachable,
        .dnsServerDead, .dnsTCPBlocked,
        .transportPortBlocked, .transportUDPBlocked, .transportTCPBlocked, .transportTLSBlocked, .targetDown,
    ]

    /// The faults that a single lost packet, or two, resemble.
    private static let lost: Set<VerdictCode> = [
        .dnsAAAATimeout, .dnsTCPBlocked, .dnsSlow, .performanceJitter, .routeAsymmetric,
    ]

    /// Those for which several in a row must be lost.
    private static let mostlyLost: Set<VerdictCode> = [
        .transportUDPBlocked, .transportQUICBlocked, .transportTLSBlocked, .pmtuBlackhole, .dnsSearchDead,
    ]

    /// The faults that follow where answers were lost while the carrier was gone.
    private static let interrupted = misdirected.union([
        .linkIsolated, .dnsSlow, .dnsAAAATimeout, .dnsSearchDead, .routeAsymmetric, .pmtuBlackhole, .upstreamFlowsLost,
        .uplinkDown, .transportQUICBlocked, .proxyUnreachable, .proxyFailing,
    ])

    private static let behindPortal: Set<VerdictCode> = [
        .dnsUnreachable, .dnsServerDead, .dnsServfail, .dnsTCPBlocked, .dnsAAAATimeout,
        .wanDown, .gatewayBlocksHost, .upstreamFlowsLost, .transportTCPBlocked, .transportTLSBlocked,
        .upstreamBlackhole, .upstreamLoop, .ipv4Broken, .ipv6Broken, .trafficStalled, .trafficLoss,
        .trafficDestinationStalled, .dnsNXRewrite, .dnsWrongAnswer,
        .transportPortBlocked, .transportPortReset, .transportUDPBlocked, .pmtuBlackhole, .tlsIntercepted, .clockSkew,
        .targetDown, .performanceLoss, .performanceHighLatency, .performanceJitter, .performanceBufferbloat,
        .performanceLowThroughput,
    ]
}

extension [Verdict] {
    fileprivate func sortedByLayer() -> [Verdict] {
        enumerated().sorted { left, right in
            (left.element.code.layer, left.offset) < (right.element.code.layer, right.offset)
        }.map(\.element)
    }
}
