// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO
internal import Metrics
internal import Traffic

/// What `/metrics` shows of connections: by path, never by remote address.
enum TrafficMetrics {
    private static let byPath = ["device", "gateway", "family", "range"]
    private static let connections = MetricFamily.gauge(
        "traffic_connections",
        "TCP connections outside loopback.",
        byPath
    )
    private static let unanswered = MetricFamily.gauge(
        "traffic_unanswered",
        "Those whose retransmission timeout has passed without an answer.",
        byPath
    )
    private static let stalled = MetricFamily.gauge("traffic_stalled", "1 while nothing is answered.", byPath)
    private static let loss = MetricFamily.gauge(
        "traffic_retransmit_ratio",
        "The share of data segments sent again in the last 20 s.",
        byPath
    )
    private static let roundTrip = MetricFamily.gauge(
        "traffic_rtt_seconds",
        "Round trips of connections answered in the last 30 s.",
        byPath + ["quantile"]
    )
    private static let age = MetricFamily.gauge(
        "traffic_last_answer_age_seconds",
        "How long ago the last answer came.",
        byPath
    )

    static func write(_ report: TrafficReport, to writer: inout MetricWriter) {
        for family in [connections, unanswered, stalled, loss, roundTrip, age] { writer.declare(family) }
        for entry in report.paths {
            let path = entry.path
            let labels = [
                path.interface, path.gateway.map { "\($0)" } ?? "", path.family.rawValue, path.range.rawValue,
            ]
            let figures = entry.figures
            writer.write(connections, Double(figures.connections), labels: labels)
            writer.write(unanswered, Double(figures.unanswered), labels: labels)
            writer.write(stalled, figures.state == .stalled ? 1 : 0, labels: labels)
            if let ratio = figures.loss { writer.write(loss, ratio, labels: labels) }
            if let answer = figures.lastAnswer { writer.write(age, answer.seconds, labels: labels) }
            guard let times = figures.roundTrips else { continue }
            for (quantile, time) in [("0.5", times.p50), ("0.9", times.p90), ("0.99", times.p99)] {
                writer.write(roundTrip, time.seconds, labels: labels + [quantile])
            }
        }
    }
}
