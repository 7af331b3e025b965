// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO

/// How finely a probe's results are kept, and for how long.
public enum ProbeTier: CaseIterable, Hashable, Sendable {
    /// Cells of 5 s for the last hour.
    case fine
    /// Cells of 10 min for the last 7 days.
    case medium
    /// Cells of 1 h for the last 30 days.
    case coarse

    /// The length of a cell.
    public var step: Duration {
        switch self {
        case .fine: .seconds(5)
        case .medium: .seconds(600)
        case .coarse: .seconds(3600)
        }
    }

    /// How far back cells begin: what is promised, and the longest step in which somebody looks at all of that.
    public var reach: Duration {
        switch self {
        case .fine: .seconds(3600 + 300)
        case .medium: .seconds(7 * 86_400 + 3600)
        case .coarse: .seconds(30 * 86_400 + 14_400)
        }
    }

    /// How many cells there are at most.
    public var capacity: Int { Int(reach.nanoseconds / step.nanoseconds) + 1 }

    /// How many attempts a cell counts at most: twice what the least gap of a second allows, for calendars that go back.
    var mostAttempts: Int { 2 * Int(step.nanoseconds / ProbeSchedule.leastGap.nanoseconds) }

    /// The same of the longest cells.
    static let mostAttempts = ProbeTier.coarse.mostAttempts

    /// The finest tier whose cells reach back to a moment; the coarsest when none does.
    public static func finest(reachingTo moment: WallTime, at now: WallTime) -> ProbeTier {
        allCases.first { moment >= now - $0.reach } ?? .coarse
    }

    /// The finest tier of whose cells steps can be made that reach back to a moment.
    static func finest(makingStepsOf step: Duration, reachingTo moment: WallTime, at now: WallTime) -> ProbeTier {
        let suitable = allCases.filter { step.nanoseconds % $0.step.nanoseconds == 0 }
        return suitable.first { moment >= now - $0.reach } ?? suitable.last ?? .fine
    }

    /// Where the cell begins that a moment is in.
    func start(of moment: WallTime) -> WallTime { moment.roundedDown(to: step) }
}
