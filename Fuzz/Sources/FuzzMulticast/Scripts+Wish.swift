// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import FuzzKit
import FuzzScripts

@testable import MulticastDNS

extension Scripts {
    /// What a client may want.
    static func wish(_ input: inout InputReader) -> Wish {
        let (head, number) = (input.byte(), Int(input.byte()))
        var wish = Wish()
        if head & 1 != 0 { wish.pointers = [types[number & 7], subtype] }
        if head & 2 != 0 { wish.instances = [instances[number & 31]] }
        if head & 4 != 0 { wish.records = [RecordKey(hosts[number & 15], head & 8 == 0 ? .a : .aaaa)] }
        wish.rounds = head & 16 == 0 ? 3 : .max
        return wish
    }
}
