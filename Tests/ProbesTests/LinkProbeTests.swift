// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import Testing

@testable import Probes

private func reply(_ answer: @escaping Answers.Answer, after delay: Int = 20) -> ScriptedNetwork.Effect {
    .answer(after: .milliseconds(delay), answer)
}

@Suite struct NeighborDecisionTests {
    private static let (one, two): ([UInt8], [UInt8]) = ([2, 0, 0, 0, 0, 7], [2, 0, 0, 0, 0, 8])

    private static func run(
        _ network: ScriptedNetwork,
        _ target: IPAddress = Machine.v4
    ) throws -> ScriptedRun<NeighborResult> {
        network.run(NeighborProbe(target, on: 2, from: try Machine.ownAddress()))
    }

    /// The owners by their last byte.
    private static func owners(_ result: NeighborResult) -> [UInt8: Duration]? {
        guard case .owners(let owners) = result else { return nil }
        return Dictionary(uniqueKeysWithValues: owners.map { ($0.bytes[5], $1) })
    }

    @Test func `two owners are both found, each with its first answer`() throws {
        let effects = [reply(Answers.arp(Self.one)), reply(Answers.arp(Self.two), after: 30)]
        let run = try Self.run(ScriptedNetwork(everyPacket: { _ in effects }))
        #expect(Self.owners(run.result) == [7: .milliseconds(20), 8: .milliseconds(30)])
        #expect(run.duration == .seconds(1) && run.traffic.packets == 2 && run.traffic.bytesSent == 56)
        let solicited = [reply(Answers.advertisement(Self.one)), reply(Answers.advertisement(Self.two))]
        let six = try Self.run(ScriptedNetwork(packets: [2: solicited]), Machine.v6)
        #expect(Self.owners(six.result) == [7: .milliseconds(420), 8: .milliseconds(420)])
    }

    @Test func `the own request, and what comes from beyond the link, are no answers`() throws {
        let own = [reply(Answers.same), reply(Answers.arp(Machine.own)), reply { $0.bytes = [] }]
        #expect(Self.owners(try Self.run(ScriptedNetwork(everyPacket: { _ in own })).result) == [:])
        let forged = [reply(Answers.advertisement(Self.one, hopLimit: 254)), reply(Answers.same)]
        #expect(Self.owners(try Self.run(ScriptedNetwork(packets: [1: forged]), Machine.v6).result) == [:])
    }

    @Test func `sixteen owners are kept at most`() throws {
        let effects = (0..<40).map { reply(Answers.arp([2, 0, 0, 0, 1, $0])) }
        #expect(Self.owners(try Self.run(ScriptedNetwork(packets: [1: effects])).result)?.count == 16)
    }

    @Test func `a machine that was busy does not call it silence`() throws {
        var network = ScriptedNetwork(delayedTimeouts: [1])
        let silent = try Self.run(network).result
        #expect(silent == .failed(.resources, detail: SchedulingDelay.text))
        network.packets = [1: [reply(Answers.arp(Self.one))]]
        #expect(Self.owners(try Self.run(network).result)?.count == 1)
    }

    @Test func `without the privilege the advice names it`() throws {
        for error in [Errno.notPermitted, .accessDenied] {
            let run = try Self.run(ScriptedNetwork(openings: [0: [.failure(error, .socket)]]))
            guard case .notAssessed(let advice) = run.result else {
                Issue.record("\(error): \(run.result)")
                continue
            }
            #expect(advice.contains("CAP_NET_RAW") && run.sent.isEmpty && run.traffic.refused == 0)
        }
    }

    @Test func `a query that cannot be sent ends it, and a full queue does not`() throws {
        let missing = try Self.run(ScriptedNetwork(openings: [0: [.failure(Errno(ENODEV), .socket)]]))
        #expect(missing.result == .failed(.unreachable, detail: Errno(ENODEV).description))
        let down = try Self.run(ScriptedNetwork(packets: [2: [.sendFailure(Errno(ENETDOWN))]]))
        #expect(down.result == .failed(.unreachable, detail: Errno(ENETDOWN).description))
        #expect(down.duration == .milliseconds(400))
        let refused = try Self.run(ScriptedNetwork(packets: [1: [.sendFailure(.notPermitted)]]))
        #expect(refused.result == .failed(.blocked, detail: Errno.notPermitted.description))
        #expect(refused.traffic.refused == 1 && refused.duration == .zero)
        let full = try Self.run(ScriptedNetwork(packets: [1: [.sendFailure(.again)]]))
        #expect(Self.owners(full.result) == [:] && full.sent == ["400 ms arp 28"])
    }

    @Test func `a link that fails while it is listened to may still answer`() throws {
        let effects: [ScriptedNetwork.Effect] = [
            .receiveFailure(Errno(ENETDOWN), after: .milliseconds(5)), reply(Answers.arp(Self.one)),
        ]
        #expect(Self.owners(try Self.run(ScriptedNetwork(packets: [1: effects])).result) == [7: .milliseconds(20)])
    }

    @Test func `a link that fails and brings no reply has failed, which is not silence`() throws {
        let down = Errno(ENETDOWN)
        let network = ScriptedNetwork(packets: [2: [.receiveFailure(down, after: .milliseconds(5))]])
        let neighbor = try Self.run(network)
        #expect(neighbor.result == .failed(.unreachable, detail: down.description))
        #expect(neighbor.duration == .seconds(1))
        let sender = try Machine.ownAddress()
        #expect(network.run(RouterSolicitation(on: 2, from: sender)).result == .failed(detail: down.description))
        let dhcp = DHCPProbe(on: 2, from: sender, limit: .seconds(3))
        #expect(network.run(dhcp).result == .failed(detail: down.description))
    }

    @Test func `replies are counted, each host's once`() throws {
        let arp = [reply(Answers.arp(Self.one)), reply(Answers.arp(Self.one)), reply(Answers.arp(Self.two))]
        #expect(try Self.run(ScriptedNetwork(packets: [1: arp])).traffic.bytesReceived == 56)
        let advertisement = [reply(Answers.advertisement(Self.one)), reply(Answers.same)]
        #expect(try Self.run(ScriptedNetwork(packets: [1: advertisement]), Machine.v6).traffic.bytesReceived == 32)
    }
}

@Suite struct RouterSolicitationDecisionTests {
    private static func run(_ network: ScriptedNetwork) throws -> ScriptedRun<RouterResult> {
        network.run(RouterSolicitation(on: 2, from: try Machine.ownAddress()))
    }

    /// Routers and their lifetimes in seconds.
    private static func routers(_ effects: [ScriptedNetwork.Effect]) throws -> [[Int]] {
        guard case .advertisements(let routers) = try run(ScriptedNetwork(packets: [1: effects])).result else {
            return []
        }
        return routers.map { [Int($0.source.bytes[15]), Int($0.lifetime / .seconds(1))] }
    }

    @Test func `a router's later advertisement replaces its earlier one`() throws {
        let effects = [
            reply(Answers.router(1, lifetime: 9)), reply(Answers.router(2, lifetime: 8), after: 30),
            reply(Answers.router(1, lifetime: 7), after: 40), reply({ $0.bytes = [134, 0] }, after: 50),
        ]
        #expect(try Self.routers(effects) == [[1, 7], [2, 8]])
    }

    @Test func `only the link itself is believed`() throws {
        let foreign: Answers.Answer = { packet in
            Answers.router(1)(&packet)
            packet.source = Machine.v6.bytes
        }
        let nameless: Answers.Answer = { packet in
            Answers.router(1)(&packet)
            (packet.source, packet.hopLimit) = ([], nil)
        }
        let effects = [foreign, nameless, Answers.router(1, hopLimit: 64), Answers.same].map { reply($0) }
        #expect(try Self.routers(effects) == [])
    }

    @Test func `sixteen routers are kept at most, and those are renewed`() throws {
        let many = (0..<40).map { reply(Answers.router($0)) }
        let found = try Self.routers(many + [reply(Answers.router(15, lifetime: 1), after: 30)])
        #expect(found.count == 16 && found.last == [15, 1])
    }

    @Test func `failures and delays are reported, unless a router answered`() throws {
        let down = try Self.run(ScriptedNetwork(packets: [1: [.sendFailure(Errno(ENETUNREACH))]]))
        #expect(down.result == .failed(detail: Errno(ENETUNREACH).description))
        let busy = try Self.run(ScriptedNetwork(delayedTimeouts: [1]))
        #expect(busy.result == .failed(detail: SchedulingDelay.text))
        let network = ScriptedNetwork(packets: [2: [reply(Answers.router(1))]], delayedTimeouts: [1])
        guard case .advertisements(let routers) = try Self.run(network).result else {
            Issue.record("an advertisement was forgotten")
            return
        }
        #expect(routers.count == 1)
        let forbidden = try Self.run(ScriptedNetwork(openings: [0: [.failure(.notPermitted, .socket)]])).result
        guard case .notAssessed(let advice) = forbidden else {
            Issue.record("\(forbidden)")
            return
        }
        #expect(advice.contains("CAP_NET_RAW"))
    }
}

@Suite struct DHCPDecisionTests {
    private static func run(_ network: ScriptedNetwork) throws -> ScriptedRun<DHCPResult> {
        network.run(DHCPProbe(on: 2, from: try Machine.ownAddress(), limit: .seconds(4)))
    }

    private static func offer(_ number: UInt32) -> LeaseOffer { LeaseOffer(server: .v4(number), router: .v4(number)) }

    @Test func `each server offers once, and another's answer is none`() throws {
        let first: UInt32 = 0xC000_0201
        let effects = [
            reply(Answers.flipped(32, Answers.offer(9))), reply(Answers.flipped(56, Answers.offer(8))),
            reply(Answers.same), reply(Answers.offer(first)), reply(Answers.offer(first + 1), after: 30),
            reply(Answers.offer(first), after: 40),
        ]
        let run = try Self.run(ScriptedNetwork(everyPacket: { _ in effects }))
        #expect(run.result == .offers([Self.offer(first), Self.offer(first + 1)]))
        #expect(run.duration == .seconds(4) && run.traffic.packets == 2)
    }

    @Test func `sixteen servers are kept at most`() throws {
        let effects = (1...40).map { reply(Answers.offer(0xC000_0200 + UInt32($0))) }
        let expected = (1...16).map { Self.offer(0xC000_0200 + UInt32($0)) }
        #expect(try Self.run(ScriptedNetwork(packets: [1: effects])).result == .offers(expected))
    }

    @Test func `failures and delays are reported`() throws {
        let busy = try Self.run(ScriptedNetwork(delayedTimeouts: [1]))
        #expect(busy.result == .failed(detail: SchedulingDelay.text))
        let missing = try Self.run(ScriptedNetwork(openings: [0: [.failure(Errno(ENODEV), .socket)]]))
        #expect(missing.result == .failed(detail: Errno(ENODEV).description) && missing.sent.isEmpty)
        let forbidden = try Self.run(ScriptedNetwork(openings: [0: [.failure(.notPermitted, .socket)]])).result
        guard case .notAssessed(let advice) = forbidden else {
            Issue.record("\(forbidden)")
            return
        }
        #expect(advice.contains("CAP_NET_RAW"))
    }
}

@Suite struct MulticastDNSDecisionTests {
    private static let name = "2.2.0.192.in-addr.arpa"
    private static let types = "_services._dns-sd._udp.local"
    private static let (group, host) = (0, 1)

    /// Answers by the group and by the host itself, to every query.
    private static func network(
        group: [ScriptedNetwork.Effect] = [],
        host: [ScriptedNetwork.Effect] = []
    ) -> ScriptedNetwork {
        ScriptedNetwork(everyPacket: { $0.socket == Self.group ? group : host })
    }

    private static func run(
        _ network: ScriptedNetwork,
        _ peer: IPAddress = Machine.v4
    ) -> ScriptedRun<MulticastDNSResult> {
        network.run(MulticastDNSProbe(peer, on: 2))
    }

    private static func result(_ unicast: Bool?, _ multicast: Bool?) -> MulticastDNSResult {
        var result = MulticastDNSResult()
        (result.answersUnicast, result.answersMulticast) = (unicast, multicast)
        return result
    }

    @Test func `a host that answers both ways ends it`() {
        let run = Self.run(
            Self.network(
                group: [reply(Answers.multicastDNS([Self.name]), after: 50)],
                host: [reply(Answers.multicastDNS([Self.types]))]
            )
        )
        #expect(run.result == Self.result(true, true) && run.duration == .milliseconds(50))
        #expect(run.traffic.packets == 2 && run.traffic.bytesReceived > 0)
    }

    @Test func `by the group it is known by its name or its address`() {
        let host = [reply(Answers.multicastDNS([Self.types]))]
        let cases: [(Answers.Answer, Bool)] = [
            (Answers.multicastDNS([Self.types], from: Machine.v4), true),
            (Answers.multicastDNS([Self.types, Self.name], from: Machine.router), true),
            (Answers.multicastDNS([Self.types], from: Machine.router), false),
            (Answers.multicastDNS([], from: Machine.v4), false), (Answers.same, false),
        ]
        for (index, (answer, expected)) in cases.enumerated() {
            let run = Self.run(Self.network(group: [reply(answer)], host: host))
            #expect(run.result == Self.result(true, expected), "\(index)")
        }
    }

    @Test func `an answer to another query is not the host's own`() {
        let run = Self.run(Self.network(host: [reply(Answers.flipped(1, Answers.multicastDNS([Self.name])))]))
        #expect(run.result == Self.result(false, false) && run.traffic.bytesReceived == 0)
        #expect(run.traffic.packets == 5)
    }

    @Test func `a host of IPv6 answers the group from another address perhaps`() {
        let reverse = "2." + String(repeating: "0.", count: 23) + "8.b.d.0.1.0.0.2.ip6.arpa"
        for (name, expected) in [(Self.types, nil), (reverse, false)] as [(String, Bool?)] {
            let run = Self.run(Self.network(host: [reply(Answers.multicastDNS([name]))]), Machine.v6)
            #expect(run.result == Self.result(true, expected), "\(name)")
        }
        let local = Self.run(Self.network(host: [reply(Answers.multicastDNS([Self.types]))]), Answers.linkLocal(2))
        #expect(local.result == Self.result(true, false))
        let scopes = local.departures.compactMap { departure -> String? in
            if case .datagram(let peer, _, _) = departure.kind { peer.address.scope } else { nil }
        }
        #expect(scopes == ["2"])
    }

    @Test func `what was not sent is not known`() {
        let refused = [ScriptedNetwork.Effect.sendFailure(.notPermitted)]
        let alone = Self.run(Self.network(host: refused))
        #expect(alone.result == Self.result(nil, false) && alone.traffic.refused == 3)
        let both = Self.run(Self.network(group: refused, host: refused))
        #expect(both.result == Self.result(nil, nil) && both.traffic.refused == 4)
        let full = Self.run(Self.network(group: [.sendFailure(.again)]))
        #expect(full.result == Self.result(false, false) && full.traffic.packets == 5)
        let missing = Self.run(ScriptedNetwork(openings: [Self.group: [.failure(Errno(ENODEV), .socket)]]))
        #expect(missing.result == Self.result(false, nil) && missing.duration == .milliseconds(1500))
        var unicast = Self.network(host: [reply(Answers.multicastDNS([Self.types]))])
        unicast.openings = [Self.group: [.failure(Errno(ENODEV), .socket)]]
        let answered = Self.run(unicast)
        #expect(answered.result == Self.result(true, nil) && answered.duration == .milliseconds(20))
        // A host that is not reached at first is tried again.
        let later = Self.run(ScriptedNetwork(openings: [Self.host: [.failure(Errno(ENETUNREACH), .connect)]]))
        #expect(later.sent.filter { $0.contains("udp") } == ["450 ms udp 74", "900 ms udp 74"])
    }

    @Test func `a machine that was busy knows what it received`() {
        var network = Self.network(host: [reply(Answers.multicastDNS([Self.name]))])
        network.delayedTimeouts = [1]
        #expect(Self.run(network).result == Self.result(true, nil))
        #expect(Self.run(ScriptedNetwork(delayedTimeouts: [1])).result == Self.result(nil, nil))
        var group = Self.network(group: [reply(Answers.multicastDNS([Self.name]))])
        group.delayedTimeouts = [1]
        #expect(Self.run(group).result == Self.result(nil, true))
    }
}
