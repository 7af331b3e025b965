// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import PathModel
import TestSupport
import Testing

@testable import Probes

@Suite(.inNamespace) struct NameProbeTests {
    /// A name server that knows one name with both kinds of address, and refuses all others.
    private static func serve(_ network: ProbeNetwork) async throws -> RunningCommand {
        let server = try network.serve([
            "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root",
            "--group=root",
            "--bind-interfaces", "--listen-address=192.0.2.2", "--listen-address=2001:db8::2", "--pid-file=",
            "--host-record=www.example.test,192.0.2.80,2001:db8::80", "--address=/nowhere.test/",
            "--txt-record=big.example.test" + String(repeating: "," + String(repeating: "x", count: 200), count: 4),
        ])
        try await network.waitForPort(53)
        return server
    }

    private static func change(
        _ server: String?,
        _ record: ServerQuestion.Record = .a,
        _ transport: ServerQuestion.Transport = .udp
    ) -> (inout ProbeDefinition) -> Void {
        { definition in
            let address = server.flatMap { SocketAddress($0, standardPort: 53) }
            definition.question = ServerQuestion(server: address, record: record, transport: transport)
        }
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6], ServerQuestion.Transport.allCases)
    func `a name server answers`(server: String, transport: ServerQuestion.Transport) async throws {
        let network = try ProbeNetwork()
        let dnsmasq = try await Self.serve(network)
        let v4 = try await network.attempt(.dns, "www.example.test", Self.change(server, .a, transport))
        #expect(v4.isSuccess)
        #expect(v4.addresses.map(\.description) == ["192.0.2.80"])
        let frame = transport == .tcp ? 2 : 0
        #expect(v4.sent == 34 + frame)
        #expect(v4.received > v4.sent)
        let v6 = try await network.attempt(.dns, "www.example.test", Self.change(server, .aaaa, transport))
        #expect(v6.addresses.map(\.description) == ["2001:db8::80"])
        let nowhere = try await network.attempt(.dns, "x.nowhere.test", Self.change(server, .a, transport))
        #expect(nowhere.outcome == .failure(.dns, detail: NameQuery.text(of: 3)))
        let refused = try await network.attempt(.dns, "example.com", Self.change(server, .a, transport))
        #expect(refused.outcome == .failure(.dns, detail: NameQuery.text(of: 5)))
        dnsmasq.signal(9)
    }

    @Test func `a large text is cut in a datagram and whole over a connection`() async throws {
        let network = try ProbeNetwork()
        let dnsmasq = try await Self.serve(network)
        let whole = try await network.attempt(
            .dns,
            "big.example.test",
            Self.change(ProbeNetwork.peer4, .text, .tcp)
        )
        #expect(whole.isSuccess && whole.addresses.isEmpty && whole.received > 800)
        let cut = try await network.attempt(.dns, "big.example.test", Self.change(ProbeNetwork.peer4, .text))
        #expect(cut.outcome == .failure(.dns, detail: "truncated response"))
        let server = try #require(SocketAddress(ProbeNetwork.peer4, standardPort: 53))
        let questions = [DNSServerProbe.Question("big.example.test", .text), .init("x.nowhere.test", .text)]
        let result = try await network.run(DNSServerProbe(server, questions, limit: .seconds(20))).result
        #expect(result.replies == [.text(bytes: 0, isCut: true), .noSuchName])
        dnsmasq.signal(9)
    }

    @Test func `the first server of the system is asked when none is named`() async throws {
        let network = try ProbeNetwork()
        let dnsmasq = try await Self.serve(network)
        let definition = try ProbeNetwork.definition(.dns, "www.example.test")
        let servers = try [ProbeNetwork.peer6, "192.0.2.99"].map {
            DNSServer(ScopedAddress(try #require(IPAddress($0))))
        }
        let result = await network.attempt(definition, context: ProbeContext(servers: servers))
        #expect(result.isSuccess)
        #expect(result.address?.description == ProbeNetwork.peer6)
        let none = await network.attempt(definition)
        #expect(none.outcome == .failure(.dns, detail: "no name server is configured"))
        dnsmasq.signal(9)
    }

    @Test func `a machine without a name server refuses`() async throws {
        let network = try ProbeNetwork()
        let server = Self.change(ProbeNetwork.peer4)
        #expect(try await network.attempt(.dns, "www.example.test", server).reason == .refused)
        let tcp = Self.change(ProbeNetwork.peer4, .a, .tcp)
        #expect(try await network.attempt(.dns, "www.example.test", tcp).reason == .refused)
    }

    @Test(arguments: ServerQuestion.Transport.allCases)
    func `a silent name server is a timeout`(transport: ServerQuestion.Transport) async throws {
        let network = try ProbeNetwork()
        try ProbeNetwork.filter(network.far, hook: "input", ["th dport 53 drop"])
        let change = Self.change(ProbeNetwork.peer4, .a, transport)
        let result = try await network.attempt(.dns, "www.example.test", timeout: .milliseconds(200), change)
        #expect(result.reason == .timeout)
        #expect(result.sent == (transport == .udp ? 34 : 0))
    }
}
