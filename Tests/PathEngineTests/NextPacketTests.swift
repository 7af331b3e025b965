// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
@testable import PathEngine
import PathModel
import TestSupport
import Testing

/// What is published, held against what connect(2) gets in the same namespace (rules S20, S24, S31).
///
/// Nothing says beforehand what is right: a UDP socket is connected to an address that no situation names.
@Suite(.inNamespace) struct NextPacketTests {
    /// Commands of `ip`, on a machine with the uplinks v0 and w0, whose defaults have the metrics 100 and 200.
    struct Situation: CustomTestStringConvertible, Sendable {
        let name: String
        let commands: [String]
        var testDescription: String { name }

        init(_ name: String, _ commands: String...) {
            self.name = name
            self.commands = commands
        }
    }

    static let situations = [
        Situation("two uplinks"),
        Situation(
            "a default for a source prefix alone",
            "-6 route flush exact default",
            "-6 route add default from 2001:db8:1::/64 via 2001:db8:1::1 dev v0"
        ),
        Situation(
            "a rule for a source prefix alone",
            "-6 route flush exact default",
            "-6 route add default via 2001:db8:2::1 dev w0 table 77",
            "-6 rule add pref 50 from 2001:db8:2::/64 lookup 77"
        ),
        Situation("a rule that prohibits the source", "rule add pref 50 from 10.1.0.2 prohibit"),
        Situation("a rule that is unreachable for the source", "rule add pref 50 from 10.1.0.0/24 unreachable"),
        Situation(
            "a table for the source that is a black hole",
            "route add blackhole default table 77",
            "rule add pref 50 from 10.1.0.2 lookup 77"
        ),
        Situation(
            "a table for the source by the other uplink",
            "route add default via 10.2.0.1 dev w0 table 77",
            "rule add pref 50 from 10.1.0.2 lookup 77"
        ),
        Situation(
            "black holes at all probes",
            "route add blackhole 1.1.1.1",
            "route add blackhole 8.8.8.8",
            "route add blackhole 9.9.9.0/24",
            "-6 route add blackhole 2606:4700:4700::/48",
            "-6 route add blackhole 2001:4860:4860::/48",
            "-6 route add blackhole 2620:fe::/48"
        ),
        Situation("a probe's address on this machine", "addr add 1.1.1.1/32 dev lo", "addr add 8.8.8.8/32 dev lo"),
        Situation("a black hole before the defaults", "route add blackhole default metric 1"),
        Situation(
            "a rule that is unreachable for all",
            "rule add pref 50 unreachable",
            "-6 rule add pref 50 unreachable"
        ),
        Situation(
            "an unreachable default before a rule for one of the sources",
            "-6 addr add 2001:db8:7::2/64 dev v0 nodad",
            "-6 route add default via 2001:db8:2::1 dev w0 table 77",
            "-6 rule add pref 50 from 2001:db8:1::/64 lookup 77",
            "-6 route add unreachable default metric 40"
        ),
        Situation("no default at all", "route flush exact default", "-6 route flush exact default"),
    ]

    private let namespace = Namespace.current
    private let peer: Namespace
    /// Nobody's, so that no situation knows it.
    private static let destinations: [IPAddress] = [.of("100.100.7.7"), .of("2a01:111:7::7")]

    init() throws { peer = try Namespace() }

    @Test(arguments: situations)
    func `the answer is what connect(2) gets, for who watched and for who comes later`(
        situation: Situation
    ) async throws {
        try namespace.set("lo", isUp: true)
        try namespace.uplink("v0", 1, to: peer, metric: 100)
        try namespace.uplink("w0", 2, to: peer, metric: 200)
        let live = try Subject()
        try namespace.apply(situation.commands)
        try await live.caughtUp()
        let fresh = try Subject()
        for (path, who) in [(live.path, "live"), (fresh.path, "fresh")] {
            for destination in Self.destinations {
                let found = destination.family == .ipv4 ? path.ipv4 : path.ipv6
                let source = try? ConnectedSource.find(for: destination, port: 443, by: nil)
                #expect(found?.source == source, "\(who): \(path)")
            }
        }
        #expect(live.path == fresh.path)
    }

    @Test func `a full table that comes and goes is noticed at once (S3)`() async throws {
        try namespace.uplink("v0", 1, to: peer, metric: nil)
        let subject = try Subject()
        await subject.unsatisfied(.noDefaultRoute)
        let prefixes = (1..<224).filter { $0 != 10 && $0 != 127 }.flatMap { ["\($0).0.0.0/9", "\($0).128.0.0/9"] }
        try namespace.ipBatch(prefixes.map { "route add \($0) via 10.1.0.1 dev v0" })
        await subject.satisfied()
        try namespace.ipBatch(prefixes.map { "route del \($0) via 10.1.0.1 dev v0" })
        await subject.unsatisfied(.noDefaultRoute)
        try namespace.ipBatch(prefixes.map { "route add \($0) via 10.1.0.1 dev v0" })
        await subject.satisfied()
        // Nothing but what covers the probes and samples was heard of 1,332 changes.
        #expect(subject.engine.statistics.messages[.ipv4Route, default: 0] < 200)
    }

    @Test func `a route that cuts off the name server is noticed at once (S3, S35)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        let server = DNSServer(ScopedAddress(.of("198.51.100.53")))
        let subject = try Subject(facts: ProviderFacts(dns: DNSConfiguration(servers: [server])))
        await subject.eventually("a name server") { $0.dns.isUsable }
        try namespace.ip("route add unreachable 198.51.100.53")
        await subject.eventually("none") { !$0.dns.isUsable }
        try namespace.ip("route del unreachable 198.51.100.53")
        await subject.eventually("a name server") { $0.dns.isUsable }
    }

    @Test func `a rule for TCP to port 443 moves connections, not datagrams (S20)`() async throws {
        try namespace.uplink("v0", 1, to: peer, metric: 100)
        try namespace.uplink("w0", 2, to: peer, metric: 200)
        let subject = try Subject()
        await subject.eventually("v0") { $0.interfaces.first?.name == "v0" }
        try namespace.ipBatch([
            "route add default via 10.2.0.1 dev w0 table 77", "rule add pref 50 ipproto tcp dport 443 lookup 77",
        ])
        await subject.eventually("w0") { $0.ipv4?.interfaces.map(\.name) == ["w0"] }
        #expect(subject.path.warnings == [.datagramsDiffer])
        #expect(try ConnectedSource.find(for: Self.destinations[0], port: 443, by: nil) == .of("10.1.0.2"), "of UDP")
        try namespace.ip("rule del pref 50")
        await subject.eventually("v0") { $0.ipv4?.interfaces.map(\.name) == ["v0"] && $0.warnings == [] }
    }

    @Test func `a leg from whose address connections are refused is left out (S20, S31)`() async throws {
        try namespace.uplink("v0", 1, to: peer, metric: nil)
        try namespace.uplink("w0", 2, to: peer, metric: nil)
        try namespace.ip("route add default nexthop via 10.1.0.1 dev v0 nexthop via 10.2.0.1 dev w0")
        let subject = try Subject()
        await subject.eventually("both") { $0.ipv4?.gateways.count == 2 }
        for (source, other) in [("10.1.0.2", "10.2.0.1"), ("10.2.0.2", "10.1.0.1")] {
            try namespace.ip("rule add pref 50 from \(source) prohibit")
            await subject.eventually("one leg") { $0.ipv4?.gateways.map { "\($0.address)" } == [other] }
            #expect(subject.path.warnings.contains(.degraded))
            try namespace.ip("rule del pref 50")
            await subject.eventually("both") { $0.ipv4?.gateways.count == 2 }
        }
    }
}
