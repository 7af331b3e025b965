// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import PathModel

extension HeadlineEvaluator.Finding {
    init(state: Headline.State, _ standing: VerdictTracker.Standing, _ element: ChainElement.Kind) {
        self.init(
            state: state,
            message: standing.verdict.say,
            hint: standing.verdict.action,
            cause: Headline.Cause(standing.verdict.code.rawValue),
            began: standing.since,
            element: element
        )
    }
}

extension VerdictCode {
    /// Whether what it is about works, and is slower than it should be.
    var isSlowness: Bool {
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
    var stopsEverything: Bool { code.layer <= .wan && code.layer != .captive && !isPartial }
}

extension FamilyPath {
    /// Whether packets come from an IPv4 link-local address and go to no router.
    var isLinkLocalOnly: Bool { isOnLink && source.family == .ipv4 && source.isLinkLocal }
}

extension UnsatisfiedReason {
    /// Whether an interface works all the same, so that its own network is in reach.
    var leavesNetworkInReach: Bool {
        switch self {
        case .noDefaultRoute, .routeUnreachable, .routeProhibited, .routeBlackhole, .gatewayUnreachable,
            .preferredRouteLinkDown:
            true
        case .noInterface, .linkDown, .noCarrier, .portNotForwarding, .dormant, .wifiAuthenticationFailed, .noAddress,
            .dadPending, .configuring, .noSourceAddress, .rfkillWifi, .rfkillWwan, .policy, .blockedByFirewall, .noPeer:
            false
        }
    }
}
