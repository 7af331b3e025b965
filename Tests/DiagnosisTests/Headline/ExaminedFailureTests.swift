// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import PathModel
import Testing

@testable import Diagnosis

/// What failing tests say while an examination of them is to come, and after it.
@Suite struct ExaminedFailureTests {
    private static let eth0 = PathInterface(name: "eth0", index: 2, type: .wiredEthernet)

    /// The only name server fails since 280 s, last at 294 s; it is 299 s.
    private static func headline(
        examination: ExaminationSummary? = nil,
        lastStart: Int = 294,
        _ change: (inout HeadlineFacts) -> Void = { _ in }
    ) -> Headline {
        let gateway = Gateway(address: ScopedAddress(.v4(0xC000_0201)), interface: "eth0", family: .ipv4)
        let path = Path(
            status: .satisfied,
            reason: nil,
            interfaces: [eth0],
            ipv4: FamilyPath(interfaces: [eth0], gateways: [gateway], source: .v4(0xC000_0207)),
            dns: DNSState(servers: [DNSServer(ScopedAddress(.v4(0xC633_6435)))], isUsable: true)
        )
        var facts = HeadlineFacts(host: "office-7", path: path, statusSince: .seconds(100), now: .seconds(299))
        facts.examinesFailures = true
        facts.examination = examination
        facts.probes = ["one"].map {
            ProbeObservation(
                $0,
                .nameServer,
                family: .ipv4,
                isFailing: true,
                failingSince: .seconds(280),
                lastStart: .seconds(lastStart),
                failure: "timeout"
            )
        }
        change(&facts)
        return HeadlineEvaluator(facts).headline
    }

    private static func examination(
        at start: Int,
        internet: Bool = false,
        names: Bool = false,
        isSilent: Bool = false
    ) -> ExaminationSummary {
        ExaminationSummary(
            started: .seconds(start),
            ended: .seconds(start + 5),
            validity: .seconds(40),
            reachedInternet: internet,
            reachedDNS: names,
            isSilent: isSilent
        )
    }

    @Test func `name servers alone are at fault once an examination has begun after their failure, or does not come`() {
        #expect(Self.headline().state == .checking)
        #expect(Self.headline(examination: Self.examination(at: 240)).state == .checking, "it was before")
        #expect(Self.headline(examination: Self.examination(at: 288)).state == .dnsBroken)
        #expect(Self.headline(examination: Self.examination(at: 290)).state == .checking, "not tested after that")
        #expect(Self.headline { $0.examinesFailures = false }.state == .dnsBroken)
        #expect(Self.headline { $0.now = .seconds(301) }.state == .dnsBroken, "it was waited for long enough")
    }

    @Test func `where an examination got no answer either the Internet is lost, at once`() {
        let lost = Self.headline(examination: Self.examination(at: 290, isSilent: true))
        #expect(lost.state == .noInternet && lost.began == .seconds(280))
        #expect(Self.headline(examination: Self.examination(at: 270, isSilent: true)).state == .checking)
    }

    @Test func `what an examination contradicts is tested again before it is reported`() {
        let answered = Self.examination(at: 290, internet: true)
        #expect(Self.headline(examination: answered, lastStart: 294).state == .checking)
        #expect(Self.headline(examination: answered, lastStart: 295).state == .dnsBroken)
        let named = Self.examination(at: 293, internet: true, names: true)
        #expect(Self.headline(examination: named, lastStart: 292).state == .checking)
    }

    @Test func `an examination without an answer voids older proof for good`() {
        func state(answered: Int, ended: Int) -> Headline.State {
            Self.headline(examination: Self.examination(at: ended - 5, isSilent: true)) {
                $0.probes = [ProbeObservation("far", .beyond, answered: .seconds(answered), validity: .seconds(600))]
            }.state
        }
        #expect(state(answered: 210, ended: 220) != .online, "its validity has ended")
        #expect(state(answered: 221, ended: 220) == .online)
    }
}
