// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// Raises and clears verdicts by rounds of diagnosis, each after its ``HoldDown``.
///
/// Pure: rounds and times in, changes out.
public struct VerdictTracker: Hashable, Sendable {
    public struct Standing: Hashable, Sendable {
        /// The verdict, with the values of the last round that saw it.
        public var verdict: Verdict
        /// When it was first seen, as time since boot.
        public let since: Duration
        /// When it was last seen, likewise.
        public var lastSeen: Duration

        public init(_ verdict: Verdict, since: Duration, lastSeen: Duration) {
            (self.verdict, self.since, self.lastSeen) = (verdict, since, lastSeen)
        }
    }

    public enum Change: Hashable, Sendable {
        /// A fault is certain enough to be reported.
        case raised(Standing)
        /// It is over, or explained by another one.
        case cleared(Standing)
    }

    /// What distinguishes verdicts.
    public struct Key: Hashable, Sendable {
        public let code: VerdictCode
        let family: AddressFamily?
        let subject: String?

        public init(_ verdict: Verdict) {
            code = verdict.code
            family = verdict.family
            subject = verdict.subject
        }
    }

    private struct Record: Hashable {
        var verdict: Verdict
        let firstSeen: Duration
        var lastSeen: Duration
        /// Whether each of the last rounds saw it, the newest last.
        var rounds: [Bool] = []
        var isRaised = false

        var standing: Standing { Standing(verdict, since: firstSeen, lastSeen: lastSeen) }
    }

    private var records: [Key: Record] = [:]

    /// Knows no fault.
    public init() {}

    /// The verdicts that stand, worst first.
    public var standing: [Standing] {
        let raised = records.values.filter(\.isRaised).sorted { $0.firstSeen < $1.firstSeen }
        let order = raised.map(\.verdict).sortedByWeight()
        return order.compactMap { verdict in raised.first { $0.verdict == verdict }?.standing }
    }

    /// Applies the faults that counters of links show now, which need no examination and have a hold-down of their own.
    /// - Returns: What changed.
    public mutating func apply(health verdicts: [Verdict], at now: Duration) -> [Change] {
        let shown = Set(verdicts.map(Key.init))
        var changes: [Change] = []
        for verdict in verdicts {
            let key = Key(verdict)
            var record = records[key] ?? Record(verdict: verdict, firstSeen: now, lastSeen: now)
            (record.verdict, record.lastSeen) = (verdict, now)
            if !record.isRaised { changes.append(.raised(record.standing)) }
            record.isRaised = true
            records[key] = record
        }
        for key in records.keys where key.code.isOfCounters && !shown.contains(key) { changes += drop(key) }
        return changes
    }

    /// Forgets what examinations found.
    /// - Returns: What stood of it.
    public mutating func forgetExaminations() -> [Change] {
        records.keys.filter { !$0.code.isOfCounters }.flatMap { drop($0) }
    }

    /// Applies the diagnosis of one round.
    /// - Parameters:
    ///   - diagnosis: What the round found.
    ///   - now: When it ended.
    ///   - stalled: The families whose connections are unanswered on their whole path.
    /// - Returns: What changed, causes before what they explain.
    public mutating func apply(
        _ diagnosis: Diagnosis,
        at now: Duration,
        stalled: Set<AddressFamily> = []
    ) -> [Change] {
        let found = diagnosis.verdicts.filter { !$0.code.isOfCounters }
        let seen = Dictionary(found.map { (Key($0), $0) }) { first, _ in first }
        for (key, verdict) in seen {
            var record = records[key] ?? Record(verdict: verdict, firstSeen: now, lastSeen: now)
            (record.verdict, record.lastSeen) = (verdict, now)
            records[key] = record
        }
        let masked = Set(diagnosis.masked.map { Key($0.verdict) })
        var changes: [Change] = []
        // Worst first, so that a cause is raised before what it hides is evaluated.
        for verdict in records.values.map(\.verdict).sortedByWeight() {
            let key = Key(verdict)
            guard !key.code.isOfCounters, let state = diagnosis.state(of: verdict.code) else { continue }
            switch state {
            case _ where masked.contains(key): changes += drop(key)
            case .hidden(let cause) where seen[key] == nil:
                // A cause that is not certain yet clears nothing.
                if records.values.contains(where: { $0.isRaised && $0.verdict.code == cause }) { changes += drop(key) }
            // A layer that was not assessed says nothing about its faults, but for those that connections show.
            case .notAssessed where seen[key] == nil && !key.code.isOfTraffic: continue
            default:
                let isShown =
                    verdict.severity == .broken && !stalled.isEmpty
                    && (verdict.family.map(stalled.contains) ?? true)
                let holdDown = HoldDown(for: key.code, isShownByTraffic: isShown)
                changes += record(key, isSeen: seen[key] != nil, holdDown, at: now)
            }
        }
        return changes.filter(\.isRaised) + changes.filter { !$0.isRaised }
    }

    /// Forgets what another fault explains.
    private mutating func drop(_ key: Key) -> [Change] {
        guard let record = records.removeValue(forKey: key), record.isRaised else { return [] }
        return [.cleared(record.standing)]
    }

    private mutating func record(_ key: Key, isSeen: Bool, _ holdDown: HoldDown, at now: Duration) -> [Change] {
        guard var record = records[key] else { return [] }
        record.rounds.append(isSeen)
        record.rounds = Array(record.rounds.suffix(max(holdDown.window, holdDown.goodRounds)))
        defer { records[key] = record.rounds.contains(true) || record.isRaised ? record : nil }
        let bad = record.rounds.suffix(holdDown.window).count { $0 }
        if !record.isRaised, bad >= holdDown.rounds, now - record.firstSeen >= holdDown.age {
            record.isRaised = true
            return [.raised(record.standing)]
        }
        let last = record.rounds.suffix(holdDown.goodRounds)
        if record.isRaised, last.count == holdDown.goodRounds, !last.contains(true) {
            record.isRaised = false
            record.rounds = []
            return [.cleared(record.standing)]
        }
        return []
    }
}

extension VerdictTracker.Change {
    var isRaised: Bool { if case .raised = self { true } else { false } }
}
