// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO
internal import Metrics
internal import PathModel
internal import Probes

/// What is counted of active probes.
///
/// Every child of a configured probe is there from its start with 0; those of one that is gone go with it.
final class ProbeMetrics {
    private static let byProbe = ["probe", "method"]

    let attempts = Counter(.counter("probe_attempts", "Attempts of active probes.", byProbe))
    let failures = Counter(.counter("probe_failures", "Attempts that failed, by the reason.", byProbe + ["reason"]))
    let duration = Histogram(
        .histogram("probe_duration_seconds", "How long right answers took, without looking up the name.", byProbe)
    )
    let bytes = Counter(
        .counter(
            "probe_bytes",
            "Bytes of active probes, without the headers of IP, TCP and UDP.",
            byProbe + ["direction"]
        )
    )
    let queries = Counter(.counter("dns_queries", "Questions to name servers.", ["server"]))
    let queryFailures = Counter(
        .counter("dns_query_failures", "Questions without a right answer, by the reason.", ["server", "reason"])
    )
    let queryDuration = Histogram(
        .histogram("dns_query_duration_seconds", "How long name servers took for right answers.", ["server"])
    )
    private static let success = MetricFamily.gauge(
        "probe_success",
        "Whether the last attempt succeeded; absent until one was assessed.",
        byProbe
    )
    private static let captivePortal = MetricFamily.gauge(
        "path_captive_portal",
        "Whether a captive portal answers; only with HTTP probes.",
        ["monitor"]
    )
    /// Servers beyond this number are counted as `other`: networks bring servers of their own.
    static let maximumServers = 32
    private var servers: Set<String> = []

    func register(
        in registry: MetricRegistry,
        states: @escaping () -> [ProbeState],
        paths: @escaping () -> [(name: String, interface: [String])]
    ) {
        for counter in [attempts, failures, bytes, queries, queryFailures] { registry.add(counter) }
        for histogram in [duration, queryDuration] { registry.add(histogram) }
        registry.add { writer in
            let states = states()
            writer.declare(Self.success)
            for state in states {
                guard let result = state.last else { continue }
                if case .notAssessed = result.outcome { continue }
                let definition = state.definition
                writer.write(Self.success, result.isSuccess, definition.name, definition.method.rawValue)
            }
            writer.declare(Self.captivePortal)
            for (monitor, isCaptive) in PortalClassifier.verdicts(states, paths: paths()) {
                writer.write(Self.captivePortal, isCaptive, monitor)
            }
        }
    }

    /// Makes the children of the configured probes and forgets those of others.
    func expect(_ definitions: [ProbeDefinition]) {
        let known = Set(definitions.map { [$0.name, $0.method.rawValue] })
        for counter in [attempts, failures, bytes] {
            counter.keep { known.contains(Array($0.prefix(2))) }
        }
        duration.keep { known.contains($0) }
        for definition in definitions {
            let labels = [definition.name, definition.method.rawValue]
            attempts.increment(labels: labels, by: 0)
            for reason in ProbeReason.allCases {
                failures.increment(labels: labels + [reason.rawValue], by: 0)
            }
            for direction in ["sent", "received"] { bytes.increment(labels: labels + [direction], by: 0) }
            _ = duration.child(labels)
        }
    }

    func count(_ state: ProbeState, _ result: ProbeResult) {
        if case .notAssessed = result.outcome { return }
        let labels = [state.definition.name, state.definition.method.rawValue]
        attempts.increment(labels: labels)
        if let reason = result.reason { failures.increment(labels: labels + [reason.rawValue]) }
        if result.isSuccess { duration.observe(result.duration.seconds, labels[0], labels[1]) }
        bytes.increment(labels: labels + ["sent"], by: Double(result.sent))
        bytes.increment(labels: labels + ["received"], by: Double(result.received))
        if state.definition.method == .dns, let address = result.address {
            countQuery(label(of: address), result)
        }
    }

    private func countQuery(_ server: String, _ result: ProbeResult) {
        queries.increment(server)
        for reason in ProbeReason.allCases { queryFailures.increment(server, reason.rawValue, by: 0) }
        _ = queryDuration.child([server])
        if let reason = result.reason { queryFailures.increment(server, reason.rawValue) }
        if result.isSuccess { queryDuration.observe(result.duration.seconds, server) }
    }

    private func label(of server: ScopedAddress) -> String {
        let text = "\(server)"
        if servers.count < Self.maximumServers { servers.insert(text) }
        return servers.contains(text) ? text : "other"
    }
}

enum PortalClassifier {
    /// The verdict on each path that an HTTP probe says something about.
    ///
    /// A probe that is bound to an interface speaks of the paths whose first interface has that name or alternative
    /// name, any other of the path `default`, by which its packets leave.
    static func verdicts(
        _ states: [ProbeState],
        paths: [(name: String, interface: [String])]
    ) -> [(monitor: String, isCaptive: Bool)] {
        let probes = states.filter { state in
            guard case .page(let page) = state.definition.target, let result = state.last else {
                return false
            }
            if case .notAssessed = result.outcome { return false }
            return !page.isSecure
        }
        return paths.compactMap { path in
            let speaking = probes.filter { state in
                guard let interface = state.definition.route.interface else {
                    return path.name == MonitorPolicy.standardName && state.definition.route == ProbeRoute()
                }
                return path.interface.contains(interface)
            }
            return speaking.isEmpty ? nil : (path.name, speaking.contains { $0.schedule.isCaptive })
        }
    }
}
