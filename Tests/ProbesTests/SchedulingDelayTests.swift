// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import Probes

/// A process that was kept from running accuses nobody of silence.
@Suite(.inNamespace) struct SchedulingDelayTests {
    /// Longer than any limit here.
    private static let hold: UInt32 = 1_000_000

    /// Starts something that asks, holds the loop's thread before it asks until its time is over, and waits for the result.
    private static func held<Value>(
        _ network: ProbeNetwork,
        _ begin: (@escaping (Value) -> Void) throws -> Any
    ) async throws -> Value {
        var result: Value?
        let asker = try begin { result = $0 }
        network.loop.deferring { _ = usleep(hold) }
        await network.loop.eventually { result != nil }
        withExtendedLifetime(asker) {}
        return try #require(result)
    }

    private static func run<Result>(
        _ network: ProbeNetwork,
        _ probe: any Probe<Result>,
        _ completion: @escaping (Result) -> Void
    ) -> ProbeRunner<Result> {
        ProbeRunner(probe, loop: network.loop) { result, _ in completion(result) }
    }

    private static func sender(_ network: ProbeNetwork) throws -> (index: Int, hardware: HardwareAddress) {
        let words = try network.near.ip("-o link show eth0").split(separator: " ")
        let place = try #require(words.firstIndex(of: "link/ether"))
        let bytes = words[place + 1].split(separator: ":").compactMap { UInt8($0, radix: 16) }
        return (unsafe Int(if_nametoindex("eth0")), try #require(HardwareAddress(bytes)))
    }

    private static func neighbor(_ network: ProbeNetwork, _ target: String) async throws -> NeighborResult {
        let (index, own) = try sender(network)
        let address = try #require(IPAddress(target))
        return try await held(network) {
            run(network, NeighborProbe(address, on: index, from: own, limit: .milliseconds(300)), $0)
        }
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6])
    func `a neighbour that answers is heard`(target: String) async throws {
        let network = try ProbeNetwork()
        guard case .owners(let owners) = try await Self.neighbor(network, target) else {
            Issue.record("it could not be asked")
            return
        }
        #expect(owners.count == 1)
    }

    @Test func `a neighbour that is not there is silent`() async throws {
        let network = try ProbeNetwork()
        #expect(try await Self.neighbor(network, "192.0.2.99") == .owners([:]))
    }

    @Test func `who never got to listen says so`() async throws {
        let network = try ProbeNetwork()
        let (index, own) = try Self.sender(network)
        let address = try #require(IPAddress("192.0.2.99"))
        // The thread is held for all but a moment, again and again.
        var isOver = false
        func holdOn() {
            guard !isOver else { return }
            _ = usleep(Self.hold / 2)
            network.loop.schedule(after: .milliseconds(1)) { holdOn() }
        }
        let result: NeighborResult = try await Self.held(network) { completion in
            holdOn()
            return Self.run(network, NeighborProbe(address, on: index, from: own, limit: .milliseconds(300))) { found in
                isOver = true
                completion(found)
            }
        }
        #expect(result == .failed(.resources, detail: SchedulingDelay.text))
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6])
    func `an echo comes back`(address: String) async throws {
        let network = try ProbeNetwork()
        let definition = try ProbeNetwork.definition(.icmp, address) { $0.timeout = .milliseconds(300) }
        let result: ProbeResult = try await Self.held(network) { completion in
            ProbeAttempt(
                definition,
                context: ProbeContext(),
                loop: network.loop,
                pages: network.pages,
                completion: completion
            )
        }
        #expect(result.isSuccess, "\(result)")
    }

    @Test func `a train comes back, and a walk arrives`() async throws {
        let network = try ProbeNetwork()
        let address = ScopedAddress(try #require(IPAddress(ProbeNetwork.peer4)))
        let train: TrainResult = try await Self.held(network) { completion in
            let (pace, timeout) = (Duration.milliseconds(5), Duration.milliseconds(100))
            let train = PacketTrain(.echo, to: address, count: 2, pace: pace, timeout: timeout)
            return Self.run(network, train, completion)
        }
        #expect(train.received == 2 && train.advice == nil, "\(train)")
        let trace: TracerouteResult = try await Self.held(network) { completion in
            Self.run(network, Traceroute(to: address, limit: .milliseconds(300)), completion)
        }
        #expect(trace.isArrived && !trace.isDelayed, "\(trace)")
    }

    @Test func `a name server is heard`() async throws {
        let network = try ProbeNetwork()
        let server = try network.serve([
            "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root",
            "--group=root", "--pid-file=", "--address=/example.test/192.0.2.80",
        ])
        try await network.loop.eventually("dnsmasq") {
            try network.far.run("ss -Hlun sport = :53").contains(":53")
        }
        let peer = try #require(SocketAddress(ProbeNetwork.peer4, standardPort: 53))
        let answers: DNSServerResult = try await Self.held(network) { completion in
            Self.run(network, DNSServerProbe(peer, [.init("example.test")], limit: .milliseconds(500)), completion)
        }
        #expect(answers.replies.first == .addresses([.v4(0xC000_0250)]), "\(answers)")
        server.signal(9)
    }
}
