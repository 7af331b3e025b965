// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import Examination
internal import LinuxIO
internal import Metrics

final class DiagnosisMetrics {
    private static let verdict = MetricFamily.gauge("verdict", "1 for each active fault.", ["code", "layer"])
    private static let sentence = MetricFamily.info(
        "verdict_text",
        "1 with the text of each active fault, as first found.",
        ["code", "layer", "severity", "say", "action"]
    )
    /// Each fault that stands as it was found first, worst first: its figures change with every round, and labels must not.
    private var reported: [VerdictTracker.Standing] = []
    let rounds = Counter(.counter("diagnosis_rounds", "Rounds of diagnosis that ended."))
    let duration = Histogram(.histogram("diagnosis_duration_seconds", "How long a round took."))
    let bytes = Counter(
        .counter("diagnosis_bytes", "Bytes of diagnosis, without the headers of IP, TCP and UDP.", ["direction"])
    )

    func register(in registry: MetricRegistry) {
        rounds.increment(by: 0)
        for direction in ["sent", "received"] { bytes.increment(direction, by: 0) }
        _ = duration.child([])
        for counter in [rounds, bytes] { registry.add(counter) }
        registry.add(duration)
        registry.add { [unowned self] writer in
            let verdicts = sentences
            writer.declare(Self.verdict)
            for code in verdicts.map(\.code) { writer.write(Self.verdict, 1, code.rawValue, code.layer.rawValue) }
            writer.declare(Self.sentence)
            for verdict in verdicts {
                writer.write(
                    info: Self.sentence,
                    verdict.code.rawValue,
                    verdict.code.layer.rawValue,
                    verdict.severity.rawValue,
                    verdict.say,
                    verdict.action
                )
            }
        }
    }

    /// Records the faults that stand, worst first.
    func record(_ standing: [VerdictTracker.Standing]) {
        let known = Dictionary(reported.map { (VerdictTracker.Key($0.verdict), $0) }) { first, _ in first }
        reported = standing.map { new in
            guard let old = known[VerdictTracker.Key(new.verdict)], old.since == new.since,
                old.verdict.severity == new.verdict.severity
            else { return new }
            return old
        }
    }

    /// One verdict a code, worst first, with the words of all of its code as they were found first: alerts find the words by
    /// the code.
    var sentences: [Verdict] {
        let verdicts = Dictionary(grouping: reported.map(\.verdict), by: \.code)
        return VerdictCode.allCases.compactMap { code in
            guard let all = verdicts[code], var verdict = all.first else { return nil }
            verdict.say = Self.joined(all.map(\.say))
            verdict.action = Self.joined(all.map(\.action))
            return verdict
        }
    }

    /// Different sentences in a row; the first three of more.
    private static func joined(_ sentences: [String]) -> String {
        var different: [String] = []
        for sentence in sentences where !different.contains(sentence) { different.append(sentence) }
        let more = different.count - 3
        return different.prefix(3).joined(separator: "; ") + (more > 0 ? "; and \(more) more" : "")
    }

    func count(_ result: ExaminationResult) {
        rounds.increment()
        duration.observe(result.duration.seconds)
        bytes.increment("sent", by: Double(result.bytesSent))
        bytes.increment("received", by: Double(result.bytesReceived))
    }
}
