// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import LinuxIO
public import OrderedJSON
public import Probes

/// `/api/v1/probes/{name}`: what an active probe asks, and what came of it lately.
public struct ProbeDocument: JSONObjectWritable, Equatable, Sendable {
    public enum State: String, Sendable, CaseIterable {
        /// It has not run yet.
        case pending
        /// The last answer was right.
        case ok
        /// The last attempt failed.
        case failed
        /// This process may not do what the probe needs.
        case notAssessed = "not_assessed"
    }

    public var name: String
    /// `icmp`, `tcp`, `http` or `dns`.
    public var method: String
    public var target: String
    public var interface: InterfaceReference?
    public var family: String?
    public var intervalSeconds: Double
    public var timeoutSeconds: Double
    public var threshold: Int
    public var state: State
    public var failing: Bool
    public var captivePortal: Bool
    public var running: Bool
    public var attempts: UInt64
    public var failures: UInt64
    public var consecutiveFailures: Int
    public var failingSince: String?
    public var last: ProbeResultDocument?
    public var lossPercent: Double?
    public var minSeconds: Double?
    public var avgSeconds: Double?
    public var p95Seconds: Double?
    public var maxSeconds: Double?
    public var recentSeconds: [Double?]

    public func write(to object: inout JSONObjectWriter) {
        object.write("name", name)
        object.write("method", method)
        object.write("target", target)
        object.write("interface", interface)
        object.write("family", family)
        object.write("interval_seconds", intervalSeconds)
        object.write("timeout_seconds", timeoutSeconds)
        object.write("threshold", threshold)
        object.write("state", state.rawValue)
        object.write("failing", failing)
        object.write("captive_portal", captivePortal)
        object.write("running", running)
        object.write("attempts", attempts)
        object.write("failures", failures)
        object.write("consecutive_failures", consecutiveFailures)
        object.write("failing_since", failingSince)
        object.write("last", last)
        object.write("loss_percent", lossPercent)
        object.write("min_seconds", minSeconds)
        object.write("avg_seconds", avgSeconds)
        object.write("p95_seconds", p95Seconds)
        object.write("max_seconds", maxSeconds)
        object.write("recent_seconds", .array(recentSeconds.map { $0.map(JSONValue.double) ?? .null }))
    }

    public init(_ probe: ProbeState, clock: some TimeSource) {
        let (definition, schedule, history) = (probe.definition, probe.schedule, probe.history)
        name = definition.name
        method = definition.method.rawValue
        target = "\(definition.target)"
        interface = definition.route.interface.map(InterfaceReference.init(named:))
        family = definition.family?.rawValue
        intervalSeconds = definition.interval.seconds
        timeoutSeconds = definition.timeout.seconds
        threshold = definition.threshold
        state = State(probe.last)
        failing = schedule.isFailing
        captivePortal = schedule.isCaptive
        running = probe.isRunning
        attempts = probe.attempts
        failures = probe.failures
        consecutiveFailures = schedule.consecutiveFailures
        failingSince = schedule.failingSince.map { clock.calendar(at: $0).description }
        last = probe.last.map {
            ProbeResultDocument($0, time: probe.lastEnd.map { clock.calendar(at: $0) })
        }
        lossPercent = history.lossPercent.map { ($0 * 100).rounded() / 100 }
        let summary = history.summary
        minSeconds = summary.map { Microseconds.round($0.minimum) }
        avgSeconds = summary.map { Microseconds.round($0.average) }
        p95Seconds = summary.map { Microseconds.round($0.p95) }
        maxSeconds = summary.map { Microseconds.round($0.maximum) }
        recentSeconds = history.durations.map { $0.map(Microseconds.round) }
    }
}

extension ProbeDocument.State {
    init(_ result: ProbeResult?) {
        switch result?.outcome {
        case nil: self = .pending
        case .success: self = .ok
        case .failure: self = .failed
        case .notAssessed: self = .notAssessed
        }
    }
}

/// Durations as people compare them: answers on a cable take some ten microseconds.
enum Microseconds {
    /// Seconds with six digits after the point.
    static func round(_ duration: Duration) -> Double { (duration.seconds * 1e6).rounded() / 1e6 }
}

public struct ProbeResultDocument: JSONObjectWritable, Equatable, Sendable {
    public var time: String?
    public var success: Bool?
    /// Why not, such as `timeout`, or `not_assessed`.
    public var reason: String?
    public var message: String?
    public var durationSeconds: Double
    public var resolveSeconds: Double?
    public var address: String?
    public var sentBytes: Int
    public var receivedBytes: Int
    public var hopLimit: Int?
    public var httpStatus: Int?
    public var location: String?
    public var addresses: [String]

    public func write(to object: inout JSONObjectWriter) {
        object.write("time", time)
        object.write("success", success)
        object.write("reason", reason)
        object.write("message", message)
        object.write("duration_seconds", durationSeconds)
        object.write("resolve_seconds", resolveSeconds)
        object.write("address", address)
        object.write("sent_bytes", sentBytes)
        object.write("received_bytes", receivedBytes)
        object.write("hop_limit", hopLimit)
        object.write("http_status", httpStatus)
        object.write("location", location)
        object.write("addresses", addresses)
    }

    public init(_ result: ProbeResult, time: WallTime?) {
        self.time = time?.description
        durationSeconds = Microseconds.round(result.duration)
        resolveSeconds = result.resolution.map(Microseconds.round)
        address = result.address?.description
        sentBytes = result.sent
        receivedBytes = result.received
        hopLimit = result.hopLimit
        httpStatus = result.page?.status
        location = result.page?.location
        addresses = result.addresses.map(\.description)
        switch result.outcome {
        case .success:
            success = true
            if result.retransmissions > 0 {
                message = "the connection needed \(result.retransmissions) retransmitted SYN"
            }
        case .failure(let reason, let detail):
            success = false
            self.reason = reason.rawValue
            message = detail
        case .notAssessed(let advice):
            reason = ProbeDocument.State.notAssessed.rawValue
            message = advice
        }
    }
}

// MARK: - Forms

extension ProbeDocument {
    public static var form: Form {
        .named("Probe", "An active probe.")
            .member("name", .text)
            .member("method", .oneOf(ProbeMethod.self))
            .member("target", .text)
            .member(
                "interface",
                InterfaceReference.form.orNull,
                "That its packets leave by; `null` leaves it to the routes."
            )
            .member("family", .family.orNull, "That names are resolved to; `null` is any.")
            .member("interval_seconds", .seconds, "From the start of one attempt to that of the next.")
            .member("timeout_seconds", .seconds)
            .member("threshold", .count, "Consecutive failures before a report.")
            .member("state", .oneOf(State.self), "The verdict of the last attempt.")
            .member("failing", .truth, "Whether `probe.failed` was published, and no recovery since.")
            .member("captive_portal", .truth, "Whether a captive portal answered last.")
            .member("running", .truth)
            .member("attempts", .count, "How many attempts ended since the start.")
            .member("failures", .count)
            .member("consecutive_failures", .count)
            .member(
                "failing_since",
                .time.orNull,
                "When the first of them started; `null` unless the last attempt failed."
            )
            .member("last", ProbeResultDocument.form.orNull, "The last attempt; `null` before the first one ends.")
            .member("loss_percent", .percent.orNull, "Of the last 60 attempts; `null` before the first one ends.")
            .member("min_seconds", .seconds.orNull, "The shortest of their durations; `null` without a success.")
            .member("avg_seconds", .seconds.orNull)
            .member("p95_seconds", .seconds.orNull, "The 95th percentile of the durations.")
            .member("max_seconds", .seconds.orNull)
            .member("recent_seconds", .list(of: .seconds.orNull), "The durations, oldest first; `null` is a failure.")
    }
}

extension ProbeResultDocument {
    public static var form: Form {
        .named("ProbeResult", "What a probe found.")
            .member("time", .time.orNull, "When it ended.")
            .member("success", .truth.orNull, "Whether the answer was right; `null` when that could not be found out.")
            .member("reason", .words(in: reasons).orNull, "Why not.")
            .member("message", .text.orNull, "The reason, for people.")
            .member("duration_seconds", .seconds, "From the first packet to the verdict.")
            .member("resolve_seconds", .seconds.orNull, "How long looking up the name took; `null` if there was none.")
            .member("address", .text.orNull)
            .member("sent_bytes", .count, "Without the headers of IP, TCP and UDP.")
            .member("received_bytes", .count, "Counted likewise.")
            .member("hop_limit", .count.orNull, "The hop limit of an echo reply; `null` for other methods.")
            .member("http_status", .count.orNull, "The status of an HTTP answer; `null` for other methods.")
            .member("location", .text.orNull, "Where an HTTP answer leads; `null` when it leads nowhere.")
            .member("addresses", .list(of: .text), "The addresses that a name server gave.")
    }

    private static var reasons: [String] {
        ProbeReason.allCases.map(\.rawValue) + [ProbeDocument.State.notAssessed.rawValue]
    }
}
