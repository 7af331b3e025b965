// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
public import OrderedJSON
public import Probes

/// `/api/v1/probes/{name}/history`: what came of an active probe, step by step.
public struct ProbeHistoryDocument: Encodable, Equatable, Sendable {
    /// One step in which anything was asked.
    public struct Step: Encodable, Equatable, Sendable {
        /// When it begins, RFC 3339; a multiple of the step since 1970.
        public var start: String
        /// How many attempts ended in it.
        public var sent: Int
        /// How many of them failed.
        public var lost: Int
        /// The shortest duration of a right answer; `null` without one.
        @Nullable public var minSeconds: Double?
        @Nullable public var medianSeconds: Double?
        /// The least duration that 95 % of them are not longer than.
        @Nullable public var p95Seconds: Double?

        enum CodingKeys: String, CodingKey {
            case start
            case sent
            case lost
            case minSeconds = "min_seconds"
            case medianSeconds = "median_seconds"
            case p95Seconds = "p95_seconds"
        }
    }

    public let schema = DocumentSchema.name(of: "probehistory")
    /// The name of the probe.
    public var probe: String
    /// `icmp`, `tcp`, `http` or `dns`.
    public var method: String
    public var target: String
    /// Where the first step begins, RFC 3339.
    public var since: String
    /// Where the last one ends, RFC 3339.
    public var until: String
    public var stepSeconds: Int64
    public var sent: Int
    public var lost: Int
    /// The share of lost attempts; `null` without attempts.
    @Nullable public var lossPercent: Double?
    @Nullable public var minSeconds: Double?
    @Nullable public var medianSeconds: Double?
    @Nullable public var p95Seconds: Double?
    /// The steps in which anything was asked, oldest first.
    public var steps: [Step]

    enum CodingKeys: String, CodingKey {
        case schema
        case probe
        case method
        case target
        case since
        case until
        case stepSeconds = "step_seconds"
        case sent
        case lost
        case lossPercent = "loss_percent"
        case minSeconds = "min_seconds"
        case medianSeconds = "median_seconds"
        case p95Seconds = "p95_seconds"
        case steps
    }

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
