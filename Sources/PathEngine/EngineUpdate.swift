// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import PathModel

/// One material change, complete: everything that changed at once, and why.
public struct EngineUpdate: Hashable, Sendable {
    public struct MonitorChange: Hashable, Sendable {
        public var monitor: String
        public var change: PathChange
        /// Whether flapping begins with this change.
        public var flapping: FlapDamper.Action
    }

    public var cause: EngineCause
    /// Interfaces and addresses: what became different.
    public var changes: [ModelChange]
    public var paths: [MonitorChange]
    /// Monitors whose flapping ended, with the number of changes since it began.
    public var flappingEnded: [String: Int]
    public var evaluation: Duration
    /// When it was evaluated, as time since boot.
    public var at: Duration
    /// Whether this is the first evaluation after the start.
    public var isFirst: Bool

    /// Gateways and name servers of the default path: what became different with it.
    ///
    /// Computed when read: the path itself is published first.
    public var consequences: [ModelChange] {
        guard let change = paths.first(where: { $0.monitor == MonitorPolicy.standardName })?.change,
            let previous = change.previous
        else { return [] }
        return SnapshotDiff.gateways(from: previous.gateways, to: change.current.gateways)
            + SnapshotDiff.dns(from: previous.dns, to: change.current.dns)
    }
}
