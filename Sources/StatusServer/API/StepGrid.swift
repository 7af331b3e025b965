// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import Spelling

/// The steps that a history is shown in, for the parameter `step`.
///
/// Steps begin at multiples of their length since 1970, so the same moment is in the same step whenever somebody asks.
struct StepGrid: Equatable {
    /// The most steps of one answer.
    static let greatestCount = 2000

    /// Where the first step begins: not after the moment that was asked for.
    let since: WallTime
    /// Where the last step ends, which may be shorter than the others.
    let until: WallTime
    let step: Duration

    /// How many steps there are.
    var count: Int { Self.count(from: since, until: until, step: step) }

    /// Where each step begins.
    var starts: some Sequence<WallTime> { (0..<count).lazy.map { [since, step] in since + step * $0 } }

    /// Cuts a time into the steps that a query wants, or into about 144.
    /// - Parameters:
    ///   - query: Its `step` is a duration of whole seconds.
    ///   - since: Where the time begins, at most a hundred years ago.
    ///   - until: Where it ends; not before `since`.
    ///   - unit: What a step is rounded up to a multiple of, for a first step that begins at the argument.
    /// - Throws: ``Problem`` with status 400 when `step` is no such duration, or makes too many steps.
    init(
        _ query: QueryParameters,
        since: WallTime,
        until: WallTime,
        unit: (WallTime) -> Duration = { _ in .seconds(1) }
    ) throws(Problem) {
        let wanted = try Self.step(query)
        let grid = Self(since: since, until: until, step: wanted ?? Self.usualStep(for: until - since), unit: unit)
        guard grid.count <= Self.greatestCount else {
            let least = Self.leastStep(for: until - since, multipleOf: unit(grid.since))
            let expected = "at least \(DurationText.format(least)): an answer has at most \(Self.greatestCount) steps"
            throw query.bad("step", query["step"] ?? DurationText.format(grid.step), expected)
        }
        self = grid
    }

    private init(since: WallTime, until: WallTime, step: Duration, unit: (WallTime) -> Duration) {
        var multiple = unit(since)
        while true {
            let rounded = Self.roundUp(step, multipleOf: multiple)
            let start = since.roundedDown(to: rounded)
            // The first step may begin where there is less to see.
            let needed = unit(start)
            guard needed > multiple else {
                (self.since, self.until, self.step) = (start, until, rounded)
                return
            }
            multiple = needed
        }
    }

    private static func step(_ query: QueryParameters) throws(Problem) -> Duration? {
        guard let text = query["step"] else { return nil }
        guard let step = QueryParameters.age(text), step > .zero, step.nanoseconds % 1_000_000_000 == 0 else {
            throw query.bad("step", text, "a duration of whole seconds such as 10m")
        }
        return step
    }

    /// The least of the usual steps of which there are at most 200: 30 s for an hour, 10 min for a day, 1 h for a week.
    static func usualStep(for time: Duration) -> Duration {
        let usual = [5, 30, 60, 300, 600, 1800, 3600, 14_400, 86_400].map { Duration.seconds($0) }
        return usual.first { time.nanoseconds / $0.nanoseconds <= 200 }
            ?? roundUp(time / 200, multipleOf: .seconds(86_400))
    }

    /// A step that is short, yet makes no more steps than allowed wherever the first one begins.
    private static func leastStep(for time: Duration, multipleOf unit: Duration) -> Duration {
        roundUp(time / (greatestCount - 1), multipleOf: unit)
    }

    private static func count(from since: WallTime, until: WallTime, step: Duration) -> Int {
        let (whole, rest) = (until - since).nanoseconds.quotientAndRemainder(dividingBy: step.nanoseconds)
        return Int(whole) + (rest > 0 ? 1 : 0)
    }

    private static func roundUp(_ duration: Duration, multipleOf unit: Duration) -> Duration {
        let (whole, rest) = duration.nanoseconds.quotientAndRemainder(dividingBy: unit.nanoseconds)
        return unit * max(1, Int(whole) + (rest > 0 ? 1 : 0))
    }
}
