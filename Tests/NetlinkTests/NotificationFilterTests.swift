// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
@testable import Netlink
import TestSupport
import Testing

/// Runs the program as the kernel does, so that it can be tested on messages no kernel sends.
@Suite struct NotificationFilterTests {
    private func passes(
        _ filter: NotificationFilter = NotificationFilter(),
        type: UInt16,
        family: UInt8 = 2,
        length: UInt8,
        to destination: IPAddress? = nil,
        flags: UInt16 = 0
    ) -> Bool {
        var route = Builder.route(family: family, length: length).attribute(15, 254)
        if let destination { route = route.attribute(1, destination.bytes) }
        return BerkeleyFilter.run(filter.program, on: route.message(type: type, flags: flags)) > 0
    }

    @Test(arguments: [24, 25] as [UInt16], [(2, 8), (10, 16)] as [(UInt8, UInt8)])
    func `routes that may stand for the Internet pass, longer ones do not`(
        type: UInt16,
        limit: (family: UInt8, length: UInt8)
    ) {
        for length in 0...128 as ClosedRange<UInt8> {
            let passes = passes(type: type, family: limit.family, length: length)
            #expect(passes == (length <= limit.length), "/\(length)")
        }
    }

    @Test func `parts of dumps always pass`() {
        #expect(passes(type: 24, length: 32, flags: 2))
        #expect(passes(type: 24, length: 128, flags: 0x12))
        #expect(!passes(type: 24, length: 32, flags: 0x400))
    }

    @Test func `every other message passes`() {
        for type in 0...200 as ClosedRange<UInt16> where ![24, 25, 28, 29].contains(type) {
            #expect(passes(type: type, length: 99), "type \(type)")
        }
    }

    @Test(arguments: [28, 29] as [UInt16], ["192.0.2.1", "10.0.0.1", "fe80::1", "2001:db8::fe"])
    func `entries of the neighbours in question pass, and no others`(type: UInt16, text: String) {
        let neighbor = IPAddress.of(text)
        let filter = NotificationFilter(neighbors: [neighbor, .of("198.51.100.1"), .of("2001:db8:7::1")])
        func passes(_ filter: NotificationFilter, _ address: IPAddress) -> Bool {
            let family: UInt8 = address.family == .ipv4 ? 2 : 10
            // `struct ndmsg`, a hardware address before the one in question, then NDA_DST.
            let entry = Builder([family, 0, 0, 0] + [2, 0, 0, 0] + [2, 0, 0, 1])
                .attribute(2, [2, 0, 0, 0, 0, 1]).attribute(1, address.bytes)
            return BerkeleyFilter.run(filter.program, on: entry.message(type: type)) > 0
        }
        #expect(passes(filter, neighbor) && passes(filter, .of("198.51.100.1")))
        for bit in 0..<neighbor.family.bitWidth { #expect(!passes(filter, neighbor.flipping(bit: bit)), "bit \(bit)") }
        #expect(!passes(NotificationFilter(destinations: [neighbor]), neighbor))
    }

    @Test func `what a bridge learns of the hardware addresses in question passes, and nothing else of it`() {
        let address: [UInt8] = [2, 0, 0x5E, 0x10, 0x20, 0x30]
        func passes(_ filter: NotificationFilter, _ address: [UInt8]) -> Bool {
            let entry = Builder([7, 0, 0, 0] + [5, 0, 0, 0] + [2, 0, 0, 0]).attribute(9, 20).attribute(2, address)
            return BerkeleyFilter.run(filter.program, on: entry.message(type: 28)) > 0
        }
        let filter = NotificationFilter(hardwareAddresses: [address, [2, 0, 0, 0, 0, 1], []])
        #expect(passes(filter, address) && passes(filter, [2, 0, 0, 0, 0, 1]))
        for place in address.indices {
            var other = address
            other[place] ^= 1
            #expect(!passes(filter, other), "byte \(place)")
        }
        #expect(!passes(NotificationFilter(neighbors: [.v4(1)]), address))
    }

    @Test func `of what expires only policies that are gone pass (S55)`() {
        func passes(_ type: UInt16, hard: UInt8 = 0) -> Bool {
            // `struct xfrm_userpolicy_info`, then `hard`.
            let expired = Builder([UInt8](repeating: 0xFF, count: 168) + [hard] + [UInt8](repeating: 0xFF, count: 7))
            return BerkeleyFilter.run(OutputChangeSocket.policyChanges, on: expired.message(type: type)) > 0
        }
        #expect(!passes(24) && !passes(24, hard: 1) && !passes(27) && passes(27, hard: 1))
        // XFRM_MSG_NEWPOLICY, DELPOLICY, UPDPOLICY, FLUSHPOLICY, SETDEFAULT.
        for type: UInt16 in [19, 20, 25, 29, 39] { #expect(passes(type)) }
    }

    @Test func `what passes passes whole`() {
        let message = Builder.route().message(type: 24)
        #expect(BerkeleyFilter.run(NotificationFilter().program, on: message) == .max)
    }

    @Test(arguments: ["8.8.8.8", "203.0.113.200", "2001:4860:4860::8888", "2a00:1450:4001:81b::200e"])
    func `long prefixes pass when they cover a destination, and no others`(text: String) throws {
        let destination = IPAddress.of(text)
        let filter = NotificationFilter(destinations: [destination, .of("192.0.2.1"), .of("2001:db8::1")])
        let width = destination.family.bitWidth
        let shortest = destination.family == .ipv4 ? 9 : 17
        // Of IPv6 addresses, 64 bits are compared.
        let deepest = destination.family == .ipv4 ? 32 : 64
        for length in shortest...width {
            let covering = destination.masked(to: length)
            #expect(passes(filter, destination: covering, length: length), "\(covering)/\(length)")
            for bit in [0, length / 2, length - 1] where bit < min(length, deepest) {
                let other = covering.flipping(bit: bit)
                let isCovering = filter.destinations.contains {
                    $0.family == other.family && $0.masked(to: length) == other
                }
                #expect(passes(filter, destination: other, length: length) == isCovering, "\(other)/\(length)")
            }
        }
    }

    private func passes(_ filter: NotificationFilter, destination: IPAddress, length: Int) -> Bool {
        let family: UInt8 = destination.family == .ipv4 ? 2 : 10
        return passes(filter, type: 24, family: family, length: UInt8(length), to: destination)
    }

    @Test func `a filter covers what it lets through`() {
        let none = NotificationFilter()
        let some = NotificationFilter(destinations: [.v4(1)])
        let near = NotificationFilter(neighbors: [.v4(1)])
        #expect(some.covers(none) && !none.covers(some) && some.covers(some))
        let learnt = NotificationFilter(hardwareAddresses: [[1]])
        #expect(learnt.covers(none) && !none.covers(learnt) && !near.covers(learnt))
        #expect(near.covers(none) && !none.covers(near) && !some.covers(near) && !near.covers(some))
    }

    @Test func `a program has an end on every way, within the kernel's bounds, however much is asked for`() {
        let many = Set((0..<500).map { IPAddress.v4(0x0A00_0000 + $0 * 3) } + (0..<500).map { .v6(0x2001 << 112 | $0) })
        let stations = Set((0..<500).map { [2, 0, 0, 0, UInt8($0 >> 8), UInt8($0 & 0xFF)] })
        let full = NotificationFilter(destinations: many, neighbors: many, hardwareAddresses: stations)
        for filter in [NotificationFilter(), full] {
            let program = filter.program
            #expect((1...4096).contains(program.count))
            for (place, instruction) in program.enumerated() where UInt16(instruction >> 48) & 7 == 5 {
                let isAlways = UInt16(instruction >> 48) & 0xF0 == 0
                let ahead =
                    isAlways
                    ? [Int(UInt32(truncatingIfNeeded: instruction))]
                    : [Int(instruction >> 40 & 0xFF), Int(instruction >> 32 & 0xFF)]
                for ahead in ahead { #expect(place + 1 + ahead < program.count) }
            }
        }
    }
}

/// The kernel runs the same programs on its own messages.
@Suite(.inNamespace) struct NotificationFilterOnKernelTests {
    private let namespace = Namespace.current

    @Test func `routes to destinations come through, others do not`() async throws {
        let peer = try namespace.uplink()
        var socket = try EventSocket(groups: Set(EventGroup.allCases))
        try socket.attach(NotificationFilter(destinations: [.of("198.51.100.53"), .of("2001:db8:53::53")]))
        try namespace.ipBatch([
            "route add 203.0.113.0/24 via 192.0.2.1", "route add 198.51.100.52/32 via 192.0.2.1",
            "route add 198.51.0.0/16 via 192.0.2.1", "route add unreachable 198.51.100.53/32",
            "route add 2001:db8:54::/48 via 2001:db8:1::1", "route add 2001:db8:53::/48 via 2001:db8:1::1",
            "route add unreachable 2001:db8:53::53/128",
        ])
        var lengths: [Int] = []
        var decoder = EventDecoder()
        while case .datagram = socket.receive({ decoder.decode($0, from: $1) }) {}
        for notice in decoder.drain() {
            if case .route(let route) = notice.event { lengths.append(route.prefixLength) }
        }
        #expect(lengths == [16, 32, 48, 128])
        withExtendedLifetime(peer) {}
    }
}

extension IPAddress {
    /// The first `length` bits, with zeros behind them.
    fileprivate func masked(to length: Int) -> IPAddress {
        switch self {
        case .v4(let value): .v4(length == 0 ? 0 : value & (.max << UInt32(32 - length)))
        case .v6(let value): .v6(length == 0 ? 0 : value & (.max << UInt128(128 - length)))
        }
    }

    /// With one bit turned over, counted from the first.
    fileprivate func flipping(bit: Int) -> IPAddress {
        switch self {
        case .v4(let value): .v4(value ^ (1 << UInt32(31 - bit)))
        case .v6(let value): .v6(value ^ (1 << UInt128(127 - bit)))
        }
    }
}
