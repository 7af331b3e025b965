// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import FuzzKit
import Glibc

@testable import Probes

/// Whatever comes back to the questions of a diagnosis: it is understood or passed over, and what is understood makes
/// sense. The first byte says which question it answers, and whether what an answer needs is put in front of it.
@main enum FuzzReplies {
    static func main() {
        unsafe Fuzzer.run { start, count in
            FuzzReplies.examine(unsafe Array(UnsafeBufferPointer(start: start, count: count)))
            return 0
        }
    }

    private static func examine(_ input: [UInt8]) {
        guard let selector = input.first else { return }
        let bytes = Array(input.dropFirst())
        let isHelped = selector & 0x80 != 0
        switch selector & 0x1F {
        case 0: lease(bytes, isHelped)
        case 1: router(bytes, isHelped)
        case 2: arp(bytes, isHelped)
        case 3: advertisement(bytes, isHelped)
        case 4: echo(bytes, .ipv4, isHelped)
        case 5: echo(bytes, .ipv6, isHelped)
        case 6: faults(bytes, .ipv4)
        case 7: faults(bytes, .ipv6)
        case 8: time(bytes, isHelped)
        case 9: names(bytes, isHelped)
        case 10: stream(bytes)
        case 11: page(bytes, isSecure: false)
        case 12: page(bytes, isSecure: true)
        case 13: sizes(bytes, isHelped ? .ipv6 : .ipv4)
        case 14: load(bytes)
        case 15: train(bytes, isHelped)
        case 16: portal(bytes)
        case 17: portalStatus(bytes, isHelped)
        case 18: multicast(bytes, isHelped, .v4(0x0A4D_0014))
        case 19: multicast(bytes, isHelped, .v6(0x2001_0DB8_0077_0000_0000_0000_0000_0020))
        case 20: quote(bytes, isHelped)
        default: return
        }
    }

    private static let own: [UInt8] = [2, 0, 0, 0, 0, 0x66]

    /// A hardware address of six bytes.
    private static var sender: HardwareAddress {
        guard let address = HardwareAddress(own) else { fatalError("six bytes are no hardware address") }
        return address
    }

    /// Puts bytes in the place of others.
    private static func set(_ bytes: [UInt8], at offset: Int, of whole: inout [UInt8]) {
        for (index, byte) in bytes.enumerated() where offset + index < whole.count { whole[offset + index] = byte }
    }

    // MARK: - The link

    private static func lease(_ bytes: [UInt8], _ isHelped: Bool) {
        let question = DHCPMessage(transaction: 0x0102_0304, sender: sender)
        var packet = bytes
        if isHelped {
            packet = Array(question.packet.prefix(268)) + bytes
            set([0, 67, 0, 68], at: 20, of: &packet)
            packet[28] = 2
        }
        guard let offer = question.offer(in: packet.span) else { return }
        for address in [offer.server, offer.router].compactMap(\.self) {
            require(address.family == .ipv4 && !address.isUnspecified && !address.isMulticast, "an offer of \(address)")
        }
        require(packet.count >= 268, "an offer in \(packet.count) bytes")
        check(offer.portal)
    }

    private static func router(_ bytes: [UInt8], _ isHelped: Bool) {
        let message = isHelped ? [134, 0, 0, 0, 64, 0, 7, 8] + [UInt8](repeating: 0, count: 8) + bytes : bytes
        let source = IPAddress.v6(0xFE80_0000_0000_0000_0000_0000_0000_0001)
        for limit in [254, 0] { require(RouterAdvertisement(message.span, from: source, hopLimit: limit) == nil, "far") }
        require(RouterAdvertisement(message.span, from: .v4(0xC000_0201), hopLimit: 255) == nil, "not a link's")
        guard let said = RouterAdvertisement(message.span, from: source, hopLimit: 255) else { return }
        require(said.lifetime <= .seconds(65_535) && said.prefixes.count <= message.count / 32, "too much")
        for prefix in said.prefixes {
            require(prefix.length <= 128 && prefix.contains(prefix.address) && !prefix.address.isLinkLocal, "\(prefix)")
        }
        check(said.portal)
        for count in 0..<message.count {
            _ = RouterAdvertisement(message.span.extracting(0..<count), from: source, hopLimit: 255)
            if count > 64 { break }
        }
    }

    private static func arp(_ bytes: [UInt8], _ isHelped: Bool) {
        let question = NeighborMessage(target: .v4(0x0A4D_0001), sender: sender, source: 0x0A4D_000A)
        let datagram = isHelped ? [0, 1, 8, 0, 6, 4, 0, 2] + bytes : bytes
        let owner = question.owner(in: datagram.span, hopLimit: nil)
        require(owner != sender, "the own question as an answer")
        require(owner == nil || Array(datagram[14..<18]) == [10, 77, 0, 1], "somebody else's address")
        require(question.owner(in: question.request.span, hopLimit: nil) == nil, "the question answers itself")
    }

    private static func advertisement(_ bytes: [UInt8], _ isHelped: Bool) {
        let target = IPAddress.v6(0x2001_0DB8_0000_0000_0000_0000_0000_0001)
        let question = NeighborMessage(target: target, sender: sender, source: 0)
        let datagram = isHelped ? [136, 0, 0, 0, 0x60, 0, 0, 0] + target.bytes + bytes : bytes
        require(question.owner(in: datagram.span, hopLimit: 64) == nil, "an answer from beyond a router")
        let owner = question.owner(in: datagram.span, hopLimit: 255)
        require(owner != sender && (owner == nil || datagram.count >= 32), "an owner out of nothing")
    }

    // MARK: - ICMP

    private static func echo(_ bytes: [UInt8], _ family: AddressFamily, _ isHelped: Bool) {
        let token = [UInt8](repeating: 0xA5, count: 16)
        let question = EchoMessage(family: family, identifier: 0x1234, sequence: 7, token: token)
        var datagram = bytes
        if isHelped {
            datagram = [family == .ipv4 ? 0 : 129, 0, 0, 0, 0x12, 0x34, 0, 7] + token + bytes
            if family == .ipv4 { datagram = [0x45] + [UInt8](repeating: 0, count: 19) + datagram }
        }
        for isRaw in [false, true] where question.isAnswered(by: datagram.span, isRaw: isRaw) {
            require(datagram.count >= 24 && datagram.contains(0xA5), "an answer without the token")
        }
        require(EchoMessage.checksum(question.request.span) == 0 || family == .ipv6, "the checksum of a request")
        _ = EchoMessage.checksum(datagram.span)
    }

    /// What routers say of packets, one after another.
    private static func faults(_ bytes: [UInt8], _ family: AddressFamily) {
        var reader = InputReader(bytes.span)
        let end: IPAddress = family == .ipv4 ? .v4(0xCB00_7150) : .v6(0x2001_0DB8_00FF_0000_0000_0000_0000_0080)
        var trace = TracerouteResult(destination: end)
        for round in 0..<2 { for distance in 1...12 { trace.depart(round, distance: distance, at: .zero) } }
        var steps = 0
        while !reader.isAtEnd && steps < 64 {
            steps += 1
            let kind = PacketFault.Kind(family, type: reader.byte(), code: reader.byte())
            let who = reader.byte()
            let speaker: IPAddress? = who == 0 ? nil : who == 1 ? end : .v4(0x0A00_0000 | UInt32(who))
            let obstacle = PacketObstacle(family, type: reader.byte(), code: reader.byte())
            let (round, distance) = (Int(reader.byte() % 3), Int(reader.byte() % 14))
            trace.record(PacketFault(speaker: speaker, kind: kind), obstacle, round, distance: distance, at: .zero)
        }
        require(trace.routers.map(\.distance) == trace.routers.map(\.distance).sorted(), "hops out of order")
        require(trace.hops.allSatisfy { $0.received <= $0.sent }, "more answers than packets")
        require(trace.unreachableFrom != end, "the end says that it is not there")
    }

    /// What ICMP errors quote of the packets of a traceroute.
    private static func quote(_ bytes: [UInt8], _ isHelped: Bool) {
        for method in [TraceroutePlan.Method.udp(port: nil), .icmp] {
            let messages = TracerouteMessages(method, .ipv4, round: 1)
            let start = isHelped ? Array(messages.request(3).prefix(bytes.count)) : []
            for isRaw in [false, true] {
                guard case .distance(let distance) = messages.match(start + bytes, isRaw: isRaw) else { continue }
                require((0...255).contains(distance), "a hop limit that no packet has")
                let isQuoted = !start.isEmpty && method != .icmp
                require(!isQuoted || distance == 3, "another packet than the quoted one")
            }
        }
    }

    private static func train(_ bytes: [UInt8], _ isDatagram: Bool) {
        let messages = TrainMessages(isDatagram ? .datagram(port: 7007) : .echo, family: .ipv4)
        for isRaw in [false, true] {
            let number = messages.number(of: bytes.span, isRaw: isRaw, awaited: Array(0..<4))
            require(number == nil, "a packet of somebody who cannot know the token")
        }
    }

    /// Any answers to packets of any sizes, and whatever routers say of them.
    private static func sizes(_ bytes: [UInt8], _ family: AddressFamily) {
        var reader = InputReader(bytes.span)
        let limit = max(68, reader.word())
        var search = PathMTUSearch(family, limit: limit)
        for _ in 0..<64 {
            guard case .send(let size) = search.next else {
                if case .done(let size?) = search.next { require(size <= limit, "larger than the link takes") }
                return
            }
            require(size > 0 && size <= limit, "a packet of \(size) bytes on a link of \(limit)")
            let answer = reader.byte()
            if answer & 2 != 0 { search.announce(reader.word()) }
            search.record(size, isAnswered: answer & 1 != 0)
        }
        fatalError("the search does not end")
    }
}
