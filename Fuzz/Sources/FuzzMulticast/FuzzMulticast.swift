// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import FuzzKit
import FuzzScripts

@testable import MulticastDNS

/// The whole receive path of one interface: packets, links that come and go, censuses and time, in any order.
///
/// The input is read as a program. After each of its steps the directory must be within its bounds, must have told a
/// consistent story, and must know when it wants to be woken.
@main enum FuzzMulticast {
    static func main() {
        unsafe Fuzzer.run { start, count in
            FuzzMulticast.examine(unsafe UnsafeBufferPointer(start: start, count: count).span)
            return 0
        }
    }

    private static let longestProgram = 96

    private static func examine(_ bytes: Span<UInt8>) {
        var input = InputReader(bytes)
        let flags = input.byte()
        var bench = Bench(flags)
        for _ in 0..<longestProgram {
            guard !input.isAtEnd else { break }
            step(&input, &bench)
        }
        if flags & 0x80 != 0 { bench.comeToRest() }
    }

    private static func step(_ input: inout InputReader, _ bench: inout Bench) {
        let code = input.byte()
        let family: AddressFamily = code & 0x80 == 0 ? .ipv4 : .ipv6
        switch code & 0x0F {
        case 0: bench.wait(.milliseconds(input.byte()))
        case 1: bench.wait(.milliseconds(input.word()))
        case 2: bench.wait(.seconds(input.word()))
        case 3: for _ in 0..<(1 + code >> 4 & 7) { bench.waitForDeadline() }
        case 4: bench.receive(input.bytes(input.word()), family, from: input.byte(), by: input.byte())
        case 5, 6, 7: bench.receive(Scripts.response(&input), family, from: input.byte())
        case 8, 9: bench.receive(Scripts.query(&input), family, from: input.byte(), by: input.byte())
        case 10: bench.echo(family)
        case 11: bench.receive(Scripts.service(input.byte(), timeToLive: input.byte()), family, from: 1)
        case 12: code & 0x40 == 0 ? bench.open(family, mtu: input.word()) : bench.close(family)
        case 13: bench.census(begins: code & 0x40 == 0)
        case 14:
            switch code >> 5 & 3 {
            case 0: bench.rename(input.byte())
            case 1: bench.reconfirm(Scripts.record(&input))
            case 2: bench.add(Scripts.wish(&input), of: input.byte())
            default: bench.removeClient(input.byte())
            }
        default: bench.storm(input.byte(), family)
        }
    }
}
