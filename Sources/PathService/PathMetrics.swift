// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Documents
internal import LinuxIO
internal import Metrics
internal import Netlink
internal import PathEngine
internal import PathModel
internal import Providers

extension PathSystem: DaemonPart {
    var problems: [ProblemDocument] {
        var problems: [ProblemDocument] = []
        if engine.isRecovering {
            let message = "notifications of the kernel were lost; everything is read again within a second"
            problems.append(ProblemDocument(part: "netlink", message: message))
        }
        let health = providers.health.sorted { $0.key.rawValue < $1.key.rawValue }
        for (name, health) in health where health.isStale {
            let why = health.lastError.map { ": \($0)" } ?? ""
            problems.append(ProblemDocument(part: name.rawValue, message: "does not answer\(why)"))
        }
        return problems
    }

    func register(in registry: MetricRegistry) {
        registry.add { [unowned self] in collectPaths(&$0) }
        registry.add { [unowned self] in collectInterfaces(&$0) }
        registry.add { [unowned self] in collectKernel(&$0) }
    }

    private func collectPaths(_ writer: inout MetricWriter) {
        let (clock, now) = (KernelClock(), KernelClock().boot)
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
