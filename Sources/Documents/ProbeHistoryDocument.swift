// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
public import OrderedJSON
public import Probes

/// `/api/v1/probes/{name}/history`: what came of an active probe, step by step.
public struct ProbeHistoryDocument: JSONObjectWritable, Equatable, Sendable {
    /// One step in which anything was asked.
    public struct Step: JSONObjectWritable, Equatable, Sendable {
        public var start: String
        public var sent: Int
        public var lost: Int
        /// The shortest duration of a right answer; `null` without one.
        public var minSeconds: Double?
        public var medianSeconds: Double?
        public var p95Seconds: Double?

        public func write(to object: inout JSONObjectWriter) {
            object.write("start", start)
            object.write("sent", sent)
            object.write("lost", lost)
            object.write("min_seconds", minSeconds)
            object.write("median_seconds", medianSeconds)
            object.write("p95_seconds", p95Seconds)
        }
    }

    public let schema = DocumentSchema.name(of: "probehistory")
    public var probe: String
    /// `icmp`, `tcp`, `http` or `dns`.
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

    public func write(to object: inout JSONObjectWriter) {
        object.write("schema", schema)
        object.write("probe", probe)
        object.write("method", method)
        object.write("target", target)
        object.write("since", since)
        object.write("until", until)
        object.write("step_seconds", Int(stepSeconds))
        object.write("sent", sent)
        object.write("lost", lost)
        object.write("loss_percent", lossPercent)
        object.write("min_seconds", minSeconds)
        object.write("median_seconds", medianSeconds)
        object.write("p95_seconds", p95Seconds)
        object.write("steps", steps)
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

// MARK: - Forms

extension ProbeHistoryDocument {
    public static var form: Form {
        .document("ProbeHistory", "What came of an active probe, step by step.")
            .member("probe", .text, "The name of the probe.")
            .member("method", .oneOf(ProbeMethod.self))
            .member("target", .text)
            .member("since", .time, "Where the first step begins.")
            .member("until", .time, "Where the last one ends.")
            .member("step_seconds", .integer(from: 5), "The step that was used.")
            .member("sent", .count, "How many attempts ended.")
            .member("lost", .count, "How many of them failed.")
            .member("loss_percent", .percent.orNull, "The share of lost attempts; `null` without attempts.")
            .durations
            .member("steps", .list(of: Step.form), "The steps with at least one attempt, oldest first.")
    }
}

extension ProbeHistoryDocument.Step {
    static var form: Form {
        .object("A step.")
            .member("start", .time, "When it begins; a multiple of the step since 1970.")
            .member("sent", .count, "How many attempts ended.")
            .member("lost", .count, "How many of them failed.")
            .durations
    }
}

extension Form {
    fileprivate var durations: Form {
        member("min_seconds", .seconds.orNull, "The shortest duration of a right answer; `null` without one.")
            .member("median_seconds", .seconds.orNull, "Within 5 %, as is the next.")
            .member("p95_seconds", .seconds.orNull, "The 95th percentile of the durations.")
    }
}
