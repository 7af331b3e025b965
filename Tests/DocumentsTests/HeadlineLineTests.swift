// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import Diagnosis
import LinuxIO
import PathModel
import TestSupport
import Testing

/// The line for people about a change of the headline.
@Suite struct HeadlineLineTests {
    private static let since = WallTime(nanoseconds: 1_795_176_000_000_000_000)

    private func line(_ tracker: inout HeadlineTracker, _ path: Path, at second: Int) throws -> String {
        tracker.apply(HeadlineEvaluator(HeadlineFacts(host: "h", path: path)).headline, at: .seconds(second))
        let change = tracker.dequeueChange(at: .seconds(second + 1))
        return HeadlineChanged(try #require(change), since: Self.since, previousSince: Self.since).line
    }

    @Test func `a line has both states, one state where the cause alone is another, and local time`() throws {
        let clock = try #require(LocalTime(Self.since)).clock
        #expect(try clock + "\n" == Command.run(["date", "-d", "@1795176000", "+%T"]))
        var tracker = HeadlineTracker()
        tracker.apply(HeadlineEvaluator(HeadlineFacts(host: "h", path: Sample.satisfied)).headline, at: .seconds(1))
        let lost = try line(&tracker, Sample.unsatisfied, at: 10)
        #expect(lost == "Connected -> Offline since \(clock): eth0 has no carrier")
        let other = Path(status: .unsatisfied, reason: .noInterface)
        let message = HeadlineEvaluator(HeadlineFacts(host: "h", path: other)).headline.message
        #expect(try line(&tracker, other, at: 20) == "Offline since \(clock): \(message)")
    }
}
