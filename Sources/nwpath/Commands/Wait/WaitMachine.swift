// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

/// Decides when `nwpath wait` is over.
///
/// Pure: what was seen and when goes in, what to do comes out. Time is counted from boot.
struct WaitMachine {
    /// A condition, and why it does not hold.
    struct Finding: Equatable {
        let condition: WaitCondition
        /// The reason in words; `nil` when it holds.
        let missing: String?
    }

    enum Step: Equatable {
        /// All that was asked for holds, and has held long enough.
        case satisfied
        case timedOut
        /// Look again when something changes, at the latest after so long; `nil` is whenever.
        case wait(Duration?)
    }

    private let conditions: [WaitCondition]
    private let isAny: Bool
    private let hold: Duration
    private let deadline: Duration?
    private var holdsSince: Duration?
    private var statusSince: String?
    /// What the last look found; without a look, that nobody answered.
    private(set) var findings: [Finding]
    /// Why the daemon could not be asked the last time; `nil` when it could.
    private(set) var loss: String?

    /// Begins to wait.
    ///
    /// - Parameters:
    ///   - conditions: What is waited for.
    ///   - isAny: Whether one of them is enough.
    ///   - hold: How long it must hold without a break.
    ///   - timeout: When to give up; zero is never.
    ///   - now: The time since boot.
    init(_ conditions: [WaitCondition], isAny: Bool, hold: Duration, timeout: Duration, at now: Duration) {
        self.conditions = conditions
        self.isAny = isAny
        self.hold = hold
        deadline = timeout == .zero ? nil : now + timeout
        findings = conditions.map { Finding(condition: $0, missing: "the service is not running") }
    }

    mutating func evaluate(
        _ status: JSONValue,
        services: [JSONValue],
        traffic: JSONValue = .null,
        ignored: Set<String> = [],
        at now: Duration
    ) {
        loss = nil
        findings = conditions.map { condition in
            let missing = condition.missing(in: status, services: services, traffic: traffic, ignored: ignored)
            return Finding(condition: condition, missing: missing)
        }
        // A path that was lost and came back between two looks tells so by its time.
        let since = (status["path"] ?? .null).text("status") + status.text("since")
        if since != statusSince { holdsSince = nil }
        statusSince = since
        let isEnough = isAny ? findings.contains { $0.missing == nil } : findings.allSatisfy { $0.missing == nil }
        holdsSince = isEnough ? holdsSince ?? now : nil
    }

    /// Takes that the daemon cannot be asked.
    mutating func lose(_ reason: String) {
        holdsSince = nil
        loss = reason
        findings = conditions.map { Finding(condition: $0, missing: "the service is not running") }
    }

    func step(at now: Duration) -> Step {
        if let holdsSince, now - holdsSince >= hold { return .satisfied }
        if let deadline, now >= deadline { return .timedOut }
        let ends = [deadline, holdsSince.map { $0 + hold }].compactMap { $0 }
        return .wait(ends.min().map { $0 - now })
    }

    /// The time left; `nil` is for ever.
    func remaining(at now: Duration) -> Duration? { deadline.map { max(.zero, $0 - now) } }
}
