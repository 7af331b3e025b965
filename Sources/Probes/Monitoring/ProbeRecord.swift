// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO

/// The results of a probe over 30 days, in cells of three lengths that can be merged into longer ones.
///
/// Pure: moments are arguments. Cells without attempts are not stored, so a probe takes as much memory as it has results:
/// 0.2 MB in a month at an interval of 30 s, and at most ``mostBytes`` whatever it measures.
public struct ProbeRecord: Hashable, Sendable {
    /// How much memory a probe takes at most, in bytes: every cell there is, and answers in every bucket of each.
    ///
    /// A cell has 32 bytes, of which an array may set aside twice as many as it needs; 32 for the header of its
    /// histogram, and 2 for each entry, of which there are no more than attempts.
    public static let mostBytes = ProbeTier.allCases.reduce(0) { sum, tier in
        let entries = min(tier.mostAttempts, DurationScale.count + tier.mostAttempts / 0xFF)
        return sum + tier.capacity * (2 * MemoryLayout<ProbeCell>.stride + 32 + 2 * entries + 16)
    }

    /// A step of a history.
    public struct Step: Hashable, Sendable {
        public let start: WallTime
        public fileprivate(set) var summary: ProbeSummary
    }

    private var cells: [ProbeTier: [ProbeCell]] = [:]

    public init() {}

    /// The cells of a tier, oldest first.
    public subscript(_ tier: ProbeTier) -> [ProbeCell] { cells[tier] ?? [] }

    public var isEmpty: Bool { cells.isEmpty }

    /// Counts a result that came now; one that could not be assessed says nothing.
    public mutating func append(_ result: ProbeResult, at now: WallTime) {
        guard result.isAssessed else { return }
        for tier in ProbeTier.allCases {
            trim(tier, at: now)
            append(result.isSuccess ? result.duration : nil, to: tier, at: tier.start(of: now))
        }
    }

    private mutating func append(_ duration: Duration?, to tier: ProbeTier, at start: WallTime) {
        var list = cells.removeValue(forKey: tier) ?? []
        if list.last?.start != start {
            if let last = list.indices.last { list[last].shrink() }
            list.append(ProbeCell(start: start))
        }
        let last = list.count - 1
        if Int(list[last].sent) < tier.mostAttempts { list[last].append(duration) }
        cells[tier] = list
    }

    /// Takes cells of another record, which come after those there are.
    ///
    /// - Parameters:
    ///   - others: Cells of one tier, oldest first; what is not in order, or no cell of that tier, is left out.
    ///   - tier: How long they are.
    ///   - now: The moment now: cells that begin later, or too long ago, are left out.
    public mutating func restore(_ others: [ProbeCell], to tier: ProbeTier, at now: WallTime) {
        var list = self[tier]
        for cell in others where tier.start(of: cell.start) == cell.start && Int(cell.sent) <= tier.mostAttempts {
            guard cell.start <= now, list.last.map({ $0.start < cell.start }) ?? true else { continue }
            list.append(cell)
        }
        cells[tier] = list.isEmpty ? nil : list
        trim(tier, at: now)
    }

    /// Drops what begins after now, which a calendar that went back would keep for ever, and what is too old.
    private mutating func trim(_ tier: ProbeTier, at now: WallTime) {
        guard let list = cells[tier], let first = list.first, let last = list.last else { return }
        let oldest = now - tier.reach
        guard first.start < oldest || last.start > now else { return }
        let kept = list.filter { $0.start >= oldest && $0.start <= now }
        cells[tier] = kept.isEmpty ? nil : kept
    }

    /// The steps of a history in which anything was asked, oldest first, and what they come to.
    ///
    /// - Parameters:
    ///   - since: Where the first step begins, a multiple of the step.
    ///   - until: Cells that begin then or later do not count.
    ///   - step: A multiple of the step of a tier.
    ///   - now: The moment now.
    /// - Returns: The steps and the sum.
    public func steps(
        since: WallTime,
        until: WallTime,
        step: Duration,
        at now: WallTime
    ) -> (steps: [Step], total: ProbeSummary) {
        let tier = ProbeTier.finest(makingStepsOf: step, reachingTo: since, at: now)
        var total = ProbeSummary()
        var steps: [Step] = []
        for cell in self[tier] where cell.start >= since && cell.start < until {
            let start = cell.start.roundedDown(to: step)
            if steps.last?.start != start { steps.append(Step(start: start, summary: ProbeSummary())) }
            steps[steps.count - 1].summary.merge(cell)
            total.merge(cell)
        }
        return (steps, total)
    }

    /// How many bytes of memory it takes.
    var storedBytes: Int {
        cells.values.reduce(0) { sum, list in
            list.reduce(sum + list.capacity * MemoryLayout<ProbeCell>.stride) { $0 + $1.storedBytes }
        }
    }
}
