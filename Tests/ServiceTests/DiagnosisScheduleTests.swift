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

    @Test func `a network in order is examined once a minute, not in step with others`() {
        #expect(Self.pauses([.sound, .sound]) == [.seconds(60), .seconds(60)])
        var schedule = DiagnosisSchedule(at: .seconds(7))
        #expect(schedule.next == .seconds(7))
        schedule.end(.sound, isFrugal: false, at: .seconds(8), chance: 0.5)
        #expect(schedule.next == .seconds(8 + 57))
    }

    @Test func `without an interval only what fails is examined, until it is in order`() {
        var schedule = DiagnosisSchedule(at: .seconds(7), interval: nil)
        #expect(schedule.next == nil)
        schedule.trafficChanged(isPath: true, isStall: true, at: .seconds(8))
        #expect(schedule.next == .seconds(8))
        schedule.begin(at: .seconds(8))
        schedule.end(.broken, isFrugal: false, at: .seconds(11), chance: 0)
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
        schedule.trafficChanged(isPath: true, isStall: true, at: .milliseconds(60_200))
        #expect(schedule.next == .milliseconds(60_200))
        // What stalls and is answered in turns is examined all the same.
        schedule.begin(at: .milliseconds(60_200))
        isAbandoned = schedule.abandon(at: .seconds(62))
        #expect(!isAbandoned)
        schedule.trafficChanged(isPath: true, isStall: false, at: .seconds(62))
        schedule.end(.sound, isFrugal: false, at: .seconds(64), chance: 0)
        #expect(schedule.next == .seconds(64))
        schedule.begin(at: .seconds(64))
        isAbandoned = schedule.abandon(at: .seconds(71))
        #expect(isAbandoned)
    }

    @Test func `a requested round does not stand for the one that is due`() {
        var schedule = DiagnosisSchedule(at: .zero, interval: nil)
        for second in [60, 61] { schedule.trafficChanged(isPath: false, isStall: true, at: .seconds(second)) }
        schedule.begin(at: .seconds(60))
        schedule.end(.sound, isFrugal: false, at: .seconds(62), chance: 0)
        schedule.trafficChanged(isPath: false, isStall: true, at: .seconds(63))
        #expect(schedule.next == .seconds(70))
        schedule.begin(isRequested: true, at: .seconds(68))
        schedule.end(.sound, isFrugal: false, at: .seconds(69), chance: 0)
        #expect(schedule.next == .seconds(70))
    }

    @Test func `destinations that stall again and again begin a round every ten seconds, and once what was due`() {
        var schedule = DiagnosisSchedule(at: .zero, interval: nil)
        func round(_ at: Int) {
            #expect(schedule.next == .seconds(at))
            schedule.begin(at: .seconds(at))
            schedule.end(.sound, isFrugal: false, at: .seconds(at) + .milliseconds(500), chance: 0)
            #expect(schedule.next == nil)
        }
        schedule.trafficChanged(isPath: false, isStall: true, at: .seconds(60))
        round(60)
        // That it is answered again does not delay what stalls next.
        schedule.trafficChanged(isPath: false, isStall: false, at: .seconds(67))
        round(70)
        schedule.trafficChanged(isPath: false, isStall: true, at: .seconds(73))
        round(73)
        for second in [74, 76, 82] { schedule.trafficChanged(isPath: false, isStall: true, at: .seconds(second)) }
        round(83)
        schedule.trafficChanged(isPath: false, isStall: true, at: .seconds(94))
        round(94)
        schedule.trafficChanged(isPath: false, isStall: false, at: .seconds(95))
        round(104)
    }

    @Test func `what connections prove needs no round`() {
        var schedule = DiagnosisSchedule(at: .zero)
        schedule.postpone(at: .seconds(60))
        #expect(schedule.next == .seconds(120))
    }

    @Test func `what is not certain is examined again soon, what stays broken less often, and never seldom`() {
        #expect(Self.pauses([.unsettled, .unsettled]) == [.seconds(5), .seconds(5)])
        #expect(Self.pauses([.recovering]) == [.seconds(1)])
        let broken = Self.pauses(Array(repeating: .broken, count: 12))
        #expect(broken.prefix(5) == [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(15)])
        #expect(broken.suffix(2) == [.seconds(15), .seconds(15)])
        #expect(Self.pauses([.broken, .broken, .sound, .broken]).last == .seconds(1))
    }

    @Test func `a path that costs money is spared`() {
        #expect(
            Self.pauses([.sound, .unsettled, .broken], isFrugal: true) == [.seconds(600), .seconds(50), .seconds(10)]
        )
        #expect(Self.pauses(Array(repeating: .broken, count: 12), isFrugal: true).last == .seconds(30))
    }

    /// Requests of probes, each answered by when a round began: three at once, then one a minute.
    @Test(arguments: [
        ([100], [100]), ([100, 100, 100], [100]), ([100, 105], [100, 105]),
        ([100, 110, 120, 130, 140], [100, 110, 120, 160]), ([100, 110, 120, 130, 161], [100, 110, 120, 160, 220]),
        ([100, 110, 120, 400, 410, 420, 430], [100, 110, 120, 400, 410, 420, 460]),
    ])
    func `probes have the network examined at once, three times in a row and then once a minute`(
        requests: [Int],
        rounds: [Int]
    ) {
        var schedule = DiagnosisSchedule(at: .zero, interval: nil)
        var began: [Int] = []
        for second in 0..<600 {
            let now = Duration.seconds(second)
            for request in requests where request == second { schedule.probeChanged(isFrugal: false, at: now) }
            guard let next = schedule.next, next <= now else { continue }
            began.append(second)
            schedule.begin(at: now)
            schedule.end(.sound, isFrugal: false, at: now + .milliseconds(500), chance: 0)
        }
        #expect(began == rounds)
    }

    @Test func `a round that is due anyway serves a request that waits for its token`() {
        var schedule = DiagnosisSchedule(at: .zero)
        func request(at second: Int, due: Int) {
            schedule.probeChanged(isFrugal: false, at: .seconds(second))
            #expect(schedule.next == .seconds(due))
            schedule.begin(at: .seconds(due))
            schedule.end(.sound, isFrugal: false, at: .seconds(due), chance: 0)
        }
        schedule.begin(at: .zero)
        schedule.end(.sound, isFrugal: false, at: .seconds(60), chance: 0)
        for second in [100, 110, 120] { request(at: second, due: second) }
        schedule.probeChanged(isFrugal: false, at: .seconds(130))
        schedule.pathChanged(at: .seconds(140))
        #expect(schedule.next == .seconds(140))
        schedule.begin(at: .seconds(140))
        schedule.end(.sound, isFrugal: false, at: .seconds(141), chance: 0)
        #expect(schedule.next == .seconds(201))
        request(at: 150, due: 160)
        // On a path that should be spared a round is a hundred seconds after the one before as well.
        schedule.probeChanged(isFrugal: true, at: .seconds(230))
        #expect(schedule.next == .seconds(220), "the regular round is due before")
        schedule.begin(at: .seconds(230))
        schedule.end(.sound, isFrugal: true, at: .seconds(231), chance: 0)
        schedule.probeChanged(isFrugal: true, at: .seconds(240))
        #expect(schedule.next == .seconds(330))
    }

    @Test func `what happens during a round has it repeated, whatever the round finds`() {
        for finding in [DiagnosisSchedule.Finding.sound, .unsettled, .broken] {
            var schedule = DiagnosisSchedule(at: .zero)
            schedule.begin(at: .seconds(100))
            schedule.pathChanged(at: .seconds(103))
            schedule.end(finding, isFrugal: true, at: .seconds(108), chance: 0)
            #expect(schedule.next == .seconds(108))
            schedule.begin(at: .seconds(108))
            for _ in 0..<5 { schedule.probeChanged(isFrugal: false, at: .seconds(109)) }
            schedule.end(finding, isFrugal: true, at: .seconds(110), chance: 0)
            #expect(schedule.next == .seconds(110))
            schedule.begin(at: .seconds(110))
            schedule.end(.sound, isFrugal: false, at: .seconds(111), chance: 0)
            #expect(schedule.next == .seconds(171), "once only")
        }
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

    @Test func `whoever asks gets a round at once, but not two within a second`() {
        var schedule = DiagnosisSchedule(at: .seconds(100))
        #expect(schedule.runNow(isRunning: false, at: .seconds(100)) == .granted)
        schedule.begin(at: .seconds(100))
        #expect(schedule.runNow(isRunning: true, at: .milliseconds(100_300)) == .running)
        #expect(schedule.runNow(isRunning: true, at: .seconds(105)) == .running)
        schedule.end(.broken, isFrugal: false, at: .milliseconds(100_400), chance: 0)
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
        facts.verdicts = requested?.verdicts ?? []
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

    @Test func `the headline says what was found until it counts no more`() {
        let found = Self.found()
        #expect(Self.headline(nil, at: .seconds(199)) == .connected)
        for now in [Duration.seconds(200), found.end] { #expect(Self.headline(found, at: now) == .online) }
        #expect(Self.headline(found, at: found.end + .milliseconds(1)) == .connected)
        #expect(Self.headline(Self.found([Self.verdict]), at: .seconds(200)) == .noInternet)
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
}
