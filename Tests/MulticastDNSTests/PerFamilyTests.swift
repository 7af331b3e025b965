// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Testing

@testable import MulticastDNS

@Suite struct PerFamilyTests {
    @Test func `keeps a value for each family`() {
        var values = PerFamily<[Int]>()
        #expect(values[.ipv4] == nil && values[.ipv6] == nil && values.values.isEmpty)
        values[.ipv6] = [6]
        #expect(values[.ipv4] == nil && values[.ipv6] == [6])
        values[.ipv4] = [4]
        values[.ipv4]?.append(44)
        values[.ipv6]?[0] = 66
        #expect(values.values == [[4, 44], [66]])
        #expect(values.remove(.ipv4) == [4, 44])
        #expect(values.remove(.ipv4) == nil)
        values[.ipv6] = nil
        #expect(values.values.isEmpty)
    }

    @Test(arguments: [(nil, nil, nil), (1, nil, 1), (nil, 2, 2), (1, 2, 1), (3, 2, 2)] as [(Int?, Int?, Int?)])
    func `the earlier of two moments, of which either may never come`(left: Int?, right: Int?, expected: Int?) {
        let earlier = earliest(left.map { .seconds($0) }, right.map { .seconds($0) })
        #expect(earlier == expected.map { .seconds($0) })
    }
}
