// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import Probes

/// What a busy machine makes this process late is not the network's time.
@Suite(.inNamespace) struct LatenessTests {
    /// Starts something that asks, keeps the loop's thread busy while answers come, and waits for the result.
    private static func late<Value>(
        _ network: ProbeNetwork,
        _ begin: (@escaping (Value) -> Void) throws -> Any
    ) async throws -> Value {
        let stamped = try await socketWithStamps(network)
        var result: Value?
        let start = network.loop.clock.boot
        let asker = try begin { result = $0 }
        // In the turn in which the questions leave, behind them: they leave deferred, or by a timer.
        network.loop.deferring { _ = usleep(1_000_000) }
        let timer = network.loop.schedule(at: network.loop.clock.boot) { _ = usleep(1_000_000) }
        await network.loop.eventually { result != nil }
        #expect(network.loop.clock.boot - start > .milliseconds(950), "it was not late")
        withExtendedLifetime((asker, timer, stamped)) {}
        return try #require(result)
    }

    /// A socket while which is open the kernel notes when packets arrive: it begins with that for the first socket that
    /// asks, and a moment later.
    private static func socketWithStamps(_ network: ProbeNetwork) async throws -> ProbeSocket {
        let peer = ScopedAddress(try #require(IPAddress(ProbeNetwork.peer4)))
        let socket = try ProbeSocket(.echo(to: peer), loop: network.loop)
        let request = TrainMessages(.echo, family: .ipv4).request(0)
        try await network.loop.eventually("packets with the time of their arrival") {
            try socket.send(request)
            _ = usleep(5_000)
            var age = Duration.zero
            while let arrival = try socket.receive() { age = arrival.age }
            return age > .milliseconds(2)
        }
        return socket
    }

    /// Makes one attempt that way.
    private static func attempt(_ network: ProbeNetwork, _ definition: ProbeDefinition) async throws -> ProbeResult {
        try await late(network) { completion in
            let pages = network.pages
            return ProbeAttempt(
                definition,
                context: ProbeContext(),
                loop: network.loop,
                pages: pages,
                completion: completion
            )
        }
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6], ProbeNetwork.PingGroups.allCases)
    func `an echo is as quick as it came`(address: String, groups: ProbeNetwork.PingGroups) async throws {
        let network = try ProbeNetwork(pingGroups: groups)
        let definition = try ProbeNetwork.definition(.icmp, address)
        let result = try await Self.attempt(network, definition)
        #expect(result.isSuccess && result.duration > .zero && result.duration < .milliseconds(900), "\(result)")
    }

    @Test func `packets of a train are as quick as they came`() async throws {
        let network = try ProbeNetwork()
        let address = ScopedAddress(try #require(IPAddress(ProbeNetwork.peer4)))
        let result: TrainResult = try await Self.late(network) { completion in
            let train = PacketTrain(.echo, to: address, count: 1, pace: .milliseconds(2), timeout: .seconds(20))
            return ProbeRunner(train, loop: network.loop) { result, _ in completion(result) }
        }
        #expect(result.received == 1 && result.durations.allSatisfy { $0 < .milliseconds(900) }, "\(result.durations)")
    }

    @Test func `a name server is as quick as it answered`() async throws {
        let network = try ProbeNetwork()
        let server = try network.serve([
            "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root",
            "--group=root", "--pid-file=", "--address=/example.test/192.0.2.80",
        ])
        try await network.loop.eventually("dnsmasq") {
            try network.far.run("ss -Hlun sport = :53").contains(":53")
        }
        let peer = try #require(SocketAddress(ProbeNetwork.peer4, standardPort: 53))
        let answers: DNSServerResult = try await Self.late(network) { completion in
            let probe = DNSServerProbe(peer, [.init("example.test")], limit: .seconds(20))
            return ProbeRunner(probe, loop: network.loop) { result, _ in completion(result) }
        }
        #expect(answers.durations.allSatisfy { $0.map { $0 < .milliseconds(900) } == true }, "\(answers)")
        let question = ServerQuestion(server: peer)
        let definition = try ProbeNetwork.definition(.dns, "example.test") { $0.question = question }
        let result = try await Self.attempt(network, definition)
        #expect(result.isSuccess && result.duration < .milliseconds(900), "\(result)")
        server.signal(9)
    }
}
