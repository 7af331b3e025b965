// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// Looking without being told to (rule S9).
@Suite struct AuditScheduleTests {
    @Test func `an audit is due after the interval, counted from the last full reading (S9)`() {
        var schedule = AuditSchedule()
        #expect(schedule.due == .seconds(30))
        schedule.read(at: .seconds(100))
        _ = schedule.evaluated(isSatisfied: true, didChange: false, cause: .initial)
        #expect(schedule.due == .seconds(130))
        // A link that flaps puts off no audit.
        _ = schedule.evaluated(isSatisfied: true, didChange: true, cause: .link)
        #expect(schedule.due == .seconds(130))
    }

    @Test func `after a loss audits come more often until recovery (lesson 19)`() {
        var schedule = AuditSchedule()
        schedule.read(at: .seconds(100))
        _ = schedule.evaluated(isSatisfied: false, didChange: true, cause: .link)
        #expect(schedule.due == .seconds(110))
        schedule.read(at: .seconds(110))
        _ = schedule.evaluated(isSatisfied: false, didChange: false, cause: .audit)
        #expect(schedule.due == .seconds(120))
        schedule.read(at: .seconds(120))
        _ = schedule.evaluated(isSatisfied: true, didChange: true, cause: .audit)
        #expect(schedule.due == .seconds(150))
    }

    @Test(arguments: CauseKind.allCases)
    func `only a change that an audit finds is silent (S9)`(cause: CauseKind) {
        var schedule = AuditSchedule()
        let isSilent = schedule.evaluated(isSatisfied: true, didChange: true, cause: cause)
        #expect(isSilent == (cause == .audit))
        #expect(schedule.silentChanges == (cause == .audit ? 1 : 0))
        let again = schedule.evaluated(isSatisfied: true, didChange: false, cause: cause)
        #expect(again == false)
        #expect(schedule.silentChanges == (cause == .audit ? 1 : 0))
    }

    @Test func `zero turns audits off (S9)`() {
        var schedule = AuditSchedule(interval: .zero)
        #expect(schedule.due == nil)
        _ = schedule.evaluated(isSatisfied: false, didChange: true, cause: .link)
        #expect(schedule.due == nil)
    }

    @Test func `the interval after a loss is never the longer one`() {
        let schedule = AuditSchedule(interval: .seconds(2), lossInterval: .seconds(5))
        #expect(schedule.lossInterval == .seconds(2))
    }
}
