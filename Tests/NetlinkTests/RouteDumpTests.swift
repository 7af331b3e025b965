// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import TestSupport
import Testing

@Suite(.inNamespace) struct RouteDumpTests {
    private let kernel: LiveKernel
    private let namespace = Namespace.current

    init() throws { kernel = try LiveKernel() }

    @Test(arguments: [("blackhole", RouteType.blackhole), ("unreachable", .unreachable), ("prohibit", .prohibit)])
    func `routes of one type are read from all tables`(word: String, type: RouteType) async throws {
        try namespace.ip("route add \(word) 10.0.0.0/8")
        try namespace.ip("route add \(word) default table 999 metric 7")
        try namespace.ip("-6 route add \(word) 2001:db8:9::/48 table 77")
        try namespace.ip("route add throw 10.9.0.0/16")
        let found = try kernel.routes(.ipv4, type: type)
        #expect(
            Set(found.values.map { "\($0.destination) \($0.answer.table)" }) == ["10.0.0.0/8 254", "0.0.0.0/0 999"]
        )
        #expect(found.values.allSatisfy { $0.answer.type == type } && found.isComplete && found.isConsistent)
        let sixth = try kernel.routes(.ipv6, type: type)
        #expect(sixth.values.map { "\($0.destination) \($0.answer.table)" } == ["2001:db8:9::/48 77"])
    }

    @Test func `only what is wanted is kept`() async throws {
        let peer = try namespace.uplink()
        try namespace.ip("route add default via 192.0.2.1 table 999")
        try namespace.ip("route add default via 192.0.2.1")
        let defaults = try kernel.routes(.ipv4, type: .unicast) { $0.destination.length == 0 }
        #expect(Set(defaults.values.map(\.answer.table)) == [254, 999])
        #expect(defaults.values.allSatisfy { $0.answer.nexthops.first?.gateway == IPAddress("192.0.2.1") })
        withExtendedLifetime(peer) {}
    }

    @Test func `reading ends at the limit, and the kernel can be asked again`() async throws {
        try namespace.ipBatch((0..<300).map { "route add blackhole 10.0.\($0 / 256).\($0 % 256)/32" })
        let some = try kernel.routes(.ipv4, type: .blackhole, limit: 10)
        #expect(some.values.count == 10 && !some.isComplete)
        #expect(try kernel.routes(.ipv4, type: .blackhole).values.count == 300)
    }
}
