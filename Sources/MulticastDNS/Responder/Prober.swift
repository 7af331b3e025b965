// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// When names are probed for, and when that is over (rules P2, P7, P8).
///
/// A set of records waits up to 250 ms, is probed for three times 250 ms apart, and is ours 250 ms after the last.
struct Prober: Sendable {
    struct Step: Sendable {
        var probes: [RecordSet.ID] = []
        /// Sets that nobody objected to.
        var finished: [RecordSet.ID] = []
    }

    private struct Run: Sendable {
        var sent = 0
        var next: Duration
    }

    static let probes = 3
    static let firstDelay = 0...250
    static let gap = Duration.milliseconds(250)
    /// How long the loser of a tiebreak waits: the other's probe may be a stale one, or ours come back.
    static let defeat = Duration.seconds(1)
    /// As many conflicts within the window, and each further attempt waits for the penalty.
    static let conflictLimit = 15
    static let conflictWindow = Duration.seconds(10)
    static let penalty = Duration.seconds(5)

    private var runs: [RecordSet.ID: Run] = [:]
    private var conflicts: [Duration] = []
    /// Whether there were too many conflicts, and none of the later ones was long after the one before.
    private var isPenalized = false

    /// When ``step(at:)`` is to be called next.
    var nextDeadline: Duration? { runs.values.lazy.map(\.next).min() }

    var probing: Set<RecordSet.ID> { Set(runs.keys) }

    /// Whether answers concern this set: those before its first probe do not count (rule P5).
    func hasAsked(_ id: RecordSet.ID) -> Bool { (runs[id]?.sent ?? 0) > 0 }

    /// Begins, or begins anew; sets that wait for their first probe go together.
    mutating func start(_ id: RecordSet.ID, at now: Duration, random: inout RandomSource) {
        let earliest = earliestStart(at: now)
        let latest = earliest + .milliseconds(Self.firstDelay.upperBound)
        let joined = runs.filter { $0.key != id && $0.value.sent == 0 }.map(\.value.next)
            .filter { (earliest...latest).contains($0) }.min()
        runs[id] = Run(next: joined ?? earliest + random.duration(in: Self.firstDelay))
    }

    /// Ends without a result.
    mutating func cancel(_ id: RecordSet.ID) { runs[id] = nil }

    /// Another host probes for a name of the set and won the tiebreak.
    mutating func lostTiebreak(_ id: RecordSet.ID, at now: Duration) {
        guard runs[id] != nil else { return }
        noteConflict(at: now)
        runs[id] = Run(next: max(now + Self.defeat, earliestStart(at: now)))
    }

    /// Another host has the name.
    mutating func noteConflict(at now: Duration) {
        if let last = conflicts.last, now - last >= Self.conflictWindow { isPenalized = false }
        conflicts.append(now)
        if conflicts.count > Self.conflictLimit { conflicts.removeFirst() }
        if conflicts.count == Self.conflictLimit, now - conflicts[0] <= Self.conflictWindow { isPenalized = true }
    }

    mutating func step(at now: Duration) -> Step {
        var step = Step()
        for (id, run) in runs.sorted(by: { $0.key < $1.key }) where run.next <= now {
            if run.sent == Self.probes {
                step.finished.append(id)
                runs[id] = nil
            } else {
                step.probes.append(id)
                runs[id] = Run(sent: run.sent + 1, next: now + Self.gap)
            }
        }
        return step
    }

    private func earliestStart(at now: Duration) -> Duration {
        guard isPenalized, let last = conflicts.last, now - last < Self.conflictWindow else { return now }
        return max(now, last + Self.penalty)
    }
}
