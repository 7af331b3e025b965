// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import CLinuxShims
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite(.inNamespace) struct NeighborProbeTests {
    private static func index(_ name: String) -> Int { unsafe Int(if_nametoindex(name)) }

    private static func hardware(_ machine: Namespace, _ name: String) throws -> HardwareAddress {
        let words = try machine.ip("-o link show \(name)").split(separator: " ")
        let place = try #require(words.firstIndex(of: "link/ether"))
        let bytes = words[place + 1].split(separator: ":").compactMap { UInt8($0, radix: 16) }
        return try #require(HardwareAddress(bytes))
    }

    /// Asks on the near end of the cable and waits for the result.
    private static func ask(
        _ network: ProbeNetwork,
        _ target: String,
        source: String? = "192.0.2.1",
        limit: Duration = .seconds(1),
        index: Int? = nil
    ) async throws -> NeighborResult {
        let probe = NeighborProbe(
            try #require(IPAddress(target)),
            on: index ?? Self.index("eth0"),
            from: try hardware(network.near, "eth0"),
            source: source.flatMap { IPAddress($0) },
            limit: limit
        )
        return try await network.run(probe).result
    }

    private static func owners(_ result: NeighborResult) -> Set<HardwareAddress>? {
        if case .owners(let owners) = result { Set(owners.keys) } else { nil }
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6])
    func `a neighbour answers, and nothing is left in the table`(target: String) async throws {
        let network = try ProbeNetwork()
        let result = try await Self.ask(network, target)
        #expect(Self.owners(result) == [try Self.hardware(network.far, "eth1")])
        guard case .owners(let owners) = result else { return }
        #expect(owners.values.allSatisfy { $0 > .zero && $0 < .seconds(1) })
        #expect(!(try network.near.ip("neigh show \(target)").contains("REACHABLE")))
    }

    @Test(arguments: ["192.0.2.99", "2001:db8::99"])
    func `an address that nobody has is silence`(target: String) async throws {
        let network = try ProbeNetwork()
        let start = network.loop.clock.boot
        #expect(Self.owners(try await Self.ask(network, target, limit: .milliseconds(500))) == [])
        #expect(network.loop.clock.boot - start >= .milliseconds(500))
    }

    @Test func `a link that goes down while replies are awaited has failed`() async throws {
        let network = try ProbeNetwork()
        // After the second query.
        network.loop.schedule(after: .milliseconds(600)) {
            #expect(throws: Never.self) { try network.near.set("eth0", isUp: false) }
        }
        guard case .failed(.unreachable, _) = try await Self.ask(network, "192.0.2.99") else {
            Issue.record("a link that went down was silent")
            return
        }
    }

    @Test func `an address of one's own is asked for without a sender`() async throws {
        let network = try ProbeNetwork()
        #expect(Self.owners(try await Self.ask(network, "192.0.2.1", source: nil, limit: .milliseconds(500))) == [])
        try network.far.ip("address add 192.0.2.1/24 dev eth1")
        let taken = try await Self.ask(network, "192.0.2.1", source: nil)
        #expect(Self.owners(taken) == [try Self.hardware(network.far, "eth1")])
    }

    @Test func `a link that is not there or not up cannot be asked`() async throws {
        let network = try ProbeNetwork()
        guard case .failed(let reason, _) = try await Self.ask(network, ProbeNetwork.peer4, index: 9999) else {
            Issue.record("a link that is not there was asked")
            return
        }
        #expect(reason == .unreachable)
        try network.near.set("eth0", isUp: false)
        guard case .failed(.unreachable, _) = try await Self.ask(network, ProbeNetwork.peer4) else {
            Issue.record("a link that is down was asked")
            return
        }
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6])
    func `without the right nothing is asked, and the right is named`(target: String) async throws {
        let network = try ProbeNetwork()
        let sender = try Self.hardware(network.near, "eth0")
        let address = try #require(IPAddress(target))
        try #require(nwp_become_user(65_534) == 0)
        let result = try await network.run(NeighborProbe(address, on: Self.index("eth0"), from: sender)).result
        guard case .notAssessed(let advice) = result else {
            Issue.record("\(target): \(String(describing: result))")
            return
        }
        #expect(advice.contains("CAP_NET_RAW"))
    }
}
