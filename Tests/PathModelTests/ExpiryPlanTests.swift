// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

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
