// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import LinuxIO
public import OrderedJSON
public import Probes

/// `/api/v1/probes/{name}`: what an active probe asks, and what came of it lately.
public struct ProbeDocument: MemberDeclaring, Equatable, Sendable {
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

    public static let members = Members<Self>.named("Probe", "An active probe.")
        .member("name") { $0.name }
        .member("method", as: .oneOf(ProbeMethod.self)) { $0.method }
        .member("target") { $0.target }
        .member("interface", "That its packets leave by; `null` leaves it to the routes.") { $0.interface }
        .member("family", as: .family, "That names are resolved to; `null` is any.") { $0.family }
        .member("interval_seconds", as: .seconds, "From the start of one attempt to that of the next.") {
            $0.intervalSeconds
        }
        .member("timeout_seconds", as: .seconds) { $0.timeoutSeconds }
        .member("threshold", "Consecutive failures before a report.") { $0.threshold }
        .member("state", as: .oneOf(State.self), "The verdict of the last attempt.") { $0.state.rawValue }
        .member("failing", "Whether `probe.failed` was published, and no recovery since.") { $0.failing }
        .member("captive_portal", "Whether a captive portal answered last.") { $0.captivePortal }
        .member("running") { $0.running }
        .member("attempts", "How many attempts ended since the start.") { $0.attempts }
        .member("failures") { $0.failures }
        .member("consecutive_failures") { $0.consecutiveFailures }
        .member("failing_since", as: .time, "When the first of them started; `null` unless the last attempt failed.") {
            $0.failingSince
        }
        .member("last", "The last attempt; `null` before the first one ends.") { $0.last }
        .member("loss_percent", as: .percent, "Of the last 60 attempts; `null` before the first one ends.") {
            $0.lossPercent
        }
        .member("min_seconds", as: .seconds, "The shortest of their durations; `null` without a success.") {
            $0.minSeconds
        }
        .member("avg_seconds", as: .seconds) { $0.avgSeconds }
        .member("p95_seconds", as: .seconds, "The 95th percentile of the durations.") { $0.p95Seconds }
        .member("max_seconds", as: .seconds) { $0.maxSeconds }
        .member("recent_seconds", as: .seconds, "The durations, oldest first; `null` is a failure.") {
            $0.recentSeconds
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

public struct ProbeResultDocument: MemberDeclaring, Equatable, Sendable {
    public var time: String?
    public var success: Bool?
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

    public static let members = Members<Self>.named("ProbeResult", "What a probe found.")
        .member("time", as: .time, "When it ended.") { $0.time }
        .member("success", "Whether the answer was right; `null` when that could not be found out.") { $0.success }
        .member("reason", as: .words(in: reasons), "Why not.") { $0.reason }
        .member("message", "The reason, for people.") { $0.message }
        .member("duration_seconds", as: .seconds, "From the first packet to the verdict.") { $0.durationSeconds }
        .member("resolve_seconds", as: .seconds, "How long looking up the name took; `null` if there was none.") {
            $0.resolveSeconds
        }
        .member("address") { $0.address }
        .member("sent_bytes", "Without the headers of IP, TCP and UDP.") { $0.sentBytes }
        .member("received_bytes", "Counted likewise.") { $0.receivedBytes }
        .member("hop_limit", "The hop limit of an echo reply; `null` for other methods.") { $0.hopLimit }
        .member("http_status", "The status of an HTTP answer; `null` for other methods.") { $0.httpStatus }
        .member("location", "Where an HTTP answer leads; `null` when it leads nowhere.") { $0.location }
        .member("addresses", "The addresses that a name server gave.") { $0.addresses }

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

extension ProbeResultDocument {
    private static var reasons: [String] {
        ProbeReason.allCases.map(\.rawValue) + [ProbeDocument.State.notAssessed.rawValue]
    }
}
