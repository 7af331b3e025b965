// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Where the element lies that has to be mended.
public enum FaultDomain: String, Hashable, Sendable, CaseIterable {
    /// This machine: its settings, routes, packet filters, resources.
    case host
    /// The cable or radio, the switch or access point, and other hosts on it.
    case link
    /// The router that this machine sends to.
    case gateway
    /// The network beyond the gateway.
    case provider
    /// One host on the Internet, or who runs it.
    case remote
    case unknown

    /// Where the worst of several faults lies; `nil` where nothing is wrong.
    init?(_ verdicts: [Verdict]) {
        guard let worst = verdicts.first else { return nil }
        self = worst.domain ?? worst.code.domain
    }
}

extension VerdictCode {
    /// Where the element usually lies; a rule that knows better says so in ``Verdict/domain``.
    var domain: FaultDomain {
        switch self {
        case .linkNone, .linkAdminDown, .linkMTUTooSmall, .linkOverruns, .linkQueueDrops: .host
        case .hostResources, .firewallLocal, .routeNoDefault, .routeBlackhole, .routeDeadTunnel, .routeAsymmetric,
            .routeWrongGateway, .routeReversePath, .gatewayStaticEntry:
            .host
        case .dnsNoConfig, .dnsNotUsed, .dnsHostsFile, .dnsSearchDead, .clockSkew: .host
        case .destinationNoRoute, .destinationDiscarded, .destinationBlocked: .host
        case .linkNoCarrier, .linkFlapping, .linkIsolated, .linkLoss, .linkErrors, .linkDuplex, .linkSpeed,
            .linkWeakSignal, .linkClientIsolation, .mdnsBlocked:
            .link
        case .addressNone, .addressLinkLocalOnly, .addressDuplicate, .addressDADFailed, .dhcpRogue, .routerRogue,
            .gatewayARPConflict:
            .link
        case .gatewayUnresolved, .gatewayNotForwarding, .gatewayBlocksHost, .captivePortal, .captiveAPI,
            .performanceBufferbloat:
            .gateway
        case .httpIntercepted, .wanDown, .uplinkDown, .upstreamBlackhole, .upstreamLoop, .upstreamFlowsLost,
            .ipv4Broken,
            .ipv6Broken,
            .trafficStalled, .transportPortBlocked, .transportPortReset, .transportUDPBlocked, .transportTCPBlocked,
            .transportTLSBlocked, .transportQUICBlocked, .pmtuBlackhole, .pmtuReduced, .tlsIntercepted,
            .performanceLoss,
            .proxyRequired, .performanceHighLatency, .performanceJitter, .performanceLowThroughput, .icmpFiltered:
            .provider
        case .proxyUnreachable, .proxyFailing, .dnsUnreachable, .dnsServerDead, .dnsServfail, .dnsSlow, .dnsAAAATimeout,
            .dnsNXRewrite, .dnsWrongAnswer,
            .dnsTCPBlocked, .trafficLoss:
            .unknown
        case .targetDown, .trafficDestinationStalled, .destinationNoSuchName, .destinationNoAddress,
            .destinationUnresolved, .destinationUnreachable, .destinationSilent, .destinationPartlySilent,
            .destinationPortClosed, .destinationPortSilent, .destinationTLS, .destinationCertificate,
            .destinationCertificateDates, .destinationNoAnswer, .destinationStalled, .destinationStatus,
            .destinationNoUpgrade:
            .remote
        }
    }
}
