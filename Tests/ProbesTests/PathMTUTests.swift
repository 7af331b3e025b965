// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite struct PathMTUSearchTests {
    /// Answers sizes up to `largest`, and names it from `announcing` on; the result, and the sizes that were tried.
    private static func run(
        _ family: AddressFamily = .ipv4,
        limit: Int = 1500,
        largest: Int,
        announcing: Int? = nil
    ) -> (result: Int?, sizes: [Int]) {
        var search = PathMTUSearch(family, limit: limit)
        var sizes: [Int] = []
        while case .send(let size) = search.next, sizes.count < 100 {
            sizes.append(size)
            if let announcing, size > announcing { search.announce(announcing) }
            search.record(size, isAnswered: size <= largest)
        }
        guard case .done(let result) = search.next else { return (nil, sizes) }
        return (result, sizes)
    }

    @Test(arguments: [(AddressFamily.ipv4, 1500), (.ipv6, 1500), (.ipv4, 1400), (.ipv6, 1280), (.ipv4, 576)])
    func `where full packets pass, one is enough`(family: AddressFamily, limit: Int) {
        let (result, sizes) = Self.run(family, limit: limit, largest: 9000)
        #expect(result == limit && sizes == [limit])
    }

    @Test(arguments: [
        (AddressFamily.ipv4, 576), (.ipv4, 1396), (.ipv4, 1499), (.ipv4, 1000), (.ipv6, 1280), (.ipv6, 1492),
    ])
    func `a limit is found to eight bytes`(family: AddressFamily, largest: Int) throws {
        let (found, sizes) = Self.run(family, largest: largest)
        let result = try #require(found)
        #expect(result <= largest && largest - result < PathMTUSearch.step, "\(sizes)")
        #expect(sizes.count <= 10 && Set(sizes).count == sizes.count, "\(sizes)")
    }

    @Test(arguments: 576...1500)
    func `whatever the limit, the search ends below it`(largest: Int) throws {
        let result = try #require(Self.run(largest: largest).result)
        #expect(result <= largest && largest - result < PathMTUSearch.step)
    }

    @Test func `a router that names the size spares the search`() {
        let (result, sizes) = Self.run(largest: 1400, announcing: 1400)
        #expect(result == 1400 && sizes == [1500, 1400])
    }

    @Test func `a router that names a size that does not pass is not believed`() throws {
        let (found, sizes) = Self.run(largest: 1300, announcing: 1400)
        let result = try #require(found)
        #expect(result <= 1300 && result > 1292 && sizes.prefix(2) == [1500, 1400])
    }

    @Test(arguments: [0, 1, 67, 1501, 70_000, -5])
    func `a size that no link has is not heard`(size: Int) {
        var search = PathMTUSearch(.ipv4, limit: 1500)
        search.record(1500, isAnswered: false)
        search.announce(size)
        #expect(search.announced == nil && search.next == .send(576))
        var six = PathMTUSearch(.ipv6, limit: 1500)
        six.record(1500, isAnswered: false)
        six.announce(1279)
        #expect(six.announced == nil)
    }

    @Test func `where nothing passes, nothing is known`() {
        let (result, sizes) = Self.run(largest: 0)
        #expect(result == nil && sizes == [1500, 576])
        #expect(Self.run(.ipv6, limit: 1280, largest: 0).result == nil)
    }
}

@Suite(.inNamespace) struct PathMTUProbeTests {
    private static func run(
        _ network: ProbeNetwork,
        _ address: String,
        isSearching: Bool = true
    ) async throws -> (result: PathMTUResult, traffic: ProbeTraffic) {
        let probe = PathMTUProbe(
            ScopedAddress(try #require(IPAddress(address))),
            by: .echo,
            limit: 1500,
            roundTrip: .milliseconds(100),
            isSearching: isSearching
        )
        return try await network.run(probe)
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6], ProbeNetwork.PingGroups.allCases)
    func `full packets come back over a cable`(address: String, groups: ProbeNetwork.PingGroups) async throws {
        let network = try ProbeNetwork(pingGroups: groups)
        let (result, traffic) = try await Self.run(network, address)
        #expect(result.largest == 1500 && !result.isAnnounced)
        #expect(traffic.bytesSent >= 1400 && traffic.bytesReceived >= 1400)
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6])
    func `a hole that says nothing is measured`(address: String) async throws {
        let network = try ProbeNetwork()
        try ProbeNetwork.filter(network.far, hook: "input", ["meta length > 1396 drop"])
        let (result, traffic) = try await Self.run(network, address)
        let largest = try #require(result.largest)
        #expect((1389...1396).contains(largest) && !result.isAnnounced)
        #expect(traffic.bytesSent < 40_000)
        // Only to say whether full packets pass.
        #expect(try await Self.run(network, address, isSearching: false).result.largest == nil)
    }

    @Test func `the own link may take less than was thought`() async throws {
        let network = try ProbeNetwork()
        try network.near.ip("link set eth0 mtu 1400")
        let largest = try #require(try await Self.run(network, ProbeNetwork.peer4).result.largest)
        #expect((1393...1400).contains(largest))
    }

    @Test(arguments: [false, true])
    func `a router that says what is too big is believed, though the kernel remembers it`(isSix: Bool) async throws {
        let network = try ProbeNetwork()
        let beyond = try network.extend()
        try network.far.ip("link set eth2 mtu 1400")
        try beyond.ip("link set eth0 mtu 1400")
        let address = isSix ? "2001:db8:1::2" : "198.51.100.2"
        for _ in 0..<2 {
            let result = try await Self.run(network, address).result
            #expect(result.largest == 1400 && result.isAnnounced)
        }
    }

    @Test(arguments: [false, true])
    func `a hole behind a router that reports is one that nobody reports`(isSix: Bool) async throws {
        let network = try ProbeNetwork()
        let beyond = try network.extend()
        try network.far.ip("link set eth2 mtu 1440")
        try ProbeNetwork.filter(beyond, hook: "input", ["meta length > 1348 drop"])
        let result = try await Self.run(network, isSix ? "2001:db8:1::2" : "198.51.100.2").result
        #expect((1341...1348).contains(result.largest ?? 0) && !result.isAnnounced)
    }

    @Test func `without a route nothing is found`() async throws {
        let network = try ProbeNetwork()
        #expect(try await Self.run(network, "198.51.100.7").result == PathMTUResult())
    }
}

extension ProbeNetwork {
    /// Makes the far machine a router to a third one, which has 198.51.100.2 and 2001:db8:1::2.
    func extend() throws -> Namespace {
        let beyond = try Namespace()
        try far.connect("eth2", to: beyond, as: "eth0")
        try far.ipBatch(["address add 198.51.100.1/24 dev eth2", "address add 2001:db8:1::1/64 dev eth2 nodad"])
        try beyond.ipBatch([
            "address add 198.51.100.2/24 dev eth0", "address add 2001:db8:1::2/64 dev eth0 nodad",
            "route add default via 198.51.100.1", "route add default via 2001:db8:1::1",
        ])
        try far.run([
            "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1", "net.ipv4.icmp_ratelimit=0",
            "net.ipv6.icmp.ratelimit=0",
        ])
        try near.ipBatch(["route add 198.51.100.0/24 via 192.0.2.2", "route add 2001:db8:1::/64 via 2001:db8::2"])
        // A router looks for IPv6 neighbours from its link-local address.
        try far.waitForAddresses(on: "eth2", isLinkLocal: true)
        try beyond.waitForAddresses(on: "eth0", isLinkLocal: true)
        try near.waitForAddresses(on: "eth0", isLinkLocal: true)
        try far.waitForAddresses(on: "eth1", isLinkLocal: true)
        return beyond
    }
}
