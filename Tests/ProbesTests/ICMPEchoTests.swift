// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import PathModel
import TestSupport
import Testing

@testable import Probes

@Suite(.inNamespace) struct EchoProbeTests {
    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6], ProbeNetwork.PingGroups.allCases)
    func `a host answers, to the kernel's socket as to a raw one`(
        address: String,
        groups: ProbeNetwork.PingGroups
    ) async throws {
        let network = try ProbeNetwork(pingGroups: groups)
        let result = try await network.attempt(.icmp, address)
        #expect(result.outcome == .success)
        #expect(result.sent == 64 && result.received == 64)
        #expect(result.hopLimit == 64)
        #expect(result.duration > .zero && result.duration < .seconds(20))
        #expect(result.address?.description == address)
        #expect(result.resolution == nil)
    }

    @Test func `a link-local router answers`() async throws {
        let network = try ProbeNetwork()
        try network.far.waitForAddresses(on: "eth1", isLinkLocal: true)
        try network.near.waitForAddresses(on: "eth0", isLinkLocal: true)
        let text = try network.far.ip("-6 -o address show dev eth1 scope link")
        let words = text.split(separator: " ")
        let index = try #require(words.firstIndex(of: "inet6"))
        let address = try #require(words[words.index(after: index)].split(separator: "/").first)
        #expect(try await network.attempt(.icmp, "\(address)%eth0").isSuccess)
    }

    @Test(arguments: AddressFamily.allCases)
    func `the gateway is whoever it is at the moment`(family: AddressFamily) async throws {
        let network = try ProbeNetwork()
        let addresses: [(AddressFamily, String)] = [(.ipv4, ProbeNetwork.peer4), (.ipv6, ProbeNetwork.peer6)]
        let gateways = try addresses.map { family, text in
            Gateway(address: ScopedAddress(try #require(IPAddress(text))), interface: "eth0", family: family)
        }
        let definition = try ProbeNetwork.definition(.icmp, "gateway") { $0.family = family }
        let result = await network.attempt(definition, context: ProbeContext(gateways: gateways))
        #expect(result.isSuccess)
        #expect(result.address == gateways.first { $0.family == family }?.address)
        let none = await network.attempt(definition)
        #expect(none.reason == .unreachable)
    }

    @Test func `silence is a timeout, at its time`() async throws {
        let network = try ProbeNetwork()
        try ProbeNetwork.filter(network.far, hook: "input", ["icmp type echo-request drop"])
        let start = network.loop.clock.boot
        let result = try await network.attempt(.icmp, ProbeNetwork.peer4, timeout: .milliseconds(200))
        #expect(result.outcome == .failure(.timeout, detail: "no answer in time"))
        #expect(result.sent == 64 && result.received == 0)
        #expect(network.loop.clock.boot - start >= .milliseconds(200))
    }

    @Test func `a packet filter of this machine is told apart from silence`() async throws {
        let network = try ProbeNetwork()
        try ProbeNetwork.filter(network.near, hook: "output", ["icmp type echo-request drop"])
        #expect(try await network.attempt(.icmp, ProbeNetwork.peer4).reason == .blocked)
    }

    @Test(arguments: ["unreachable", "blackhole", "prohibit"])
    func `routes that lead nowhere are unreachable`(kind: String) async throws {
        let network = try ProbeNetwork()
        try network.near.ip("route add \(kind) 198.51.100.0/24")
        #expect(try await network.attempt(.icmp, "198.51.100.1").reason == .unreachable)
        #expect(try await network.attempt(.icmp, "203.0.113.1").reason == .unreachable)
    }

    @Test func `a router that knows no way says so`() async throws {
        let network = try ProbeNetwork()
        try network.near.ip("route add default via 192.0.2.2")
        try network.far.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"])
        let result = try await network.attempt(.icmp, "198.51.100.1")
        #expect(result.reason == .unreachable)
        #expect(result.sent == 64)
    }

    @Test func `a probe is bound to its interface`() async throws {
        let network = try ProbeNetwork()
        try network.near.ip("link add other type veth peer name nobody")
        try network.near.set("other", isUp: true)
        #expect(try await network.attempt(.icmp, ProbeNetwork.peer4) { $0.route.interface = "eth0" }.isSuccess)
        let other = try await network.attempt(.icmp, ProbeNetwork.peer4, timeout: .milliseconds(300)) {
            $0.route.interface = "other"
        }
        #expect(!other.isSuccess)
        let long = "enxlongaltname00155d010203"
        try network.near.ip("link property add dev eth0 altname enp0s31f6 altname \(long)")
        for name in ["enp0s31f6", long] {
            #expect(try await network.attempt(.icmp, ProbeNetwork.peer4) { $0.route.interface = name }.isSuccess)
        }
        let unknown = try await network.attempt(.icmp, ProbeNetwork.peer4) { $0.route.interface = long + "x" }
        #expect(unknown.outcome == .failure(.unreachable, detail: "there is no interface \(long)x"))
        let gone = try await network.attempt(.icmp, ProbeNetwork.peer4) { $0.route.interface = "gone0" }
        #expect(gone.outcome == .failure(.unreachable, detail: "there is no interface gone0"))
    }

    @Test func `a mark and a user choose the route`() async throws {
        let network = try ProbeNetwork()
        try network.near.ip("rule add fwmark 0x7 prohibit")
        try network.near.ip("rule add uidrange 4711-4711 prohibit")
        #expect(try await network.attempt(.icmp, ProbeNetwork.peer4) { $0.route.mark = 6 }.isSuccess)
        #expect(try await network.attempt(.icmp, ProbeNetwork.peer4) { $0.route.mark = 7 }.reason == .unreachable)
        #expect(try await network.attempt(.icmp, ProbeNetwork.peer4) { $0.route.userID = 4710 }.isSuccess)
        #expect(try await network.attempt(.icmp, ProbeNetwork.peer4) { $0.route.userID = 4711 }.reason == .unreachable)
    }

    @Test func `the cable that is pulled between two attempts is seen, and its return too`() async throws {
        let network = try ProbeNetwork()
        #expect(try await network.attempt(.icmp, ProbeNetwork.peer4).isSuccess)
        try network.near.set("eth0", isUp: false)
        #expect(
            try await network.attempt(.icmp, ProbeNetwork.peer4, timeout: .milliseconds(300)).reason == .unreachable
        )
        try network.near.set("eth0", isUp: true)
        try network.near.waitUntilRunning("eth0")
        #expect(try await network.attempt(.icmp, ProbeNetwork.peer4).isSuccess)
        try network.near.ip("link delete eth0")
        #expect(try await network.attempt(.icmp, ProbeNetwork.peer4).reason == .unreachable)
    }

    @Test func `the link that goes in the middle of an attempt ends in a timeout`() async throws {
        let network = try ProbeNetwork()
        try ProbeNetwork.filter(network.far, hook: "input", ["icmp type echo-request drop"])
        let definition = try ProbeNetwork.definition(.icmp, ProbeNetwork.peer4, timeout: .milliseconds(500))
        let pending = network.begin(definition)
        await network.loop.sleep(for: .milliseconds(50))
        try network.near.ip("link delete eth0")
        await network.loop.eventually { pending.result != nil }
        #expect(pending.result?.reason != nil)
    }

    @Test func `many at once are told apart`() async throws {
        let network = try ProbeNetwork()
        for address in [ProbeNetwork.peer4, ProbeNetwork.peer6] {
            let definition = try ProbeNetwork.definition(.icmp, address)
            let results = await network.attempts([definition, definition, definition, definition])
            #expect(results.map(\.isSuccess) == [true, true, true, true])
        }
    }

    @Test func `a canceled attempt is over without a result`() async throws {
        let network = try ProbeNetwork()
        var results = 0
        let definition = try ProbeNetwork.definition(.icmp, ProbeNetwork.peer4, timeout: .milliseconds(50))
        for delay in [0, 1] {
            let attempt = ProbeAttempt(
                definition,
                context: ProbeContext(),
                loop: network.loop,
                pages: network.pages
            ) { _ in results += 1 }
            if delay > 0 { await network.loop.sleep(for: .zero) }
            attempt.cancel()
        }
        let before = results
        await network.loop.sleep(for: .milliseconds(100))
        #expect(results == before)
    }
}
