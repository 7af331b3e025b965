// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Testing

@testable import Probes

/// A kind of probe, and what leaves: when nobody answers, and when its first packet is answered after 20 ms.
private struct Sender: Sendable, CustomTestStringConvertible {
    struct Traffic: Equatable {
        var sent: [String]
        /// When it finishes; `nil` when that is left to its owner.
        var end: Duration?
    }

    let testDescription: String
    let silent: Traffic
    let answered: Traffic
    let effect: @Sendable () -> ScriptedNetwork.Effect
    let run: @Sendable (ScriptedNetwork) -> Traffic

    init<Result>(
        _ name: String,
        _ probe: @escaping @Sendable () -> any Probe<Result>,
        silent: [String],
        until end: Duration?,
        _ effect: @escaping @Sendable () -> ScriptedNetwork.Effect,
        answered: [String],
        until answeredEnd: Duration?
    ) {
        testDescription = name
        self.silent = Traffic(sent: silent, end: end)
        self.answered = Traffic(sent: answered, end: answeredEnd)
        self.effect = effect
        run = { network in
            let run = network.run(probe())
            return Traffic(sent: run.sent, end: run.isFinished ? run.duration : nil)
        }
    }

    /// One whose answer is a packet.
    init<Result>(
        _ name: String,
        _ probe: @escaping @Sendable () -> any Probe<Result>,
        silent: [String],
        until end: Duration?,
        answer: @escaping Answers.Answer,
        answered: [String],
        until answeredEnd: Duration?
    ) {
        self.init(
            name,
            probe,
            silent: silent,
            until: end,
            { .answer(after: .milliseconds(20), answer) },
            answered: answered,
            until: answeredEnd
        )
    }
}

/// How many packets of what size leave when: the promises of docs/diagnosis.md, "What it sends".
@Suite struct ProbeGoldenTests {
    private static let v4 = ScopedAddress(Machine.v4)
    private static let v6 = ScopedAddress(Machine.v6)

    private static func every(_ pace: Int, _ count: Int, _ packet: String) -> [String] {
        (0..<count).map { "\($0 * pace) ms \(packet)" }
    }

    // MARK: - Servers and hosts

    private static let servers = [
        Sender(
            "an echo request",
            { ICMPEcho(to: v4) },
            silent: ["0 ms icmp 64"],
            until: nil,
            answer: Answers.echo,
            answered: ["0 ms icmp 64"],
            until: .milliseconds(20)
        ),
        Sender(
            "a DNS query",
            { DNSQuery("www.example.test", to: Machine.server(53), ServerQuestion()) },
            silent: ["0 ms udp 34"],
            until: nil,
            answer: Answers.dns([1]),
            answered: ["0 ms udp 34"],
            until: .milliseconds(20)
        ),
        Sender(
            "two queries of a name server",
            { DNSServerProbe(Machine.server(53), [.init("www.example.test"), .init("nx.example.test", .aaaa)]) },
            silent: [
                "0 ms udp 34", "0 ms udp 33", "450 ms udp 34", "450 ms udp 33", "900 ms udp 34", "900 ms udp 33",
            ],
            until: .milliseconds(2500),
            answer: Answers.dns([1]),
            answered: ["0 ms udp 34", "0 ms udp 33", "450 ms udp 33", "900 ms udp 33"],
            until: .milliseconds(2500)
        ),
        Sender(
            "NTP queries",
            { NTPProbe(Machine.server(123)) },
            silent: ["0 ms udp 48", "450 ms udp 48", "900 ms udp 48"],
            until: .milliseconds(2500),
            answer: Answers.time(at: .milliseconds(10)),
            answered: ["0 ms udp 48"],
            until: .milliseconds(20)
        ),
        Sender(
            "a traceroute",
            { Traceroute(to: v4) },
            silent: every(30, 12, "udp 32"),
            until: .milliseconds(1200),
            { .fault(PacketFault(speaker: Machine.v4, kind: .portClosed), after: .milliseconds(20)) },
            answered: ["0 ms udp 32"],
            until: .milliseconds(20)
        ),
    ]

    // MARK: - Packet sizes

    private static func packetSizes(
        _ name: String,
        _ address: ScopedAddress,
        _ kind: TrainKind,
        full: String,
        least: String,
        answer: @escaping Answers.Answer
    ) -> Sender {
        Sender(
            name,
            { PathMTUProbe(address, by: kind, limit: 1500, roundTrip: .milliseconds(100)) },
            silent: every(80, 5, full) + ["620 ms \(least)", "700 ms \(least)"],
            until: .milliseconds(1000),
            answer: answer,
            answered: ["0 ms \(full)"],
            until: .milliseconds(20)
        )
    }

    private static let sizes = [
        packetSizes("packet sizes of IPv4", v4, .echo, full: "icmp 1480", least: "icmp 556", answer: Answers.echo),
        packetSizes("packet sizes of IPv6", v6, .echo, full: "icmp 1460", least: "icmp 1240", answer: Answers.echo),
        packetSizes(
            "packet sizes by datagrams",
            v4,
            .datagram(port: 7),
            full: "udp 1472",
            least: "udp 548",
            answer: Answers.same
        ),
        Sender(
            "one packet size",
            { PathMTUProbe(v4, by: .echo, limit: 1500, roundTrip: .milliseconds(500), isSearching: false) },
            silent: every(80, 5, "icmp 1480"),
            until: .milliseconds(1320),
            answer: Answers.echo,
            answered: ["0 ms icmp 1480"],
            until: .milliseconds(20)
        ),
    ]

    // MARK: - Trains

    /// A train sends the same whether its first packet is answered or not.
    private static func train(
        _ name: String,
        _ kind: TrainKind,
        _ packet: String,
        count: Int,
        pace: Int,
        timeout: Int
    ) -> Sender {
        let end = Duration.milliseconds((count - 1) * pace + timeout)
        let sent = every(pace, count, packet)
        let (gap, wait) = (Duration.milliseconds(pace), Duration.milliseconds(timeout))
        return Sender(
            name,
            { PacketTrain(kind, to: v4, count: count, pace: gap, timeout: wait) },
            silent: sent,
            until: end,
            answer: kind == .echo ? Answers.echo : Answers.same,
            answered: sent,
            until: end
        )
    }

    private static let trains = [
        train("echo requests to an anchor", .echo, "icmp 64", count: 3, pace: 50, timeout: 1500),
        train("datagrams to an anchor", .datagram(port: 7), "udp 64", count: 6, pace: 50, timeout: 1500),
        train("echo requests to a gateway", .echo, "icmp 64", count: 10, pace: 50, timeout: 1000),
        train("the quality of a gateway", .echo, "icmp 64", count: 80, pace: 20, timeout: 800),
        train("the quality of an anchor", .datagram(port: 7), "udp 64", count: 60, pace: 27, timeout: 800),
    ]

    // MARK: - Links

    /// A link is queried twice, and every answer is collected, whether there is one or not.
    private static func link<Result>(
        _ name: String,
        _ probe: @escaping @Sendable (HardwareAddress) -> any Probe<Result>,
        _ sent: [String],
        until end: Duration,
        _ answer: @escaping Answers.Answer
    ) throws -> Sender {
        let own = try Machine.ownAddress()
        return Sender(
            name,
            { probe(own) },
            silent: sent,
            until: end,
            answer: answer,
            answered: sent,
            until: end
        )
    }

    private static func links() throws -> [Sender] {
        let other: [UInt8] = [2, 0, 0, 0, 0, 9]
        let second = Duration.seconds(1)
        return [
            try link(
                "ARP requests",
                { NeighborProbe(Machine.v4, on: 2, from: $0) },
                ["0 ms arp 28", "400 ms arp 28"],
                until: second,
                Answers.arp(other)
            ),
            try link(
                "neighbour solicitations",
                { NeighborProbe(Machine.v6, on: 2, from: $0) },
                ["0 ms nd 32", "400 ms nd 32"],
                until: second,
                Answers.advertisement(other)
            ),
            try link(
                "router solicitations",
                { RouterSolicitation(on: 2, from: $0) },
                ["0 ms rs 16", "600 ms rs 16"],
                until: .milliseconds(1500),
                Answers.router(1)
            ),
            // 300 bytes after the headers of IP and UDP, which are the probe's own.
            try link(
                "DHCPDISCOVER",
                { DHCPProbe(on: 2, from: $0, limit: .seconds(4)) },
                ["0 ms dhcp 328", "600 ms dhcp 328"],
                until: .seconds(4),
                Answers.offer(0xC000_0201)
            ),
        ]
    }

    private static let multicast = Sender(
        "multicast DNS queries",
        { MulticastDNSProbe(Machine.v4, on: 2) },
        silent: ["0 ms udp 74", "0 ms mdns 74", "450 ms udp 74", "900 ms udp 74", "1100 ms mdns 74"],
        until: .milliseconds(1500),
        answer: Answers.multicastDNS(["2.2.0.192.in-addr.arpa"]),
        answered: ["0 ms udp 74", "0 ms mdns 74", "1100 ms mdns 74"],
        until: .milliseconds(1500)
    )

    private static func senders() throws -> [Sender] {
        servers + sizes + trains + (try links()) + [multicast]
    }

    // MARK: - Tests

    @Test func `when nobody answers, what was promised is sent and no more`() throws {
        for sender in try Self.senders() {
            #expect(sender.run(ScriptedNetwork()) == sender.silent, "\(sender.testDescription)")
        }
    }

    @Test func `when the first packet is answered, what is known is not queried again`() throws {
        for sender in try Self.senders() {
            let network = ScriptedNetwork(packets: [1: [sender.effect()]])
            #expect(sender.run(network) == sender.answered, "\(sender.testDescription)")
        }
    }

    @Test func `a connection is made once and closed at once`() {
        let probe = TCPConnect(to: Machine.server(443))
        let run = ScriptedNetwork().run(probe)
        #expect(run.sent == ["0 ms tcp connection"] && run.duration == .milliseconds(20) && run.isFinished)
        let slow = ScriptedNetwork(openings: [0: [.refusal(.timedOut, after: .seconds(130))]]).run(probe)
        #expect(slow.sent == ["0 ms tcp connection"] && slow.result.reason == .timeout)
    }

    @Test func `a query over a connection is one message behind its length`() {
        let question = ServerQuestion(transport: .tcp)
        let run = ScriptedNetwork().run(DNSQuery("www.example.test", to: Machine.server(53), question))
        #expect(run.sent == ["0 ms tcp connection", "20 ms tcp 36"] && !run.isFinished)
    }

    @Test func `a traceroute's datagrams differ by hop limit and port, each from a socket of its own`() {
        let departures = ScriptedNetwork().run(Traceroute(to: Self.v6)).departures
        let found = departures.compactMap { departure -> (hops: Int, port: UInt16)? in
            guard case .datagram(let peer, _, let options) = departure.kind, let hops = options.hopLimit else {
                return nil
            }
            return (hops, peer.port)
        }
        #expect(found.map(\.hops) == Array(1...12) && found.map(\.port) == Array(33435...33446))
        #expect(Set(departures.map(\.socket)).count == 12)
    }

    @Test func `copies of a query are the same, and each NTP query has a cookie of its own`() {
        let names = ScriptedNetwork().run(DNSServerProbe(Machine.server(53), [.init("www.example.test")]))
        #expect(Set(names.departures.map(\.bytes)).count == 1)
        let time = ScriptedNetwork().run(NTPProbe(Machine.server(123)))
        #expect(Set(time.departures.map(\.bytes)).count == 3)
        let head = [0x23] + [UInt8](repeating: 0, count: 39)
        #expect(time.departures.allSatisfy { $0.bytes?.starts(with: head) == true })
    }

    /// Where packets of more than 1400 bytes vanish, the first anchor's path is searched.
    @Test func `a black hole is found in sixteen packets`() {
        let network = ScriptedNetwork(everyPacket: { packet in
            packet.bytes.count <= 1380 ? [.answer(after: .milliseconds(20), Answers.echo)] : []
        })
        let run = network.run(PathMTUProbe(Self.v4, by: .echo, limit: 1500, roundTrip: .milliseconds(100)))
        let expected = [
            "0 ms icmp 1480", "80 ms icmp 1480", "160 ms icmp 1480", "240 ms icmp 1480", "320 ms icmp 1480",
            "620 ms icmp 556", "640 ms icmp 1018", "660 ms icmp 1248", "680 ms icmp 1364", "700 ms icmp 1422",
            "780 ms icmp 1422", "1080 ms icmp 1392", "1160 ms icmp 1392", "1460 ms icmp 1378", "1480 ms icmp 1384",
            "1560 ms icmp 1384",
        ]
        #expect(run.sent == expected)
        #expect(run.result.largest == 1398 && !run.result.isAnnounced && run.duration == .milliseconds(1860))
        #expect(run.traffic.bytesSent == 21_360)
    }
}
