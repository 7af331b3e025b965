// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import FuzzKit
import FuzzScripts

@testable import MulticastDNS

/// Advertising on one interface: registrations that come and go, others who ask, object, probe for the same names,
/// forge their addresses or repeat what we said, addresses that change, and time; in any order.
@main enum FuzzResponder {
    static func main() {
        unsafe Fuzzer.run { start, count in
            FuzzResponder.examine(unsafe UnsafeBufferPointer(start: start, count: count).span)
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
        if flags & 0x40 != 0 { bench.settle() }
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
        case 5:
            let bytes = Scripts.response(&input)
            bench.receive(bytes.span, family, from: input.byte(), by: 0)
        case 6, 7, 8:
            let bytes = Scripts.query(&input)
            bench.receive(bytes.span, family, from: input.byte(), by: input.byte())
        case 9: bench.hearAgain(family, from: input.byte(), changed: input.byte())
        case 10: bench.probe(family, input.byte())
        case 11, 12: bench.advertise(input.byte(), input.byte())
        case 13: code & 0x40 == 0 ? bench.update(input.byte()) : bench.withdraw(input.byte())
        case 14: code & 0x40 == 0 ? bench.setAddresses(input.byte()) : bench.restart()
        default: code & 0x40 == 0 ? bench.open(family, mtu: input.word()) : bench.close(family)
        }
    }
}
