// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PathService

@Suite struct DiagnosisScheduleTests {
    private static func pauses(_ findings: [DiagnosisSchedule.Finding], isFrugal: Bool = false) -> [Duration] {
        var schedule = DiagnosisSchedule(at: .zero)
        return findings.map { finding in
            let now = schedule.next
            schedule.begin(at: now)
            schedule.end(finding, isFrugal: isFrugal, at: now, chance: 0)
            return schedule.next - now
        }
    }

    @Test func `a network in order is examined once a minute, not in step with others`() {
        #expect(Self.pauses([.sound, .sound]) == [.seconds(60), .seconds(60)])
        var schedule = DiagnosisSchedule(at: .seconds(7))
        #expect(schedule.next == .seconds(7))
        schedule.end(.sound, isFrugal: false, at: .seconds(8), chance: 0.5)
        #expect(schedule.next == .seconds(8 + 57))
    }

    @Test func `what is not certain is looked at again soon, what stays broken ever less often`() {
        #expect(Self.pauses([.unsettled, .unsettled]) == [.seconds(5), .seconds(5)])
        let broken = Self.pauses(Array(repeating: .broken, count: 12))
        #expect(broken.prefix(5) == [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16)])
        #expect(broken.suffix(2) == [.seconds(600), .seconds(600)])
        #expect(Self.pauses([.broken, .broken, .sound, .broken]).last == .seconds(1))
    }

    @Test func `a path that costs money is spared`() {
        #expect(
            Self.pauses([.sound, .unsettled, .broken], isFrugal: true) == [.seconds(600), .seconds(50), .seconds(10)]
        )
    }

    @Test func `a change of the path is examined at once, but not twice within a second`() {
        var schedule = DiagnosisSchedule(at: .zero)
        schedule.begin(at: .seconds(100))
        schedule.end(.sound, isFrugal: true, at: .seconds(101), chance: 0)
        schedule.pathChanged(at: .seconds(200))
        #expect(schedule.next == .seconds(200))
        schedule.begin(at: .seconds(200))
        schedule.end(.sound, isFrugal: false, at: .milliseconds(200_100), chance: 0)
        schedule.pathChanged(at: .milliseconds(200_300))
        #expect(schedule.next == .seconds(201))
    }
}
