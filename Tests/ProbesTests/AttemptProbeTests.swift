// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import Testing

@testable import Probes

/// What probes of `probes.active` make of replies and errors, without a network.
@Suite struct ICMPEchoDecisionTests {
    private static func run(
        to address: IPAddress = Machine.v4,
        isRaw: Bool = false,
        _ effects: [ScriptedNetwork.Effect]
    ) -> ScriptedRun<ProbeResult> {
        ScriptedNetwork(packets: [1: effects], isRaw: isRaw).run(ICMPEcho(to: ScopedAddress(address)))
    }

    @Test(arguments: [Machine.v4, Machine.v6])
    func `a reply is a success, with its hop limit and how long it was not read`(address: IPAddress) {
        let run = Self.run(
            to: address,
            [
                .answer(after: .milliseconds(20)) { packet in
                    Answers.echo(&packet)
                    (packet.hopLimit, packet.age) = (57, .milliseconds(5))
                }
            ]
        )
        #expect(run.result.isSuccess && run.result.hopLimit == 57 && run.result.lateness == .milliseconds(5))
        #expect(run.isFinished && run.duration == .milliseconds(20))
        #expect(run.traffic.packets == 1 && run.traffic.bytesSent == 64 && run.traffic.bytesReceived == 64)
    }

    @Test func `a raw socket's header does not count`() {
        let run = Self.run(isRaw: true, [.answer(after: .milliseconds(1), Answers.rawEcho)])
        #expect(run.result.isSuccess && run.traffic.bytesReceived == 64)
    }

    /// Its type, code, sequence number and token must be those of the reply.
    @Test(arguments: [0, 1, 6, 7, 8, 15, 23])
    func `another's reply is ignored, and the own one still counts`(offset: Int) {
        let run = Self.run([
            .answer(after: .milliseconds(1), Answers.flipped(offset, Answers.echo)),
            .answer(after: .milliseconds(2)) { $0.bytes = [] },
            .answer(after: .milliseconds(9), Answers.echo),
        ])
        #expect(run.result.isSuccess && run.duration == .milliseconds(9))
    }

    @Test func `on a raw socket the identifier must be right as well`() {
        let other = Answers.flipped(24, Answers.rawEcho)
        #expect(!Self.run(isRaw: true, [.answer(after: .milliseconds(1), other)]).isFinished)
    }

    @Test(arguments: [
        (EPERM, ProbeReason.blocked, 1), (ENETUNREACH, .unreachable, 0), (EACCES, .unreachable, 0),
        (ENOBUFS, .unreachable, 0), (ENOMEM, .resources, 0),
    ])
    func `a request that cannot be sent fails at once`(code: Int32, reason: ProbeReason, refused: Int) {
        let run = Self.run([.sendFailure(Errno(code))])
        #expect(run.result.reason == reason && run.isFinished && run.duration == .zero)
        #expect(run.traffic.packets == 1 && run.traffic.refused == refused && run.traffic.bytesSent == 0)
        #expect((run.traffic.shortage != nil) == (reason == .resources))
    }

    @Test func `what a router reports is received as an error`() {
        let run = Self.run([.receiveFailure(Errno(EHOSTUNREACH), after: .milliseconds(3))])
        #expect(run.result.outcome == .failure(.unreachable, detail: Errno(EHOSTUNREACH).description))
        #expect(run.traffic.bytesSent == 64 && run.traffic.refused == 0)
    }

    @Test func `without the privilege it is not assessed`() {
        let network = ScriptedNetwork(openings: [0: [.failure(.accessDenied, .socket)]])
        let run = network.run(ICMPEcho(to: ScopedAddress(Machine.v4)))
        #expect(run.result.outcome == .notAssessed(advice: FailureClassifier.icmpAdvice))
        #expect(run.traffic.packets == 0 && run.traffic.refused == 0)
    }
}

/// Sockets that cannot be opened, whatever for.
@Suite struct OpeningDecisionTests {
    private struct Case: Sendable {
        let error: Int32
        let step: SocketStep
        let reason: ProbeReason
        /// What this machine lacks.
        let shortage: String?
    }

    private static let cases = [
        Case(
            error: EMFILE,
            step: .socket,
            reason: .resources,
            shortage: "no file descriptor of this process is left (EMFILE)"
        ),
        Case(
            error: ENFILE,
            step: .socket,
            reason: .resources,
            shortage: "no file descriptor of this machine is left (ENFILE)"
        ),
        Case(error: EAGAIN, step: .connect, reason: .resources, shortage: "no local port is left (EAGAIN)"),
        Case(
            error: EADDRNOTAVAIL,
            step: .connect,
            reason: .resources,
            shortage: "no local port is left (EADDRNOTAVAIL)"
        ),
        // There is no such own address.
        Case(error: EADDRNOTAVAIL, step: .source, reason: .unreachable, shortage: nil),
        Case(error: ENETUNREACH, step: .connect, reason: .unreachable, shortage: nil),
        Case(error: EINVAL, step: .connect, reason: .unreachable, shortage: nil),
        Case(error: ECONNREFUSED, step: .connect, reason: .refused, shortage: nil),
    ]

    @Test func `shortage of this machine is told apart from the network's failures`() {
        for entry in Self.cases {
            let network = ScriptedNetwork(openings: [0: [.failure(Errno(entry.error), entry.step)]])
            let detail = entry.shortage ?? Errno(entry.error).description
            let runs = [
                network.run(ICMPEcho(to: ScopedAddress(Machine.v4))), network.run(TCPConnect(to: Machine.server(80))),
                network.run(DNSQuery("a.test", to: Machine.server(53), ServerQuestion())),
                network.run(DNSQuery("a.test", to: Machine.server(53), ServerQuestion(transport: .tcp))),
            ]
            for run in runs {
                #expect(run.result.outcome == .failure(entry.reason, detail: detail), "\(entry)")
                #expect(run.traffic.shortage == entry.shortage && run.traffic.packets == 0, "\(entry)")
                #expect(run.isFinished && run.sent.isEmpty && run.traffic.refused == 0, "\(entry)")
            }
        }
    }

    @Test func `a server that is not reached is not called silent for it`() {
        for entry in Self.cases {
            let network = ScriptedNetwork(openings: [0: [.failure(Errno(entry.error), entry.step)]])
            let run = network.run(DNSServerProbe(Machine.server(53), [.init("a.test")]))
            #expect(run.result.isUnreachable == (entry.reason == .unreachable), "\(entry)")
            #expect(run.traffic.shortage == entry.shortage && run.isFinished && run.duration == .zero, "\(entry)")
            let train = network.run(
                PacketTrain(.echo, to: ScopedAddress(Machine.v4), count: 3, pace: .zero, timeout: .zero)
            )
            #expect(train.result.failure == entry.reason && train.result.advice == entry.shortage, "\(entry)")
            #expect(train.result.sent == 0 && train.isFinished, "\(entry)")
        }
    }
}

@Suite struct TCPConnectDecisionTests {
    private static func run(_ opening: ScriptedNetwork.Opening) -> ScriptedRun<ProbeResult> {
        ScriptedNetwork(openings: [0: [opening]]).run(TCPConnect(to: Machine.server(443)))
    }

    @Test func `a connection counts its lost SYNs`() {
        let run = Self.run(.connection(after: .seconds(1), retransmissions: 1))
        #expect(run.result.isSuccess && run.result.retransmissions == 1 && run.duration == .seconds(1))
        #expect(run.traffic == ProbeTraffic())
    }

    @Test(arguments: [
        (ECONNREFUSED, ProbeReason.refused), (EHOSTUNREACH, .unreachable), (ETIMEDOUT, .timeout),
        (EADDRNOTAVAIL, .resources), (ECONNRESET, .answer),
    ])
    func `one that fails later says why`(code: Int32, reason: ProbeReason) {
        let run = Self.run(.refusal(Errno(code), after: .milliseconds(30)))
        #expect(run.result.reason == reason && run.isFinished && run.duration == .milliseconds(30))
    }
}

@Suite struct DNSQueryDecisionTests {
    private static let found: [UInt32] = [0xC000_0250, 0xC000_0251]

    private static func run(
        _ packets: [Int: [ScriptedNetwork.Effect]],
        names: [String] = [],
        _ transport: ServerQuestion.Transport = .udp
    ) -> ScriptedRun<ProbeResult> {
        var question = ServerQuestion(transport: transport)
        question.namesIfRefused = names
        return ScriptedNetwork(packets: packets).run(DNSQuery("www.example.test", to: Machine.server(53), question))
    }

    private static func reply(_ answer: @escaping Answers.Answer, after delay: Int = 20) -> ScriptedNetwork.Effect {
        .answer(after: .milliseconds(delay), answer)
    }

    @Test func `addresses are a success`() {
        let run = Self.run([1: [Self.reply(Answers.aged(.milliseconds(4), Answers.dns(Self.found)))]])
        #expect(run.result.isSuccess && run.result.addresses == Self.found.map { .v4($0) })
        #expect(run.result.lateness == .milliseconds(4) && run.traffic.bytesReceived == 34 + 32)
    }

    @Test(arguments: [(2, "SERVFAIL"), (3, "NXDOMAIN"), (5, "REFUSED"), (0, "the name has no A record")])
    func `a code is a failure of names`(code: UInt8, word: String) {
        guard case .failure(.dns, let detail) = Self.run([1: [Self.reply(Answers.dns(code: code))]]).result.outcome
        else {
            Issue.record("code \(code) is no failure")
            return
        }
        #expect(detail.contains(word))
    }

    @Test func `what is no name is not queried`() {
        let name = String(repeating: "a", count: 64)
        let run = ScriptedNetwork().run(DNSQuery(name, to: Machine.server(53), ServerQuestion()))
        #expect(run.result.outcome == .failure(.dns, detail: "not a domain name") && run.sent.isEmpty)
        #expect(run.isFinished)
    }

    /// Another id, a query, nothing, and an answer to another question.
    @Test func `forged answers are ignored, over a connection as well`() {
        let forgeries: [Answers.Answer] = [
            Answers.flipped(0, Answers.dns(Self.found)), Answers.flipped(1, Answers.dns(Self.found)), Answers.same,
            { $0.bytes = [0x78] }, Answers.flipped(13, Answers.dns(Self.found)),
        ]
        let effects = forgeries.map { Self.reply($0, after: 1) }
        let run = Self.run([1: effects + [Self.reply(Answers.dns(code: 3), after: 9)]])
        #expect(run.result.outcome == .failure(.dns, detail: NameQuery.text(of: 3)))
        #expect(run.duration == .milliseconds(9))
        #expect(!Self.run([1: effects + [Self.reply({ $0.bytes = [] }, after: 2)]]).isFinished)
        let framed = Answers.flipped(3, Answers.framedDNS(Self.found))
        #expect(!Self.run([1: [Self.reply(framed)]], .tcp).isFinished)
    }

    @Test func `two messages may come in one segment, and one in three`() {
        let two = Self.run(
            [
                1: [
                    Self.reply { packet in
                        var forged = packet
                        Answers.flipped(2, Answers.framedDNS([1]))(&forged)
                        Answers.framedDNS(Self.found)(&packet)
                        packet.bytes = forged.bytes + packet.bytes
                    }
                ]
            ],
            .tcp
        )
        #expect(two.result.addresses == Self.found.map { .v4($0) } && two.duration == .milliseconds(40))
        #expect(two.traffic.bytesReceived == 2 + 34 + 16 + 2 + 34 + 32)
        // The length itself is cut as well.
        let parts = [(0, 1), (1, 30), (30, 68)].enumerated().map { index, part in
            Self.reply(
                { packet in
                    Answers.framedDNS(Self.found)(&packet)
                    packet.bytes = Array(packet.bytes[part.0..<part.1])
                },
                after: 10 * (index + 1)
            )
        }
        let three = Self.run([1: parts], .tcp)
        #expect(three.result.isSuccess && three.duration == .milliseconds(50) && three.traffic.bytesReceived == 68)
    }

    @Test func `a connection that ends without an answer is none`() {
        let end = Self.reply({ $0.bytes = [] }, after: 30)
        let run = Self.run([1: [Self.reply({ $0.bytes = [0] }, after: 10), end]], .tcp)
        #expect(run.result.outcome == .failure(.answer, detail: "the server closed the connection"))
        #expect(run.traffic.bytesReceived == 1)
        let reset = Self.run([1: [.receiveFailure(Errno(ECONNRESET), after: .milliseconds(3))]], .tcp)
        #expect(reset.result.reason == .answer)
        let closed = Self.run([1: [.receiveFailure(Errno(ECONNREFUSED), after: .milliseconds(3))]])
        #expect(closed.result.reason == .refused)
    }

    @Test func `a server that refuses is queried for other names, one after another`() {
        let refusal = Self.reply(Answers.dns(code: 5))
        let known = Self.reply(Answers.dns(code: 3, isZone: true))
        let run = Self.run([1: [refusal], 2: [refusal], 3: [known]], names: ["no..name", "a.test", "b.example"])
        #expect(run.result.isSuccess && run.result.addresses.isEmpty)
        #expect(run.sent == ["0 ms udp 34", "20 ms udp 24", "40 ms udp 27"])
        #expect(run.traffic.packets == 3)
    }

    @Test func `one that knows none of them is reported by its first words`() {
        let refusal = Self.reply(Answers.dns(code: 5))
        let run = Self.run([1: [refusal], 2: [Self.reply(Answers.dns(code: 3))]], names: ["a.test"])
        #expect(run.result.outcome == .failure(.dns, detail: NameQuery.text(of: 5)))
        // What a recursive server cannot find out is all that is not its own, and what cannot be read says nothing.
        let unreadable: Answers.Answer = { $0.bytes = Array(Answers.message($0.bytes, [1]).dropLast(3)) }
        for answer in [Answers.dns(code: 2), unreadable] {
            let first = Self.run([1: [Self.reply(answer)]], names: ["a.test"])
            #expect(first.result.reason == .dns && first.traffic.packets == 1)
        }
    }
}
