// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import PathModel

/// One monitor: its question, the last answer, and the history of its status.
public struct MonitorState: Hashable, Sendable {
    public let policy: MonitorPolicy
    /// What was published, and for how long each status stood.
    public private(set) var tracker = PathTracker()
    private var plan = ExpiryPlan()
    private var hold = RecoveryHold()
    private var damper = FlapDamper()

    struct Outcome {
        let path: Path
        /// What to publish, if anything.
        let change: PathChange?
        /// Whether an event reports the change.
        let flapping: FlapDamper.Action
        /// How many changes an event was withheld of, when the flapping just ended.
        let suppressed: Int?
        /// When to evaluate again even without an event.
        let nextCheck: Duration?
    }

    /// A monitor that was not evaluated yet.
    public init(_ policy: MonitorPolicy) {
        self.policy = policy
    }

    /// The path that was last published.
    public var path: Path { tracker.current ?? Path() }

    /// Forgets the changes before a sleep.
    mutating func slept(until now: Duration) { damper.slept(until: now) }

    /// Applies an evaluation: plans its expiry, holds a recovery back, and counts changes.
    mutating func apply(_ evaluation: Evaluation, hold duration: Duration, at now: Duration) -> Outcome {
        var evaluation = evaluation
        plan.apply(to: &evaluation, at: now)
        if hold.duration != duration { hold = RecoveryHold(duration: duration) }
        let path = hold.update(evaluation.path, at: now)
        let change = tracker.update(path, at: now)
        let flapping = change?.previous == nil ? .publish : damper.change(at: now)
        let suppressed = damper.end(at: now)
        let check = evaluation.nextCheck.earlier(hold.releaseAt).earlier(damper.nextCheck)
        return Outcome(path: path, change: change, flapping: flapping, suppressed: suppressed, nextCheck: check)
    }
}

extension Duration? {
    /// The earlier of two times, of which there may be only one or none.
    func earlier(_ other: Duration?) -> Duration? {
        guard let self else { return other }
        return other.map { Swift.min(self, $0) } ?? self
    }
}
