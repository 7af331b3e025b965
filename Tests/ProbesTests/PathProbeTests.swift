// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import Testing

@testable import Probes

@Suite struct TracerouteDecisionTests {
    private static let end = Machine.v4
    /// The socket of the fifth hop of the first round.
    private static let fifth = 1 << 8 | 5

    private static func run(_ network: ScriptedNetwork) -> ScriptedRun<TracerouteResult> {
        network.run(Traceroute(to: ScopedAddress(end)))
    }

    private static func fault(
        _ kind: PacketFault.Kind,
        from speaker: IPAddress,
        after delay: Int
    ) -> ScriptedNetwork.Effect {
        .fault(PacketFault(speaker: speaker, kind: kind), after: .milliseconds(delay))
    }

    @Test func `hops that answer out of order are put in order`() {
        let run = Self.run(
            ScriptedNetwork(packets: [
                1: [Self.fault(.hopLimit, from: .v4(1), after: 400)],
                2: [
                    Self.fault(.hopLimit, from: .v4(2), after: 10), Self.fault(.hopLimit, from: .v4(7), after: 20),
                ],
                4: [Self.fault(.portClosed, from: Self.end, after: 500)],
            ])
        )
        #expect(run.result.routers.map(\.distance) == [1, 2] && run.result.routers.map(\.address) == [.v4(1), .v4(2)])
        #expect(run.result.isArrived && run.isFinished && run.duration == .milliseconds(590))
        #expect(run.traffic.packets == 12 && run.traffic.bytesSent == 384)
    }

    @Test func `who reports that there is no route is named, and it goes on`() {
        let run = Self.run(
            ScriptedNetwork(packets: [
                3: [Self.fault(.unreachable, from: .v4(3), after: 10)],
                4: [Self.fault(.unreachable, from: .v4(4), after: 10)],
                5: [Self.fault(.portClosed, from: .v4(5), after: 10)],
            ])
        )
        #expect(run.result.unreachableFrom == .v4(3) && !run.result.isArrived)
        #expect(run.duration == .milliseconds(1200) && run.traffic.packets == 12)
    }

    @Test func `what the own filter refuses is counted, and is no delay`() {
        let run = Self.run(ScriptedNetwork(everyPacket: { _ in [.sendFailure(.notPermitted)] }))
        #expect(run.traffic.refused == 12 && run.traffic.packets == 12 && run.traffic.bytesSent == 0)
        #expect(run.result.lastAnswered == 0 && !run.result.isDelayed && run.duration == .milliseconds(1200))
    }

    @Test func `a machine that lacks a socket or was busy says so`() {
        let lacking = Self.run(ScriptedNetwork(openings: [Self.fifth: [.failure(Errno(EMFILE), .socket)]]))
        #expect(lacking.result.isDelayed && lacking.traffic.packets == 11)
        #expect(lacking.traffic.shortage == "no file descriptor of this process is left (EMFILE)")
        #expect(Self.run(ScriptedNetwork(delayedTimeouts: [1])).result.isDelayed)
        let unreachable = Self.run(ScriptedNetwork(openings: [Self.fifth: [.failure(Errno(ENETUNREACH), .connect)]]))
        #expect(!unreachable.result.isDelayed && unreachable.traffic.packets == 11)
    }
}

@Suite struct PathMTUDecisionTests {
    private static func run(
        _ network: ScriptedNetwork,
        _ kind: TrainKind = .echo,
        limit: Int = 1500
    ) -> ScriptedRun<PathMTUResult> {
        let address = ScopedAddress(Machine.v4)
        return network.run(PathMTUProbe(address, by: kind, limit: limit, roundTrip: .milliseconds(100)))
    }

    /// What passes comes back after 20 ms.
    private static func passing(
        upTo largest: Int,
        _ answer: @escaping Answers.Answer = Answers.echo
    ) -> (ScriptedNetwork.Packet) -> [ScriptedNetwork.Effect] {
        { $0.bytes.count + 20 <= largest ? [.answer(after: .milliseconds(20), answer)] : [] }
    }

    private static func tooBig(_ largest: Int?, after delay: Int) -> ScriptedNetwork.Effect {
        .fault(fault(largest), after: .milliseconds(delay))
    }

    private static func fault(_ largest: Int?) -> PacketFault {
        var fault = PacketFault(speaker: Machine.router, kind: .tooBig)
        fault.largest = largest
        return fault
    }

    @Test func `a full packet that comes back ends it, whatever else does`() {
        let forgeries: [ScriptedNetwork.Effect] = [
            .answer(after: .milliseconds(1), Answers.flipped(8, Answers.echo)),
            .answer(after: .milliseconds(2), Answers.same), .answer(after: .milliseconds(90), Answers.echo),
        ]
        let run = Self.run(ScriptedNetwork(packets: [1: forgeries]))
        #expect(run.result.largest == 1500 && !run.result.isAnnounced && run.duration == .milliseconds(90))
        #expect(run.traffic.packets == 2 && run.traffic.bytesReceived == 1480)
        let raw = Self.run(ScriptedNetwork(everyPacket: Self.passing(upTo: 1500, Answers.rawEcho), isRaw: true))
        #expect(raw.result.largest == 1500 && raw.traffic.bytesReceived == 1480)
    }

    @Test func `a router's MTU spares the search`() {
        let network = ScriptedNetwork(
            packets: [1: [Self.tooBig(1400, after: 10)]],
            everyPacket: Self.passing(upTo: 1400)
        )
        let run = Self.run(network)
        #expect(run.result.largest == 1400 && run.result.isAnnounced)
        #expect(run.sent == ["0 ms icmp 1480", "10 ms icmp 1380"] && run.duration == .milliseconds(30))
    }

    @Test func `a router's words about an older size do not end the test of the present one`() {
        let network = ScriptedNetwork(
            packets: [1: [Self.tooBig(1400, after: 90)], 2: [Self.tooBig(1400, after: 15)]],
            everyPacket: Self.passing(upTo: 1400)
        )
        let run = Self.run(network)
        #expect(run.result.largest == 1400 && run.sent == ["0 ms icmp 1480", "80 ms icmp 1480", "90 ms icmp 1380"])
    }

    @Test func `a router that does not say how much passes leaves the search`() {
        let network = ScriptedNetwork(
            packets: [1: [Self.tooBig(nil, after: 10)]],
            everyPacket: Self.passing(upTo: 1396)
        )
        let run = Self.run(network)
        #expect(run.result.isAnnounced && run.result.largest.map { (1389...1396).contains($0) } == true)
        #expect(
            run.sent.prefix(5) == [
                "0 ms icmp 1480", "80 ms icmp 1480", "160 ms icmp 1480", "240 ms icmp 1480", "320 ms icmp 1480",
            ]
        )
    }

    /// The kernel remembers the MTU of the path: the next copy fails, and its error says why.
    @Test func `an MTU that a failed send reports counts at once`() {
        let network = ScriptedNetwork(
            packets: [2: [.sendFailure(Errno(EMSGSIZE), reporting: [Self.fault(1400)])]],
            everyPacket: Self.passing(upTo: 1400)
        )
        let run = Self.run(network)
        #expect(run.result.largest == 1400 && run.result.isAnnounced)
        #expect(run.sent == ["0 ms icmp 1480", "80 ms icmp 1380"] && run.duration == .milliseconds(100))
    }

    @Test func `the own link may take less than its MTU says`() {
        let tooLong = ScriptedNetwork.Effect.sendFailure(Errno(EMSGSIZE))
        let passing = Self.passing(upTo: 1400)
        let network = ScriptedNetwork(everyPacket: { packet in
            packet.bytes.count > 1380 ? [tooLong, tooLong] : passing(packet)
        })
        let run = Self.run(network)
        #expect(run.result.largest == 1398 && !run.result.isAnnounced && run.duration == .milliseconds(100))
        #expect(
            run.sent == [
                "0 ms icmp 556", "20 ms icmp 1018", "40 ms icmp 1248", "60 ms icmp 1364", "80 ms icmp 1378",
            ]
        )
        #expect(run.traffic.packets == 9 && run.traffic.bytesSent == 5564)
    }

    @Test func `an error of a packet before costs one more attempt, and no packet`() {
        let network = ScriptedNetwork(
            packets: [2: [.sendFailure(Errno(EHOSTUNREACH)), .answer(after: .milliseconds(5), Answers.echo)]]
        )
        let run = Self.run(network)
        #expect(run.result.largest == 1500 && run.traffic.packets == 2)
        #expect(run.sent == ["0 ms icmp 1480", "80 ms icmp 1480"])
    }

    @Test func `a machine that lacks memory or was busy ends it without a result`() {
        let lacking = ScriptedNetwork.Effect.sendFailure(Errno(ENOMEM))
        let run = Self.run(ScriptedNetwork(everyPacket: { _ in [lacking, lacking] }))
        #expect(run.result.largest == nil && run.duration == .zero && run.isFinished)
        #expect(run.traffic.shortage == "no memory is left (ENOMEM)" && run.traffic.packets == 1)
        // The second timeout is that of the smallest size, after which the search would go on.
        var busy = ScriptedNetwork(everyPacket: Self.passing(upTo: 500), delayedTimeouts: [1])
        let first = Self.run(busy)
        #expect(first.result == PathMTUResult() && first.duration == .milliseconds(620))
        busy.delayedTimeouts = [2]
        #expect(Self.run(busy).duration == .milliseconds(1000))
        let closed = Self.run(ScriptedNetwork(openings: [0: [.failure(Errno(ENETUNREACH), .connect)]]))
        #expect(closed.result == PathMTUResult() && closed.isFinished && closed.sent.isEmpty)
    }

    @Test func `other errors of routers, and pieces of datagrams, say nothing of sizes`() {
        let other = PacketFault(speaker: Machine.router, kind: .unreachable)
        let effects: [ScriptedNetwork.Effect] = [
            .fault(other, after: .milliseconds(1)), .receiveFailure(Errno(ECONNREFUSED), after: .milliseconds(2)),
            .answer(after: .milliseconds(3)) { $0.bytes.removeLast(900) },
            .answer(after: .milliseconds(4), Answers.flipped(0, Answers.same)),
            .answer(after: .milliseconds(5), Answers.same),
        ]
        let run = Self.run(ScriptedNetwork(packets: [1: effects]), .datagram(port: 7))
        #expect(run.result.largest == 1500 && !run.result.isAnnounced && run.duration == .milliseconds(5))
    }
}

@Suite struct PacketTrainDecisionTests {
    private static func run(
        _ network: ScriptedNetwork,
        _ kind: TrainKind = .echo,
        count: Int = 3
    ) -> ScriptedRun<TrainResult> {
        let (pace, timeout) = (Duration.milliseconds(50), Duration.milliseconds(500))
        let address = ScopedAddress(Machine.v4)
        return network.run(PacketTrain(kind, to: address, count: count, pace: pace, timeout: timeout))
    }

    @Test(arguments: [TrainKind.echo, .datagram(port: 7)])
    func `when all came back it is over, and copies and forgeries do not count`(kind: TrainKind) {
        let answer = kind == .echo ? Answers.echo : Answers.same
        let network = ScriptedNetwork(everyPacket: { packet in
            [
                .answer(after: .milliseconds(1), Answers.flipped(8, answer)),
                .answer(after: .milliseconds(2)) { $0.bytes = [] },
                .answer(after: .milliseconds(packet.number * 10), Answers.aged(.milliseconds(4), answer)),
                .answer(after: .milliseconds(40), answer),
            ]
        })
        let run = Self.run(network, kind)
        #expect(run.result.durations == [.milliseconds(6), .milliseconds(16), .milliseconds(26)])
        #expect(run.result.sent == 3 && run.result.failure == nil && run.result.advice == nil)
        #expect(run.duration == .milliseconds(130) && run.traffic.packets == 3)
        #expect(run.traffic.bytesSent == 192 && run.traffic.bytesReceived == 192)
    }

    @Test func `answers in another order belong to their packets`() {
        let network = ScriptedNetwork(packets: [
            1: [.answer(after: .milliseconds(120), Answers.echo)], 2: [.answer(after: .milliseconds(10), Answers.echo)],
        ])
        let run = Self.run(network)
        #expect(run.result.durations == [.milliseconds(120), .milliseconds(10)] && run.result.received == 2)
        #expect(run.duration == .milliseconds(600) && run.result.failure == nil)
    }

    /// The kernel reports what a router said of a packet by the next send, which sends nothing then.
    @Test func `an error of a packet before is known, and the packet is sent again once`() {
        let fault = PacketFault(speaker: Machine.router, kind: .unreachable)
        let pending = ScriptedNetwork.Effect.sendFailure(Errno(EHOSTUNREACH), reporting: [fault])
        let run = Self.run(ScriptedNetwork(packets: [2: [pending]]))
        #expect(run.sent == ["0 ms icmp 64", "50 ms icmp 64", "100 ms icmp 64"])
        #expect(run.result.faults == [fault] && run.result.failure == nil && run.result.sent == 3)
        #expect(run.traffic.packets == 3 && run.traffic.bytesSent == 192)
        let again = Self.run(ScriptedNetwork(packets: [2: [pending, pending]]))
        #expect(again.sent == ["0 ms icmp 64", "100 ms icmp 64"] && again.result.failure == .unreachable)
        #expect(again.traffic.packets == 3 && again.traffic.bytesSent == 128)
    }

    @Test func `what the own filter refuses is not sent again`() {
        let refusal = ScriptedNetwork.Effect.sendFailure(.notPermitted)
        let run = Self.run(ScriptedNetwork(everyPacket: { _ in [refusal] }))
        #expect(run.sent.isEmpty && run.result.failure == .blocked && run.result.sent == 3)
        #expect(run.traffic.packets == 3 && run.traffic.refused == 3 && run.traffic.bytesSent == 0)
        let once = Self.run(
            ScriptedNetwork(
                packets: [1: [refusal]],
                everyPacket: { _ in [.answer(after: .milliseconds(9), Answers.echo)] }
            )
        )
        #expect(once.result.failure == nil && once.result.received == 2 && once.traffic.refused == 1)
    }

    @Test func `a machine that lacks memory or was busy says so`() {
        let lacking = ScriptedNetwork.Effect.sendFailure(Errno(ENOMEM))
        let run = Self.run(ScriptedNetwork(everyPacket: { _ in [lacking, lacking] }))
        #expect(run.result.advice == "no memory is left (ENOMEM)" && run.result.failure == .resources)
        let busy = Self.run(ScriptedNetwork(delayedTimeouts: [1]))
        #expect(busy.result.advice == SchedulingDelay.text && busy.result.received == 0)
    }

    @Test func `errors of routers are kept once each, and a few at most`() {
        let network = ScriptedNetwork(everyPacket: { packet in
            let fault = PacketFault(speaker: .v4(UInt32(packet.number)), kind: .hopLimit)
            return [.fault(fault, after: .milliseconds(1)), .fault(fault, after: .milliseconds(2))]
        })
        #expect(Self.run(network).result.faults.count == 3)
        #expect(Self.run(network, count: 30).result.faults.count == 16)
        let reported: [ScriptedNetwork.Effect] = [.receiveFailure(Errno(ECONNREFUSED), after: .milliseconds(1))]
        let run = Self.run(ScriptedNetwork(everyPacket: { _ in reported }))
        #expect(run.result.failure == .refused && run.result.sent == 3 && run.duration == .milliseconds(600))
    }

    @Test func `without the privilege nothing is sent`() {
        let run = Self.run(ScriptedNetwork(openings: [0: [.failure(.accessDenied, .socket)]]))
        #expect(run.result.advice == FailureClassifier.icmpAdvice && run.result.failure == nil)
        #expect(run.result.sent == 0 && run.traffic.packets == 0 && run.isFinished)
    }
}
