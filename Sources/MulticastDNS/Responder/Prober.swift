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
        /// When the next step is due; `nil` for a set that is ours but waits for its host.
        var next: Duration?
        /// Whether its first probe went out, be it before a tiebreak that was lost.
        var hasProbed = false
        /// When it began to wait, for the host or for the winner of a tiebreak.
        var waitingSince: Duration?
    }

    static let probes = 3
    static let firstDelay = 0...250
    static let gap = Duration.milliseconds(250)
    /// How long the loser of a tiebreak waits: the other's probe may be a stale one, or ours come back.
    static let defeat = Duration.seconds(1)
    /// How long a successful probe (RFC 6762 section 8.1) stays valid without a host; then it is repeated.
    static let validity = Duration.seconds(1)
    /// As many conflicts within the window, and each further attempt waits for the penalty.
    static let conflictLimit = 15
    static let conflictWindow = Duration.seconds(10)
    static let penalty = Duration.seconds(5)

    private var runs: [RecordSet.ID: Run] = [:]
    private var conflicts: [Duration] = []
    /// Whether there were too many conflicts, and none of the later ones was long after the one before.
    private var isPenalized = false

    /// When ``step(at:)`` is to be called next.
    var nextDeadline: Duration? { runs.values.lazy.compactMap(\.next).min() }

    var probing: Set<RecordSet.ID> { Set(runs.keys) }

    /// Whether answers concern this set: those before its first probe do not count (rule P5).
    func hasProbed(_ id: RecordSet.ID) -> Bool { runs[id]?.hasProbed == true }

    /// Whether nobody objected to the set, and it waits for its host.
    func isHeld(_ id: RecordSet.ID) -> Bool { runs[id].map { $0.next == nil } ?? false }

    /// Begins, or begins anew; sets that wait for their first probe go together.
    mutating func start(_ id: RecordSet.ID, at now: Duration, random: inout RandomSource) {
        let earliest = earliestStart(at: now)
        let latest = earliest + .milliseconds(Self.firstDelay.upperBound)
        let joined = runs.filter { $0.key != id && $0.value.sent == 0 }.compactMap(\.value.next)
            .filter { (earliest...latest).contains($0) }.min()
        runs[id] = Run(next: joined ?? earliest + random.duration(in: Self.firstDelay))
    }

    /// Ends without a result.
    mutating func cancel(_ id: RecordSet.ID) { runs[id] = nil }

    /// Another host probes for a name of the set and won the tiebreak.
    ///
    /// That is no conflict yet, and its further probes do not lengthen the wait; its answer while we wait is one.
    mutating func lostTiebreak(_ id: RecordSet.ID, at now: Duration) {
        guard let run = runs[id], run.waitingSince == nil || run.next == nil else { return }
        let next = max(now + Self.defeat, earliestStart(at: now))
        runs[id] = Run(next: next, hasProbed: run.hasProbed, waitingSince: now)
    }

    /// Keeps a set that nobody objected to until its host is ours.
    mutating func hold(_ id: RecordSet.ID, at now: Duration) {
        runs[id] = Run(sent: Self.probes, next: nil, hasProbed: true, waitingSince: now)
    }

    /// Ends the wait for the host.
    /// - Returns: Whether the set is ours; else it is probed again.
    mutating func release(_ id: RecordSet.ID, at now: Duration, random: inout RandomSource) -> Bool {
        guard isHeld(id), let since = runs[id]?.waitingSince else { return false }
        guard now - since <= Self.validity else {
            start(id, at: now, random: &random)
            return false
        }
        runs[id] = nil
        return true
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
        for (id, run) in runs.inKeyOrder {
            guard let next = run.next, next <= now else { continue }
            if run.sent == Self.probes {
                step.finished.append(id)
                runs[id] = nil
            } else {
                step.probes.append(id)
                runs[id] = Run(sent: run.sent + 1, next: now + Self.gap, hasProbed: true)
            }
        }
        return step
    }

    private func earliestStart(at now: Duration) -> Duration {
        guard isPenalized, let last = conflicts.last, now - last < Self.conflictWindow else { return now }
        return max(now, last + Self.penalty)
    }
}
