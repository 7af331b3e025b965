// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire
internal import FuzzKit

@testable internal import MulticastDNS

/// One interface and its clock, worked by a program of bytes: packets, time, and what a target adds.
///
/// Packets and events are checked as they come; the tables, which costs more, after every fourth step and at the end.
protocol LinkBench {
    /// What a program can begin with, made once and copied for each.
    static var beginnings: [Self] { get }
    var directory: LinkDirectory { get set }
    var now: Duration { get set }
    /// The last packet that was sent by each family.
    var lastSent: [AddressFamily: [UInt8]] { get set }

    /// Carries out what is due, and checks what comes out.
    mutating func act()
    /// Checks what must hold between steps.
    func checkTables()
    mutating func receive(_ bytes: Span<UInt8>, _ family: AddressFamily, from origin: PacketOrigin)
    /// A step that only this target has; `kind` is from 8 to 15, `variant` from 0 to 7.
    mutating func step(_ kind: UInt8, _ variant: UInt8, _ family: AddressFamily, _ input: inout InputReader)
    /// What is tried when the program is over; `choice` is from 0 to 3.
    mutating func finish(_ choice: UInt8)
}

extension LinkBench {
    /// Many short programs find more than few long ones, for what they begin with is not empty.
    private static var longestProgram: Int { 16 }

    /// Runs the program that the input is read as.
    static func examine(_ bytes: Span<UInt8>) {
        var input = InputReader(bytes)
        let flags = input.byte()
        var bench = beginnings[Int(flags & 63) % beginnings.count]
        for number in 1...longestProgram where !input.isAtEnd {
            bench.step(&input)
            guard number & 3 == 0 else { continue }
            bench.act()
            bench.checkTables()
        }
        bench.act()
        bench.checkTables()
        bench.finish(flags >> 6)
    }

    private mutating func step(_ input: inout InputReader) {
        let code = input.byte()
        let family: AddressFamily = code & 0x80 == 0 ? .ipv4 : .ipv6
        let variant = code >> 4 & 7
        switch code & 15 {
        case 0: wait(.milliseconds(input.byte()))
        case 1: wait(.milliseconds(input.word()))
        case 2: wait(.seconds(input.word()))
        case 3: for _ in 0...(variant & 3) { waitForDeadline() }
        case 4: receive(input.bytes(Int(input.byte())), family, from: input.byte(), by: input.byte())
        case 5: receive(Scripts.response(&input).span, family, from: input.byte(), by: variant << 3)
        case 6: receive(Scripts.query(&input).span, family, from: input.byte(), by: input.byte())
        case 7: hearAgain(family, from: input.byte(), changed: input.byte())
        default: step(code & 15, variant, family, &input)
        }
    }

    // MARK: - Steps

    mutating func wait(_ duration: Duration) {
        now += duration
        act()
    }

    private mutating func waitForDeadline() {
        guard let deadline = directory.nextDeadline else { return }
        now = max(now, deadline)
        act()
    }

    mutating func close(_ family: AddressFamily) {
        directory.close(family, at: now)
        act()
    }

    /// A packet from anywhere; `way` says by which port, to whom, and whether from this link.
    mutating func receive(_ bytes: Span<UInt8>, _ family: AddressFamily, from source: UInt8, by way: UInt8 = 0) {
        let origin = PacketOrigin(
            source: family == .ipv4 ? .v4(0xC000_0200 | UInt32(source)) : .v6(UInt128(source) | 0xFE80 << 112),
            port: way & 7 == 7 ? 1024 + UInt16(way) : 5353,
            wasMulticast: way & 8 == 0,
            isOnLink: way & 16 == 0
        )
        Fuzzer.countPacket()
        receive(bytes, family, from: origin)
        act()
    }

    /// Somebody sends what we sent, or nearly so.
    private mutating func hearAgain(_ family: AddressFamily, from source: UInt8, changed: UInt8) {
        guard var packet = lastSent[family] else { return }
        if changed & 0x80 != 0 { packet[packet.count - 1] = changed }
        // A question that comes back as an answer.
        if changed & 0x40 != 0 { packet[2] = 0x84 }
        receive(packet.span, family, from: source)
    }

    /// Goes from one wake-up to the next, up to `end` or until there is none.
    mutating func pass(until end: Duration = .seconds(Int64.max >> 1), orFail message: String) {
        var steps = 0
        while let deadline = directory.nextDeadline, deadline <= end {
            now = max(now, deadline)
            act()
            steps += 1
            if steps & 7 == 0 { checkTables() }
            require(steps < 20_000, message)
        }
        checkTables()
    }
}
