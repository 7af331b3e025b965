// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite(.inNamespace) struct ConnectProbeTests {
    private static let listener = """
        import socket, time
        for family, address in ((socket.AF_INET, "192.0.2.2"), (socket.AF_INET6, "2001:db8::2")):
            s = socket.socket(family); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind((address, 8080)); s.listen(64); globals()["keep" + str(family)] = s
        time.sleep(600)
        """

    @Test(arguments: ["192.0.2.2:8080", "[2001:db8::2]:8080"])
    func `an open port takes the connection`(target: String) async throws {
        let network = try ProbeNetwork()
        let server = try network.servePython(Self.listener)
        try await network.waitForPort(8080)
        let result = try await network.attempt(.tcp, target)
        #expect(result.outcome == .success)
        #expect(result.duration > .zero)
        server.signal(9)
    }

    @Test func `a lost SYN is told from a slow network`() async throws {
        let network = try ProbeNetwork()
        let server = try network.servePython(Self.listener)
        try await network.waitForPort(8080)
        #expect(try await network.attempt(.tcp, "192.0.2.2:8080").retransmissions == 0)
        try ProbeNetwork.filter(network.far, hook: "input", ["tcp dport 8080 tcp flags syn numgen inc mod 2 0 drop"])
        let result = try await network.attempt(.tcp, "192.0.2.2:8080")
        #expect(result.isSuccess && result.retransmissions == 1)
        #expect(result.duration > .milliseconds(500))
        server.signal(9)
    }

    @Test(arguments: ["192.0.2.2:81", "[2001:db8::2]:81"])
    func `a closed port refuses`(target: String) async throws {
        let network = try ProbeNetwork()
        #expect(try await network.attempt(.tcp, target).reason == .refused)
    }

    @Test func `a filter that drops is a timeout, one that rejects is not`() async throws {
        let network = try ProbeNetwork()
        try ProbeNetwork.filter(
            network.far,
            hook: "input",
            [
                "tcp dport 8080 drop", "tcp dport 8081 reject with tcp reset",
                "tcp dport 8082 reject with icmp type admin-prohibited",
                "tcp dport 8083 reject with icmp type host-unreachable",
            ]
        )
        let dropped = try await network.attempt(.tcp, "192.0.2.2:8080", timeout: .milliseconds(300))
        #expect(dropped.reason == .timeout)
        #expect(try await network.attempt(.tcp, "192.0.2.2:8081").reason == .refused)
        #expect(try await network.attempt(.tcp, "192.0.2.2:8082", timeout: .seconds(2)).reason != nil)
        #expect(try await network.attempt(.tcp, "192.0.2.2:8083", timeout: .seconds(2)).reason != nil)
    }

    @Test func `a host name is looked up first`() async throws {
        let network = try ProbeNetwork()
        let server = try network.near.current(
            "import socket,time\ns=socket.socket()\ns.bind(('127.0.0.1',8081))\ns.listen()\ntime.sleep(600)"
        )
        try await network.loop.eventually { try network.near.run("ss -Hltn sport = :8081").contains(":8081") }
        let result = try await network.attempt(.tcp, "localhost:8081") { $0.family = .ipv4 }
        #expect(result.isSuccess)
        #expect(result.resolution != nil)
        #expect(result.address?.description == "127.0.0.1")
        server.signal(9)
    }

    @Test func `where nothing leaves the machine a name has a moment, and what it names the whole time`() async throws {
        let network = try ProbeNetwork()
        try ProbeNetwork.filter(network.near, hook: "input", ["tcp dport 8080 drop"])
        let cut = ProbeContext(blockade: "eth0 has no carrier")
        func attempt(_ target: String) async throws -> ProbeResult {
            var definition = try ProbeNetwork.definition(.tcp, target, timeout: .milliseconds(800))
            definition.family = .ipv4
            return await network.attempt(definition, context: cut)
        }
        #expect(try await attempt("localhost:8080").reason == .timeout)
        let unknown = try await attempt("no-such-host.invalid:80")
        #expect(unknown.outcome == .failure(.unreachable, detail: "eth0 has no carrier"))
    }

    @Test func `a name without an address is a matter of names`() async throws {
        let network = try ProbeNetwork()
        let result = try await network.attempt(.tcp, "no-such-host.invalid:80")
        #expect(result.reason == .dns)
        #expect(result.address == nil)
    }

    @Test func `an address of the other family is not asked`() async throws {
        let network = try ProbeNetwork()
        let result = try await network.attempt(.tcp, "192.0.2.2:80") { $0.family = .ipv6 }
        #expect(result.reason == .unreachable)
    }

    @Test func `no route is told at once`() async throws {
        let network = try ProbeNetwork()
        #expect(try await network.attempt(.tcp, "198.51.100.1:80").reason == .unreachable)
    }

    @Test func `without descriptors the machine lacks resources`() {
        #expect(FailureClassifier.reason(of: Errno(24), at: .socket) == .resources)
    }
}

extension Namespace {
    /// Runs a Python program on this machine.
    fileprivate func current(_ program: String) throws -> RunningCommand {
        try RunningCommand(["nsenter", "--net=\(path)", "python3", "-c", program])
    }
}
