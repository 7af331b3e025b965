// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
public import OrderedJSON
public import Probes

/// `/api/v1/probes/{name}/history`: what came of an active probe, step by step.
public struct ProbeHistoryDocument: MemberDeclaring, Equatable, Sendable {
    /// One step in which anything was asked.
    public struct Step: MemberDeclaring, Equatable, Sendable {
        public var start: String
        public var sent: Int
        public var lost: Int
        public var minSeconds: Double?
        public var medianSeconds: Double?
        public var p95Seconds: Double?

        public static let members = Members<Self>.object("A step.")
            .member("start", as: .time, "When it begins; a multiple of the step since 1970.") { $0.start }
            .member("sent", "How many attempts ended.") { $0.sent }
            .member("lost", "How many of them failed.") { $0.lost }
            .durations { ($0.minSeconds, $0.medianSeconds, $0.p95Seconds) }
    }

    public var probe: String
    public var method: String
    public var target: String
    public var since: String
    public var until: String
    public var stepSeconds: Int64
    public var sent: Int
    public var lost: Int
    public var lossPercent: Double?
    public var minSeconds: Double?
    public var medianSeconds: Double?
    public var p95Seconds: Double?
    public var steps: [Step]

    public static let members = Members<Self>
        .document("ProbeHistory", "What came of an active probe, step by step.")
        .member("probe", "The name of the probe.") { $0.probe }
        .member("method", as: .oneOf(ProbeMethod.self)) { $0.method }
        .member("target") { $0.target }
        .member("since", as: .time, "Where the first step begins.") { $0.since }
        .member("until", as: .time, "Where the last one ends.") { $0.until }
        .member("step_seconds", as: .integer(from: 5), "The step that was used.") { Int($0.stepSeconds) }
        .member("sent", "How many attempts ended.") { $0.sent }
        .member("lost", "How many of them failed.") { $0.lost }
        .member("loss_percent", as: .percent, "The share of lost attempts; `null` without attempts.") {
            $0.lossPercent
        }
        .durations { ($0.minSeconds, $0.medianSeconds, $0.p95Seconds) }
        .member("steps", "The steps with at least one attempt, oldest first.") { $0.steps }

    /// Shows a record.
    /// - Parameters:
    ///   - record: What is kept of the probe.
    ///   - definition: The probe.
    ///   - since: Where the first step begins, a multiple of the step.
    ///   - until: Where the last one ends.
    ///   - step: A multiple of the step of a tier of the record.
    ///   - now: The moment now.
    public init(
        _ record: ProbeRecord,
        of definition: ProbeDefinition,
        since: WallTime,
        until: WallTime,
        step: Duration,
        at now: WallTime
    ) {
        let (steps, total) = record.steps(since: since, until: until, step: step, at: now)
        probe = definition.name
        method = definition.method.rawValue
        target = "\(definition.target)"
        self.since = since.description
        self.until = until.description
        stepSeconds = step.components.seconds
        (sent, lost) = (total.sent, total.lost)
        lossPercent = total.lossPercent.map { ($0 * 100).rounded() / 100 }
        minSeconds = total.minimum.map(Microseconds.round)
        medianSeconds = total.median.map(Microseconds.round)
        p95Seconds = total.p95.map(Microseconds.round)
        self.steps = steps.map { step in
            Step(
                start: step.start.description,
                sent: step.summary.sent,
                lost: step.summary.lost,
                minSeconds: step.summary.minimum.map(Microseconds.round),
                medianSeconds: step.summary.median.map(Microseconds.round),
                p95Seconds: step.summary.p95.map(Microseconds.round)
            )
        }
    }
}

extension Members {
    fileprivate func durations(
        _ values: @escaping @Sendable (Root) -> (least: Double?, median: Double?, p95: Double?)
    ) -> Members {
        member("min_seconds", as: .seconds, "The shortest duration of a right answer; `null` without one.") {
            values($0).least
        }
        .member("median_seconds", as: .seconds, "Within 5 %, as is the next.") { values($0).median }
        .member("p95_seconds", as: .seconds, "The 95th percentile of the durations.") { values($0).p95 }
    }
}
