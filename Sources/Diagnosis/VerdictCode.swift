// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The public vocabulary of faults; the raw value is what documents, events and metrics show and never changes.
public enum VerdictCode: String, Hashable, Sendable, CaseIterable {
    case linkNone = "link.none"
    case linkAdminDown = "link.admin-down"
    case linkNoCarrier = "link.no-carrier"
    case linkFlapping = "link.flapping"
    case linkIsolated = "link.isolated"
    case linkMTUTooSmall = "link.mtu-too-small"
    case linkLoss = "link.loss"
    case linkErrors = "link.errors"
    case linkOverruns = "link.overruns"
    case linkDuplex = "link.duplex"
    case linkSpeed = "link.speed"
    case linkQueueDrops = "link.queue-drops"
    case linkWeakSignal = "link.weak-signal"
    case linkClientIsolation = "link.client-isolation"
    case mdnsBlocked = "mdns.blocked"
    case addressNone = "addr.none"
    case addressLinkLocalOnly = "addr.linklocal-only"
    case addressDuplicate = "addr.duplicate"
    case addressDADFailed = "addr.dad-failed"
    case dhcpRogue = "dhcp.rogue"
    case routerRogue = "ra.rogue"
    case hostResources = "host.resources"
    case firewallLocal = "firewall.local"
    case routeNoDefault = "route.no-default"
    case routeBlackhole = "route.blackhole"
    case routeDeadTunnel = "route.dead-tunnel"
    case routeAsymmetric = "route.asymmetric"
    case routeWrongGateway = "route.wrong-gateway"
    case routeReversePath = "route.reverse-path"
    case gatewayUnresolved = "gateway.unresolved"
    case gatewayARPConflict = "gateway.arp-conflict"
    case gatewayNotForwarding = "gateway.not-forwarding"
    case gatewayBlocksHost = "gateway.blocks-host"
    case gatewayStaticEntry = "gateway.static-entry"
    case captivePortal = "captive.portal"
    case captiveAPI = "captive.api"
    case httpIntercepted = "http.intercepted"
    case wanDown = "wan.down"
    case upstreamBlackhole = "upstream.blackhole"
    case upstreamLoop = "upstream.loop"
    case uplinkDown = "uplink.down"
    case upstreamFlowsLost = "upstream.flows-lost"
    case ipv4Broken = "ipv4.broken"
    case ipv6Broken = "ipv6.broken"
    case trafficStalled = "traffic.stalled"
    case dnsNoConfig = "dns.no-config"
    case dnsNotUsed = "dns.not-used"
    case dnsHostsFile = "dns.hosts-file"
    case dnsSearchDead = "dns.search-dead"
    case dnsUnreachable = "dns.unreachable"
    case dnsServerDead = "dns.server-dead"
    case dnsServfail = "dns.servfail"
    case dnsSlow = "dns.slow"
    case dnsAAAATimeout = "dns.aaaa-timeout"
    case dnsNXRewrite = "dns.nx-rewrite"
    case dnsWrongAnswer = "dns.wrong-answer"
    case dnsTCPBlocked = "dns.tcp-blocked"
    case transportPortBlocked = "transport.port-blocked"
    case transportPortReset = "transport.port-reset"
    case transportUDPBlocked = "transport.udp-blocked"
    case transportTCPBlocked = "transport.tcp-blocked"
    case transportTLSBlocked = "transport.tls-blocked"
    case transportQUICBlocked = "transport.quic-blocked"
    case pmtuBlackhole = "pmtu.blackhole"
    case pmtuReduced = "pmtu.reduced"
    case tlsIntercepted = "tls.intercepted"
    case clockSkew = "clock.skew"
    case proxyUnreachable = "proxy.unreachable"
    case proxyFailing = "proxy.failing"
    case proxyRequired = "proxy.required"
    case targetDown = "target.down"
    case trafficDestinationStalled = "traffic.destination-stalled"
    case trafficLoss = "traffic.loss"
    case performanceLoss = "perf.loss"
    case performanceHighLatency = "perf.high-latency"
    case performanceJitter = "perf.jitter"
    case performanceBufferbloat = "perf.bufferbloat"
    case performanceLowThroughput = "perf.low-throughput"
    case icmpFiltered = "icmp.filtered"
    case destinationNoSuchName = "destination.no-such-name"
    case destinationNoAddress = "destination.no-address"
    case destinationUnresolved = "destination.unresolved"
    case destinationNoRoute = "destination.no-route"
    case destinationDiscarded = "destination.route-discarded"
    case destinationBlocked = "destination.blocked"
    case destinationUnreachable = "destination.unreachable"
    case destinationSilent = "destination.silent"
    case destinationPartlySilent = "destination.partly-silent"
    case destinationPortClosed = "destination.port-closed"
    case destinationPortSilent = "destination.port-silent"
    case destinationTLS = "destination.tls"
    case destinationCertificate = "destination.certificate"
    case destinationCertificateDates = "destination.certificate-dates"
    case destinationNoAnswer = "destination.no-answer"
    case destinationStalled = "destination.stalled"
    case destinationStatus = "destination.status"
    case destinationNoUpgrade = "destination.no-upgrade"

    /// Whether this machine's own connections show it, whatever an examination tests.
    package var isOfTraffic: Bool { [.trafficStalled, .trafficLoss, .trafficDestinationStalled].contains(self) }

    /// Whether the counters of a link show it, which are read beside all examinations.
    public var isOfCounters: Bool {
        switch self {
        case .linkErrors, .linkOverruns, .linkDuplex, .linkSpeed, .linkQueueDrops, .linkWeakSignal: true
        default: false
        }
    }

    public var layer: Layer {
        switch self {
        case .linkErrors, .linkOverruns, .linkDuplex, .linkSpeed, .linkQueueDrops, .linkWeakSignal: .link
        case .linkNone, .linkAdminDown, .linkNoCarrier, .linkFlapping, .linkIsolated, .linkMTUTooSmall, .linkLoss,
            .linkClientIsolation, .mdnsBlocked:
            .link
        case .addressNone, .addressLinkLocalOnly, .addressDuplicate, .addressDADFailed, .dhcpRogue, .routerRogue:
            .address
        case .hostResources, .firewallLocal, .routeNoDefault, .routeBlackhole, .routeDeadTunnel, .routeAsymmetric,
            .routeWrongGateway, .routeReversePath:
            .local
        case .gatewayUnresolved, .gatewayARPConflict, .gatewayNotForwarding, .gatewayStaticEntry: .gateway
        case .captivePortal, .captiveAPI, .httpIntercepted: .captive
        case .wanDown, .uplinkDown, .gatewayBlocksHost, .upstreamBlackhole, .upstreamLoop, .upstreamFlowsLost,
            .ipv4Broken,
            .ipv6Broken,
            .trafficStalled:
            .wan
        case .dnsNoConfig, .dnsUnreachable, .dnsServerDead, .dnsServfail, .dnsSlow, .dnsAAAATimeout, .dnsNXRewrite,
            .dnsWrongAnswer, .dnsTCPBlocked, .dnsNotUsed, .dnsHostsFile, .dnsSearchDead:
            .dns
        case .transportPortBlocked, .transportPortReset, .transportUDPBlocked, .transportTCPBlocked,
            .transportTLSBlocked, .transportQUICBlocked, .pmtuBlackhole, .pmtuReduced:
            .transport
        case .tlsIntercepted, .clockSkew, .proxyUnreachable, .proxyFailing, .proxyRequired, .targetDown,
            .trafficDestinationStalled:
            .application
        case .trafficLoss, .performanceLoss, .performanceHighLatency, .performanceJitter, .performanceBufferbloat,
            .performanceLowThroughput, .icmpFiltered:
            .performance
        case .destinationNoSuchName, .destinationNoAddress, .destinationUnresolved: .resolve
        case .destinationNoRoute, .destinationDiscarded: .route
        case .destinationBlocked, .destinationUnreachable, .destinationSilent, .destinationPartlySilent: .reach
        case .destinationPortClosed, .destinationPortSilent: .tcp
        case .destinationTLS, .destinationCertificate, .destinationCertificateDates: .tls
        case .destinationNoAnswer, .destinationStalled, .destinationStatus: .http
        case .destinationNoUpgrade: .websocket
        }
    }
}
