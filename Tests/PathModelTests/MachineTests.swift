// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// Holding recoveries back (rule S43).
@Suite struct RecoveryHoldTests {
    private let satisfied = World.ordinary().path()
    private let unsatisfied = World().path()

    @Test func `without a duration everything passes (S43)`() {
        var hold = RecoveryHold()
        for path in [satisfied, unsatisfied, satisfied] {
            #expect(hold.update(path, at: .zero) == path)
            #expect(!hold.isHolding)
        }
    }

    @Test func `a recovery has to last, a loss does not (S43)`() {
        var hold = RecoveryHold(duration: .seconds(5))
        #expect(hold.update(satisfied, at: .seconds(1)) == satisfied)
        #expect(hold.update(unsatisfied, at: .seconds(2)) == unsatisfied)
        #expect(hold.update(satisfied, at: .seconds(3)) == unsatisfied)
        #expect(hold.isHolding)
        #expect(hold.rawPath == satisfied)
        #expect(hold.releaseAt == .seconds(8))
        #expect(hold.update(satisfied, at: .seconds(7)) == unsatisfied)
        #expect(hold.update(satisfied, at: .seconds(8)) == satisfied)
        #expect(hold.releaseAt == nil)
        #expect(!hold.isHolding)
    }

    @Test func `a loss within the wait starts it anew (S43)`() {
        var hold = RecoveryHold(duration: .seconds(5))
        _ = hold.update(unsatisfied, at: .seconds(2))
        _ = hold.update(satisfied, at: .seconds(3))
        #expect(hold.update(unsatisfied, at: .seconds(4)) == unsatisfied)
        #expect(hold.releaseAt == nil)
        #expect(hold.update(satisfied, at: .seconds(7)) == unsatisfied)
        #expect(hold.releaseAt == .seconds(12))
    }

    @Test func `the first path is not held back (S43)`() {
        var hold = RecoveryHold(duration: .seconds(5))
        #expect(hold.update(satisfied, at: .zero) == satisfied)
    }

    @Test func `a change between satisfied paths is not held back (S43)`() {
        var hold = RecoveryHold(duration: .seconds(5))
        var expensive = satisfied
        expensive.isExpensive = true
        _ = hold.update(satisfied, at: .zero)
        #expect(hold.update(expensive, at: .seconds(1)) == expensive)
    }

    @Test func `ten toggles at ten hertz publish one loss and one recovery (S43)`() {
        var hold = RecoveryHold(duration: .seconds(1))
        var tracker = PathTracker()
        var statuses: [PathStatus] = []
        for step in 0..<60 {
            let now: Duration = .milliseconds(step * 100)
            let raw = step < 10 && step % 2 == 1 ? unsatisfied : satisfied
            if let change = tracker.update(hold.update(raw, at: now), at: now) {
                statuses.append(change.current.status)
            }
        }
        #expect(statuses == [.satisfied, .unsatisfied, .satisfied])
    }
}

/// Folding of flapping.
@Suite struct FlapFolderTests {
    @Test func `few changes are told`() {
        var folder = FlapFolder()
        for second in 0..<7 { #expect(folder.change(at: .seconds(second)) == .tell) }
        #expect(!folder.isFlapping)
        #expect(folder.nextCheck == nil)
        #expect(folder.end(at: .seconds(8)) == nil)
    }

    @Test func `the change after the limit starts flapping, the next ones are folded`() {
        var folder = FlapFolder()
        for second in 0..<7 { _ = folder.change(at: .seconds(second)) }
        #expect(folder.change(at: .seconds(7)) == .start(changes: 8))
        #expect(folder.isFlapping)
        for second in 8..<20 { #expect(folder.change(at: .seconds(second)) == .fold) }
        #expect(folder.end(at: .seconds(20)) == nil)
    }

    @Test func `flapping ends when the window is quiet enough, with a count`() throws {
        var folder = FlapFolder(limit: 4, window: .seconds(10))
        for tenth in 0..<10 { _ = folder.change(at: .milliseconds(tenth * 100)) }
        let check = try #require(folder.nextCheck)
        #expect(folder.end(at: check - .milliseconds(1)) == nil)
        #expect(folder.end(at: check) == 5)
        #expect(!folder.isFlapping)
        #expect(folder.end(at: check) == nil)
        #expect(folder.change(at: check + .seconds(60)) == .tell)
    }

    @Test func `slow changes never flap`() {
        var folder = FlapFolder(limit: 3, window: .seconds(10))
        for step in 0..<100 { #expect(folder.change(at: .seconds(step * 4)) == .tell) }
    }

    @Test func `changes on both sides of a sleep are not added up (S49)`() {
        var folder = FlapFolder(limit: 3, window: .seconds(60))
        for second in 0..<3 { _ = folder.change(at: .seconds(second)) }
        folder.slept(until: .seconds(10))
        #expect(folder.change(at: .seconds(11)) == .tell)
    }

    @Test func `the limits are sane whatever is asked`() {
        var folder = FlapFolder(limit: 0, window: .zero)
        #expect(folder.limit == 1)
        #expect(folder.change(at: .zero) == .tell)
        #expect(folder.change(at: .zero) == .start(changes: 2))
    }

    @Test func `starts and ends alternate, and every folded change is counted`() {
        var random = SplitMix(seed: 5)
        for _ in 0..<50 {
            var folder = FlapFolder(limit: 3, window: .seconds(10))
            var now: Duration = .zero
            var (starts, ends, folded, reported) = (0, 0, 0, 0)
            for _ in 0..<200 {
                now += .milliseconds(Int.random(in: 0...6000, using: &random))
                if let count = folder.end(at: now) {
                    ends += 1
                    reported += count
                }
                switch folder.change(at: now) {
                case .tell: #expect(!folder.isFlapping)
                case .start: starts += 1
                case .fold: folded += 1
                }
                #expect(folder.isFlapping == (starts > ends))
                if let check = folder.nextCheck { #expect(check > now) }
            }
            if let count = folder.end(at: now + .seconds(60)) {
                ends += 1
                reported += count
            }
            #expect(starts == ends)
            #expect(folded == reported)
        }
    }
}

/// Looking without being told to (rule S9).
@Suite struct AuditScheduleTests {
    @Test func `an audit is due after the interval, counted from any evaluation (S9)`() {
        var schedule = AuditSchedule()
        #expect(schedule.due == .seconds(30))
        _ = schedule.evaluated(isSatisfied: true, didChange: false, cause: .initial, at: .seconds(100))
        #expect(schedule.due == .seconds(130))
        _ = schedule.evaluated(isSatisfied: true, didChange: true, cause: .link, at: .seconds(120))
        #expect(schedule.due == .seconds(150))
    }

    @Test func `after a loss audits come more often until recovery (lesson 19)`() {
        var schedule = AuditSchedule()
        _ = schedule.evaluated(isSatisfied: false, didChange: true, cause: .link, at: .seconds(100))
        #expect(schedule.due == .seconds(105))
        _ = schedule.evaluated(isSatisfied: false, didChange: false, cause: .audit, at: .seconds(105))
        #expect(schedule.due == .seconds(110))
        _ = schedule.evaluated(isSatisfied: true, didChange: true, cause: .audit, at: .seconds(110))
        #expect(schedule.due == .seconds(140))
    }

    @Test(arguments: CauseKind.allCases)
    func `only a change that an audit finds is silent (S9)`(cause: CauseKind) {
        var schedule = AuditSchedule()
        let isSilent = schedule.evaluated(isSatisfied: true, didChange: true, cause: cause, at: .seconds(1))
        #expect(isSilent == (cause == .audit))
        #expect(schedule.silentChanges == (cause == .audit ? 1 : 0))
        let again = schedule.evaluated(isSatisfied: true, didChange: false, cause: cause, at: .seconds(2))
        #expect(again == false)
        #expect(schedule.silentChanges == (cause == .audit ? 1 : 0))
    }

    @Test func `zero turns audits off (S9)`() {
        var schedule = AuditSchedule(interval: .zero)
        #expect(schedule.due == nil)
        _ = schedule.evaluated(isSatisfied: false, didChange: true, cause: .link, at: .seconds(1))
        #expect(schedule.due == nil)
    }

    @Test func `the interval after a loss is never the longer one`() {
        let schedule = AuditSchedule(interval: .seconds(2), lossInterval: .seconds(5))
        #expect(schedule.lossInterval == .seconds(2))
    }
}

/// Finding out about sleep (rule S49).
@Suite struct SleepDetectorTests {
    @Test func `the first look compares with nothing (S49)`() {
        var detector = SleepDetector()
        #expect(detector.observe(boot: .seconds(5000), awake: .seconds(100)) == nil)
    }

    @Test func `a gap between the clocks is sleep, told once (S49)`() {
        var detector = SleepDetector()
        _ = detector.observe(boot: .seconds(100), awake: .seconds(100))
        #expect(detector.observe(boot: .seconds(130), awake: .seconds(130)) == nil)
        #expect(detector.observe(boot: .seconds(3730), awake: .seconds(140)) == .seconds(3590))
        #expect(detector.observe(boot: .seconds(3740), awake: .seconds(150)) == nil)
    }

    @Test func `noise of reading two clocks is no sleep (S49)`() {
        var detector = SleepDetector()
        var random = SplitMix(seed: 8)
        for second in 0..<500 {
            let jitter = Duration.microseconds(Int.random(in: -400...400, using: &random))
            #expect(detector.observe(boot: .seconds(second) + jitter, awake: .seconds(second)) == nil)
        }
    }
}

/// Planning for ends, and warning (rule S28).
@Suite struct ExpiryPlanTests {
    private func evaluation(_ ends: [Duration], configuring: Duration? = nil) -> Evaluation {
        let expiries = ends.enumerated().map { Expiry(subject: .route(.ipv6, index: $0), at: $1) }
        return Evaluation(
            path: World.ordinary().path(),
            expiries: expiries,
            nextCheck: (ends + [configuring].compactMap(\.self)).min()
        )
    }

    private func apply(_ plan: inout ExpiryPlan, _ ends: [Duration], at now: Duration) -> (Duration?, Bool) {
        var result = evaluation(ends)
        plan.apply(to: &result, at: now)
        return (result.nextCheck, result.path.warnings.contains(.expiring))
    }

    @Test func `nothing to plan is nothing to do (S28)`() {
        var plan = ExpiryPlan()
        #expect(apply(&plan, [], at: .seconds(5)) == (nil, false))
    }

    @Test func `an end is looked at when a quarter is left, then just after it (S28)`() {
        var plan = ExpiryPlan()
        let end: Duration = .seconds(1100)
        let first = apply(&plan, [end], at: .seconds(1000))
        #expect(first == (.seconds(1075) + .milliseconds(1), false))
        #expect(apply(&plan, [end], at: .seconds(1050)) == (.seconds(1075) + .milliseconds(1), false))
        #expect(apply(&plan, [end], at: .seconds(1076)) == (.seconds(1100) + .milliseconds(50), true))
    }

    @Test func `a refresh takes the warning away and starts a new promise (S28)`() {
        var plan = ExpiryPlan()
        _ = apply(&plan, [.seconds(1100)], at: .seconds(1000))
        #expect(apply(&plan, [.seconds(1100)], at: .seconds(1090)).1)
        let refreshed = apply(&plan, [.seconds(1190)], at: .seconds(1090))
        #expect(refreshed == (.seconds(1165) + .milliseconds(1), false))
    }

    @Test func `the kernel's rounding is no refresh (S28)`() {
        var plan = ExpiryPlan()
        _ = apply(&plan, [.seconds(1100)], at: .seconds(1000))
        #expect(apply(&plan, [.milliseconds(1_100_900)], at: .seconds(1090)).1)
    }

    @Test func `a router's promise of three seconds is planned in time (S28)`() {
        var plan = ExpiryPlan()
        let (check, isWarned) = apply(&plan, [.seconds(103)], at: .seconds(100))
        #expect(!isWarned)
        #expect(check == .milliseconds(102_251))
        #expect(apply(&plan, [.seconds(103)], at: .milliseconds(102_251)) == (.milliseconds(103_050), true))
    }

    @Test func `what stays past its end is not looked at in a busy loop (S28)`() {
        var plan = ExpiryPlan()
        _ = apply(&plan, [.seconds(103)], at: .seconds(100))
        let (check, isWarned) = apply(&plan, [.seconds(103)], at: .seconds(110))
        #expect(check == .seconds(110) + ExpiryPlan.pause)
        #expect(isWarned)
    }

    @Test func `the nearest of several ends is planned (S28)`() {
        var plan = ExpiryPlan()
        let (check, _) = apply(&plan, [.seconds(2000), .seconds(1100)], at: .seconds(1000))
        #expect(check == .seconds(1075) + .milliseconds(1))
    }

    @Test func `an end that is no longer behind the path is forgotten (S28)`() {
        var plan = ExpiryPlan()
        _ = apply(&plan, [.seconds(1100)], at: .seconds(1000))
        _ = apply(&plan, [], at: .seconds(1010))
        #expect(!apply(&plan, [.seconds(1100)], at: .seconds(1090)).1)
    }

    @Test func `the end of configuring is kept (S23, S28)`() {
        var plan = ExpiryPlan()
        var result = Evaluation(path: World().path(), nextCheck: .seconds(1030))
        plan.apply(to: &result, at: .seconds(1000))
        #expect(result.nextCheck == .seconds(1030))
        var both = evaluation([.seconds(5000)], configuring: .seconds(1030))
        plan.apply(to: &both, at: .seconds(1000))
        #expect(both.nextCheck == .seconds(1030))
    }

    @Test func `a path that is not satisfied is not warned about (S28)`() {
        var plan = ExpiryPlan()
        var result = evaluation([.seconds(1000)])
        result.path.status = .unsatisfied
        plan.apply(to: &result, at: .seconds(1000))
        #expect(result.path.warnings.isEmpty)
    }

    @Test func `a warning is given once per path (S28)`() {
        var plan = ExpiryPlan()
        var result = evaluation([.seconds(1000), .seconds(1000)])
        plan.apply(to: &result, at: .seconds(1000))
        plan.apply(to: &result, at: .seconds(1000))
        #expect(result.path.warnings == [.expiring])
    }

    @Test func `a lease through its life: warned, refreshed, lost (S28)`() {
        var world = World()
        var plan = ExpiryPlan()
        var seen: [String] = []
        world.now = .seconds(100)
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0", valid: 40)
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1")
        for second in stride(from: 100, through: 180, by: 10) {
            world.now = .seconds(second)
            if second == 140 { world.add("192.0.2.10/24", on: "eth0", valid: 40) }
            if second == 180 {
                world.flush("eth0")
                world.table.routes = []
            }
            var result = world.evaluate()
            plan.apply(to: &result, at: world.now)
            let path = result.path
            seen.append(path.status == .satisfied ? path.warnings.first?.rawValue ?? "ok" : "lost")
        }
        #expect(seen == ["ok", "ok", "ok", "expiring", "ok", "ok", "ok", "expiring", "lost"])
    }
}

/// Link quality that does not dither (rule S39).
@Suite struct LinkQualityMeterTests {
    @Test(
        arguments: [
            (.unknown, .unknown), (.wireless(signal: -40), .good), (.wireless(signal: -60), .good),
            (.wireless(signal: -61), .moderate), (.wireless(signal: -72), .moderate),
            (.wireless(signal: -73), .minimal),
            (.cellular(percent: 60), .good), (.cellular(percent: 59), .moderate), (.cellular(percent: 30), .moderate),
            (.cellular(percent: 29), .minimal), (.wired(megabits: 1000, isFullDuplex: true), .good),
            (.wired(megabits: 100, isFullDuplex: true), .good), (.wired(megabits: 100, isFullDuplex: false), .moderate),
            (.wired(megabits: 10, isFullDuplex: true), .moderate),
            (.wired(megabits: 10, isFullDuplex: false), .minimal),
            (.wired(megabits: -1, isFullDuplex: true), .unknown), (.wired(megabits: 0, isFullDuplex: false), .unknown),
        ] as [(LinkReading, LinkQuality)]
    )
    func `a first reading is graded as it is (S39)`(reading: LinkReading, quality: LinkQuality) {
        var meter = LinkQualityMeter()
        #expect(meter.read(reading, at: .zero) == quality)
        #expect(meter.quality == quality)
    }

    @Test func `a border has to be passed by the hysteresis (S39)`() {
        var meter = LinkQualityMeter(holdTime: .zero)
        let steps: [(Int, LinkQuality)] = [
            (-55, .good), (-61, .good), (-62, .good), (-63, .moderate), (-60, .moderate), (-59, .moderate),
            (-58, .good),
            (-74, .moderate), (-75, .minimal), (-72, .minimal), (-71, .minimal), (-70, .moderate), (-50, .good),
            (-90, .minimal),
        ]
        for (step, (signal, quality)) in steps.enumerated() {
            #expect(meter.read(.wireless(signal: signal), at: .seconds(step)) == quality, "step \(step)")
        }
    }

    @Test func `changes are thirty seconds apart (S39)`() {
        var meter = LinkQualityMeter()
        #expect(meter.read(.wireless(signal: -50), at: .seconds(100)) == .good)
        #expect(meter.read(.wireless(signal: -90), at: .seconds(101)) == .minimal)
        #expect(meter.read(.wireless(signal: -50), at: .seconds(102)) == .minimal)
        #expect(meter.read(.wireless(signal: -50), at: .seconds(130)) == .minimal)
        #expect(meter.read(.wireless(signal: -50), at: .seconds(131)) == .good)
    }

    @Test func `a signal that dithers around a border changes nothing (S39)`() {
        var meter = LinkQualityMeter(holdTime: .zero)
        var random = SplitMix(seed: 21)
        _ = meter.read(.wireless(signal: -58), at: .zero)
        for second in 1..<500 {
            let signal = -60 + Int.random(in: -2...2, using: &random)
            #expect(meter.read(.wireless(signal: signal), at: .seconds(second)) == .good)
        }
    }
}
