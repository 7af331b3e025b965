// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
@testable import PathEngine
import PathModel
import TestSupport
import Testing

/// Random faults, after each of which the engine must say what ip-route(8) says.
@Suite(.inNamespace) struct OracleTests {
    /// What ip(8) says of one family: the device and source of a packet that would leave, or `nil`.
    private struct Answer: Equatable {
        var device: String
        var source: String
    }

    private let namespace = Namespace.current
    private let peer: Namespace

    init() throws { peer = try Namespace() }

    private static let faults = [
        "link set v0 down", "link set v0 up", "link set w0 down", "link set w0 up", "addr del 10.1.0.2/24 dev v0",
        "addr replace 10.1.0.2/24 dev v0", "addr del 10.2.0.2/24 dev w0", "addr replace 10.2.0.2/24 dev w0",
        "-6 addr flush dev v0 scope global", "addr replace 2001:db8:1::2/64 dev v0 nodad",
        "route replace default via 10.1.0.1 dev v0 metric 100", "route replace default via 10.2.0.1 dev w0 metric 200",
        "route replace default via 10.2.0.1 dev w0 metric 50", "route del default dev w0 metric 50",
        "-6 route replace default via 2001:db8:1::1 dev v0 metric 100", "-6 route flush exact default",
        "route replace unreachable default metric 40", "route del unreachable default metric 40",
        "rule add pref 50 blackhole", "rule del pref 50", "nexthop replace id 7 via 10.1.0.1 dev v0",
        "route replace default metric 20 nhid 7", "nexthop del id 7", "route replace 0.0.0.0/1 via 10.2.0.1 dev w0",
        "route del 0.0.0.0/1", "peer link set v1 down", "peer link set v1 up", "peer link set v2 down",
        "peer link set v2 up",
    ]

    @Test(arguments: [1, 2] as [UInt64])
    func `after every fault the engine says what ip says`(seed: UInt64) async throws {
        try namespace.run("sysctl -qw net.ipv6.conf.default.accept_dad=0")
        try namespace.uplink("v0", 1, to: peer, metric: 100)
        try namespace.uplink("w0", 2, to: peer, metric: 200)
        let subject = try Subject()
        var state = seed
        for number in 0..<60 {
            if number % 5 == 4 { try heal() }
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let fault = Self.faults[Int(state >> 33) % Self.faults.count]
            if fault.hasPrefix("peer ") {
                try peer.ip(String(fault.dropFirst(5)))
            } else {
                // Many faults are impossible in the state that the ones before left behind.
                _ = try? namespace.ip(fault)
            }
            for family in AddressFamily.allCases {
                // What the kernel still has to do, such as a carrier that it tells, may change what ip says.
                var expected: Answer?
                let agrees = try await subject.loop.eventually("agreement after \(fault)") {
                    expected = try answer(family)
                    let path = family == .ipv4 ? subject.path.ipv4 : subject.path.ipv6
                    let published = path.map { path in
                        Answer(device: path.interfaces.first?.name ?? "", source: "\(path.source)")
                    }
                    return published == expected
                }
                guard agrees else {
                    Issue.record("ip says \(String(describing: expected)); the engine \(subject.path)")
                    return
                }
            }
        }
        #expect(subject.updates.count > 10)
        #expect(subject.engine.silentChanges == 0)
    }

    /// Brings both uplinks back.
    private func heal() throws {
        for command in ["rule del pref 50", "route del unreachable default metric 40"] {
            _ = try? namespace.ip(command)
        }
        try peer.apply(["link set v1 up", "link set v2 up"])
        try namespace.apply([
            "link set v0 up", "link set w0 up", "addr replace 10.1.0.2/24 dev v0", "addr replace 10.2.0.2/24 dev w0",
            "addr replace 2001:db8:1::2/64 dev v0 nodad", "route replace default via 10.1.0.1 dev v0 metric 100",
            "route replace default via 10.2.0.1 dev w0 metric 200",
            "-6 route replace default via 2001:db8:1::1 dev v0 metric 100",
        ])
    }

    /// Asks ip(8) for the route of a probe, and whether the link it names works.
    private func answer(_ family: AddressFamily) throws -> Answer? {
        let probe = family == .ipv4 ? "1.1.1.1" : "2606:4700:4700::1111"
        guard let printed = try? namespace.ip("-o route get \(probe)") else { return nil }
        let words = printed.split(whereSeparator: \.isWhitespace).map(String.init)
        func word(after name: String) -> String? {
            words.firstIndex(of: name).flatMap { words.indices.contains($0 + 1) ? words[$0 + 1] : nil }
        }
        guard let device = word(after: "dev"), let source = word(after: "src"), device != "lo" else { return nil }
        guard !source.hasPrefix("fe80"), source != "::1", !words.contains("linkdown") else { return nil }
        let link = try namespace.ip("-o link show dev \(device)")
        guard link.contains("LOWER_UP"), link.contains("state UP") else { return nil }
        return Answer(device: device, source: source)
    }
}
