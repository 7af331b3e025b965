// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// A fault of a real network: commands for this namespace, and for the other end of its cable.
struct Fault: Sendable, CustomTestStringConvertible {
    let name: String
    var here: [String] = []
    var there: [String] = []
    /// What the first line begins with.
    let verdict: String
    /// How the line of the broken element begins; flags and operational states follow a fault a little later.
    let line: String

    var testDescription: String { name }
}

@Suite(.inNamespace) struct BrokenOnKernelTests {
    private let namespace = Namespace.current
    private var why: WhyProgram { WhyProgram(namespace: namespace) }

    @Test func `a router that packets are sent to all the time, and that does not answer, has failed (S52)`()
        async throws
    {
        let peer = try namespace.uplink()
        try peer.ip("addr del 192.0.2.1/24 dev p0")
        // A datagram every 20 ms leaves no time in which the entry is seen as FAILED.
        let sender = try RunningCommand(["nsenter", "--net=\(namespace.path)", "python3", "-c", Self.sender])
        await namespace.loop.eventually("an entry") {
            (try? namespace.ip("neigh show 192.0.2.1"))?.contains("INCOMPLETE") == true
        }
        let run = try why.run()
        #expect(run.firstLine.hasPrefix("Broken at neighbour: the IPv4 gateway 192.0.2.1 does not answer on eth0"))
        #expect(run.line("neighbour").hasPrefix("✗ neighbour 192.0.2.1 on eth0: "), "\(run.text)")
        withExtendedLifetime((peer, sender)) {}
    }

    private static let sender = """
        import socket, time
        while True:
            try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", ("192.0.2.1", 9))
            except OSError: pass
            time.sleep(0.02)
        """

    static let faults = [
        Fault(
            name: "no rule",
            here: ["rule del priority 32766", "rule del priority 32767"],
            verdict: "Broken at rule: no IPv4 rule selects a routing table",
            line: "✗ rule      no IPv4 rule selects a routing table"
        ),
        Fault(
            name: "prohibit rule",
            here: ["rule add priority 10 prohibit"],
            verdict: "Broken at rule: the IPv4 rule 10: from all prohibit refuses packets",
            line: "✗ rule      10: from all prohibit"
        ),
        Fault(
            name: "default route in a table nobody looks up",
            here: ["route del default", "route add default via 192.0.2.1 table 999"],
            verdict: "Broken at table: no rule selects table 999",
            line: "✗ table     main has no route; the default route is in table 999"
        ),
        Fault(
            name: "no route",
            here: ["route del default"],
            verdict: "Broken at route: no IPv4 default route",
            line: "✗ route     no IPv4 default route"
        ),
        Fault(
            name: "blackhole",
            here: ["route add blackhole default metric 50"],
            verdict: "Broken at route: the IPv4 default route is a black hole",
            line: "✗ route     blackhole default metric 50"
        ),
        Fault(
            name: "unreachable",
            here: ["route add unreachable default metric 50"],
            verdict: "Broken at route: the IPv4 default route is of type unreachable",
            line: "✗ route     unreachable default metric 50"
        ),
        Fault(
            name: "prohibited",
            here: ["route add prohibit default metric 50"],
            verdict: "Broken at route: the IPv4 default route or a rule is of type prohibit",
            line: "✗ route     prohibit default metric 50"
        ),
        Fault(
            name: "nexthop object that drops",
            here: ["route del default", "nexthop add id 7 blackhole", "route add default nhid 7"],
            verdict: "Broken at nexthop: nexthop object 7 drops packets",
            line: "✗ nexthop   nexthop object 7 drops packets"
        ),
        Fault(
            name: "all legs dead",
            here: [
                "link add eth1 type veth peer name eth2", "link set eth1 up", "addr add 198.51.100.2/24 dev eth1",
                "link set eth2 up", "route del default",
                "route add default nexthop via 192.0.2.1 dev eth0 nexthop via 198.51.100.1 dev eth1",
                "link set eth2 down",
            ],
            there: ["link set p0 down"],
            verdict: "Broken at nexthop: all 2 nexthops of the route are dead: via 192.0.2.1 dev eth0",
            line: "✗ nexthop   via 192.0.2.1 dev eth0"
        ),
        Fault(
            name: "link down",
            here: ["link set eth0 down"],
            verdict: "Broken at link: eth0 is administratively down. Fix: `ip link set eth0 up`",
            line: "✗ link      eth0 is administratively down"
        ),
        Fault(
            name: "no carrier",
            there: ["link set p0 down"],
            verdict: "Broken at carrier: eth0 has no carrier. Fix: check the cable",
            line: "✗ carrier   eth0: "
        ),
        Fault(
            name: "no address",
            here: ["addr flush dev eth0", "-6 route flush default"],
            verdict: "Broken at source: eth0 has no address",
            line: "✗ source    eth0 has no address"
        ),
        Fault(
            name: "no source address",
            here: ["addr flush dev eth0", "-6 route flush default", "route add default dev eth0"],
            verdict: "Broken at source: eth0 has an IPv4 default route but no address to send from",
            line: "✗ source    eth0 has an IPv4 default route but no address to send from"
        ),
    ]

    @Test(arguments: faults)
    func `the first line names what is broken`(fault: Fault) throws {
        let peer = try namespace.uplink()
        for command in fault.here { try namespace.ip(command) }
        for command in fault.there { try peer.ip(command) }
        let run = try why.run()
        #expect(run.code == 1)
        #expect(run.firstLine.hasPrefix(fault.verdict), "\(run.text)")
        #expect(run.text.contains("\n\(fault.line)"), "\(run.text)")
        withExtendedLifetime(peer) {}
    }

    @Test func `without any interface that is told`() throws {
        let run = try why.run()
        #expect(run.code == 1)
        #expect(run.firstLine.hasPrefix("Broken at link: there is no network interface"))
    }

    @Test(arguments: ["prohibit", "blackhole", "unreachable"])
    func `a rejecting route of IPv6 is named`(type: String) throws {
        let peer = try namespace.uplink()
        try namespace.ip("-6 route add \(type) default metric 50")
        let run = try why.run()
        #expect(run.code == 1)
        #expect(run.text.contains("\n✗ route     \(type) default metric 50\n"), "\(run.text)")
        withExtendedLifetime(peer) {}
    }

    @Test(
        arguments: [
            (gateway: "192.0.2.1", family: "IPv4", destination: nil),
            (gateway: "2001:db8:1::1", family: "IPv6", destination: "2001:db8:9::1"),
        ] as [(gateway: String, family: String, destination: String?)]
    )
    func `a gateway that does not answer is named`(gateway: String, family: String, destination: String?) throws {
        let peer = try namespace.uplink()
        var run: WhyProgram.Run
        // The kernel forgets a failed neighbour within seconds where all namespaces have more than 128 (gc_thresh1, arp(7)).
        repeat {
            try namespace.ip("neigh replace \(gateway) dev eth0 nud failed")
            run = try destination.map { try why.run($0) } ?? why.run()
        } while try namespace.ip("neigh show \(gateway) nud failed").isEmpty
        #expect(run.code == 1)
        let verdict = "Broken at neighbour: the \(family) gateway \(gateway) does not answer on eth0"
        #expect(run.firstLine.hasPrefix(verdict), "\(run.text)")
        #expect(run.text.contains("\n✗ neighbour \(gateway) on eth0: failed"), "\(run.text)")
        withExtendedLifetime(peer) {}
    }

    @Test func `a loss of IPv6 alone is told beside a working IPv4`() throws {
        let peer = try namespace.uplink()
        try namespace.ip("-6 route del default")
        let run = try why.run()
        #expect(run.code == 1)
        #expect(run.firstLine.hasPrefix("Broken at route: no IPv6 default route"))
        #expect(run.line("route") == "✓ route     default via 192.0.2.1 dev eth0 metric 100 (dhcp)")
        withExtendedLifetime(peer) {}
    }
}
