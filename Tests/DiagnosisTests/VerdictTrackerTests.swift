// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import Testing

@Suite struct VerdictTrackerTests {
    private static let healthy = RuleEvaluator().evaluate(Healthy.evidence)
    private static let noCarrier = Healthy.broken { evidence in
        evidence.links[0].hasCarrier = false
        evidence.loseGateways()
    }
    private static let lostGateway = Healthy.broken { $0.loseGateways() }
    private static let offline = Healthy.broken { $0.cutOff() }
    private static let lossy = Healthy.broken { evidence in
        for place in evidence.performance.anchors.indices { evidence.performance.anchors[place].received = 50 }
    }

    /// The codes that were raised (`+`) and cleared (`-`) at each moment, in seconds.
    private func run(_ rounds: [(Int, Diagnosis)]) -> [[String]] {
        var keeper = VerdictTracker()
        return rounds.map { second, diagnosis in
            keeper.apply(diagnosis, at: .seconds(second)).map { change in
                switch change {
                case .raised(let standing): "+\(standing.verdict.code.rawValue)"
                case .cleared(let standing): "-\(standing.verdict.code.rawValue)"
                }
            }
        }
    }

    @Test func `what the kernel tells is told at once, and taken back at once`() {
        let told = run([(0, Self.healthy), (1, Self.noCarrier), (2, Self.noCarrier), (3, Self.healthy)])
        #expect(told == [[], ["+link.no-carrier"], [], ["-link.no-carrier"]])
    }

    @Test func `a gateway is asked twice, a second apart`() {
        let told = ["+gateway.unresolved"]
        #expect(run([(0, Self.lostGateway), (1, Self.lostGateway)]) == [[], told])
        #expect(run([(0, Self.lostGateway), (0, Self.lostGateway), (1, Self.lostGateway)]) == [[], [], told])
        #expect(run([(0, Self.lostGateway), (1, Self.healthy), (2, Self.healthy)]) == [[], [], []])
    }

    @Test func `the way out is asked twice, five seconds apart, and is good again after two rounds`() {
        let told = run([
            (0, Self.offline), (4, Self.offline), (5, Self.offline), (60, Self.healthy), (61, Self.offline),
            (62, Self.healthy), (63, Self.healthy),
        ])
        #expect(told == [[], [], ["+wan.down"], [], [], [], ["-wan.down"]])
    }

    @Test func `loss must be seen in three of five rounds, for half a minute`() {
        let told = run([
            (0, Self.lossy), (10, Self.healthy), (20, Self.lossy), (30, Self.healthy), (40, Self.lossy),
        ])
        #expect(told == [[], [], [], [], ["+perf.loss"]])
        let short = run([(0, Self.lossy), (10, Self.lossy), (20, Self.lossy), (30, Self.lossy)])
        #expect(short == [[], [], [], ["+perf.loss"]])
        let rare = run([
            (0, Self.lossy), (10, Self.healthy), (20, Self.healthy), (30, Self.healthy), (40, Self.lossy),
            (50, Self.healthy),
        ])
        #expect(rare.flatMap(\.self).isEmpty)
    }

    @Test func `a root cause takes its consequences back`() {
        let told = run([(0, Self.offline), (5, Self.offline), (6, Self.noCarrier), (7, Self.healthy)])
        #expect(told == [[], ["+wan.down"], ["+link.no-carrier", "-wan.down"], ["-link.no-carrier"]])
    }

    @Test func `a layer that cannot be looked at is neither good nor bad`() {
        var blind = Healthy.evidence
        blind.reach = []
        let told = run([
            (0, Self.offline), (5, Self.offline), (6, RuleEvaluator().evaluate(blind)),
            (7, RuleEvaluator().evaluate(blind)),
            (8, Self.healthy), (9, Self.healthy),
        ])
        #expect(told == [[], ["+wan.down"], [], [], [], ["-wan.down"]])
    }

    @Test func `what connections show is over when they do not show it, whatever is tested beside`() {
        func diagnosis(_ traffic: [TrafficEvidence]) -> Diagnosis {
            var evidence = Healthy.evidence
            (evidence.reach, evidence.traffic) = ([], traffic)
            evidence.performance.anchors = []
            (evidence.application.certificates, evidence.application.clockOffset) = ([], .notAsked)
            return RuleEvaluator().evaluate(evidence)
        }
        let found = diagnosis([Healthy.connections(.lossy), Healthy.connections(.stalled, to: "198.51.100.0/24")])
        guard case .notAssessed? = diagnosis([]).state(of: .application) else {
            Issue.record("the layer application was assessed")
            return
        }
        let changes = run([(0, found), (1, found), (2, diagnosis([]))]).map { $0.sorted() }
        #expect(
            changes == [
                ["+traffic.destination-stalled", "+traffic.loss"], [],
                ["-traffic.destination-stalled", "-traffic.loss"],
            ]
        )
    }

    @Test func `a host that answers again is not down any more, also where no certificate was seen`() {
        func diagnosis(isDown: Bool) -> Diagnosis {
            var evidence = Healthy.evidence
            if isDown {
                for index in evidence.reach.indices {
                    evidence.reach[index].anchors[1].echo = .known(false)
                    evidence.reach[index].anchors[1].datagrams = .known(false)
                    for port in evidence.reach[index].anchors[1].ports.keys {
                        evidence.reach[index].anchors[1].ports[port] = .silent
                    }
                }
            }
            (evidence.application.certificates, evidence.application.clockOffset) = ([], .notAsked)
            return RuleEvaluator().evaluate(evidence)
        }
        let (down, up) = (diagnosis(isDown: true), diagnosis(isDown: false))
        let changes = run([(0, down), (5, down), (6, up), (7, up)])
        #expect(changes == [[], ["+target.down"], [], ["-target.down"]])
    }

    @Test func `a cause that is certain takes back what it hides, and one that is not does not`() {
        var blind = Healthy.evidence
        blind.loseGateways()
        blind.reach = []
        let hiding = RuleEvaluator().evaluate(blind)
        #expect(hiding.masked.isEmpty)
        let told = run([(0, Self.offline), (5, Self.offline), (6, hiding), (7, hiding)])
        #expect(told == [[], ["+wan.down"], [], ["+gateway.unresolved", "-wan.down"]])
        let once = run([(0, Self.offline), (5, Self.offline), (6, hiding), (7, Self.healthy), (8, Self.healthy)])
        #expect(once == [[], ["+wan.down"], [], [], ["-wan.down"]])
    }

    private static let damaged = Verdict(
        .linkErrors,
        .warning,
        about: "eth0",
        say: "eth0 received 312 of 4000 frames with errors",
        action: "replace the cable"
    )

    @Test func `what counters show is raised and cleared beside examinations`() {
        var tracker = VerdictTracker()
        #expect(tracker.apply(health: [Self.damaged], at: .seconds(1)).count == 1)
        #expect(tracker.apply(Self.healthy, at: .seconds(2)).isEmpty, "an examination finds nothing out about it")
        var worse = Self.damaged
        worse.say = "eth0 received 400 of 5000 frames with errors"
        #expect(tracker.apply(health: [worse], at: .seconds(61)).isEmpty)
        #expect(tracker.standing.map(\.verdict) == [worse] && tracker.standing.first?.since == .seconds(1))
        _ = tracker.apply(Self.noCarrier, at: .seconds(62))
        #expect(tracker.standing.map(\.verdict.code) == [.linkNoCarrier, .linkErrors])
        #expect(tracker.forgetExaminations().count == 1 && tracker.standing.map(\.verdict) == [worse])
        #expect(tracker.apply(health: [], at: .seconds(121)).count == 1 && tracker.standing.isEmpty)
    }

    @Test func `a cable that damages every hundredth frame explains loss, one of many thousand does not`() {
        for (severity, masks) in [(Severity.degraded, true), (.warning, false)] {
            var evidence = Healthy.evidence
            for place in evidence.performance.anchors.indices { evidence.performance.anchors[place].received = 50 }
            evidence.health = [Self.damaged]
            evidence.health[0].severity = severity
            let diagnosis = RuleEvaluator().evaluate(evidence)
            #expect(diagnosis.verdicts.contains { $0.code == .linkErrors })
            #expect(diagnosis.masked.contains { $0.verdict.code == .performanceLoss } == masks)
        }
    }

    @Test func `a queue or a card that this machine does not serve is its own fault`() {
        for (code, blame) in [
            (VerdictCode.linkOverruns, FaultDomain.host), (.linkQueueDrops, .host), (.linkErrors, .link),
        ] {
            var evidence = Healthy.evidence
            evidence.health = [Verdict(code, .warning, about: "eth0", say: "", action: "")]
            #expect(RuleEvaluator().evaluate(evidence).faultDomain == blame)
        }
    }

    @Test func `what stands is there with its first moment and its last words, worst first`() throws {
        var keeper = VerdictTracker()
        _ = keeper.apply(Self.lossy, at: .seconds(0))
        #expect(keeper.standing.isEmpty)
        for second in [10, 20, 30] { _ = keeper.apply(Self.lossy, at: .seconds(second)) }
        let worse = Healthy.broken { evidence in
            for place in evidence.performance.anchors.indices { evidence.performance.anchors[place].received = 30 }
            evidence.dns = .known([])
        }
        _ = keeper.apply(worse, at: .seconds(40))
        _ = keeper.apply(worse, at: .seconds(50))
        #expect(keeper.standing.map(\.verdict.code) == [.dnsNoConfig, .performanceLoss])
        let loss = try #require(keeper.standing.last)
        #expect(loss.since == .seconds(0) && loss.verdict.say.hasPrefix("50 % "))
    }

    @Test func `two servers are two faults`() {
        var keeper = VerdictTracker()
        func dead(_ numbers: [Int]) -> Diagnosis {
            Healthy.broken { evidence in
                var servers = [Healthy.server, Healthy.second, Healthy.peer].map(Healthy.nameServer)
                for number in numbers {
                    var silent = NameServerEvidence(servers[number].address)
                    silent.ipv4 = .silent
                    servers[number] = silent
                }
                evidence.dns = .known(servers)
            }
        }
        for second in [0, 5] { _ = keeper.apply(dead([0]), at: .seconds(second)) }
        #expect(keeper.standing.map(\.verdict.subject) == ["10.77.0.53"])
        for second in [10, 15] { _ = keeper.apply(dead([0, 1]), at: .seconds(second)) }
        #expect(keeper.standing.map(\.verdict.subject) == ["10.77.0.53", "198.51.100.53"])
    }

    @Test func `a fault of both families takes the place of that of one`() throws {
        var keeper = VerdictTracker()
        let one = Healthy.broken { evidence in
            evidence.gateways[0].hardwareAddresses = .known([])
            evidence.cutOff([.ipv4])
        }
        for second in 0...1 { _ = keeper.apply(one, at: .seconds(second)) }
        #expect(keeper.standing.map(\.verdict.family) == [.ipv4])
        for second in 2...3 { _ = keeper.apply(Self.lostGateway, at: .seconds(second)) }
        #expect(keeper.standing.map(\.verdict.subject) == ["10.77.0.1"])
        #expect(try #require(keeper.standing.first).verdict.family == nil)
    }
}
