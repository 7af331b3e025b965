// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
@testable import PathEngine
import PathModel
import Synchronization
import TestSupport
import Testing

/// What the engine outlives: lost messages, missing ones, sleep, a vanished network, a sandbox.
@Suite(.inNamespace) struct RobustnessTests {
    private let namespace = Namespace.current
    private let peer: Namespace

    init() throws { peer = try Namespace() }

    @Test func `lost messages are told, and everything is read again (S5)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        // Its end of duplicate address detection would be the first sign of a burst.
        try namespace.waitForAddresses(on: "v0", isLinkLocal: true)
        try namespace.ip("route del ::/0 dev v0")
        let subject = try Subject(.usual, bufferSize: 2048)
        await subject.satisfied()
        // The loop does not turn while the commands run, so nobody reads.
        try namespace.ipBatch(
            (1...5000).map { "route add default via 10.1.0.1 dev v0 metric \($0) table 201" }
                + ["route del default dev v0 metric 100", "link add br7 type bridge"]
        )
        #expect(subject.path.status == .satisfied)
        await subject.unsatisfied(.noDefaultRoute)
        let update = try #require(subject.updates.last)
        #expect(update.cause.kind == .resync && update.cause.message == "ENOBUFS")
        #expect(subject.engine.statistics.overruns >= 1)
        #expect(subject.resyncs.count == subject.engine.statistics.overruns)
        #expect(subject.resyncs.first?.addedLinks.count == 1)
        #expect(subject.link("br7") != nil)
        try namespace.ip("route add default via 10.1.0.1 dev v0")
        await subject.satisfied()
        #expect(subject.updates.last?.cause.kind == .route, "\(subject.updates.suffix(2).map(\.cause))")
    }

    @Test func `an audit finds what nobody told, and counts it (S9)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        var settings = EngineSettings.prompt
        settings.auditInterval = .milliseconds(50)
        let subject = try Subject(settings, without: [.link])
        await subject.satisfied()
        try peer.set("v1", isUp: false)
        await subject.unsatisfied(.noCarrier)
        #expect(subject.updates.last?.cause.kind == .audit)
        #expect(subject.updates.last?.cause.source == "timer")
        #expect(subject.engine.silentChanges == 1)
        // A new interval does not forget the count.
        settings.auditInterval = .milliseconds(60)
        subject.engine.apply(settings)
        #expect(subject.engine.silentChanges == 1)
        try peer.set("v1", isUp: true)
        await subject.satisfied()
        #expect(subject.engine.silentChanges >= 2)
    }

    @Test func `audits of a machine on which nothing happens tell nothing (S9)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        var settings = EngineSettings.prompt
        settings.auditInterval = .milliseconds(20)
        let subject = try Subject(settings)
        await subject.loop.eventually("ten audits") { subject.engine.core.evaluations > 10 }
        #expect(subject.updates.count == 1)
        #expect(subject.engine.silentChanges == 0)
    }

    @Test func `without notifications the engine reads by itself (S50)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        var settings = EngineSettings.prompt
        settings.auditInterval = .milliseconds(50)
        let refusal = NetlinkError.noSocket(step: "NETLINK_ADD_MEMBERSHIP link", code: 22)
        let subject = try Subject(settings, refusal: refusal)
        #expect(subject.engine.isPolling)
        await subject.satisfied()
        try peer.set("v1", isUp: false)
        await subject.unsatisfied(.noCarrier)
        #expect(subject.updates.last?.cause.source == "poll")
        #expect(subject.engine.silentChanges == 0, "nobody was silent: nobody was asked to tell")
        #expect(subject.engine.statistics == EventStatistics())
    }

    @Test func `another refusal is an error`() {
        let refusal = NetlinkError.noSocket(step: "socket", code: 97)
        #expect(throws: refusal) { try Subject(refusal: refusal) }
    }

    @Test func `a sleep is noticed at the next sign, and everything is read again (S49)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        let clock = SleepingClock()
        let subject = try Subject(clock: clock, without: [.link, .ipv4Route])
        await subject.satisfied()
        try peer.set("v1", isUp: false)
        clock.sleep(for: .seconds(40))
        try namespace.ip("rule add pref 77 lookup main")
        await subject.unsatisfied(.noCarrier)
        #expect(subject.updates.last?.cause.kind == .resume || subject.updates.dropLast().last?.cause.kind == .resume)
        #expect(subject.resumes.count == 1)
        let slept = try #require(subject.updates.compactMap(\.cause.slept).first)
        #expect(slept == subject.resumes.first)
        #expect(slept > .seconds(39) && slept < .seconds(60))
    }

    @Test func `a manager's word that the machine woke up is enough (S49)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        let subject = try Subject(without: [.link])
        await subject.satisfied()
        try peer.set("v1", isUp: false)
        subject.engine.resume()
        await subject.unsatisfied(.noCarrier)
        #expect(subject.updates.last?.cause.kind == .resume)
        #expect(subject.updates.last?.cause.source == "logind")
        #expect(subject.resumes.isEmpty, "the clocks say nothing of sleep")
    }

    @Test func `when the other namespace goes, the links go, and nothing spins (S48)`() async throws {
        var other: Namespace? = try Namespace()
        if let other { try namespace.uplink("v0", 1, to: other) }
        let subject = try Subject(.usual)
        await subject.satisfied()
        other = nil
        await subject.unsatisfied(.noInterface)
        try await subject.caughtUp()
        #expect(subject.engine.core.evaluations < 20)
        #expect(subject.link("v0") == nil)
        withExtendedLifetime(other) {}
    }

    @Test func `a planned look within a burst does not spin`() async throws {
        try namespace.cable("v0", 1, to: peer)
        try await namespace.acceptAdvertisements(on: "v0", from: "v1", of: peer)
        let subject = try Subject(.usual)
        // The loop goes on meanwhile: it must see the route before it is gone.
        let sender = try peer.advertising(from: "v1", lifetime: 2)
        await subject.satisfied()
        #expect(sender.wait() == 0)
        let before = subject.engine.core.evaluations
        let churn = try RunningCommand([
            "nsenter", "--net=\(namespace.path)", "sh", "-c",
            "for n in $(seq 40); do ip rule add pref 77 lookup main; ip rule del pref 77; done",
        ])
        await subject.unsatisfied(.noDefaultRoute)
        #expect(churn.wait() == 0)
        #expect(subject.engine.core.evaluations - before < 60)
    }

    // MARK: - Gateways

    private static func watching(isStrict: Bool = false) -> EngineSettings {
        var settings = EngineSettings.prompt.with { $0.isGatewayStrict = isStrict }
        settings.gatewayInterval = .milliseconds(100)
        return settings
    }

    private func hasten() throws {
        for family in ["ipv4", "ipv6"] {
            for setting in ["retrans_time_ms=50", "ucast_solicit=1", "mcast_solicit=1"] {
                try namespace.run("sysctl -qw net.\(family).neigh.v0.\(setting)")
            }
        }
    }

    @Test(arguments: [AddressFamily.ipv4, .ipv6])
    func `a gateway that stops answering is a warning, and its return is seen (S52)`(family: AddressFamily) async throws
    {
        try namespace.uplink("v0", 1, to: peer)
        try hasten()
        let gateway = family == .ipv4 ? "10.1.0.1/24" : "2001:db8:1::1/64"
        let subject = try Subject(Self.watching())
        await subject.eventually("both answer") { $0.gateways.map(\.isReachable) == [true, true] }
        try peer.ip("addr del \(gateway) dev v1")
        await subject.eventually("silence") { $0.warnings == [.gatewayUnresolved] }
        #expect(subject.path.status == .satisfied)
        #expect(subject.path.gateways.filter { $0.isReachable == false }.map(\.family) == [family])
        let update = try #require(subject.updates.last { !$0.paths.isEmpty })
        #expect(update.cause.kind == .neighbor && update.cause.message == "RTM_NEWNEIGH")
        let told = update.consequences.contains {
            if case .gatewayReachability(_, isReachable: false) = $0 { true } else { false }
        }
        #expect(told)
        try peer.ip("addr add \(gateway) dev v1 \(family == .ipv6 ? "nodad" : "")")
        await subject.eventually("the answer") {
            $0.warnings.isEmpty && $0.gateways.allSatisfy { $0.isReachable == true }
        }
    }

    @Test func `a gateway whose entry is another program's is probed all the same, its entry left alone (S52)`()
        async throws
    {
        try namespace.uplink("v0", 1, to: peer)
        try hasten()
        let link = try #require(try peer.ip("-br link show v1").split(separator: " ").dropFirst(2).first)
        for (family, gateway) in [("ipv4", "10.1.0.1"), ("ipv6", "2001:db8:1::1")] {
            try namespace.run("sysctl -qw net.\(family).neigh.v0.delay_first_probe_time=1")
            try namespace.ip("neigh replace \(gateway) lladdr \(link) dev v0 nud stale extern_learn")
        }
        let subject = try Subject(Self.watching())
        await subject.eventually("both answer") { $0.gateways.map(\.isReachable) == [true, true] }
        for gateway in ["10.1.0.1", "2001:db8:1::1"] {
            #expect(try namespace.ip("neigh show \(gateway) dev v0").contains(" extern_learn "))
        }
    }

    @Test func `where it counts, silent gateways make the path unsatisfied (S22, S52)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        try hasten()
        try namespace.ip("route del ::/0 dev v0")
        let subject = try Subject(Self.watching(isStrict: true))
        await subject.satisfied()
        try peer.ip("addr del 10.1.0.1/24 dev v1")
        await subject.unsatisfied(.gatewayUnreachable)
        let text = ReasonText(.gatewayUnreachable, subject.path.subject)
        #expect(text.clause == "the IPv4 gateway on v0 does not answer")
        #expect(text.hint == "check the router: `ip neighbor show dev v0`")
        try peer.ip("addr add 10.1.0.1/24 dev v1")
        await subject.satisfied()
    }

    @Test func `watching gateways can be switched on and off at run time (S52)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        try hasten()
        let subject = try Subject()
        #expect(subject.path.gateways.map(\.isReachable) == [nil, nil])
        subject.engine.apply(Self.watching())
        await subject.eventually("both answer") { $0.gateways.map(\.isReachable) == [true, true] }
        subject.engine.apply(.prompt)
        #expect(subject.path.gateways.map(\.isReachable) == [nil, nil])
    }

    @Test(arguments: ["10.1.0.77", "2001:db8:1::77"])
    func `without privilege a packet to nobody makes the kernel look for the gateway (S52)`(
        address: String
    ) async throws {
        try namespace.uplink("v0", 1, to: peer)
        let kernel = try LiveKernel()
        let index = try #require(try kernel.link(named: "v0")).index
        #expect(try kernel.neighbor(.of(address), index: index) == nil)
        try DiscardDatagram.send(to: .of(address), index: index)
        #expect(try kernel.neighbor(.of(address), index: index)?.state == .incomplete)
    }
}

/// The kernel's clock, with sleep that a test makes up.
private final class SleepingClock: TimeSource {
    private let kernel = KernelClock()
    private let asleep = Mutex(Duration.zero)

    var boot: Duration { kernel.boot }
    var awake: Duration { kernel.awake - asleep.withLock { $0 } }
    var wall: WallTime { kernel.wall }

    func sleep(for duration: Duration) { asleep.withLock { $0 += duration } }
}
