// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
import TestSupport
import Testing

/// Tables as large as those of routers and of machines full of containers.
@Suite(.inNamespace) struct LargeTableTests {
    private let namespace = Namespace.current

    @Test func `500 links are read whole, once each`() async throws {
        try namespace.ipBatch((0..<250).map { "link add a\($0) type veth peer name b\($0)" })
        let kernel = try LiveKernel()
        let links = try kernel.links()
        #expect(links.isConsistent && links.isComplete && links.undecodable == 0)
        #expect(links.values.count == 501)
        #expect(Set(links.values.map(\.index)).count == 501)
        let names = Set(links.values.map(\.name))
        #expect(names.isSuperset(of: ["lo", "a0", "b0", "a249", "b249"]))
        #expect(links.values.dropFirst().allSatisfy { $0.kind == "veth" && $0.lower != nil })
        let last = try #require(links.values.last)
        #expect(try kernel.link(index: last.index) == last)
        #expect(kernel.questions == 2)
    }

    @Test func `among 20,000 IPv6 routes the default is not looked for beyond the limit`() async throws {
        let peer = try namespace.uplink()
        let routes = (0..<20_000).map { "route add 2001:db8:\(String($0, radix: 16))::/128 dev v0 table 300" }
        try namespace.ipBatch(routes + ["route add ::/0 via 2001:db8:1::1 dev v0 table 300"])
        let kernel = try LiveKernel()
        let short = try kernel.defaultRoutes(.ipv6, table: 300, limit: 5000)
        #expect(!short.isComplete && short.undecodable == 0)
        // The socket was left in the middle of a dump; a new one takes its place, unseen.
        let whole = try kernel.defaultRoutes(.ipv6, table: 300, limit: 30_000)
        #expect(whole.isComplete && whole.values.map(\.answer.nexthops.first?.gateway) == [.of("2001:db8:1::1")])
        #expect(whole.values.map(\.answer.table) == [300])
        withExtendedLifetime(peer) {}
    }

    @Test func `among 20,000 IPv4 routes the default is the first`() async throws {
        let peer = try namespace.uplink()
        let routes = (0..<20_000).map { "route add 10.\($0 / 256).\($0 % 256).0/24 dev v0" }
        try namespace.ipBatch(routes + ["route add default via 192.0.2.1 dev v0 metric 7"])
        let kernel = try LiveKernel()
        let defaults = try kernel.defaultRoutes(.ipv4, limit: 3)
        #expect(defaults.values.map(\.answer.metric) == [7] && defaults.isComplete)
        #expect(try kernel.lookup(RouteQuery(.of("10.78.31.9"), kind: .entry)).get().prefixLength == 24)
        withExtendedLifetime(peer) {}
    }

    @Test func `thousands of addresses, neighbours and rules are read whole`() async throws {
        let peer = try namespace.uplink()
        var lines: [String] = []
        for number in 0..<2000 {
            let (high, low) = (number / 250, number % 250 + 1)
            lines.append("addr add 10.1.\(high).\(low)/32 dev v0")
            lines.append("neigh add 192.0.2.\(number % 200 + 20) lladdr 02:00:00:00:00:01 dev v0 nud permanent")
            lines.append("rule add pref \(1000 + number) fwmark \(number + 1) table 201")
        }
        // Neighbours repeat after 200; ip stops at the first error unless forced.
        let unique = lines.enumerated().filter { $0.offset % 3 != 1 || $0.offset < 600 }.map(\.element)
        try namespace.ipBatch(unique)
        let kernel = try LiveKernel()
        let addresses = try kernel.addresses()
        #expect(addresses.isConsistent && addresses.values.filter { $0.prefixLength == 32 }.count == 2000)
        let rules = try kernel.rules()
        #expect(rules.values.filter { $0.table == 201 }.count == 2000 && rules.undecodable == 0)
        #expect(
            rules.values.filter { $0.family == .ipv4 }.map(\.priority)
                == rules.values.filter { $0.family == .ipv4 }.map(\.priority).sorted()
        )
        let index = try #require(try kernel.link(named: "v0")).index
        let neighbors = try kernel.neighbors(index: index)
        #expect(neighbors.values.filter { $0.state == .permanent && $0.address.family == .ipv4 }.count == 200)
        withExtendedLifetime(peer) {}
    }
}
