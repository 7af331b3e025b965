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
