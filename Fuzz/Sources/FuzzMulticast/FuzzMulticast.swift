// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import FuzzKit

@testable import FuzzScripts
@testable import MulticastDNS

/// The whole receive path of one interface: packets, links that come and go, censuses and time, in any order.
///
/// The input is read as a program. Between its steps the directory must be within its bounds, must have told a consistent
/// story, and must know when it wants to be woken.
@main enum FuzzMulticast {
    static func main() {
        unsafe Fuzzer.run { start, count in
            Bench.examine(unsafe UnsafeBufferPointer(start: start, count: count).span)
            return 0
        }
    }
}

extension Bench {
    mutating func step(_ kind: UInt8, _ variant: UInt8, _ family: AddressFamily, _ input: inout InputReader) {
        switch kind {
        case 8: receive(Scripts.response(&input).span, family, from: input.byte())
        case 9: receive(Scripts.service(input.byte(), timeToLive: input.byte()).span, family, from: 1)
        case 10: variant & 1 == 0 ? open(family, mtu: input.word()) : close(family)
        case 11: variant & 1 == 0 ? census(begins: variant & 2 == 0) : rename(input.byte())
        case 12: reconfirm(Scripts.record(&input))
        case 13: add(Scripts.subscription(&input), of: input.byte())
        case 14: removeClient(input.byte())
        default: crowd(input.byte(), family)
        }
    }
}
