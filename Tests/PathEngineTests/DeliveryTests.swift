// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import Netlink
@testable import PathEngine
import PathModel
import TestSupport
import Testing

/// What is told, and above all what is not: bursts, churn, refreshes and containers.
@Suite(.inNamespace) struct DeliveryTests {
    private let namespace = Namespace.current
    private let peer: Namespace

    init() throws { peer = try Namespace() }

    @Test func `without debounce every batch is evaluated at once (S42)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        let subject = try Subject()
        #expect(subject.updates.count == 1 && subject.updates.first?.isFirst == true)
        #expect(subject.updates.first?.cause.kind == .initial)
        #expect(subject.updates.first?.changes == [])
        try namespace.ip("route del default dev v0")
        await subject.eventually("no IPv4") { !$0.supportsIPv4 }
        let update = try #require(subject.updates.last)
        #expect(update.cause.kind == .route && update.cause.message == "RTM_DELROUTE")
        #expect(update.evaluation > .zero)
        #expect(update.paths.first?.change.previousDuration ?? .zero > .zero)
        #expect(!subject.engine.core.isPending)
    }

    @Test func `a default that is removed and added again at once is no event (S42)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        let subject = try Subject(.usual)
        for _ in 1...5 {
            try namespace.ipBatch([
                "route del default dev v0 metric 100", "route add default via 10.1.0.1 dev v0 metric 100",
            ])
        }
        try await subject.caughtUp()
        #expect(subject.updates.count == 1)
        try namespace.ip("route del default dev v0 metric 100")
        await subject.eventually("no IPv4") { !$0.supportsIPv4 }
        #expect(subject.changes.count == 1)
    }

    @Test func `churn that never ends is told once a second, and right at its end (S42)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        let quiet = Duration.milliseconds(800)
        let subject = try Subject(EngineSettings(quiet: quiet, auditInterval: .zero))
        let churn = try RunningCommand([
            "nsenter", "--net=\(namespace.path)", "python3", "-c",
            """
            import subprocess, time
            ip, end, n = subprocess.Popen(["ip", "-batch", "-"], stdin=subprocess.PIPE), time.monotonic() + 3, 0
            while time.monotonic() < end:
                n += 1
                ip.stdin.write(b"route replace default via 10.1.0.%d dev v0 metric 100\\n" % (n % 100 + 100))
                ip.stdin.flush()
                time.sleep(0.01)
            ip.stdin.write(b"route replace default via 10.1.0.77 dev v0 metric 100\\n")
            ip.stdin.close()
            ip.wait()
            """,
        ])
        await subject.eventually("the end state", within: .seconds(60)) {
            $0.ipv4?.gateways.first?.address.address == .of("10.1.0.77")
        }
        #expect(churn.wait() == 0)
        #expect(subject.changes.count >= 2)
        // A busy machine may interrupt the churn for as long as the quiet time, but each change waits for that at least,
        // except where a new gateway's neighbour entry is read.
        let waited = subject.updates.filter { !$0.isFirst && !$0.paths.isEmpty && $0.cause.kind != .expiry }
        let times = waited.map(\.at)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= quiet }, "\(times)")
        #expect(subject.engine.statistics.overruns == 0)
    }

    @Test func `five equal router advertisements are no event after the first (S27)`() async throws {
        try namespace.cable("v0", 1, to: peer)
        try await namespace.acceptAdvertisements(on: "v0", from: "v1", of: peer)
        let subject = try Subject()
        try peer.advertise(from: "v1", lifetime: 1800)
        await subject.satisfied()
        try await subject.caughtUp()
        let before = subject.updates.count
        let heard = subject.engine.statistics.messages[.ipv6Address, default: 0]
        for _ in 1...5 { try peer.advertise(from: "v1", lifetime: 1800) }
        await subject.loop.eventually("the kernel's refreshes") {
            subject.engine.statistics.messages[.ipv6Address, default: 0] >= heard + 5
        }
        try await subject.caughtUp()
        #expect(subject.updates.count == before)
        #expect(subject.path.gateways.first?.address.scope == "v0", "a link-local router has a scope (S34)")
    }

    @Test func `containers that come and go are no path events (S15)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        try namespace.ipBatch([
            "link add docker0 type bridge", "addr add 172.17.0.1/16 dev docker0", "link set docker0 up",
        ])
        let subject = try Subject()
        let links = subject.engine.core.state.links
        let cycles = unsafe getenv("NWPATH_TEST_LONG") == nil ? 200 : 1000
        for start in stride(from: 0, to: cycles, by: 50) {
            try namespace.ipBatch(
                (start..<start + 50).flatMap { number in
                    [
                        "link add c\(number) type veth peer name e\(number) netns \(peer.path)",
                        "link set c\(number) master docker0", "link set c\(number) up", "link del c\(number)",
                    ]
                }
            )
            try await subject.caughtUp()
        }
        #expect(subject.updates.allSatisfy { $0.isFirst || $0.paths.isEmpty })
        #expect(subject.changes.isEmpty)
        #expect(Set(subject.engine.core.state.links.keys) == Set(links.keys))
        #expect(subject.path.interfaces.map(\.name) == ["v0"])
        let told = subject.updates.flatMap(\.changes).contains {
            if case .interfaceAdded(let view) = $0 { view.name.hasPrefix("c") } else { false }
        }
        #expect(!told, "ports of a bridge are not told either")
    }

    @Test func `recovery may be held back, loss is not (S43)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        var settings = EngineSettings.prompt
        settings.recoveryHold = .milliseconds(300)
        let subject = try Subject(settings)
        try peer.set("v1", isUp: false)
        await subject.unsatisfied(.noCarrier)
        let lost = try #require(subject.updates.last).at
        try peer.set("v1", isUp: true)
        await subject.satisfied()
        let update = try #require(subject.updates.last { !$0.paths.isEmpty })
        #expect(update.at - lost >= .milliseconds(300))
        #expect(subject.changes.count == 2)
    }

    @Test func `flapping is folded, and its end is told (S43)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        let subject = try Subject()
        for _ in 1...5 {
            try peer.set("v1", isUp: false)
            await subject.unsatisfied(.noCarrier)
            try peer.set("v1", isUp: true)
            await subject.satisfied()
        }
        let actions = subject.updates.flatMap(\.paths).map(\.flapping)
        #expect(actions.contains(.start(changes: 8)))
        #expect(actions.last == .suppress)
        #expect(subject.engine.core.nextCheck != nil, "the end of it is planned")
    }

    @Test func `new settings keep the history of monitors that stay`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        let views = [MonitorPolicy(name: "a", mark: 1), MonitorPolicy(name: "b", mark: 2)]
        let subject = try Subject(EngineSettings.prompt.with { $0.monitors = views })
        try peer.set("v1", isUp: false)
        await subject.unsatisfied(.noCarrier)
        let since = try #require(subject.engine.core.monitor(named: "a")).tracker.statusSince
        let settings = EngineSettings.prompt.with { $0.monitors = [views[0], MonitorPolicy(name: "c", mark: 3)] }
        subject.engine.apply(settings)
        #expect(subject.engine.core.monitors.map(\.policy.name) == ["default", "a", "c"])
        #expect(subject.engine.core.monitor(named: "a")?.tracker.statusSince == since)
        let update = try #require(subject.updates.last)
        #expect(update.cause.kind == .policy && update.cause.source == "configuration")
        #expect(update.paths.map(\.monitor) == ["c"])
        #expect(update.paths.first?.change.previous == nil)
        #expect(subject.path(of: "b") == nil)
    }
}
