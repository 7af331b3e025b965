// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import Netlink
@testable import PathEngine
import PathModel
import TestSupport
import Testing

/// Rules S12 to S14 and S19 on links of the running kernel.
@Suite(.inNamespace) struct LinkUsabilityOnKernelTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var link: String
        /// Beside `v0`, which is up and joined to the peer's `v1`.
        var commands: [String] = []
        var peerCommands: [String] = []
        var unusableReason: UnusableReason?
    }

    private static let rows = [
        Row(testDescription: "cable with both ends up", link: "v0"),
        Row(
            testDescription: "cable taken down here",
            link: "v0",
            commands: ["link set v0 down"],
            unusableReason: .linkDown
        ),
        Row(
            testDescription: "cable taken down there",
            link: "v0",
            peerCommands: ["link set v1 down"],
            unusableReason: .noCarrier
        ),
        Row(testDescription: "loopback", link: "lo"),
        Row(
            testDescription: "loopback taken down",
            link: "lo",
            commands: ["link set lo down"],
            unusableReason: .linkDown
        ),
        Row(
            testDescription: "bridge that never had a port, whose state is unknown",
            link: "br0",
            commands: ["link add br0 type bridge", "link set br0 up"]
        ),
        Row(
            testDescription: "bridge with a port that works",
            link: "br0",
            commands: ["link add br0 type bridge", "link set v0 master br0", "link set br0 up"]
        ),
        Row(
            testDescription: "bridge whose port has no carrier",
            link: "br0",
            commands: ["link add br0 type bridge", "link set v0 master br0", "link set br0 up"],
            peerCommands: ["link set v1 down"],
            unusableReason: .noCarrier
        ),
        Row(
            testDescription: "bridge that lost its only port",
            link: "br0",
            commands: [
                "link add br0 type bridge", "link set v0 master br0", "link set br0 up", "link set v0 nomaster",
            ],
            unusableReason: .noCarrier
        ),
        Row(
            testDescription: "macvlan over a cable without carrier",
            link: "m0",
            commands: ["link add link v0 name m0 type macvlan mode bridge", "link set m0 up"],
            peerCommands: ["link set v1 down"],
            unusableReason: .lowerLayerDown
        ),
        Row(
            testDescription: "macvlan over a cable that works",
            link: "m0",
            commands: ["link add link v0 name m0 type macvlan mode bridge", "link set m0 up"]
        ),
        Row(
            testDescription: "VXLAN, whose state is unknown",
            link: "x0",
            commands: ["link add x0 type vxlan id 5 dstport 4789 dev v0", "link set x0 up"]
        ),
        Row(testDescription: "ifb", link: "i0", commands: ["link add i0 type ifb", "link set i0 up"]),
        Row(
            testDescription: "tun to which nobody is attached",
            link: "t0",
            commands: ["tuntap add dev t0 mode tun", "link set t0 up"],
            unusableReason: .noCarrier
        ),
    ]

    private let namespace = Namespace.current

    @Test(arguments: rows)
    func `a link works exactly when packets get through (S12)`(row: Row) async throws {
        let peer = try Namespace()
        try namespace.cable("v0", 1, to: peer)
        let subject = try Subject()
        if !row.commands.isEmpty { try namespace.ipBatch(row.commands) }
        if !row.peerCommands.isEmpty { try peer.ipBatch(row.peerCommands) }
        await subject.loop.eventually("\(String(describing: row.unusableReason))") {
            subject.link(row.link).map { $0.unusableReason == row.unusableReason } ?? false
        }
        // What events told is what a reading says.
        let read = try LiveKernel().link(named: row.link)
        #expect(read?.unusableReason == row.unusableReason)
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: ["tun", "tap"])
    func `a tunnel works while a program is attached and says so (S13)`(mode: String) async throws {
        try namespace.ipBatch([
            "tuntap add dev t0 mode \(mode)", "link set t0 up", "addr add 10.8.0.2/24 dev t0",
            "route add default dev t0",
        ])
        let subject = try Subject()
        #expect(subject.path.status == .unsatisfied && subject.path.reason == .noCarrier)
        let program = try RunningCommand([
            "nsenter", "--net=\(namespace.path)", "python3", "-c", Self.attachment, mode,
        ])
        await subject.satisfied()
        #expect(subject.path.interfaces.map(\.type) == [.other])
        #expect(subject.path.gateways.isEmpty, "nobody routes on a point-to-point link (S34)")
        program.signal(10)
        await subject.unsatisfied(.noCarrier)
        program.signal(12)
        await subject.satisfied()
        program.signal(9)
        await subject.unsatisfied(.noCarrier)
        #expect(program.wait() == 128 + 9)
    }

    /// Attaches to t0; SIGUSR1 takes its carrier away (TUNSETCARRIER), SIGUSR2 gives it back.
    private static let attachment = """
        import fcntl, os, signal, struct, sys
        tun = os.open("/dev/net/tun", os.O_RDWR)
        def carrier(on): fcntl.ioctl(tun, 0x400454e2, struct.pack("i", on))
        # Before the device is there, by which the test knows that the program takes signals.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGUSR2])
        fcntl.ioctl(tun, 0x400454ca, struct.pack("16sH", b"t0", (1 if sys.argv[1] == "tun" else 2) | 0x1000))
        while True: carrier(signal.sigwait([signal.SIGUSR1, signal.SIGUSR2]) == signal.SIGUSR2)
        """

    @Test func `a bridge is as good as the port behind which the gateway is (S15)`() async throws {
        let peer = try Namespace()
        let guest = try Namespace()
        try namespace.cable("p0", 1, to: peer)
        try namespace.cable("q0", 2, to: peer)
        try namespace.connect("c0", to: guest, as: "g0")
        try guest.set("g0", isUp: true)
        // Else it answers for its address on every cable.
        try peer.run("sysctl -qw net.ipv4.conf.all.arp_ignore=1")
        try peer.ipBatch(["link set v1 address 02:00:00:00:00:09", "addr add 10.1.0.1/24 dev v1", "link set v1 up"])
        try namespace.ipBatch([
            "link add br0 type bridge", "link set p0 master br0", "link set q0 master br0", "link set c0 master br0",
            "link set p0 up", "link set q0 up", "link set c0 up", "link set br0 up", "addr add 10.1.0.2/24 dev br0",
            "route add default via 10.1.0.1 dev br0",
        ])
        let subject = try Subject()
        await subject.satisfied()
        // Nothing was sent: where the gateway is, is learnt while the engine runs.
        try namespace.run("ping -c1 -W5 10.1.0.1")
        await subject.eventually("the port of the gateway") { _ in
            subject.engine.core.state.unreadNeighbors.isEmpty
                && subject.engine.core.state.bridgedAddresses == [[2, 0, 0, 0, 0, 9]]
        }
        try guest.set("g0", isUp: false)
        await subject.eventually("the guest is off") { _ in
            subject.engine.core.interfaces.contains { $0.name == "c0" && !$0.hasCarrier }
        }
        #expect(subject.path.status == .satisfied)
        try guest.set("g0", isUp: true)
        try peer.set("v1", isUp: false)
        await subject.unsatisfied(.noCarrier)
        #expect(subject.path.subject?.interface == "p0" && subject.path.subject?.obstacle == .lower(of: "br0"))
        #expect(ReasonText(.noCarrier, subject.path.subject).clause == "br0 runs over p0, which has no carrier")
        try peer.set("v1", isUp: true)
        await subject.satisfied()
        try peer.set("v1", isUp: false)
        await subject.unsatisfied(.noCarrier)
        // The router is plugged in elsewhere, and says something.
        try peer.ipBatch([
            "addr flush dev v1", "link set v2 address 02:00:00:00:00:09", "addr add 10.1.0.1/24 dev v2",
            "link set v2 up",
        ])
        try peer.run("ping -c1 -W5 10.1.0.2")
        await subject.satisfied()
    }

    @Test func `a bridge is down with its port, though the kernel tells a second later (S14)`() async throws {
        let peer = try Namespace()
        try namespace.cable("p0", 1, to: peer)
        try namespace.ipBatch([
            "link add br0 type bridge", "link set p0 master br0", "link set br0 up", "addr add 10.1.0.2/24 dev br0",
            "route add default via 10.1.0.1 dev br0",
        ])
        let subject = try Subject()
        await subject.satisfied()
        #expect(subject.path.interfaces.map(\.name) == ["br0"])
        #expect(subject.path.interfaces.map(\.type) == [.wiredEthernet], "the type of its port (S11)")
        var isLate = true
        for _ in 1...3 where isLate {
            let promptness = try Promptness(of: subject, within: .milliseconds(50))
            try peer.set("v1", isUp: false)
            await subject.unsatisfied(.noCarrier)
            isLate = promptness.isLate
            try peer.set("v1", isUp: true)
            await subject.satisfied()
        }
        #expect(!isLate)
    }

    @Test func `a port that leaves its bridge stays in the model (S7)`() async throws {
        let peer = try Namespace()
        try namespace.cable("p0", 1, to: peer)
        try namespace.ipBatch(["link add br0 type bridge", "link set p0 master br0", "link set br0 up"])
        let subject = try Subject()
        try namespace.ip("link set p0 nomaster")
        await subject.loop.eventually("the port alone") { subject.link("p0").map { $0.master == nil } ?? false }
        try await subject.caughtUp()
        #expect(subject.link("p0") != nil)
        #expect(
            subject.updates.allSatisfy { update in
                !update.changes.contains {
                    if case .interfaceRemoved(let view) = $0 { view.name == "p0" } else { false }
                }
            }
        )
        withExtendedLifetime(peer) {}
    }

    @Test func `alternative names are heard of and ask for their interface (S19)`() async throws {
        let peer = try Namespace()
        try namespace.uplink("v0", 1, to: peer)
        let long = "enxlongaltname00155d010203"
        var settings = EngineSettings.prompt
        settings.policy.monitors.append(MonitorPolicy(name: "bound", outputInterface: long))
        let subject = try Subject(settings)
        #expect(subject.path(of: "bound")?.reason == .noInterface)
        try namespace.ip("link property add dev v0 altname \(long)")
        await subject.eventually("the bound monitor") { _ in subject.path(of: "bound")?.status == .satisfied }
        #expect(subject.link(long)?.name == "v0")
        try namespace.ip("link property del dev v0 altname \(long)")
        await subject.eventually("the bound monitor's end") { _ in subject.path(of: "bound")?.reason == .noInterface }
        let changes = subject.updates.flatMap(\.changes).filter {
            if case .interfaceChanged(_, let changed, _) = $0 { changed == [.alternativeNames] } else { false }
        }
        #expect(changes.count == 2)
        withExtendedLifetime(peer) {}
    }

    @Test func `a rename keeps the interface, and a new link of the old name is another one (S19)`() async throws {
        let peer = try Namespace()
        try namespace.uplink("v0", 1, to: peer)
        let subject = try Subject()
        let index = try #require(subject.path.interfaces.first).index
        try namespace.ip("link set v0 name up0")
        await subject.eventually("the new name") { $0.interfaces.map(\.name) == ["up0"] }
        #expect(subject.path.status == .satisfied)
        #expect(subject.path.interfaces.first?.index == index)
        let renames = subject.updates.flatMap(\.changes).filter {
            if case .interfaceChanged(let view, let changed, _) = $0 {
                view.index == index && changed == [.name]
            } else {
                false
            }
        }
        #expect(renames.count == 1)
        try namespace.ip("link del up0")
        await subject.unsatisfied(.noInterface)
        try namespace.uplink("up0", 3, to: peer)
        await subject.eventually("both families") { $0.supportsIPv4 && $0.supportsIPv6 }
        #expect(try #require(subject.path.interfaces.first).index != index)
    }
}
