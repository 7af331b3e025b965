// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Configuration
internal import EventHub
internal import EventLog
internal import Judgement
internal import LinuxIO
internal import Metrics
internal import MulticastDNS
internal import Netlink
internal import PathEngine
internal import PathModel

/// The families that are read when they are scraped.
extension Daemon {
    func registerMetrics() {
        let version = options.version
        registry.add { writer in
            writer.write(info: Family.build, version, Build.revision, "6.3")
        }
        registry.add { [unowned self] in collectPaths(&$0) }
        registry.add { [unowned self] in collectInterfaces(&$0) }
        registry.add { [unowned self] in collectKernel(&$0) }
        registry.add { [unowned self] in collectEvents(&$0) }
        registry.add { [unowned self] in collectServices(&$0) }
        registry.add(counters.latency)
        registry.add(counters.evaluation)
        registry.add(counters.serviceEvents)
        registry.add(counters.serviceRemovals)
        registry.add(counters.nameConflicts)
        probes.metrics.register(
            in: registry,
            states: { [unowned self] in probes.states },
            paths: { [unowned self] in
                engine.core.monitors.map { monitor in
                    let link = monitor.path.interfaces.first.flatMap { engine.core.state.links[$0.index] }
                    return (monitor.policy.name, link?.names ?? [])
                }
            }
        )
        diagnosis.metrics.register(in: registry) { [unowned self] in diagnosis.standing }
        ProcessMetrics().register(in: registry)
    }

    private func collectPaths(_ writer: inout MetricWriter) {
        let now = clock.boot
        let state = headline.judge().headline.state
        for each in Headline.State.allCases { writer.write(Family.headline, state == each, each.rawValue) }
        let statuses = PathStatus.allCases
        writer.declare(Family.pathInterface)
        writer.declare(Family.gatewayReachable)
        for monitor in engine.core.monitors {
            let (name, path, tracker) = (monitor.policy.name, monitor.path, monitor.tracker)
            writer.write(Family.satisfied, path.status == .satisfied, name)
            for status in statuses {
                writer.write(Family.status, path.status == status, name, status.rawValue)
                writer.write(Family.statusSeconds, tracker.time(in: status, at: now).seconds, name, status.rawValue)
                for other in statuses where other != status {
                    let count = tracker.transitions[.init(from: status, to: other)] ?? 0
                    writer.write(Family.transitions, Double(count), name, status.rawValue, other.rawValue)
                }
            }
            writer.write(Family.lastChange, clock.calendar(at: tracker.since).secondsSince1970, name)
            for reason in UnsatisfiedReason.allCases {
                writer.write(Family.reason, path.reason == reason, name, reason.rawValue)
            }
            writer.write(Family.expensive, path.isExpensive, name)
            writer.write(Family.constrained, path.isConstrained, name)
            writer.write(Family.ipv4, path.supportsIPv4, name)
            writer.write(Family.ipv6, path.supportsIPv6, name)
            writer.write(Family.dns, path.supportsDNS, name)
            for (rank, interface) in path.interfaces.enumerated() {
                writer.write(info: Family.pathInterface, name, interface.name, interface.type.rawValue, "\(rank)")
            }
        }
        for gateway in engine.core.monitors.first?.path.gateways ?? [] {
            let labels = [gateway.interface, gateway.family.rawValue, "\(gateway.address)"]
            writer.write(Family.gatewayReachable, gateway.isReachable == false ? 0 : 1, labels: labels)
        }
    }

    private func collectInterfaces(_ writer: inout MetricWriter) {
        let families = [
            Family.interfaceInfo, Family.interfaceUp, Family.interfaceRequired, Family.carrierChanges, Family.mtu,
            Family.addresses,
        ]
        for family in families { writer.declare(family) }
        for view in engine.core.interfaces where !view.isIgnored {
            let labels = [view.name, view.type.rawValue, view.kind ?? "", view.operationalState.word]
            writer.write(Family.interfaceInfo, 1, labels: labels)
            writer.write(Family.interfaceUp, view.shortcoming.map { !$0.isOfLink } ?? true, view.name)
            writer.write(Family.interfaceRequired, view.isRequired, view.name)
            writer.write(Family.carrierChanges, Double(view.carrierChanges), view.name)
            writer.write(Family.mtu, Double(view.mtu), view.name)
            for (family, scope) in [("ipv4", "global"), ("ipv4", "link"), ("ipv6", "global"), ("ipv6", "link")] {
                let count = view.addresses.count { $0.address.family.rawValue == family && $0.scopeName == scope }
                writer.write(Family.addresses, Double(count), view.name, family, scope)
            }
        }
        for name in engine.core.judge.missingRequired { writer.write(Family.interfaceRequired, true, name) }
    }

    private func collectKernel(_ writer: inout MetricWriter) {
        let statistics = engine.statistics
        for group in EventGroup.allCases {
            writer.write(Family.netlinkMessages, Double(statistics.messages[group] ?? 0), group.name)
        }
        writer.write(Family.overruns, Double(statistics.overruns))
        writer.write(Family.undecodable, Double(statistics.undecodable))
        writer.write(Family.foreign, Double(statistics.foreign))
        writer.write(Family.silentChanges, Double(engine.silentChanges))
        writer.write(Family.evaluations, Double(engine.core.evaluations))
    }

    private func collectEvents(_ writer: inout MetricWriter) {
        for (name, count) in hub.publishedCounts {
            writer.write(Family.eventsPublished, Double(count), name.rawValue)
        }
        writer.write(Family.logErrors, Double(log.status.errors))
        writer.write(Family.logLost, Double(log.status.eventsLost))
        writer.write(Family.reloadGood, counters.isLastReloadGood)
        writer.write(Family.reloadTime, counters.lastReload?.secondsSince1970 ?? 0)
    }

    private func collectServices(_ writer: inout MetricWriter) {
        guard let census else { return }
        let services = census.services
        for watched in configuration.mdns.watched { counters.expect(watched.type) }
        for (type, count) in counters.tally(services.lazy.map(\.type)) {
            writer.write(Family.services, Double(count), type)
        }
        writer.write(Family.serviceTypes, Double(census.serviceTypes.count))
        writer.declare(Family.watched)
        for watched in configuration.mdns.watched {
            writer.write(Family.watched, services.contains(where: watched.includes), watched.type, watched.name ?? "")
        }
        writer.write(Family.censusTime, census.lastCompleted?.secondsSince1970 ?? 0)
        writer.write(Family.censusInterval, configuration.mdns.censusInterval.seconds)
        let taken = census.engine.takenPorts.map(\.family)
        for family in AddressFamily.allCases {
            writer.write(Family.portAvailable, !taken.contains(family), family.rawValue)
        }
        for (key, count) in census.counters.sorted(by: {
            ($0.key.interface, $0.key.family) < ($1.key.interface, $1.key.family)
        }) {
            let labels = [key.interface, key.family.rawValue]
            writer.write(Family.packetsReceived, Double(count.received), labels: labels)
            writer.write(Family.packetsSent, Double(count.sent), labels: labels)
            writer.write(Family.packetsMalformed, Double(count.malformed), labels: labels)
            writer.write(Family.packetFaults, Double(count.wrongPort), labels: labels + ["wrong_port"])
            writer.write(Family.packetFaults, Double(count.wrongHopLimit), labels: labels + ["hop_limit"])
        }
    }
}

extension Shortcoming {
    /// Whether the link itself is down, rather than without address or route.
    fileprivate var isOfLink: Bool {
        switch self {
        case .linkDown, .noCarrier, .lowerLayerDown, .notPresent, .testing: true
        case .loopback, .enslaved, .ignored, .dormant, .noAddress, .dadPending, .noRoute: false
        }
    }
}

// MARK: - Families

/// The catalogue of what is read at a scrape; docs/metrics.md explains each family.
enum Family {
    static let build = MetricFamily(
        "nwpath_build_info",
        .info,
        help: "The running build.",
        labels: ["version", "revision", "swift_version"]
    )

    static let headline = gauge("headline", "1 for the present state of the way out as a whole.", ["state"])
    static let satisfied = gauge("path_satisfied", "Whether packets leave the machine.", ["monitor"])
    static let status = gauge("path_status", "1 for the present status.", ["monitor", "status"])
    static let statusSeconds = counter("path_status_seconds", "Time spent in each status.", ["monitor", "status"])
    static let transitions = counter("path_status_transitions", "Changes of the status.", ["monitor", "from", "to"])
    static let lastChange = gauge("path_last_change_timestamp_seconds", "When the path last changed.", ["monitor"])
    static let reason = gauge("path_unsatisfied_reason", "1 for the reason why it is not.", ["monitor", "reason"])
    static let expensive = gauge("path_expensive", "Whether the traffic costs money.", ["monitor"])
    static let constrained = gauge("path_constrained", "Whether programs should spare traffic.", ["monitor"])
    static let ipv4 = gauge("path_supports_ipv4", "Whether IPv4 packets leave.", ["monitor"])
    static let ipv6 = gauge("path_supports_ipv6", "Whether IPv6 packets leave.", ["monitor"])
    static let dns = gauge("path_supports_dns", "Whether a name server can be reached.", ["monitor"])
    static let pathInterface = MetricFamily(
        "nwpath_path_interface_info",
        .info,
        help: "Interfaces of the path in order of preference.",
        labels: ["monitor", "device", "interface_type", "rank"]
    )

    static let interfaceInfo = MetricFamily(
        "nwpath_interface_info",
        .info,
        help: "What an interface is.",
        labels: ["device", "interface_type", "kind", "operstate"]
    )
    static let interfaceUp = gauge("interface_up", "Whether the link is up with carrier.", ["device"])
    static let interfaceRequired = gauge("interface_required", "1 for interfaces that must be up.", ["device"])
    static let carrierChanges = counter("interface_carrier_changes", "Changes of the carrier.", ["device"])
    static let addresses = gauge("interface_addresses", "How many addresses it has.", ["device", "family", "scope"])
    static let mtu = gauge("interface_mtu_bytes", "The largest packet.", ["device"])
    static let gatewayReachable = gauge(
        "gateway_reachable",
        "0 when the gateway did not answer ARP or Neighbor Solicitation when it was last asked.",
        ["device", "family", "gateway"]
    )

    static let netlinkMessages = counter("netlink_messages", "Kernel messages that passed the filter.", ["group"])
    static let overruns = counter("netlink_overruns", "Overruns of the buffer, each followed by a full reading.")
    static let undecodable = counter("netlink_undecodable", "Kernel messages that could not be read.")
    static let foreign = counter("netlink_foreign", "Messages of other processes, which were ignored.")
    static let silentChanges = counter("netlink_silent_changes", "Changes that an audit found without an event.")
    static let evaluations = counter("evaluations", "How often the paths were worked out.")

    static let eventsPublished = counter("events_published", "Events by name.", ["event"])
    static let logErrors = counter("event_log_write_errors", "Failed writes, rotations and reopenings of the log.")
    static let logLost = counter("event_log_lost_events", "Events that could not be written to the log.")
    static let reloadGood = gauge("config_last_reload_successful", "Whether the last configuration was good.")
    static let reloadTime = gauge(
        "config_last_reload_success_timestamp_seconds",
        "When a configuration was last reloaded; 0 never."
    )

    static let services = gauge("mdns_services", "Resolved services.", ["service_type"])
    static let serviceTypes = gauge("mdns_service_types", "Service types that have a service.")
    static let watched = gauge(
        "mdns_watched_service_up",
        "Whether a watched service is there.",
        ["service_type", "service_name"]
    )
    static let censusTime = gauge(
        "mdns_census_last_success_timestamp_seconds",
        "When a census was last completed; 0 never."
    )
    static let censusInterval = gauge("mdns_census_interval_seconds", "How often a census is taken.")
    static let packetsReceived = counter("mdns_packets_received", "mDNS packets received.", ["device", "family"])
    static let packetsSent = counter("mdns_packets_sent", "mDNS packets sent.", ["device", "family"])
    static let portAvailable = gauge(
        "mdns_port_available",
        "0 while another program has UDP port 5353 for itself.",
        ["family"]
    )
    static let packetsMalformed = counter("mdns_packets_malformed", "mDNS packets refused.", ["device", "family"])
    static let packetFaults = counter(
        "mdns_noncompliant_responses",
        "mDNS responses that break a rule.",
        ["device", "family", "fault"]
    )

    private static func gauge(_ name: String, _ help: String, _ labels: [String] = []) -> MetricFamily {
        MetricFamily("nwpath_\(name)", .gauge, help: help, labels: labels)
    }

    private static func counter(_ name: String, _ help: String, _ labels: [String] = []) -> MetricFamily {
        MetricFamily("nwpath_\(name)_total", .counter, help: help, labels: labels)
    }
}
