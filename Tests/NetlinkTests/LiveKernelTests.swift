// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
import TestSupport
import Testing

@Suite(.inNamespace) struct LiveKernelTests {
    private let kernel: LiveKernel

    init() throws { kernel = try LiveKernel() }

    @Test func `an empty namespace has lo, its addresses and the six rules`() async throws {
        let links = try kernel.links()
        #expect(links.values.map(\.name) == ["lo"])
        #expect(links.isConsistent && links.isComplete && links.undecodable == 0)
        let addresses = try kernel.addresses().values
        #expect(Set(addresses.map(\.address.description)) == ["127.0.0.1", "::1"])
        let rules = try kernel.rules()
        #expect(rules.values.filter { $0.family == .ipv4 }.map(\.table) == [255, 254, 253])
        #expect(rules.values.filter { $0.family == .ipv6 }.map(\.table) == [255, 254])
        #expect(rules.undecodable == 0)
        #expect(try kernel.nexthops().values.isEmpty)
        #expect(try kernel.neighbors(index: nil).values.isEmpty)
    }

    @Test func `a link is found by number and by name, and nothing is no error`() async throws {
        try Namespace.current.ip("link add b0 type bridge")
        let link = try #require(try kernel.link(named: "b0"))
        #expect(try kernel.link(index: link.index) == link)
        #expect(link.kind == "bridge")
        #expect(try kernel.link(index: 4711) == nil)
        #expect(try kernel.link(named: "none0") == nil)
        #expect(try kernel.link(named: "a name that is much too long") == nil)
        #expect(try kernel.link(named: "") == nil)
    }

    @Test(arguments: ["b1", "enp0s31f6", "fifteen-bytes-x", "sixteen-bytes-xx", String(repeating: "a", count: 127)])
    func `a link is found by an alternative name of any length`(name: String) async throws {
        try Namespace.current.ip("link add b0 type bridge")
        try Namespace.current.ip("link property add dev b0 altname \(name)")
        let link = try #require(try kernel.link(named: name))
        #expect(link.name == "b0" && link.alternativeNames == [name])
        #expect(InterfaceLookup.index(named: name) == link.index)
        let bindable = name.utf8.count > 15 ? "b0" : name
        #expect(InterfaceLookup.bindableName(of: name) == bindable)
        #expect(try kernel.link(named: name + "x") == nil)
        #expect(InterfaceLookup.index(named: name + "x") == nil)
    }

    @Test func `a lookup tells the entry and the decision`() async throws {
        let namespace = Namespace.current
        let peer = try Namespace()
        try namespace.connect("v0", to: peer, as: "v1")
        try namespace.ip("addr add 192.0.2.2/24 dev v0")
        try namespace.ip("route add default via 192.0.2.1 dev v0 metric 100 proto dhcp")
        let index = try #require(try kernel.link(named: "v0")).index
        let destination = IPAddress.v4(0x0101_0101)
        let entry = try kernel.lookup(RouteQuery(destination, kind: .entry)).get()
        #expect(
            entry
                == RouteAnswer(
                    nexthops: [RouteNexthop(index: index, gateway: .v4(0xC000_0201))],
                    metric: 100,
                    origin: 16
                )
        )
        let decision = try kernel.lookup(RouteQuery(destination, kind: .decision)).get()
        #expect(decision.preferredSource == .v4(0xC000_0202))
        #expect(decision.prefixLength == 32)
        #expect(decision.nexthops == [RouteNexthop(index: index, gateway: .v4(0xC000_0201))])
    }
}
