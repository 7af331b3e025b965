// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Decides when a census is complete, which no message says.
///
/// Questions go out at 0, 1, 3 and 7 s. After 1.3 s the result is provisional. It is final when the repetitions at 1 and
/// 3 s brought nothing new and nothing is still being resolved: at 3.5 s, or when the answers to a list of known answers
/// that needs several packets are in; else at 7.9 s at the latest.
struct CensusRun: Sendable {
    enum Step: Hashable, Sendable {
        case provisional, complete
        /// Nothing to do before this time.
        case wait(until: Duration)
    }

    /// How often each question is sent at most.
    static let rounds = 4
    static let provisionalAfter = Duration.milliseconds(1300)
    static let quietAfter = Duration.milliseconds(1000)
    static let settledAfter = Duration.milliseconds(3500)
    static let longest = Duration.milliseconds(7900)

    let started: Duration
    private var lastChange: Duration
    private var isProvisional = false

    init(at now: Duration) {
        started = now
        lastChange = now
    }

    /// A service was seen for the first time, or resolved.
    mutating func noteChange(at now: Duration) { lastChange = max(lastChange, now) }

    /// What to do now; `complete` is the last step.
    ///
    /// `isResolving` says that something is not resolved yet, `answersUntil` when the answers to the last questions are
    /// in; call again when these change.
    mutating func step(at now: Duration, isResolving: Bool, answersUntil: Duration = .zero) -> Step {
        if !isProvisional, now >= started + Self.provisionalAfter {
            isProvisional = true
            return .provisional
        }
        if now >= started + Self.longest { return .complete }
        let isQuiet = lastChange <= started + Self.quietAfter && !isResolving
        let settled = min(max(started + Self.settledAfter, answersUntil), started + Self.longest)
        if now >= settled && isQuiet { return .complete }
        guard isProvisional else { return .wait(until: started + Self.provisionalAfter) }
        return .wait(until: now < settled ? settled : started + Self.longest)
    }
}
