// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import FuzzKit
import FuzzScripts

@testable import MulticastDNS

extension Scripts {
    /// What a client may want.
    static func subscription(_ input: inout InputReader) -> Subscription {
        let (head, number) = (input.byte(), Int(input.byte()))
        var subscription = Subscription()
        if head & 1 != 0 { subscription.pointers = [types[number & 7], subtype] }
        if head & 2 != 0 { subscription.instances = [instances[number & 31]] }
        if head & 4 != 0 { subscription.records = [RecordKey(hosts[number & 15], head & 8 == 0 ? .a : .aaaa)] }
        subscription.rounds = head & 16 == 0 ? 3 : .max
        return subscription
    }
}
