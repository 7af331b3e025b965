// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import PathModel
import Probes
import Testing

@testable import PathService

@Suite struct DiagnosisScheduleTests {
    private static func pauses(_ findings: [DiagnosisSchedule.Finding], isFrugal: Bool = false) -> [Duration] {
        var schedule = DiagnosisSchedule(at: .zero)
        return findings.map { finding in
            let now = schedule.next ?? .zero
            schedule.begin(at: now)
            schedule.end(finding, isFrugal: isFrugal, at: now, chance: 0)
            return (schedule.next ?? .zero) - now
        }
    }

    @Test func `a network in order is confirmed once a minute, not in step with others, and examined every 45 minutes`()
    {
        #expect(Self.pauses([.sound, .sound]) == [.seconds(60), .seconds(60)])
        var schedule = DiagnosisSchedule(at: .seconds(7))
        #expect(schedule.next == .seconds(7) && schedule.step(at: .seconds(7)) == .round)
        schedule.begin(at: .seconds(7))
        schedule.end(.sound, isFrugal: false, at: .seconds(8), chance: 0.5)
        #expect(schedule.next == .seconds(8 + 57))
        var confirmed = 0
        while let next = schedule.next, schedule.step(at: next) == .confirmation {
            schedule.confirm(isFrugal: false, at: next)
            confirmed += 1
        }
        #expect(confirmed == 45 && schedule.next == .seconds(65 + 45 * 60))
        #expect(schedule.step(at: .seconds(65 + 45 * 60)) == .routine)
    }

    @Test func `a confirmation without an answer is followed by a round at once`() {
        var schedule = Self.sound(at: .seconds(10))
        schedule.confirm(isFrugal: false, at: .seconds(70))
        schedule.reject(at: .seconds(72))
        #expect(schedule.next == .seconds(72) && schedule.step(at: .seconds(72)) == .round)
    }

    @Test func `what connections prove needs no round, what happened does`() {
        var schedule = Self.sound(at: .seconds(10))
        #expect(schedule.step(at: .seconds(70)) == .confirmation)
        schedule.partChanged(isFrugal: false, at: .seconds(69))
        #expect(schedule.step(at: .seconds(70)) == .round)
        schedule.confirm(isFrugal: false, at: .seconds(70))
        #expect(schedule.next == .seconds(69), "a round that is due is not put off")
    }

    @Test func `without an interval only what fails is examined, until it is in order`() {
        var schedule = DiagnosisSchedule(at: .seconds(7), interval: nil)
        #expect(schedule.next == nil)
        schedule.pathChanged(at: .seconds(8))
        #expect(schedule.next == .seconds(8))
        schedule.begin(at: .seconds(8))
        schedule.end(.wrong(.broken), isFrugal: false, at: .seconds(11), chance: 0)
        #expect(schedule.next == .seconds(12))
        schedule.begin(at: .seconds(12))
        schedule.end(.sound, isFrugal: false, at: .seconds(15), chance: 0)
        #expect(schedule.next == nil)
    }

    @Test func `a stall begins a round at once, though one has just begun`() {
        var schedule = DiagnosisSchedule(at: .zero)
        schedule.begin(at: .seconds(60))
        var isAbandoned = schedule.abandon(at: .milliseconds(60_200))
        #expect(isAbandoned)
        schedule.pathChanged(at: .milliseconds(60_200))
        #expect(schedule.next == .milliseconds(60_200))
        // What stalls and is answered in turns is examined all the same.
        schedule.begin(at: .milliseconds(60_200))
        isAbandoned = schedule.abandon(at: .seconds(62))
        #expect(!isAbandoned)
        schedule.pathChanged(at: .seconds(62))
        schedule.end(.sound, isFrugal: false, at: .seconds(64), chance: 0)
        #expect(schedule.next == .seconds(62), "at once")
        schedule.begin(at: .seconds(64))
        isAbandoned = schedule.abandon(at: .seconds(71))
        #expect(isAbandoned)
    }

    @Test func `a requested round does not stand for the one that is due`() {
        var schedule = DiagnosisSchedule(at: .zero, interval: nil)
        for second in [60, 61, 62, 63] {
            schedule.partChanged(isFrugal: false, at: .seconds(second))
            if second < 63 { schedule.begin(at: .seconds(second)) }
        }
        #expect(schedule.next == .seconds(70))
        schedule.begin(isOther: true, at: .seconds(68))
        #expect(schedule.next == .seconds(70))
    }

    @Test func `what is not certain is examined again soon, and what stays wrong every few seconds`() {
        #expect(Self.pauses([.unsettled, .unsettled]) == [.seconds(5), .seconds(5)])
        // From the end of a round that ended as it began, the least gap.
        #expect(Self.pauses([.recovering]) == [.seconds(1)])
        for severity in [Severity.broken, .degraded] {
            let wrong = Self.pauses(Array(repeating: .wrong(severity), count: 12))
            #expect(wrong.prefix(4) == [.seconds(1), .seconds(2), .seconds(4), .seconds(5)])
            #expect(wrong.last == .seconds(5))
        }
        #expect(Self.pauses(Array(repeating: .wrong(.warning), count: 12)).last == .seconds(12))
        let broken = DiagnosisSchedule.Finding.wrong(.broken)
        #expect(Self.pauses([broken, broken, .sound, broken]).last == .seconds(1))
    }

    /// Rounds of six seconds that find the fault, of four that do not, and the mend just after a bad one began.
    @Test(arguments: [10, 240, 600, 86_400], [false, true])
    func `a fault is over twenty seconds after its end, however long it lasted`(outage: Int, isFrugal: Bool) {
        var schedule = DiagnosisSchedule(at: .zero)
        var (now, good, mend) = (Duration.zero, 0, Duration.zero)
        while good < 2 {
            now = max(now, schedule.next ?? now)
            schedule.begin(at: now)
            let isBad = now <= .seconds(outage)
            if isBad { mend = now }
            now += .seconds(isBad ? 6 : 4)
            good += isBad ? 0 : 1
            schedule.end(isBad ? .wrong(.broken) : .recovering, isFrugal: isFrugal, at: now, chance: 0)
        }
        #expect(now - mend <= .seconds(20), "\(now - mend)")
    }

    @Test func `a path that costs money is spared while nothing is wrong or nothing is broken`() {
        #expect(Self.pauses([.sound, .unsettled], isFrugal: true) == [.seconds(600), .seconds(5)])
        #expect(Self.pauses(Array(repeating: .wrong(.broken), count: 12), isFrugal: true).last == .seconds(5))
        #expect(Self.pauses(Array(repeating: .wrong(.degraded), count: 12), isFrugal: true).last == .seconds(30))
    }

    /// Requests of probes, each answered by when a round began: three at once, then one every ten seconds.
    @Test(arguments: [
        ([100], [100]), ([100, 100, 100], [100]), ([100, 105], [100, 105]),
        ([100, 102, 104, 106, 108], [100, 102, 104, 110]), ([100, 102, 104, 106, 111], [100, 102, 104, 110, 120]),
        ([100, 102, 104, 400, 401, 402, 403], [100, 102, 104, 400, 401, 402, 410]),
    ])
    func `probes have the network examined at once, three times in a row and then every ten seconds`(
        requests: [Int],
        rounds: [Int]
    ) {
        var schedule = DiagnosisSchedule(at: .zero, interval: nil)
        var began: [Int] = []
        for second in 0..<600 {
            let now = Duration.seconds(second)
            for request in requests where request == second { schedule.partChanged(isFrugal: false, at: now) }
            guard let next = schedule.next, next <= now else { continue }
            began.append(second)
            schedule.begin(at: now)
            schedule.end(.sound, isFrugal: false, at: now + .milliseconds(500), chance: 0)
        }
        #expect(began == rounds)
    }

    @Test func `on a path that costs money the fourth of a row waits for a minute`() {
        var schedule = Self.sound(at: .zero, interval: nil)
        for (second, due) in [(100, 100), (102, 102), (104, 104), (106, 160)] {
            schedule.partChanged(isFrugal: true, at: .seconds(second))
            #expect(schedule.next == .seconds(due))
            guard due < 160 else { continue }
            schedule.begin(at: .seconds(due))
            schedule.end(.sound, isFrugal: true, at: .seconds(due), chance: 0)
        }
    }

    @Test func `what happens during a round has it repeated, whatever the round finds`() {
        for finding in [DiagnosisSchedule.Finding.sound, .unsettled, .wrong(.broken)] {
            var schedule = DiagnosisSchedule(at: .zero)
            schedule.begin(at: .seconds(100))
            schedule.pathChanged(at: .seconds(103))
            schedule.end(finding, isFrugal: true, at: .seconds(108), chance: 0)
            #expect(schedule.next == .seconds(103))
            schedule.begin(at: .seconds(108))
            for _ in 0..<5 { schedule.partChanged(isFrugal: false, at: .seconds(109)) }
            schedule.end(finding, isFrugal: true, at: .seconds(110), chance: 0)
            #expect(schedule.next == .seconds(109))
            schedule.begin(at: .seconds(110))
            schedule.end(.sound, isFrugal: false, at: .seconds(111), chance: 0)
            #expect(schedule.next == .seconds(171), "once only")
        }
    }

    @Test func `a change of the path is examined at once, but not twice within a second`() {
        var schedule = Self.sound(at: .seconds(100))
        schedule.pathChanged(at: .seconds(200))
        #expect(schedule.next == .seconds(160), "the confirmation is due before")
        #expect(schedule.step(at: .seconds(200)) == .round)
        schedule.begin(at: .seconds(200))
        schedule.end(.sound, isFrugal: false, at: .milliseconds(200_100), chance: 0)
        schedule.pathChanged(at: .milliseconds(200_300))
        #expect(schedule.next == .seconds(201))
    }

    private static func sound(at now: Duration, interval: Duration? = .seconds(60)) -> DiagnosisSchedule {
        var schedule = DiagnosisSchedule(at: now, interval: interval)
        schedule.begin(at: now)
        schedule.end(.sound, isFrugal: false, at: now, chance: 0)
        return schedule
    }

    @Test func `whoever asks gets a round at once, but not two within a second`() {
        var schedule = DiagnosisSchedule(at: .seconds(100))
        #expect(schedule.runNow(isRunning: false, at: .seconds(100)) == .granted)
        schedule.begin(at: .seconds(100))
        #expect(schedule.runNow(isRunning: true, at: .milliseconds(100_300)) == .running)
        #expect(schedule.runNow(isRunning: true, at: .seconds(105)) == .running)
        schedule.end(.wrong(.broken), isFrugal: false, at: .milliseconds(100_400), chance: 0)
        #expect(schedule.runNow(isRunning: false, at: .milliseconds(100_600)) == .tooSoon(.milliseconds(400)))
        #expect(schedule.runNow(isRunning: false, at: .seconds(101)) == .granted)
    }
}

/// What counts of an examination that somebody asked for while the diagnosis is off.
@Suite struct RequestedDiagnosisTests {
    private static let verdict = Verdict(.wanDown, .broken, say: "nothing answers", action: "wait")

    private static func found(_ verdicts: [Verdict] = []) -> RequestedDiagnosis {
        let sign = ExaminationSummary(
            started: .seconds(198),
            ended: .seconds(200),
            validity: RequestedDiagnosis.validity,
            reachedInternet: verdicts.isEmpty,
            reachedDNS: false
        )
        return RequestedDiagnosis(verdicts, sign)
    }

    private static func path(_ router: UInt32 = 1, isReachable: Bool? = nil, isExpensive: Bool = false) -> Path {
        let eth0 = PathInterface(name: "eth0", index: 2, type: .wiredEthernet)
        let gateway = Gateway(
            address: ScopedAddress(.v4(0xC000_0200 + router)),
            interface: "eth0",
            family: .ipv4,
            isReachable: isReachable
        )
        let family = FamilyPath(interfaces: [eth0], gateways: [gateway], source: .v4(0xC000_0207))
        return Path(
            status: .satisfied,
            reason: nil,
            interfaces: [eth0],
            ipv4: family,
            dns: DNSState(servers: [DNSServer(ScopedAddress(.v4(0xC000_0235)))], isUsable: true),
            isExpensive: isExpensive
        )
    }

    private static func headline(_ requested: RequestedDiagnosis?, at now: Duration) -> Headline.State {
        var facts = HeadlineFacts(host: "h", path: path(), statusSince: .seconds(100), now: now)
        facts.verdicts = requested?.verdicts(at: now) ?? []
        facts.examination = requested?.summary
        return HeadlineEvaluator(facts).headline.state
    }

    @Test func `it counts like the round of a network in order`() {
        var schedule = DiagnosisSchedule(at: .seconds(200))
        schedule.end(.sound, isFrugal: false, at: .seconds(200), chance: 0)
        #expect(
            RequestedDiagnosis.validity == DiagnosisSchedule.validity(pause: (schedule.next ?? .zero) - .seconds(200))
        )
        #expect(Self.found().end == .seconds(350))
    }

    @Test func `the headline says what was found until it counts no more, of a fault for twenty seconds`() {
        let found = Self.found()
        #expect(Self.headline(nil, at: .seconds(199)) == .connected)
        for now in [Duration.seconds(200), found.end] { #expect(Self.headline(found, at: now) == .online) }
        #expect(Self.headline(found, at: found.end + .milliseconds(1)) == .connected)
        let fault = Self.found([Self.verdict])
        #expect(fault.end == found.end)
        for second in [200, 220] { #expect(Self.headline(fault, at: .seconds(second)) == .noInternet) }
        #expect(Self.headline(fault, at: .milliseconds(220_001)) == .connected)
    }

    @Test func `of another way it says nothing, and how the way is does not matter`() {
        func change(to path: Path, from previous: Path? = Self.path()) -> PathChange {
            PathChange(previous: previous, current: path, changed: [], previousDuration: .zero, at: .seconds(201))
        }
        for (verdicts, state) in [([], Headline.State.online), ([Self.verdict], .noInternet)] {
            var found = Self.found(verdicts)
            for path in [Self.path(isReachable: true), Self.path(isExpensive: true)] { found.apply(change(to: path)) }
            found.apply(change(to: Self.path(), from: nil))
            #expect(Self.headline(found, at: .seconds(201)) == state)
            for path in [Self.path(9), Path(reason: .noCarrier)] {
                var other = found
                other.apply(change(to: path))
                #expect(Self.headline(other, at: .seconds(201)) == .connected && other.end == found.end)
            }
        }
    }

    @Test func `a round that was given up follows at once, and is not given up again`() {
        var schedule = DiagnosisSchedule(at: .zero)
        schedule.begin(at: .zero)
        let first = schedule.abandon(at: .seconds(2))
        #expect(first && schedule.next == .seconds(3))
        schedule.begin(at: .seconds(3))
        let second = schedule.abandon(at: .seconds(14))
        #expect(!second)
        schedule.end(.sound, isFrugal: false, at: .seconds(15), chance: 0)
        schedule.begin(at: .seconds(75))
        let third = schedule.abandon(at: .seconds(76))
        #expect(third)
    }

    @Test func `events by the hundred delay a round by a minute at most`() {
        var schedule = DiagnosisSchedule(at: .zero)
        for second in 0..<100 {
            schedule.begin(at: .seconds(second))
            schedule.partChanged(isFrugal: false, at: .seconds(second))
        }
        #expect(schedule.next ?? .zero <= .seconds(120))
    }
}
