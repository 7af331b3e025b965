// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import Examination
internal import LinuxIO
internal import Metrics

/// What is counted of the continuous diagnosis.
final class DiagnosisMetrics {
    private static let verdict = MetricFamily(
        "nwpath_verdict",
        .gauge,
        help: "1 for each fault that stands.",
        labels: ["code", "layer"]
    )
    let rounds = Counter(
        MetricFamily("nwpath_diagnosis_rounds_total", .counter, help: "Rounds of diagnosis that ended.")
    )
    let duration = Histogram(
        MetricFamily("nwpath_diagnosis_duration_seconds", .histogram, help: "How long a round took.")
    )
    let bytes = Counter(
        MetricFamily(
            "nwpath_diagnosis_bytes_total",
            .counter,
            help: "Bytes of diagnosis, without the headers of IP, TCP and UDP.",
            labels: ["direction"]
        )
    )

    /// Adds everything to what is scraped.
    func register(in registry: MetricRegistry, standing: @escaping () -> [VerdictKeeper.Standing]) {
        rounds.increment(by: 0)
        for direction in ["sent", "received"] { bytes.increment(direction, by: 0) }
        _ = duration.child([])
        for counter in [rounds, bytes] { registry.add(counter) }
        registry.add(duration)
        registry.add { writer in
            writer.declare(Self.verdict)
            // Several of one code are one fault here.
            var told: Set<VerdictCode> = []
            for code in standing().map(\.verdict.code) where told.insert(code).inserted {
                writer.write(Self.verdict, 1, code.rawValue, code.layer.rawValue)
            }
        }
    }

    /// Counts a round.
    func count(_ result: ExaminationResult) {
        rounds.increment()
        duration.observe(result.duration.seconds)
        bytes.increment("sent", by: Double(result.bytesSent))
        bytes.increment("received", by: Double(result.bytesReceived))
    }
}
