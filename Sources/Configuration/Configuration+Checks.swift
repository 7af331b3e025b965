// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension Configuration {
    /// Finds what contradicts each other although every value is right alone.
    func check(_ findings: inout Findings) {
        checkListen(&findings)
        checkProtection(&findings)
        checkNames(&findings)
        checkConditions(&findings)
        if debounce.cap != .zero && debounce.cap < debounce.quiet {
            let sentence = "must not be shorter than debounce.quiet"
            findings.reportConflict(at: "debounce.cap", sentence, between: "debounce.quiet")
        }
        for probe in probes.active {
            let key = "probes.active.\(probe.name)"
            for conflict in probe.value.conflicts {
                findings.reportConflict(at: conflict.key.isEmpty ? key : "\(key).\(conflict.key)", conflict.sentence)
            }
        }
        if probes.ipv4.isEmpty { findings.reportConflict(at: "probes.ipv4", "needs at least one address") }
        if probes.ipv6.isEmpty { findings.reportConflict(at: "probes.ipv6", "needs at least one address") }
        if gatewayLiveness.isStrict && !gatewayLiveness.isEnabled {
            let sentence = "needs gateway_liveness.enabled: true"
            findings.reportConflict(at: "gateway_liveness.strict", sentence, between: "gateway_liveness.enabled")
        }
        if limits.maximumStreams > limits.maximumConnections {
            let sentence = "must not exceed limits.max_connections (\(limits.maximumConnections))"
            findings.reportConflict(at: "limits.max_streams", sentence, between: "limits.max_connections")
        }
        checkAdvertised(&findings)
        for conflict in diagnosis.conflicts {
            findings.reportConflict(at: "diagnosis.\(conflict.key)", conflict.sentence)
        }
        for (index, service) in mdns.watched.enumerated() where mdns.watched[..<index].contains(service) {
            findings.reportConflict(at: "mdns.watched[\(index)]", "names \(service) twice")
        }
    }

    private func checkAdvertised(_ findings: inout Findings) {
        for (index, service) in mdns.advertised.enumerated() {
            let key = "mdns.advertise[\(index)]"
            if service.type.isEmpty || service.port == 0 {
                findings.reportConflict(at: key, "needs type and port")
            } else if mdns.advertised[..<index].contains(where: { $0.isNamed(as: service) }) {
                findings.reportConflict(at: key, "has the same name and type as an earlier entry")
            }
        }
    }

    private func checkListen(_ findings: inout Findings) {
        if listen.isEmpty { findings.reportConflict(at: "listen", "needs at least one address") }
        for (index, address) in listen.enumerated() {
            let key = "listen[\(index)]"
            if !address.isLocal && !insecure && !isProtected {
                let sentence =
                    "\(address) is reachable from other hosts: set tls_server_config, basic_auth_users or token_file, "
                    + "use a loopback address, or set insecure: true"
                let guards = ["insecure", "tls_server_config", "basic_auth_users", "token_file"]
                findings.reportConflict(at: key, sentence, between: guards)
            }
            if listen[..<index].contains(address) && !address.hasAnyPort {
                findings.reportConflict(at: key, "names \(address) twice")
            }
        }
    }

    private func checkNames(_ findings: inout Findings) {
        for (section, names) in [("monitors", monitors.map(\.name)), ("views", views.map(\.name))] {
            for name in names where name == Self.defaultMonitor {
                findings.reportConflict(at: "\(section).\(name)", "uses the reserved name of the built-in monitor")
            }
        }
        for view in views where monitors.contains(where: { $0.name == view.name }) {
            findings.reportConflict(at: "views.\(view.name)", "has the same name as a monitor")
        }
    }

    private func checkConditions(_ findings: inout Findings) {
        for monitor in monitors {
            let key = "monitors.\(monitor.name)"
            if let type = monitor.value.requiredType, monitor.value.prohibitedTypes.contains(type) {
                findings.reportConflict(at: key + ".prohibited_types", "contains the required type \(type)")
            }
            if monitor.value == MonitorSettings() {
                findings.reportConflict(at: key, "needs required_type or prohibited_types")
            }
        }
        for view in views where view.value == ViewSettings() {
            findings.reportConflict(at: "views.\(view.name)", "needs mark, uid or oif")
        }
    }
}

extension ListenAddress {
    /// Whether the kernel chooses the port, so that two of the same are different.
    fileprivate var hasAnyPort: Bool {
        if case .tcp(_, port: 0) = self { true } else { false }
    }
}
