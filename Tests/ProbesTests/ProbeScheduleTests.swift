// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Probes

@Suite struct ProbeScheduleTests {
    private static func failure(_ reason: ProbeReason = .timeout) -> ProbeResult {
        ProbeResult(.failure(reason, detail: ""))
    }
    private static let success = ProbeResult(.success)
    private static let start = Duration.seconds(1000)

    private static func make(interval: Duration = .seconds(30), threshold: Int = 3, chance: Double = 0) -> ProbeSchedule
    {
        ProbeSchedule(interval: interval, threshold: threshold, at: start, chance: chance)
    }

    /// Lets runs end one after another, a second each.
    private static func run(_ schedule: inout ProbeSchedule, _ results: [ProbeResult]) -> [[ProbeSchedule.Transition]] {
        results.map { result in
            let due = schedule.deadline ?? start
            schedule.start(at: due)
            return schedule.finish(result, at: due + .seconds(1), chance: 0)
        }
    }

    @Test func `the first run comes within seconds`() {
        #expect(Self.make(chance: 0).deadline == Self.start)
        #expect(Self.make(chance: 1).deadline == Self.start + .seconds(3))
        #expect(Self.make(interval: .seconds(1), chance: 1).deadline == Self.start + .seconds(1))
    }

    @Test func `the interval counts from start to start, less what chance takes`() {
        for (chance, wait) in [(0.0, 30.0), (0.5, 28.5), (1, 27)] {
            var schedule = Self.make()
            schedule.start(at: Self.start)
            #expect(schedule.deadline == nil)
            _ = schedule.finish(Self.success, at: Self.start + .seconds(2), chance: chance)
            #expect(schedule.deadline == Self.start + .seconds(wait))
        }
    }

    @Test func `chance takes nothing from a second`() {
        var schedule = Self.make(interval: .seconds(1))
        schedule.start(at: Self.start)
        _ = schedule.finish(Self.success, at: Self.start, chance: 1)
        #expect(schedule.deadline == Self.start + .seconds(1))
    }

    @Test func `a run that takes longer than the interval is followed at once`() {
        var schedule = Self.make(interval: .seconds(1))
        schedule.start(at: Self.start)
        _ = schedule.finish(Self.failure(), at: Self.start + .seconds(5), chance: 0)
        #expect(schedule.deadline == Self.start + .seconds(5))
    }

    @Test(arguments: [(1, 91), (2, 62), (3, 33), (4, 18)])
    func `as many failures as the threshold says are reported once, and the recovery`(threshold: Int, seconds: Int) {
        var schedule = Self.make(threshold: threshold)
        let told = Self.run(&schedule, [ProbeResult](repeating: Self.failure(), count: 6))
        #expect(told.enumerated().allSatisfy { $1 == ($0 == threshold - 1 ? [.failed] : []) })
        #expect(schedule.isFailing && schedule.consecutiveFailures == 6)
        // The first of the six began at the start; the pauses are a second up to the threshold, and double then.
        #expect(Self.run(&schedule, [Self.success]) == [[.recovered(after: .seconds(seconds))]])
        #expect(!schedule.isFailing && schedule.consecutiveFailures == 0)
        #expect(Self.run(&schedule, [Self.success]) == [[]])
    }

    @Test func `failures that are not in a row are not told`() {
        var schedule = Self.make(threshold: 2)
        let told = Self.run(&schedule, [Self.failure(), Self.success, Self.failure(), Self.success])
        #expect(told.joined().isEmpty)
    }

    @Test func `a portal is told at once, and gone with the first right answer`() {
        var schedule = Self.make()
        let told = Self.run(
            &schedule,
            [
                Self.failure(.captivePortal), Self.failure(.captivePortal), Self.failure(.timeout), Self.success,
                Self.success,
            ]
        )
        #expect(told[0] == [.portalDetected])
        #expect(told[1] == [])
        #expect(told[2] == [.failed])
        #expect(told[3] == [.portalCleared, .recovered(after: .seconds(5))])
        #expect(told[4] == [])
    }

    @Test func `what could not be assessed says nothing`() {
        var schedule = Self.make(threshold: 1)
        let unknown = ProbeResult(.notAssessed(advice: "x"))
        #expect(Self.run(&schedule, [unknown, unknown]) == [[], []])
        #expect(Self.run(&schedule, [Self.failure(), unknown]) == [[.failed], []])
        #expect(schedule.isFailing)
    }

    @Test func `a change of the path brings the next run forward`() {
        var schedule = Self.make()
        _ = Self.run(&schedule, [Self.success])
        let later = Self.start + .seconds(10)
        schedule.pathChanged(at: later, chance: 1)
        #expect(schedule.deadline == later + .milliseconds(500))
        schedule.pathChanged(at: later + .seconds(1), chance: 0)
        #expect(schedule.deadline == later + .milliseconds(500))
    }

    @Test func `a path that changes all the time causes no more than a run a second`() {
        var schedule = Self.make()
        var runs = 0
        for step in 0..<1000 {
            let now = Self.start + .milliseconds(10 * step)
            schedule.pathChanged(at: now, chance: 0)
            guard let deadline = schedule.deadline, deadline <= now else { continue }
            schedule.start(at: now)
            _ = schedule.finish(Self.success, at: now, chance: 0)
            runs += 1
        }
        #expect((9...11).contains(runs))
    }

    @Test func `after a change of the path pauses are short again`() {
        var schedule = Self.make()
        _ = Self.run(&schedule, [ProbeResult](repeating: Self.failure(.refused), count: 7))
        let last = schedule.deadline ?? .zero
        schedule.start(at: last)
        _ = schedule.finish(Self.failure(.refused), at: last, chance: 0)
        #expect(schedule.deadline == last + .seconds(30))
        schedule.pathChanged(at: last + .seconds(5), chance: 0)
        schedule.start(at: last + .seconds(5))
        _ = schedule.finish(Self.failure(.refused), at: last + .seconds(5), chance: 0)
        #expect(schedule.deadline == last + .seconds(6) && schedule.isFailing)
    }

    @Test func `a change during a run asks for another one`() {
        var schedule = Self.make()
        schedule.start(at: Self.start)
        schedule.pathChanged(at: Self.start + .milliseconds(100), chance: 0)
        #expect(schedule.deadline == nil)
        _ = schedule.finish(Self.success, at: Self.start + .milliseconds(200), chance: 0)
        #expect(schedule.deadline == Self.start + .seconds(1))
        schedule.start(at: Self.start + .seconds(1))
        _ = schedule.finish(Self.success, at: Self.start + .seconds(1), chance: 0)
        #expect(schedule.deadline == Self.start + .seconds(31))
    }

    @Test func `a first failure is followed by retries that decide within seconds, whatever the interval is`() {
        for interval in [5, 30, 86_400] {
            var schedule = Self.make(interval: .seconds(interval))
            var starts: [Duration] = []
            for _ in 0..<8 {
                let due = schedule.deadline ?? Self.start
                starts.append(due - Self.start)
                schedule.start(at: due)
                _ = schedule.finish(Self.failure(.refused), at: due + .milliseconds(1), chance: 0)
            }
            #expect(Array(starts.prefix(5)) == [0, 1, 2, 4, 8].map { Duration.seconds($0) })
            #expect(starts[7] - starts[6] == .seconds(min(interval, 32)))
            #expect(schedule.failingSince == Self.start)
        }
    }

    @Test func `an answer that is late is not waited for: the next runs start beside it`() {
        var schedule = Self.make()
        schedule.start(at: Self.start, isPrompt: true)
        var starts = [Self.start]
        while let due = schedule.deadline, starts.count < 9 {
            starts.append(due)
            schedule.start(at: due, isPrompt: true)
        }
        #expect(starts.map { $0 - Self.start } == [.zero, .milliseconds(950), .milliseconds(1900)])
        var found: [ProbeSchedule.Transition] = []
        for start in starts {
            found += schedule.finish(Self.failure(), started: start, at: start + .seconds(2), chance: 0)
        }
        #expect(found == [.failed] && schedule.failingSince == Self.start && !schedule.isRunning)
        #expect(schedule.deadline == Self.start + .milliseconds(3900))
        // With a threshold of one there is nothing to confirm.
        var single = Self.make(threshold: 1)
        single.start(at: Self.start, isPrompt: true)
        #expect(single.deadline == nil)
    }

    @Test func `a packet that was lost before a newer one was answered is no failure in a row`() {
        var schedule = Self.make()
        schedule.start(at: Self.start, isPrompt: true)
        schedule.start(at: Self.start + .seconds(1), isPrompt: true)
        let second = Self.start + .seconds(1)
        _ = schedule.finish(Self.success, started: second, at: second + .milliseconds(10), chance: 0)
        #expect(schedule.deadline == second + .seconds(30) && schedule.isRunning)
        #expect(schedule.finish(Self.failure(), started: Self.start, at: Self.start + .seconds(2), chance: 0) == [])
        #expect(schedule.failingSince == nil && schedule.consecutiveFailures == 0 && !schedule.isRunning)
        #expect(schedule.answeringSince == second + .milliseconds(10))
        #expect(schedule.deadline == second + .seconds(30))
    }

    @Test func `another test that fails or answers again brings the next run forward`() {
        var schedule = Self.make()
        _ = Self.run(&schedule, [Self.success])
        schedule.otherFailed(at: Self.start + .seconds(10))
        #expect(schedule.deadline == Self.start + .seconds(10))
        schedule.start(at: Self.start + .seconds(10))
        schedule.otherFailed(at: Self.start + .seconds(11))
        #expect(schedule.deadline == nil, "the run that goes on is as good")
        schedule.otherAnswered(at: Self.start + .milliseconds(10_400))
        #expect(schedule.deadline == Self.start + .seconds(11), "it cannot know; but a second is between two")
        schedule.start(at: Self.start + .seconds(11))
        let first = Self.start + .seconds(10)
        _ = schedule.finish(Self.failure(), started: first, at: Self.start + .seconds(12), chance: 0)
        #expect(schedule.deadline == nil && schedule.isRunning)
        _ = schedule.finish(Self.success, at: Self.start + .seconds(12), chance: 0)
        #expect(schedule.deadline == Self.start + .seconds(41) && !schedule.isRunning)
    }

    @Test(arguments: [30, 300])
    func `where packets are lost all the time, other tests cause no more than five runs and three in an interval`(
        interval: Int
    ) {
        var schedule = Self.make(interval: .seconds(interval))
        var (now, runs) = (Self.start, 0)
        let end = Self.start + .seconds(interval * 20)
        while now < end {
            // Some other test fails, and answers again, every second.
            schedule.otherFailed(at: now)
            schedule.otherAnswered(at: now + .milliseconds(500))
            if schedule.isDue(at: now + .milliseconds(500)) {
                schedule.start(at: now + .milliseconds(500))
                _ = schedule.finish(Self.success, at: now + .milliseconds(510), chance: 0)
                runs += 1
            }
            now += .seconds(1)
        }
        #expect((60...86).contains(runs), "\(runs) in 20 intervals")
    }

    @Test func `other settings keep what is known`() {
        var schedule = Self.make(interval: .seconds(300))
        _ = Self.run(&schedule, [Self.failure(), Self.failure(), Self.failure()])
        let failing = schedule.failingSince
        schedule.start(at: Self.start + .seconds(10))
        schedule.apply(interval: .seconds(30), retryInterval: .seconds(1), threshold: 3, at: Self.start + .seconds(11))
        #expect(schedule.isFailing && schedule.failingSince == failing && !schedule.isRunning)
        #expect(schedule.deadline == Self.start + .seconds(11), "the run that was cancelled is made up for")
        let results = Self.run(&schedule, [Self.success])
        #expect(results == [[.recovered(after: .seconds(12))]])
        #expect(schedule.deadline == Self.start + .seconds(41))
    }

    @Test func `a portal has the times of its first and last answer`() {
        var schedule = Self.make()
        _ = Self.run(&schedule, [Self.failure(), Self.failure(.captivePortal), Self.failure(.captivePortal)])
        #expect(schedule.captiveSince == Self.start + .seconds(1) && schedule.lastCaptive == Self.start + .seconds(2))
        _ = Self.run(&schedule, [Self.failure()])
        #expect(schedule.isCaptive && schedule.lastCaptive == Self.start + .seconds(2))
        _ = Self.run(&schedule, [Self.success])
        #expect(!schedule.isCaptive && schedule.captiveSince == nil && schedule.lastCaptive == nil)
    }

    @Test func `what is almost due runs with others`() {
        var schedule = Self.make(chance: 1)
        #expect(!schedule.isDue(at: Self.start + .milliseconds(2999)), "the first run waits")
        _ = Self.run(&schedule, [Self.success])
        let due = Self.start + .seconds(33)
        #expect(schedule.deadline == due && schedule.isDue(at: due - .seconds(3)))
        #expect(!schedule.isDue(at: due - .milliseconds(3001)))
        _ = Self.run(&schedule, [Self.failure()])
        #expect(schedule.deadline.map { schedule.isDue(at: $0) && !schedule.isDue(at: $0 - .milliseconds(1)) } == true)
        schedule.start(at: due + .seconds(2))
        #expect(!schedule.isDue(at: due + .seconds(60)), "it is running")
    }

    @Test func `a wish is granted once a second`() {
        var schedule = Self.make(chance: 1)
        #expect(schedule.runNow(at: Self.start) == .granted)
        #expect(schedule.deadline == Self.start)
        schedule.start(at: Self.start)
        #expect(schedule.runNow(at: Self.start) == .running)
        _ = schedule.finish(Self.success, at: Self.start + .milliseconds(10), chance: 0)
        #expect(schedule.runNow(at: Self.start + .milliseconds(400)) == .tooSoon(.milliseconds(600)))
        #expect(schedule.deadline == Self.start + .seconds(30))
        #expect(schedule.runNow(at: Self.start + .seconds(1)) == .granted)
    }
}

@Suite struct ProbeHistoryTests {
    private static func took(_ milliseconds: Int) -> ProbeResult {
        ProbeResult(.success, duration: .milliseconds(milliseconds))
    }

    @Test func `nothing is known at first`() {
        #expect(ProbeHistory().lossPercent == nil)
        #expect(ProbeHistory().summary == nil)
    }

    @Test func `loss is the share of failures`() {
        var history = ProbeHistory()
        for index in 0..<8 {
            history.append(index % 4 == 0 ? ProbeResult(.failure(.timeout, detail: "")) : Self.took(index))
        }
        history.append(ProbeResult(.notAssessed(advice: "")))
        #expect(history.lossPercent == 25)
        #expect(history.durations.count == 8)
        #expect(history.durations[0] == nil)
    }

    @Test func `only the last sixty are remembered`() {
        var history = ProbeHistory()
        for index in 1...100 { history.append(Self.took(index)) }
        #expect(history.durations.count == 60)
        #expect(history.summary?.minimum == .milliseconds(41))
        #expect(history.summary?.maximum == .milliseconds(100))
    }

    @Test(arguments: [(1, 1), (2, 2), (19, 19), (20, 19), (21, 20), (60, 57), (100, 95)])
    func `95 in 100 are not longer than the percentile`(count: Int, expected: Int) throws {
        let durations = (1...count).map { Duration.milliseconds($0) }.shuffled()
        let summary = try #require(DurationSummary(durations))
        #expect(summary.p95 == .milliseconds(expected))
        #expect(summary.minimum == .milliseconds(1) && summary.maximum == .milliseconds(count))
        #expect(summary.average == .microseconds(500 * (count + 1)))
    }
}
