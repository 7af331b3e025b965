// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import Testing

@testable import StatusServer

@Suite struct StepGridTests {
    private let until = WallTime(nanoseconds: 1_790_000_123_000_000_000)

    private func grid(
        _ step: String?,
        _ time: Duration,
        unit: (WallTime) -> Duration = { _ in .seconds(1) }
    ) throws -> StepGrid {
        let query = try QueryParameters(step.map { [QueryItem("step", $0)] } ?? [], allowed: ["step"])
        return try StepGrid(query, since: until - time, until: until, unit: unit)
    }

    @Test(
        arguments: [
            (60, 5), (3600, 30), (86_400, 600), (7 * 86_400, 3600), (30 * 86_400, 14_400), (150 * 86_400, 86_400),
            (0, 5), (36_525 * 86_400, 183 * 86_400),
        ]
    )
    func `a time without a wish is cut into about 144 steps`(time: Int, step: Int) throws {
        let grid = try grid(nil, .seconds(time))
        #expect(grid.step == .seconds(step) && grid.count <= 202)
    }

    @Test(arguments: [("1s", 100), ("7s", 10_000), ("10m", 86_400), ("1h", 10), ("1d", 1), ("36525d", 86_400)])
    func `steps cover the time and begin at multiples of their length`(step: String, time: Int) throws {
        let grid = try grid(step, .seconds(time))
        #expect(grid.since <= until - .seconds(time) && grid.since + grid.step > until - .seconds(time))
        let starts = Array(grid.starts)
        #expect(starts.count == grid.count && starts.first == grid.since)
        #expect(starts.allSatisfy { $0 < until && $0.nanoseconds % grid.step.nanoseconds == 0 })
        #expect(try #require(starts.last) + grid.step >= until)
    }

    @Test func `a time before 1970 is cut likewise`() throws {
        let query = try QueryParameters([QueryItem("step", "1d")], allowed: ["step"])
        let since = WallTime(nanoseconds: -1)
        let grid = try StepGrid(query, since: since, until: WallTime(nanoseconds: 1))
        #expect(grid.since == WallTime(nanoseconds: -86_400_000_000_000) && grid.count == 2)
    }

    @Test(arguments: ["", "0", "0s", "10", "-5s", "1500ms", "1us", "36526d", "ten"])
    func `what is no duration of whole seconds is refused`(step: String) {
        let problem = #expect(throws: Problem.self) { try grid(step, .seconds(3600)) }
        #expect(problem?.kind == .badParameter && problem?.status == 400)
        #expect(
            problem?.detail == "Parameter 'step' is '\(step)'; expected a duration of whole seconds such as 10m."
        )
    }

    @Test(arguments: [2001, 86_400, 7 * 86_400, 36_525 * 86_400])
    func `too many steps are refused, and the step that is named is taken`(time: Int) throws {
        let problem = #expect(throws: Problem.self) { try grid("1s", .seconds(time)) }
        let words = try #require(problem?.detail.split(separator: " "))
        let place = try #require(words.firstIndex(of: "least"))
        let least = String(words[place + 1].dropLast())
        #expect(try grid(least, .seconds(time)).count <= StepGrid.greatestCount)
        #expect(problem?.detail.contains("at most 2000 steps") == true)
    }

    @Test func `a step is rounded up to what is kept where the first one begins`() throws {
        let edge = until - .seconds(3700)
        let unit: (WallTime) -> Duration = { $0 >= edge ? .seconds(5) : .seconds(600) }
        #expect(try grid("1s", .seconds(3600), unit: unit).step == .seconds(5))
        #expect(try grid("11s", .seconds(3600), unit: unit).step == .seconds(15))
        #expect(try grid("1s", .seconds(3800), unit: unit).step == .seconds(600))
        // The step of 3601 s begins before the edge.
        #expect(try grid("3601s", .seconds(3600), unit: unit).step == .seconds(4200))
    }
}
