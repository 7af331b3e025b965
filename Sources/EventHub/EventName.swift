// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import OrderedJSON

/// Every kind of event there is: the closed catalogue of schema `nwpath.event/1`.
public enum EventName: String, CaseIterable, Sendable {
    // Log and daemon.
    /// A log file begins; the first record of every file.
    case logOpened = "log.opened"
    /// Events could not be written to the log; says which.
    case logGap = "log.gap"
    case daemonStarted = "daemon.started"
    case daemonStopping = "daemon.stopping"
    case configReloaded = "config.reloaded"
    /// A new configuration was bad; the old one stays in force.
    case configRejected = "config.rejected"
    /// A stream's past is incomplete; only on streams, never in the log.
    case streamReset = "stream.reset"
    /// The daemon ends a stream; only on streams, never in the log.
    case streamClosed = "stream.closed"
    /// The kernel's messages overran their buffer; state was read again.
    case netlinkOverrun = "netlink.overrun"
    /// The machine slept, or its calendar was stepped.
    case clockJumped = "clock.jumped"
    // Path.
    /// The state of a path at the start.
    case pathSnapshot = "path.snapshot"
    case pathChanged = "path.changed"
    /// A path changes more than seven times in a minute, or no longer.
    case pathFlapping = "path.flapping"
    /// The uplink as a whole is in another state.
    case headlineChanged = "headline.changed"
    // Interfaces.
    case interfaceAdded = "interface.added"
    case interfaceChanged = "interface.changed"
    case interfaceRemoved = "interface.removed"
    /// It went from one access point of a Wi-Fi network to another one.
    case interfaceRoamed = "interface.roamed"
    /// A port of a bond, team or HSR link failed.
    case redundancyLost = "interface.redundancy_lost"
    /// All ports of a bond, team or HSR link work again.
    case redundancyRestored = "interface.redundancy_restored"
    case addressAdded = "address.added"
    case addressRemoved = "address.removed"
    /// A route changed; at debug only.
    case routeChanged = "route.changed"
    // Gateways and DNS.
    case gatewayChanged = "gateway.changed"
    /// A gateway no longer answers.
    case gatewayUnreachable = "gateway.unreachable"
    case gatewayReachable = "gateway.reachable"
    /// The DNS servers or search domains changed.
    case dnsChanged = "dns.changed"
    // Probes.
    case probeFailed = "probe.failed"
    case probeRecovered = "probe.recovered"
    case captivePortalDetected = "captive_portal.detected"
    case captivePortalCleared = "captive_portal.cleared"
    // Diagnosis.
    /// A fault of the network is certain enough to be reported.
    case verdictRaised = "verdict.raised"
    /// A fault is over, or explained by another one.
    case verdictCleared = "verdict.cleared"
    // Traffic.
    /// Nothing is answered on a path, or by a destination, that was answered before.
    case trafficStalled = "traffic.stalled"
    /// More segments are sent again than is acceptable.
    case trafficLossy = "traffic.lossy"
    /// What was stalled is answered, or what was lossy loses no more.
    case trafficResumed = "traffic.resumed"
    /// What was stalled or lossy has no traffic left that would show whether it still is.
    case trafficUnknown = "traffic.unknown"
    // Census.
    case serviceAdded = "service.added"
    case serviceChanged = "service.changed"
    case serviceRemoved = "service.removed"
    /// A service was announced but cannot be resolved.
    case serviceResolveFailed = "service.resolve_failed"
    /// Services went away with the link of their interface.
    case servicesLost = "services.lost"
    /// Services are found again after their link came back, or the daemon restarted.
    case servicesFound = "services.found"
    case serviceTypeAdded = "service_type.added"
    /// The last service of a type went away.
    case serviceTypeRemoved = "service_type.removed"
    case censusCompleted = "census.completed"
    /// Another host claims our name.
    case mdnsNameConflict = "mdns.name_conflict"
    /// Another program has port 5353 for itself.
    case mdnsPortTaken = "mdns.port_taken"
    /// The port can be had again.
    case mdnsPortFree = "mdns.port_free"
}

extension EventName: CustomStringConvertible {
    /// The name as it stands in records, such as `path.changed`.
    public var description: String { rawValue }
}

extension EventName {
    /// The data of its records, which follow the envelope in the same object.
    public var form: Form {
        switch self {
        case .logOpened: LogOpened.form
        case .logGap: LogGap.form
        case .daemonStarted: DaemonStarted.form
        case .daemonStopping: DaemonStopping.form
        case .configReloaded: ConfigurationReloaded.form
        case .configRejected: ConfigurationRejected.form
        case .streamReset: StreamReset.form
        case .streamClosed: StreamClosed.form
        case .netlinkOverrun: NetlinkOverrun.form
        case .clockJumped: ClockJumped.form
        case .pathSnapshot: PathSnapshot.form
        case .pathChanged: PathChanged.form
        case .pathFlapping: PathFlapping.form
        case .headlineChanged: HeadlineChanged.form
        case .interfaceAdded: InterfacePresence.form
        case .interfaceChanged: InterfaceChanged.form
        case .interfaceRemoved: InterfacePresence.form
        case .interfaceRoamed: InterfaceRoamed.form
        case .redundancyLost, .redundancyRestored: RedundancyChanged.form
        case .addressAdded, .addressRemoved: AddressChanged.form
        case .routeChanged: RouteChanged.form
        case .gatewayChanged: GatewayChanged.form
        case .gatewayUnreachable, .gatewayReachable: GatewayReachability.form
        case .dnsChanged: DNSChanged.form
        case .probeFailed: ProbeFailed.form
        case .probeRecovered: ProbeRecovered.form
        case .captivePortalDetected, .captivePortalCleared: CaptivePortal.form
        case .verdictRaised, .verdictCleared: VerdictChanged.form
        case .trafficStalled, .trafficLossy, .trafficResumed, .trafficUnknown: TrafficChanged.form
        case .serviceAdded: ServiceAdded.form
        case .serviceChanged: ServiceChanged.form
        case .serviceRemoved: ServiceRemoved.form
        case .serviceResolveFailed: ServiceResolveFailed.form
        case .servicesLost, .servicesFound: ServicesMoved.form
        case .serviceTypeAdded, .serviceTypeRemoved: ServiceTypeChanged.form
        case .censusCompleted: CensusCompleted.form
        case .mdnsNameConflict: NameConflictFound.form
        case .mdnsPortTaken, .mdnsPortFree: MulticastPortChanged.form
        }
    }
}
