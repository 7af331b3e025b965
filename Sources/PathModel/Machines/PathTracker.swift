// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Remembers what was last published for one monitor, and for how long each status stood.
public struct PathTracker: Hashable, Sendable {
    /// A change from one status to another.
    public struct Transition: Hashable, Sendable {
        public var from: PathStatus
        public var to: PathStatus

        public init(from: PathStatus, to: PathStatus) {
            self.from = from
            self.to = to
        }
    }

    /// The path that was last published.
    public private(set) var current: Path?
    /// When it was published, as time since boot.
    public private(set) var since: Duration = .zero
    /// Since when the status stands, as time since boot.
    public private(set) var statusSince: Duration = .zero
    /// How often each status followed another.
    public private(set) var transitions: [Transition: Int] = [:]
    private var finished: [PathStatus: Duration] = [:]

    public init() {}

    /// Records the path of an evaluation.
    /// - Returns: What to publish, or `nil` when nothing material changed: equal paths never follow each other.
    public mutating func update(_ path: Path, at now: Duration) -> PathChange? {
        guard let previous = current else {
            current = path
            (since, statusSince) = (now, now)
            return PathChange(previous: nil, current: path, changed: [], previousDuration: .zero, at: now)
        }
        guard previous != path else { return nil }
        let change = PathChange(
            previous: previous,
            current: path,
            changed: PathField.unequal(previous, path),
            previousDuration: max(now - since, .zero),
            at: now
        )
        if previous.status != path.status {
            finished[previous.status, default: .zero] += max(now - statusSince, .zero)
            transitions[Transition(from: previous.status, to: path.status), default: 0] += 1
            statusSince = now
        }
        current = path
        since = now
        return change
    }

    /// How long a status stood in all, the running one included (`nwpath_path_status_seconds_total`).
    public func time(in status: PathStatus, at now: Duration) -> Duration {
        let running = current?.status == status ? max(now - statusSince, .zero) : .zero
        return (finished[status] ?? .zero) + running
    }
}
