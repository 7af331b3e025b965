// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import PathModel

/// One monitor: its question, the last answer, and the history of its status.
public struct MonitorState: Hashable, Sendable {
    /// The question.
    public let policy: MonitorPolicy
    /// What was published, and for how long each status stood.
    public private(set) var tracker = PathTracker()
    /// The last evaluation; its path is not yet published while a recovery is held back.
    public private(set) var evaluation = Evaluation(path: Path())

    /// A monitor that was not evaluated yet.
    public init(_ policy: MonitorPolicy) {
        self.policy = policy
    }

    /// The path that was last published.
    public var path: Path { tracker.current ?? Path() }

    /// Takes an evaluation.
    /// - Returns: What to publish, if anything.
    mutating func take(_ evaluation: Evaluation, at now: Duration) -> PathChange? {
        self.evaluation = evaluation
        return tracker.update(evaluation.path, at: now)
    }
}
