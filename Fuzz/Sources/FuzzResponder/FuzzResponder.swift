// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import FuzzKit

@testable import FuzzScripts
@testable import MulticastDNS

/// Advertising on one interface: registrations that come and go, others who ask, object, probe for the same names,
/// forge their addresses or repeat what we said, addresses that change, and time; in any order.
@main enum FuzzResponder {
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
        case 8: receive(Scripts.query(&input).span, family, from: input.byte(), by: input.byte())
        case 9: probe(family, input.byte())
        case 10, 11: advertise(input.byte(), input.byte())
        case 12: update(input.byte())
        case 13: withdraw(input.byte())
        case 14: variant & 1 == 0 ? setAddresses(input.byte()) : restart()
        default: variant & 1 == 0 ? open(family, mtu: input.word()) : close(family)
        }
    }
}
