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
            let message = "kernel notifications were lost; all state is re-read within a second"
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
        registry.add { [unowned self] in collectWireless(&$0) }
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
            Family.ports, Family.workingPorts, Family.addresses,
        ]
        for family in families { writer.declare(family) }
        for view in engine.core.interfaces where !view.isIgnored {
            let labels = [view.name, view.type.rawValue, view.kind ?? "", view.operationalState.word]
            writer.write(Family.interfaceInfo, 1, labels: labels)
            writer.write(Family.interfaceUp, view.unusableReason.map { !$0.isOfLink } ?? true, view.name)
            writer.write(Family.interfaceRequired, view.isRequired, view.name)
            writer.write(Family.carrierChanges, Double(view.carrierChanges), view.name)
            writer.write(Family.mtu, Double(view.mtu), view.name)
            if let ports = view.ports {
                writer.write(Family.ports, Double(ports.total), view.name)
                writer.write(Family.workingPorts, Double(ports.working), view.name)
            }
            for (family, scope) in [("ipv4", "global"), ("ipv4", "link"), ("ipv6", "global"), ("ipv6", "link")] {
                let count = view.addresses.count { $0.address.family.rawValue == family && $0.scopeName == scope }
                writer.write(Family.addresses, Double(count), view.name, family, scope)
            }
        }
        for name in engine.core.classifier.missingRequired { writer.write(Family.interfaceRequired, true, name) }
    }

    private func collectWireless(_ writer: inout MetricWriter) {
        let families = [
            Family.wifiInfo, Family.wifiAuthorized, Family.wifiSignal, Family.wifiFrequency, Family.wifiReceiveRate,
            Family.wifiTransmitRate, Family.wifiRoams,
        ]
        for family in families { writer.declare(family) }
        for view in engine.core.interfaces where !view.isIgnored {
            guard let wifi = view.wifi else { continue }
            writer.write(Family.wifiRoams, Double(wifi.roams), view.name)
            guard wifi.isAuthorized != nil || wifi.frequency != nil else { continue }
            let document = WirelessDocument(wifi)
            let labels = [view.name, document.network ?? "", document.bssid ?? "", document.band ?? ""]
            writer.write(Family.wifiInfo, 1, labels: labels)
            func write(_ family: MetricFamily, _ value: Int?, times factor: Double = 1) {
                if let value { writer.write(family, Double(value) * factor, view.name) }
            }
            if let isAuthorized = wifi.isAuthorized { writer.write(Family.wifiAuthorized, isAuthorized, view.name) }
            write(Family.wifiSignal, wifi.signal)
            write(Family.wifiFrequency, wifi.frequency, times: 1_000_000)
            write(Family.wifiReceiveRate, wifi.receiveRate)
            write(Family.wifiTransmitRate, wifi.transmitRate)
        }
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

extension UnusableReason {
    /// Whether the link itself is down, rather than without address or route.
    fileprivate var isOfLink: Bool {
        switch self {
        case .linkDown, .noCarrier, .lowerLayerDown, .notPresent, .testing, .notForwarding, .authenticationFailed: true
        case .loopback, .enslaved, .ignored, .dormant, .noAddress, .dadPending, .noRoute: false
        }
    }
}

private enum Family {
    static let satisfied = MetricFamily.gauge("path_satisfied", "Whether packets leave the machine.", ["monitor"])
    static let status = MetricFamily.gauge("path_status", "1 for the present status.", ["monitor", "status"])
    static let statusSeconds = MetricFamily.counter(
        "path_status_seconds",
        "Time spent in each status.",
        ["monitor", "status"]
    )
    static let transitions = MetricFamily.counter(
        "path_status_transitions",
        "Changes of the status.",
        ["monitor", "from", "to"]
    )
    static let lastChange = MetricFamily.gauge(
        "path_last_change_timestamp_seconds",
        "When the path last changed.",
        ["monitor"]
    )
    static let reason = MetricFamily.gauge(
        "path_unsatisfied_reason",
        "1 for the reason why it is not.",
        ["monitor", "reason"]
    )
    static let expensive = MetricFamily.gauge("path_expensive", "Whether the path is expensive (metered).", ["monitor"])
    static let constrained = MetricFamily.gauge(
        "path_constrained",
        "Whether the path is constrained (low-data mode).",
        ["monitor"]
    )
    static let ipv4 = MetricFamily.gauge("path_supports_ipv4", "Whether IPv4 packets leave.", ["monitor"])
    static let ipv6 = MetricFamily.gauge("path_supports_ipv6", "Whether IPv6 packets leave.", ["monitor"])
    static let dns = MetricFamily.gauge("path_supports_dns", "Whether a name server can be reached.", ["monitor"])
    static let pathInterface = MetricFamily.info(
        "path_interface",
        "Interfaces of the path in order of preference.",
        ["monitor", "device", "interface_type", "rank"]
    )
    static let interfaceInfo = MetricFamily.info(
        "interface",
        "What an interface is.",
        ["device", "interface_type", "kind", "operstate"]
    )
    static let interfaceUp = MetricFamily.gauge("interface_up", "Whether the link is up with carrier.", ["device"])
    static let interfaceRequired = MetricFamily.gauge(
        "interface_required",
        "1 for interfaces that must be up.",
        ["device"]
    )
    static let carrierChanges = MetricFamily.counter("interface_carrier_changes", "Changes of the carrier.", ["device"])
    static let addresses = MetricFamily.gauge(
        "interface_addresses",
        "How many addresses it has.",
        ["device", "family", "scope"]
    )
    static let mtu = MetricFamily.gauge("interface_mtu_bytes", "The largest packet.", ["device"])
    static let wifiInfo = MetricFamily.info(
        "wifi",
        "The Wi-Fi network that an interface is associated with.",
        ["device", "ssid", "bssid", "band"]
    )
    static let wifiAuthorized = MetricFamily.gauge(
        "wifi_authorized",
        "Whether the access point lets data pass.",
        ["device"]
    )
    static let wifiSignal = MetricFamily.gauge("wifi_signal_dbm", "The average signal of the access point.", ["device"])
    static let wifiFrequency = MetricFamily.gauge("wifi_frequency_hertz", "The channel's centre.", ["device"])
    static let wifiReceiveRate = MetricFamily.gauge(
        "wifi_receive_bits_per_second",
        "What the access point last sent with.",
        ["device"]
    )
    static let wifiTransmitRate = MetricFamily.gauge(
        "wifi_transmit_bits_per_second",
        "What was last sent to the access point with.",
        ["device"]
    )
    static let wifiRoams = MetricFamily.counter(
        "wifi_roams",
        "Changes of the access point within a network.",
        ["device"]
    )
    static let ports = MetricFamily.gauge("interface_ports", "The ports of a bond, team or HSR link.", ["device"])
    static let workingPorts = MetricFamily.gauge(
        "interface_ports_working",
        "The ports of a bond, team or HSR link that could send now.",
        ["device"]
    )
    static let gatewayReachable = MetricFamily.gauge(
        "gateway_reachable",
        "0 when the gateway did not answer the last ARP request or Neighbor Solicitation.",
        ["device", "family", "gateway"]
    )
    static let netlinkMessages = MetricFamily.counter(
        "netlink_messages",
        "Kernel messages that passed the filter.",
        ["group"]
    )
    static let overruns = MetricFamily.counter(
        "netlink_overruns",
        "Receive buffer overruns, each followed by a full resync."
    )
    static let undecodable = MetricFamily.counter("netlink_undecodable", "Kernel messages that could not be read.")
    static let foreign = MetricFamily.counter("netlink_foreign", "Messages of other processes, which were ignored.")
    static let silentChanges = MetricFamily.counter(
        "netlink_silent_changes",
        "Changes found by a full re-read that no notification announced."
    )
    static let evaluations = MetricFamily.counter("evaluations", "Path evaluations.")
}
