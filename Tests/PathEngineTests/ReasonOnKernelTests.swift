// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
@testable import PathEngine
import PathModel
import TestSupport
import Testing

/// Every reason of rule S22 on the real kernel, with its sentence and hint.
///
/// What only hardware or a manager could tell (radio switches, a manager that connects) comes from injected facts.
@Suite(.inNamespace) struct ReasonOnKernelTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var reason: UnsatisfiedReason
        /// What is done to an uplink `v0` with a default route, and perhaps `w0`, before the engine starts.
        var commands: [String] = []
        var peerCommands: [String] = []
        /// What is done after the engine has started.
        var later: [String] = []
        var policy = PathPolicy()
        /// Whether there is no uplink to begin with, only the device.
        var isBare = false
        var sentence: String
        var hint: String?

        var testDescription: String { "\(reason)" }
    }

    private static let withoutSixth = ["route del ::/0 dev v0", "-6 addr flush dev v0 scope global"]
    private static let withoutFourth = ["route del default dev v0", "addr del 10.1.0.2/24 dev v0"]
    private static let search = "find it with `ip route show table all` and `ip rule show`, and remove it"

    private static let cases = [
        Case(
            reason: .noInterface,
            commands: ["link del v0"],
            sentence: "there is no network interface",
            hint: "check the driver and `ip link`"
        ),
        Case(
            reason: .linkDown,
            commands: ["link set v0 down"],
            sentence: "v0 is administratively down",
            hint: "`ip link set v0 up`"
        ),
        Case(
            reason: .noCarrier,
            peerCommands: ["link set v1 down"],
            sentence: "v0 has no carrier",
            hint: "check the cable, the switch port or the access point"
        ),
        Case(
            reason: .noAddress,
            policy: PathPolicy(configuringWindow: .zero),
            isBare: true,
            sentence: "v0 has no address",
            hint: "check DHCP and router advertisements: `ip address show dev v0`"
        ),
        Case(
            reason: .noAddress,
            commands: ["link set v0 mtu 1200"],
            policy: PathPolicy(configuringWindow: .zero),
            isBare: true,
            sentence: "v0 has no address, and the MTU of v0, 1200, is too small for IPv6",
            hint: "check DHCP and router advertisements: `ip address show dev v0`; for IPv6 `ip link set v0 mtu 1280`"
        ),
        Case(
            reason: .configuring,
            commands: ["link set v0 down"],
            later: ["link set v0 up"],
            isBare: true,
            sentence: "v0 is up and waiting for an address"
        ),
        Case(
            reason: .noDefaultRoute,
            commands: ["route del default dev v0", "route del ::/0 dev v0"],
            sentence: "no default route",
            hint: "`ip route show default`, then `ip route add default via GATEWAY`"
        ),
        Case(
            reason: .routeUnreachable,
            commands: withoutSixth + ["route add unreachable default metric 50"],
            sentence: "the IPv4 default route is of type unreachable",
            hint: search
        ),
        Case(
            reason: .routeProhibited,
            commands: withoutSixth + ["route add prohibit default metric 50"],
            sentence: "the IPv4 default route or a rule is of type prohibit",
            hint: search
        ),
        Case(
            reason: .routeBlackhole,
            commands: withoutSixth + ["route add blackhole default metric 50"],
            sentence: "the IPv4 default route is a black hole",
            hint: search
        ),
        Case(
            reason: .noSourceAddress,
            commands: withoutSixth + withoutFourth + ["route add ::/0 dev v0"],
            sentence: "v0 has an IPv6 default route but no address to send from",
            hint: "add an address: `ip address add ADDRESS/LENGTH dev v0`"
        ),
        Case(
            reason: .policy,
            policy: PathPolicy(requiresVPN: true),
            sentence: "the configuration requires a VPN",
            hint: "start the VPN"
        ),
    ]

    private let namespace = Namespace.current

    @Test(arguments: cases)
    func `the reason, the sentence and the hint are published`(example: Case) async throws {
        let peer = try Namespace()
        if example.isBare {
            try namespace.cable("v0", 1, to: peer)
        } else {
            try namespace.uplink("v0", 1, to: peer)
        }
        try namespace.apply(example.commands)
        if !example.peerCommands.isEmpty { try peer.ipBatch(example.peerCommands) }
        let subject = try Subject(EngineSettings.prompt.with { $0 = example.policy })
        if !example.later.isEmpty { try namespace.ipBatch(example.later) }
        await subject.unsatisfied(example.reason)
        let text = ReasonText(example.reason, subject.path.subject)
        #expect(text.clause == example.sentence)
        #expect(text.hint == example.hint)
        #expect(subject.path.interfaces.isEmpty || example.reason == .policy)
        #expect(PathSentence.state(of: subject.path, monitor: "default").hasSuffix("unsatisfied: \(example.sentence)"))
        withExtendedLifetime(peer) {}
    }

    @Test func `every reason has a test`() {
        let elsewhere: Set<UnsatisfiedReason> = [
            .dormant, .wifiAuthenticationFailed, .dadPending, .preferredRouteLinkDown, .rfkillWifi, .rfkillWwan,
            .gatewayUnreachable, .blockedByFirewall, .portNotForwarding, .noPeer,
        ]
        let here = Set(Self.cases.map(\.reason))
        #expect(here.isDisjoint(with: elsewhere))
        #expect(here.union(elsewhere) == Set(UnsatisfiedReason.allCases))
    }

    @Test func `a carrier that a program keeps off is told as that`() async throws {
        let peer = try Namespace()
        try namespace.cable("v0", 1, to: peer)
        try namespace.apply([
            "link add link v0 name mv0 type macvlan", "link set mv0 up", "addr add 10.1.0.2/24 dev mv0",
            "route add default via 10.1.0.1 dev mv0",
        ])
        let subject = try Subject()
        await subject.satisfied()
        try namespace.ip("link set mv0 protodown on")
        await subject.unsatisfied(.noCarrier)
        let text = ReasonText(.noCarrier, subject.path.subject)
        #expect(text.clause == "mv0 is held down by a program (protodown)")
        #expect(text.hint == "`ip -d link show mv0` shows why, `ip link set mv0 protodown off` clears it")
        try namespace.ip("link set mv0 protodown off")
        await subject.satisfied()
    }

    @Test(arguments: ["mtu", "sysctl"])
    func `why names what keeps IPv6 from an interface`(cause: String) throws {
        let peer = try Namespace()
        try namespace.uplink("v0", 1, to: peer)
        if cause == "mtu" {
            try namespace.ip("link set v0 mtu 1279")
        } else {
            try namespace.run("sysctl -qw net.ipv6.conf.v0.disable_ipv6=1")
        }
        let kernel = try LiveKernel()
        let facts = try ExplanationReader.facts(
            of: kernel,
            policy: PathPolicy(),
            dns: DNSConfiguration(),
            uid: 0,
            at: KernelClock().boot
        )
        let explanation = try #require(Explainer(facts, table: KernelTable(kernel)).explainInternet(.ipv6))
        let expected =
            cause == "mtu"
            ? ("the MTU of v0, 1279, is too small for IPv6", "`ip link set v0 mtu 1280`")
            : ("IPv6 is disabled on v0", "`sysctl net.ipv6.conf.v0.disable_ipv6=0`")
        #expect(explanation.broken?.fault == "no IPv6 default route, and \(expected.0)")
        #expect(explanation.broken?.hint == expected.1)
        withExtendedLifetime(peer) {}
    }

    @Test func `a router that is being resolved is known, and not every neighbour that is (S52)`() throws {
        let peer = try Namespace()
        try namespace.uplink("v0", 1, to: peer)
        func isResolving() throws -> Bool {
            try ExplanationReader.facts(
                of: try LiveKernel(),
                policy: PathPolicy(),
                dns: DNSConfiguration(),
                uid: 0,
                at: KernelClock().boot
            ).isResolvingRouter
        }
        try namespace.ip("neigh replace 10.1.0.7 dev v0 nud incomplete")
        #expect(try !isResolving())
        try namespace.ip("neigh replace 10.1.0.1 dev v0 nud incomplete")
        #expect(try isResolving())
        try namespace.ip("neigh replace 10.1.0.1 dev v0 nud failed")
        #expect(try !isResolving())
        // Tables count that a rule may lead to.
        try namespace.ip("route add default via 10.1.0.8 dev v0 table 100")
        try namespace.ip("neigh replace 10.1.0.8 dev v0 nud incomplete")
        #expect(try !isResolving())
        for (rule, counts) in [
            ("fwmark 7", false), ("from 10.3.0.3", false), ("from 10.1.0.2", true), ("uidrange 0-0", true),
        ] {
            try namespace.ip("rule add \(rule) lookup 100")
            #expect(try isResolving() == counts, "\(rule)")
            try namespace.ip("rule del \(rule) lookup 100")
        }
        withExtendedLifetime(peer) {}
    }

    @Test func `a link that waits for a supplicant carries packets, and is dormant without an address`() async throws {
        let peer = try Namespace()
        try namespace.uplink("v0", 1, to: peer)
        let subject = try Subject()
        await subject.satisfied()
        try namespace.ip("link set v0 mode dormant")
        try peer.set("v1", isUp: false)
        await subject.unsatisfied(.noCarrier)
        try peer.set("v1", isUp: true)
        await subject.eventually("a warning") { $0.status == .satisfied && $0.warnings == [.waitsForAuthentication] }
        try namespace.run("ping -c 1 -W 5 10.1.0.1")
        try namespace.ip("addr flush dev v0")
        await subject.unsatisfied(.dormant)
        let text = ReasonText(.dormant, subject.path.subject)
        #expect(text.clause == "v0 is waiting for authentication")
        #expect(text.hint?.contains("802.1X") == true)
        try namespace.ip("link set v0 state up")
        await subject.unsatisfied(.configuring)
    }

    @Test func `an address that is still checked for duplicates is waited for, with nothing to do`() async throws {
        let peer = try Namespace()
        try namespace.cable("v0", 1, to: peer)
        // Long enough that nobody who is held up misses it.
        try namespace.run("sysctl -qw net.ipv6.conf.v0.dad_transmits=4")
        let subject = try Subject()
        try namespace.ipBatch(["addr add 2001:db8:1::2/64 dev v0", "route add ::/0 via 2001:db8:1::1 dev v0"])
        await subject.unsatisfied(.dadPending)
        let text = ReasonText(.dadPending, subject.path.subject)
        #expect(text.clause == "v0 is checking its address for duplicates")
        #expect(text.hint == nil)
        await subject.satisfied()
        #expect(subject.path.ipv6?.source == .of("2001:db8:1::2"))
        #expect(!subject.changes.contains { $0.current.status == .satisfied && $0.current.ipv6 == nil })
    }

    @Test func `a router behind Ethernet without ARP is out of reach until somebody makes an entry`() async throws {
        let peer = try Namespace()
        try namespace.cable("v0", 1, to: peer)
        let subject = try Subject()
        try namespace.ipBatch(["addr add 192.0.2.2/24 dev v0", "route add default via 192.0.2.1"])
        await subject.satisfied()
        try namespace.ip("link set v0 arp off")
        await subject.unsatisfied(.gatewayUnreachable)
        let text = ReasonText(.gatewayUnreachable, subject.path.subject)
        #expect(
            text.clause
                == "ARP is off on v0, so that packets do not carry the hardware address of the IPv4 gateway"
        )
        try namespace.ip("neigh replace 192.0.2.1 dev v0 lladdr 02:00:00:00:00:07 nud permanent")
        await subject.satisfied()
        withExtendedLifetime(peer) {}
    }

    @Test func `an address that somebody else has never satisfies`() async throws {
        let peer = try Namespace()
        try namespace.cable("v0", 1, to: peer)
        try peer.ip("addr add 2001:db8:1::2/64 dev v1 nodad")
        let subject = try Subject()
        try namespace.ipBatch(["addr add 2001:db8:1::2/64 dev v0", "route add ::/0 via 2001:db8:1::1 dev v0"])
        await subject.loop.eventually("the duplicate") {
            subject.engine.core.state.addresses.values.joined().contains { $0.value.flags.contains(.duplicateDetected) }
        }
        try await subject.caughtUp()
        #expect(subject.path.status == .unsatisfied)
        #expect(!subject.changes.contains { $0.current.status == .satisfied })
    }

    @Test func `the kernel prefers a dead link, and the setting that mends it is named`() async throws {
        let peer = try Namespace()
        try namespace.uplink("v0", 1, to: peer, metric: 100)
        try namespace.uplink("w0", 2, to: peer, metric: 600)
        try namespace.run("sysctl -qw net.ipv6.conf.all.ignore_routes_with_linkdown=0")
        try namespace.ipBatch(["route del ::/0 dev v0", "route del ::/0 dev w0"])
        let subject = try Subject()
        await subject.satisfied()
        #expect(subject.path.interfaces.map(\.name) == ["v0", "w0"])
        try peer.set("v1", isUp: false)
        await subject.unsatisfied(.preferredRouteLinkDown)
        let text = ReasonText(.preferredRouteLinkDown, subject.path.subject)
        #expect(
            text.clause == "the kernel prefers the IPv4 default route via v0, which is down, over the one via w0"
        )
        #expect(text.hint?.contains("net.ipv4.conf.all.ignore_routes_with_linkdown=1") == true)
        // Doing as told mends it, and the kernel's setting is heard without a route event.
        try namespace.run("sysctl -qw net.ipv4.conf.all.ignore_routes_with_linkdown=1")
        await subject.satisfied()
        #expect(subject.path.interfaces.map(\.name) == ["w0"])
        #expect(subject.updates.last?.cause.kind == .settings)
    }

    @Test func `a radio switch explains a machine that has nothing but the radio`() async throws {
        let peer = try Namespace()
        try namespace.uplink("v0", 1, to: peer)
        try namespace.set("v0", isUp: false)
        let index = try #require(try LiveKernel().link(named: "v0")).index
        let wifi = ProviderFacts(
            wireless: [index: WirelessFacts(mode: 2)],
            radios: RadioFacts(isWifiBlocked: true, hasWifi: true)
        )
        let subject = try Subject(facts: wifi)
        await subject.unsatisfied(.rfkillWifi)
        #expect(ReasonText(.rfkillWifi).clause == "Wi-Fi is disabled by rfkill")
        let modem = ProviderFacts(
            cellular: [index: CellularFacts()],
            radios: RadioFacts(isWwanBlocked: true, hasWwan: true)
        )
        subject.engine.apply(modem, from: "ModemManager")
        #expect(subject.path.reason == .rfkillWwan)
        #expect(ReasonText(.rfkillWwan).hint == "`rfkill unblock wwan`")
        #expect(
            subject.updates.last?.cause
                == EngineCause(
                    .policy,
                    source: "ModemManager",
                    received: subject.updates.last?.cause.received ?? WallTime(nanoseconds: 0)
                )
        )
    }

    @Test func `a manager that is connecting makes it a matter of waiting, not of failing`() async throws {
        let subject = try Subject()
        #expect(subject.path.status == .unsatisfied)
        subject.engine.apply(ProviderFacts(isConnecting: true), from: "NetworkManager")
        #expect(subject.path.status == .requiresConnection)
        subject.engine.apply(ProviderFacts(), from: "NetworkManager")
        #expect(subject.path.status == .unsatisfied)
    }
}
