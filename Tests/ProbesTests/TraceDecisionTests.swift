// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import Testing

@testable import Probes

/// A path in virtual time: what answers a packet of a round with a hop limit, and after how long.
private struct ScriptedPath {
    enum Answer {
        case router(UInt32)
        case destination
        case obstacle(UInt32, PacketObstacle)
        case silence
    }

    var method = TraceroutePlan.Method.udp(port: nil)
    var delay = Duration.milliseconds(5)
    var network = ScriptedNetwork()
    /// What routers quote of a packet.
    var quote: @Sendable ([UInt8]) -> [UInt8] = { $0 }
    let answer: @Sendable (_ round: Int, _ distance: Int) -> Answer

    static let end = Machine.v4

    init(_ answer: @escaping @Sendable (Int, Int) -> Answer) { self.answer = answer }

    /// Routers 1, 2 and so on before the destination.
    static func straight(_ count: Int) -> ScriptedPath {
        ScriptedPath { _, distance in distance < count ? .router(UInt32(distance)) : .destination }
    }

    func run(_ change: (inout TraceroutePlan) -> Void = { _ in }) -> ScriptedRun<TracerouteResult> {
        var plan = TraceroutePlan()
        plan.method = method
        change(&plan)
        var network = network
        let path = self
        network.everyPacket = { packet in path.effects(packet) + self.network.everyPacket(packet) }
        network.everyOpening = { kind in path.opening(kind) ?? self.network.everyOpening(kind) }
        return network.run(Traceroute(to: ScopedAddress(Self.end), plan))
    }

    private static func fault(_ answer: Answer) -> (fault: PacketFault, obstacle: PacketObstacle?)? {
        switch answer {
        case .router(let address): (PacketFault(speaker: .v4(address), kind: .hopLimit), nil)
        case .obstacle(let address, .port): (PacketFault(speaker: .v4(address), kind: .portClosed), .port)
        case .obstacle(let address, let what): (PacketFault(speaker: .v4(address), kind: .unreachable), what)
        case .destination: (PacketFault(speaker: end, kind: .portClosed), .port)
        case .silence: nil
        }
    }

    private func effects(_ packet: ScriptedNetwork.Packet) -> [ScriptedNetwork.Effect] {
        let answer = answer(packet.socket >> 8 - 1, packet.hopLimit ?? 0)
        if case (.icmp, .destination) = (method, answer) { return [.answer(after: delay, Answers.echo)] }
        guard let (fault, obstacle) = Self.fault(answer) else { return [] }
        return [.fault(fault, after: delay, quote: quote(packet.bytes), obstacle: obstacle)]
    }

    private func opening(_ kind: ProbeSocketKind) -> ScriptedNetwork.Opening? {
        guard case .stream(_, _, let options) = kind else { return nil }
        switch answer(0, options.hopLimit ?? 0) {
        case .destination: return .connection(after: delay)
        case .silence: return .refusal(.timedOut, after: .seconds(130))
        case let other: return .refusal(Errno(EHOSTUNREACH), after: delay, reporting: Self.fault(other)?.fault)
        }
    }
}

extension TracerouteResult {
    /// Such as `1:5/5`: distance, received and sent.
    fileprivate var counts: [String] { hops.map { "\($0.distance):\($0.received)/\($0.sent)" } }
}

@Suite struct TraceDecisionTests {
    @Test(arguments: [TraceroutePlan.Method.udp(port: nil), .udp(port: 53), .tcp(port: 443), .icmp])
    func `each method finds every hop, and arrives`(method: TraceroutePlan.Method) {
        var path = ScriptedPath.straight(4)
        path.method = method
        let run = path.run()
        #expect(run.isFinished && run.result.counts == ["1:5/5", "2:5/5", "3:5/5", "4:5/5"])
        #expect(run.result.destinationDistance == 4 && run.result.end == 4)
        #expect(run.result.routers.map(\.address) == [.v4(1), .v4(2), .v4(3)])
        #expect(run.result.hops.allSatisfy { $0.roundTrips == Array(repeating: .milliseconds(5), count: 5) })
        // Four rounds of a second, and the last one.
        #expect(run.duration == .milliseconds(4120))
    }

    @Test func `a raw socket shows answers of others, which do not count`() {
        var path = ScriptedPath.straight(2)
        path.method = .icmp
        path.network.isRaw = true
        // A raw socket of IPv4 shows the header as well.
        path.network.everyPacket = { packet in
            packet.hopLimit == 2 ? [.answer(after: .milliseconds(9), Answers.rawEcho)] : []
        }
        #expect(path.run().result.counts == ["1:5/5", "2:5/5"])
        // Another program's echo request to the same host.
        path.quote = { bytes in
            var bytes = bytes
            bytes[4] ^= 1
            return bytes
        }
        #expect(path.run().result.counts == ["1:0/5", "2:5/5"])
    }

    @Test func `packets of a round are one flow, and each round is another one`() {
        let departures = ScriptedPath.straight(3).run().departures
        let ports = departures.compactMap { departure -> UInt16? in
            if case .datagram(let peer, _, _) = departure.kind { peer.port } else { nil }
        }
        #expect(ports == (0..<5).flatMap { Array(repeating: 33434 + UInt16($0), count: 3) })
        #expect(Set(departures.map(\.socket)).count == 5)
        #expect(departures.allSatisfy { $0.bytes?.count == 32 })
        var echo = ScriptedPath.straight(3)
        echo.method = .icmp
        let requests = echo.run().departures.compactMap(\.bytes)
        // The checksum is that of the round.
        #expect(Set(requests.map { [$0[2], $0[3]] }).count == 5 && Set(requests).count == 15)
    }

    @Test func `loss is counted for each hop`() {
        let path = ScriptedPath { round, distance in
            if distance == 2 && round % 2 == 1 || distance == 3 { return .silence }
            return distance == 4 ? .destination : .router(UInt32(distance))
        }
        let result = path.run { $0.rounds = 10 }.result
        #expect(result.counts == ["1:10/10", "2:5/10", "3:0/10", "4:10/10"])
    }

    @Test func `several routers at one distance are all known, the most frequent first`() {
        let path = ScriptedPath { round, distance in
            distance == 3 ? .destination : .router(distance == 2 && round % 3 == 1 ? 22 : UInt32(distance))
        }
        let result = path.run { $0.rounds = 6 }.result
        let speakers = result.hops[1].speakers(ScriptedPath.end)
        #expect(speakers.map(\.address) == [.v4(2), .v4(22)] && speakers.map(\.count) == [4, 2])
        #expect(result.loop(answering: 2) == nil)
    }

    @Test func `a loop ends it, whatever its routers leave out`() throws {
        let circle = ScriptedPath { _, distance in .router(distance < 2 ? 1 : UInt32(2 + distance % 2)) }
        let result = circle.run().result
        let loop = try #require(result.loop(answering: 3))
        #expect(loop.routers == [.v4(2), .v4(3)] && loop.end == 6 && result.end == 6)
        #expect(result.counts.count <= 7)
        let shy = ScriptedPath { round, distance in
            distance < 3 || distance == 6 ? .router(distance == 1 ? 1 : UInt32(2 + distance % 2)) : .silence
        }
        #expect(shy.run().result.loop(answering: 2) == nil)
        let once = ScriptedPath { round, distance in
            switch distance {
            case 1, 2, 3: .router(UInt32(distance))
            case 5: .router(2)
            default: .silence
            }
        }
        let found = once.run().result
        #expect(found.loop(answering: 3) == nil && found.loop(answering: 2)?.routers == [.v4(2), .v4(3)])
    }

    @Test(arguments: [PacketObstacle.network, .host, .prohibited, .port])
    func `who reports that it goes no further ends it`(obstacle: PacketObstacle) {
        let path = ScriptedPath { _, distance in distance < 3 ? .router(UInt32(distance)) : .obstacle(2, obstacle) }
        let run = path.run()
        #expect(run.result.refusal == TracerouteRefusal(distance: 3, speaker: .v4(2), obstacle: obstacle))
        #expect(run.result.end == 3 && !run.result.isArrived && run.result.hops[2].received == 5)
        #expect(run.result.unreachableFrom == (obstacle == .port ? nil : .v4(2)))
    }

    @Test func `a destination that refuses is reached`() {
        var path = ScriptedPath { _, distance in
            distance == 1 ? .router(1) : .obstacle(0, .prohibited)
        }
        path.network.everyPacket = { packet in
            let fault = PacketFault(speaker: ScriptedPath.end, kind: .unreachable)
            return packet.hopLimit == 2 ? [.fault(fault, after: .milliseconds(1), obstacle: .prohibited)] : []
        }
        #expect(path.run().result.destinationDistance == 2)
    }

    @Test func `a dead path is finished within six seconds`() {
        let path = ScriptedPath { _, distance in distance < 3 ? .router(UInt32(distance)) : .silence }
        let run = path.run()
        #expect(run.result.counts == ["1:5/5", "2:5/5", "3:0/5", "4:0/5", "5:0/5", "6:0/5", "7:0/5"])
        #expect(run.result.end == nil && run.result.lastAnswered == 2 && run.duration < .seconds(6))
        let nothing = ScriptedPath { _, _ in .silence }.run()
        #expect(nothing.result.counts == (1...5).map { "\($0):0/5" } && nothing.duration < .seconds(6))
    }

    @Test func `a path of long delays is followed to its end`() {
        var path = ScriptedPath.straight(12)
        path.delay = .milliseconds(600)
        let run = path.run()
        #expect(run.result.destinationDistance == 12 && run.result.hops[11].received == 5)
    }

    @Test func `the largest hop limit and the number of rounds are kept to`() {
        let run = ScriptedPath.straight(9).run {
            $0.hops = 3
            $0.rounds = 2
        }
        #expect(run.result.counts == ["1:2/2", "2:2/2", "3:2/2"] && !run.result.isArrived)
    }
}

@Suite struct TraceMatchingTests {
    @Test func `an error about a packet of another program is ignored`() {
        var path = ScriptedPath.straight(3)
        path.quote = { [$0[0]] + $0.dropFirst().map { $0 ^ 1 } }
        let result = path.run { $0.rounds = 1 }.result
        #expect(result.lastAnswered == 0)
    }

    @Test(arguments: [0, 4, 32]) func `where a router quotes nothing, each hop gets a socket`(zeros: Int) {
        var path = ScriptedPath.straight(3)
        path.quote = { $0[0] == 2 ? [UInt8](repeating: 0, count: zeros) : $0 }
        let run = path.run()
        #expect(run.result.counts == ["1:5/5", "2:5/5", "3:5/5"] && run.result.isArrived)
        #expect(run.result.routers.map(\.address) == [.v4(1), .v4(2)])
        #expect(Set(run.departures.map(\.socket)).count == 1 + 15)
    }

    @Test func `a part of a packet is enough`() {
        var path = ScriptedPath.straight(3)
        path.quote = { Array($0.prefix(1)) }
        let run = path.run()
        #expect(run.result.counts == ["1:5/5", "2:5/5", "3:5/5"] && Set(run.departures.map(\.socket)).count == 5)
        path.method = .icmp
        path.quote = { $0.prefix(8) + [UInt8](repeating: 0, count: 20) }
        #expect(path.run().result.isArrived)
        path.quote = { Array($0.prefix(7)) }
        #expect(path.run().result.routers.isEmpty)
    }

    @Test func `what an error before keeps from being sent is sent again`() {
        var path = ScriptedPath.straight(3)
        path.network.packets = [2: [.sendFailure(Errno(EHOSTUNREACH)), .sendFailure(Errno(ECONNREFUSED))]]
        let run = path.run { $0.rounds = 1 }
        #expect(run.result.counts == ["1:1/1", "2:1/1", "3:1/1"] && run.result.failure == nil)
    }

    @Test func `what the own filter refuses is not sent again`() {
        var path = ScriptedPath { _, _ in .silence }
        path.network.everyPacket = { _ in [.sendFailure(.notPermitted)] }
        let run = path.run { $0.rounds = 1 }
        #expect(run.traffic.refused == 5 && run.traffic.packets == 5)
        guard case .failure(.blocked, _)? = run.result.failure else {
            Issue.record("\(run.result)")
            return
        }
    }

    @Test func `what this machine lacks ends it at once`() {
        let shared = 1 << 8
        var path = ScriptedPath.straight(3)
        path.network.openings = [shared: [.failure(Errno(ENETUNREACH), .connect)]]
        let unreachable = path.run()
        #expect(unreachable.isFinished && unreachable.duration == .zero && unreachable.departures.isEmpty)
        guard case .failure(.unreachable, _)? = unreachable.result.failure else {
            Issue.record("\(unreachable.result)")
            return
        }
        path.method = .icmp
        path.network.openings = [shared: [.failure(.accessDenied, .socket)]]
        guard case .notAssessed(let advice)? = path.run().result.failure else {
            Issue.record("the socket was made")
            return
        }
        #expect(advice.contains("ping_group_range"))
    }

    @Test func `a closed port of TCP is an arrival, and an old kernel names no router`() {
        let refusing = ScriptedPath { _, distance in distance == 1 ? .router(1) : .silence }
        var path = refusing
        path.method = .tcp(port: 80)
        path.network.openings = Dictionary(
            uniqueKeysWithValues: (0..<5).map {
                (($0 + 1) << 8 | 2, [.refusal(Errno(ECONNREFUSED), after: .milliseconds(3))])
            }
        )
        #expect(path.run().result.destinationDistance == 2)
        path.network.openings = [1 << 8 | 1: [.refusal(Errno(EHOSTUNREACH), after: .milliseconds(3))]]
        let unnamed = path.run { $0.rounds = 1 }.result
        #expect(unnamed.lastAnswered == 0 && unnamed.failure == nil)
    }

    @Test func `the limit ends it, and says so`() {
        let run = ScriptedPath.straight(3).run { $0.limit = .milliseconds(1500) }
        #expect(run.result.isCut && run.result.isArrived && run.duration == .milliseconds(1500))
        #expect(!ScriptedPath.straight(3).run { $0.limit = .seconds(9) }.result.isCut)
    }

    @Test func `a machine that was busy says so`() {
        var path = ScriptedPath { _, _ in .silence }
        path.network.delayedTimeouts = [1]
        #expect(path.run { $0.rounds = 1 }.result.isDelayed)
    }

    @Test(
        arguments: [
            (AddressFamily.ipv4, 3, 0, PacketObstacle.network), (.ipv4, 3, 1, .host), (.ipv4, 3, 13, .prohibited),
            (.ipv4, 3, 3, .port), (.ipv4, 3, 4, nil), (.ipv4, 11, 0, nil), (.ipv6, 1, 0, .network),
            (.ipv6, 1, 1, .prohibited),
            (.ipv6, 1, 3, .host), (.ipv6, 1, 4, .port), (.ipv6, 1, 2, .other), (.ipv6, 3, 0, nil),
            (.ipv4, 3, 2, .transport),
        ] as [(AddressFamily, UInt8, UInt8, PacketObstacle?)]
    )
    func `an ICMP code says what is unreachable`(family: AddressFamily, type: UInt8, code: UInt8, what: PacketObstacle?)
    {
        #expect(PacketObstacle(family, type: type, code: code) == what)
    }
}
