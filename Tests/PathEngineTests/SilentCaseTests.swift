// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
@testable import PathEngine
import PathModel
import TestSupport
import Testing

/// Outages that the kernel does not announce as route events (rule S2): each is published, with its reason, in time.
@Suite(.inNamespace) struct SilentCaseTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Only one family has a default, or the other one would hide the outage.
        var family: AddressFamily = .ipv4
        var preparation: [String] = []
        var outage: [String] = []
        var peerOutage: [String] = []
        /// What mends it again.
        var repair: [String] = []
        var peerRepair: [String] = []
        /// Whether the cable has to be laid anew.
        var isCableGone = false
        var reason: UnsatisfiedReason
        var cause: CauseKind
        var message: String
    }

    private static let address = "addr add 10.1.0.2/24 dev v0"
    private static let route = "route replace default via 10.1.0.1 dev v0 metric 100"

    private static let cases = [
        Case(
            testDescription: "carrier lost, IPv4",
            peerOutage: ["link set v1 down"],
            peerRepair: ["link set v1 up"],
            reason: .noCarrier,
            cause: .link,
            message: "RTM_NEWLINK"
        ),
        Case(
            testDescription: "carrier lost, IPv6",
            family: .ipv6,
            peerOutage: ["link set v1 down"],
            peerRepair: ["link set v1 up"],
            reason: .noCarrier,
            cause: .link,
            message: "RTM_NEWLINK"
        ),
        Case(
            testDescription: "link set down, IPv4",
            outage: ["link set v0 down"],
            repair: ["link set v0 up", route],
            reason: .linkDown,
            cause: .link,
            message: "RTM_NEWLINK"
        ),
        Case(
            testDescription: "last IPv4 address deleted",
            outage: ["addr del 10.1.0.2/24 dev v0"],
            repair: [address, route],
            reason: .noAddress,
            cause: .address,
            message: "RTM_DELADDR"
        ),
        Case(
            testDescription: "nexthop object deleted",
            preparation: [
                "nexthop replace id 4 via 10.1.0.1 dev v0", "route replace default nhid 4 metric 100",
            ],
            outage: ["nexthop del id 4"],
            repair: [
                "nexthop replace id 4 via 10.1.0.1 dev v0", "route replace default nhid 4 metric 100",
            ],
            reason: .noDefaultRoute,
            cause: .nexthop,
            message: "RTM_DELNEXTHOP"
        ),
        Case(
            testDescription: "nexthop group deleted",
            preparation: [
                "nexthop replace id 4 via 10.1.0.1 dev v0", "nexthop replace id 9 group 4",
                "route replace default nhid 9 metric 100",
            ],
            outage: ["nexthop del id 9"],
            repair: ["nexthop replace id 9 group 4", "route replace default nhid 9 metric 100"],
            reason: .noDefaultRoute,
            cause: .nexthop,
            message: "RTM_DELNEXTHOP"
        ),
        Case(
            testDescription: "link deleted",
            outage: ["link del v0"],
            repair: [address, route],
            isCableGone: true,
            reason: .noInterface,
            cause: .link,
            // The kernel takes it down first.
            message: "RTM_NEWLINK"
        ),
    ]

    private let namespace = Namespace.current

    @Test(arguments: cases)
    func `an outage is published within 250 ms at the default debounce`(example: Case) async throws {
        let peer = try Namespace()
        // Link-local addresses that become usable seconds later would be the first sign of a burst.
        try namespace.run("sysctl -qw net.ipv6.conf.default.accept_dad=0")
        try namespace.uplink("v0", 1, to: peer)
        if example.family == .ipv4 {
            try namespace.apply(["route del ::/0 dev v0", "-6 addr flush dev v0 scope global"])
        } else {
            try namespace.ip("addr del 10.1.0.2/24 dev v0")
        }
        try namespace.ipBatch(example.preparation)
        let subject = try Subject(.usual)
        await subject.satisfied()
        try await subject.caughtUp()

        var isLate = true
        for attempt in 1...3 {
            let before = subject.changes.count
            let promptness = try Promptness(of: subject, within: .milliseconds(250))
            if !example.outage.isEmpty { try namespace.ipBatch(example.outage) }
            if !example.peerOutage.isEmpty { try peer.ipBatch(example.peerOutage) }
            await subject.unsatisfied(example.reason)
            let update = try #require(subject.updates.last { !$0.paths.isEmpty })
            isLate = promptness.isLate
            #expect(subject.changes.count == before + 1)
            #expect(update.cause.kind == example.cause)
            #expect(update.cause.message == example.message)
            #expect(update.cause.source == "rtnetlink")
            let change = try #require(subject.changes.last)
            #expect(change.previous?.status == .satisfied)
            #expect(change.changed.contains(.status) && change.changed.contains(.unsatisfiedReason))
            // A machine that is busy with other tests may be late once, not thrice.
            if !isLate || attempt == 3 { break }
            if example.isCableGone { try namespace.connect("v0", to: peer, as: "v1") }
            if !example.repair.isEmpty { try namespace.ipBatch(example.repair) }
            if !example.peerRepair.isEmpty { try peer.ipBatch(example.peerRepair) }
            await subject.satisfied()
            try await subject.caughtUp()
        }
        #expect(!isLate)
        #expect(subject.engine.silentChanges == 0)
    }

    @Test func `a router's promise that runs out is noticed within a second, long before the kernel tells`()
        async throws
    {
        let peer = try Namespace()
        try namespace.cable("v0", 1, to: peer)
        try await namespace.acceptAdvertisements(on: "v0", from: "v1", of: peer)
        let subject = try Subject(.usual)
        let sent = subject.loop.clock.boot
        // The loop goes on meanwhile: it must see the route before it is gone.
        let sender = try peer.advertising(from: "v1", lifetime: 3)
        await subject.satisfied()
        #expect(sender.wait() == 0)
        let seen = subject.loop.clock.boot
        var isLate = false
        // The route was there before it was seen, so that it is gone three seconds later at the latest.
        subject.loop.schedule(at: seen + .seconds(4)) { isLate = subject.path.status == .satisfied }
        #expect(subject.path.supportsIPv6 && !subject.path.supportsIPv4)
        await subject.unsatisfied(.noDefaultRoute)
        let update = try #require(subject.updates.last)
        #expect(update.cause.kind == .expiry && update.cause.source == "timer")
        #expect(update.at - sent > .seconds(2))
        #expect(!isLate)
        let warned = subject.changes.contains { $0.current.warnings.contains(.expiring) }
        #expect(warned, "a quarter before the end")
        // The kernel keeps the route for half a minute, and takes it up again without a word.
        try peer.advertise(from: "v1", lifetime: 1800)
        await subject.satisfied()
        #expect(subject.path.warnings.isEmpty)
    }

    @Test func `a replaced default is followed`() async throws {
        let peer = try Namespace()
        try namespace.uplink("v0", 1, to: peer)
        let subject = try Subject()
        try namespace.ip("route replace default via 10.1.0.9 dev v0 metric 100")
        await subject.eventually("the new gateway") { $0.gateways.first?.address.address == .of("10.1.0.9") }
        #expect(subject.changes.count == 1)
        #expect(subject.changes.last?.changed == [.gateways])
        guard case .gatewayChanged(let now?, previous: let old?) = subject.updates.last?.consequences.first else {
            Issue.record("\(subject.updates)")
            return
        }
        #expect(now.address.address == .of("10.1.0.9") && old.address.address == .of("10.1.0.1"))
    }
}
