// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import CLinuxShims
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite struct FailureClassifierTests {
    @Test(
        arguments: [
            (ETIMEDOUT, .timeout), (ECONNREFUSED, .refused), (ENETUNREACH, .unreachable), (EHOSTUNREACH, .unreachable),
            (EACCES, .unreachable), (EINVAL, .unreachable), (ENETDOWN, .unreachable),
            (ENODEV, .unreachable), (EPERM, .blocked), (ECONNRESET, .answer), (EPIPE, .answer), (EMSGSIZE, .answer),
            (12345, .answer), (ENOBUFS, .unreachable), (EAGAIN, .unreachable),
        ] as [(Int32, ProbeReason)]
    )
    func `an error of a socket in use has a reason`(code: Int32, reason: ProbeReason) {
        let outcome = FailureClassifier.outcome(of: Errno(code), at: .use)
        #expect(outcome == .failure(reason, detail: Errno(code).description))
    }

    @Test(
        arguments: [
            (EADDRNOTAVAIL, .connect, "no local port"), (EADDRINUSE, .source, "no local port"),
            (EAGAIN, .connect, "no local port"),
            (EAGAIN, .lookup, "no thread"), (EMFILE, .socket, "no file descriptor of this process"),
            (ENFILE, .socket, "no file descriptor of this machine"), (ENOMEM, .use, "no memory"),
        ] as [(Int32, SocketStep, String)]
    )
    func `what this machine lacks is said, and is nobody else's fault`(code: Int32, step: SocketStep, lack: String) {
        let detail = "\(lack) is left (\(Errno(code).name))"
        #expect(FailureClassifier.outcome(of: Errno(code), at: step) == .failure(.resources, detail: detail))
        #expect(FailureClassifier.shortage(SocketFailure(error: Errno(code), step: step)) == detail)
    }

    @Test func `an own address that is not there is no lack of ports`() {
        #expect(FailureClassifier.outcome(of: Errno(EADDRNOTAVAIL), at: .source).reason == .unreachable)
        #expect(FailureClassifier.shortage(SocketFailure(error: Errno(EADDRNOTAVAIL), step: .source)) == nil)
    }

    @Test(arguments: [SocketStep.socket, .interface, .mark, .user], [EPERM, EACCES])
    func `what this process may not do is not a failure`(step: SocketStep, code: Int32) {
        guard case .notAssessed(let advice) = FailureClassifier.outcome(of: Errno(code), at: step) else {
            Issue.record("\(step) is a failure")
            return
        }
        #expect(advice.contains("CAP_"))
    }

    @Test func `an interface that is not there is named`() {
        let route = ProbeRoute(interface: "wwan0")
        let outcome = FailureClassifier.outcome(of: Errno(ENODEV), at: .interface, route: route)
        #expect(outcome == .failure(.unreachable, detail: "there is no interface wwan0"))
    }

    @Test func `a socket of a family that the kernel lacks leads nowhere`() {
        #expect(FailureClassifier.outcome(of: Errno(EAFNOSUPPORT), at: .socket).reason == .unreachable)
        #expect(FailureClassifier.outcome(of: Errno(EMFILE), at: .socket).reason == .resources)
    }
}

extension ProbeResult.Outcome {
    fileprivate var reason: ProbeReason? {
        if case .failure(let reason, _) = self { reason } else { nil }
    }
}

@Suite struct ProbeResultTests {
    @Test func `only success is one`() {
        #expect(ProbeResult(.success).isSuccess)
        #expect(ProbeResult(.success).reason == nil)
        let failure = ProbeResult(.failure(.refused, detail: "x"))
        #expect(!failure.isSuccess && failure.reason == .refused)
        let unknown = ProbeResult(.notAssessed(advice: "x"))
        #expect(!unknown.isSuccess && unknown.reason == nil)
    }

    @Test func `reasons are words for labels`() {
        for reason in ProbeReason.allCases {
            #expect(reason.rawValue.utf8.allSatisfy { (97...122).contains($0) || $0 == UInt8(ascii: "_") })
        }
    }
}

/// A machine whose local ports are all in use: nothing follows for the network.
@Suite(.inNamespace) struct PortExhaustionTests {
    /// Holds the four ports that are left, of both families and protocols.
    private static let holder = """
        import socket, time
        kept = []
        for port in range(50000, 50004):
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                for family, address in ((socket.AF_INET6, "::"), (socket.AF_INET, "0.0.0.0")):
                    s = socket.socket(family, kind)
                    if family == socket.AF_INET6: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                    s.bind((address, port)); kept.append(s)
                    if kind == socket.SOCK_STREAM: s.listen(1)
        time.sleep(600)
        """

    private static func exhausted() async throws -> (ProbeNetwork, RunningCommand) {
        let network = try ProbeNetwork()
        try network.near.run(["sysctl", "-qw", "net.ipv4.ip_local_port_range=50000 50003"])
        let holder = try RunningCommand(["nsenter", "--net=\(network.near.path)", "python3", "-c", Self.holder])
        try await network.loop.eventually("the ports") {
            try network.near.run("ss -Hlun sport = :50003").split(separator: "\n").count == 2
        }
        return (network, holder)
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6])
    func `connections, pages, queries and echo requests lack a port`(peer: String) async throws {
        let (network, holder) = try await Self.exhausted()
        let host = peer.contains(":") ? "[\(peer)]" : peer
        for (method, target) in [(ProbeMethod.tcp, "\(host):80"), (.http, "http://\(host)/"), (.dns, "a.test")] {
            let result = try await network.attempt(method, target) { definition in
                definition.question.server = SocketAddress(peer, standardPort: 53)
            }
            #expect(result.reason == .resources, "\(method): \(result.outcome)")
            #expect(result.shortage?.hasPrefix("no local port is left (") == true)
        }
        #expect(Shortage.current(network.loop) == "no local port is left (EAGAIN)")
        holder.signal(9)
    }

    @Test func `a name server is not silent that could not be queried`() async throws {
        let (network, holder) = try await Self.exhausted()
        let server = try #require(SocketAddress(ProbeNetwork.peer4, standardPort: 53))
        let (result, traffic) = try await network.run(DNSServerProbe(server, [.init("a.test")]))
        #expect(traffic.shortage == "no local port is left (EAGAIN)")
        #expect(traffic.packets == 0 && !result.isUnreachable)
        holder.signal(9)
    }

    @Test func `connections over IPv6 without an own address lead nowhere, and lack no port`() async throws {
        let network = try ProbeNetwork()
        try network.near.ip("-6 address flush dev eth0")
        try network.near.ip("-6 route add 2001:db8::/64 dev eth0")
        #expect(try await network.attempt(.tcp, "[2001:db8::2]:80").reason == .unreachable)
        #expect(try await network.attempt(.http, "http://[2001:db8::2]/").reason == .unreachable)
        #expect(Shortage.current(network.loop) == nil)
    }
}

/// Attempts of a process without capabilities: the thread of the test gives up its rights.
@Suite(.inNamespace) struct PermissionTests {
    private static let nobody: uid_t = 65_534

    private static func network(pingGroups: ProbeNetwork.PingGroups) throws -> ProbeNetwork {
        let network = try ProbeNetwork(pingGroups: pingGroups)
        try #require(nwp_become_user(nobody) == 0)
        return network
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6])
    func `an echo request without any permission is not assessed, and says what would help`(
        address: String
    ) async throws {
        let network = try Self.network(pingGroups: .nobody)
        let result = try await network.attempt(.icmp, address)
        #expect(result.outcome == .notAssessed(advice: FailureClassifier.icmpAdvice))
        #expect(result.sent == 0)
        #expect(FailureClassifier.icmpAdvice.contains("sysctl -w net.ipv4.ping_group_range='0 2147483647'"))
        #expect(!FailureClassifier.icmpAdvice.contains("\n"))
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6])
    func `a group may be enough, and an interface can be chosen`(address: String) async throws {
        let network = try Self.network(pingGroups: .everyone)
        #expect(try await network.attempt(.icmp, address).isSuccess)
        #expect(try await network.attempt(.icmp, address) { $0.route.interface = "eth0" }.isSuccess)
    }

    @Test(arguments: [ProbeMethod.icmp, .tcp, .http, .dns])
    func `a mark and another user need rights`(method: ProbeMethod) async throws {
        let network = try Self.network(pingGroups: .everyone)
        let targets: [ProbeMethod: String] = [
            .icmp: "192.0.2.2", .tcp: "192.0.2.2:80", .http: "http://192.0.2.2/", .dns: "example.test",
        ]
        let target = try #require(targets[method])
        for route in [ProbeRoute(mark: 7), ProbeRoute(userID: 1)] {
            let result = try await network.attempt(method, target) { definition in
                definition.route = route
                definition.question.server = SocketAddress("192.0.2.2", standardPort: 53)
            }
            guard case .notAssessed(let advice) = result.outcome else {
                Issue.record("\(method) with \(route) came to \(result.outcome)")
                continue
            }
            #expect(advice.contains(route.mark == nil ? "CAP_CHOWN" : "CAP_NET_ADMIN"))
        }
    }
}

@Suite struct PageAddressTests {
    @Test func `parts are told apart`() throws {
        let plain = try #require(PageAddress("http://example.test"))
        #expect(!plain.isSecure && plain.port == 80 && plain.path == "/")
        #expect(plain.host == .name("example.test"))
        let full = try #require(PageAddress("https://[2001:db8::1]:8443/a/b?c=d"))
        #expect(full.isSecure && full.port == 8443 && full.path == "/a/b?c=d")
        #expect(full.description == "https://[2001:db8::1]:8443/a/b?c=d")
        #expect(try #require(PageAddress("http://192.0.2.1:443/")).description == "http://192.0.2.1:443/")
        #expect(try #require(PageAddress("https://192.0.2.1:443/")).description == "https://192.0.2.1/")
    }

    @Test(
        arguments: [
            ("fe80::1%eth0", "[fe80::1%25eth0]"), ("fe80::1%25eth0", "[fe80::1%25eth0]"),
            ("fe80::1%25", "[fe80::1%2525]"),
            ("fe80::1%2525", "[fe80::1%2525]"), ("ff02::1%e%f", "[ff02::1%25e%f]"), ("2001:db8::1%eth0", nil),
        ] as [(String, String?)]
    )
    func `a link-local address keeps its interface`(text: String, host: String?) {
        let page = PageAddress("https://[\(text)]/")
        #expect(page?.description == host.map { "https://\($0)/" })
        #expect(page == page.flatMap { PageAddress($0.description) })
    }

    @Test(arguments: [
        "http:/a.test/", "://a.test", "http//a.test", "http://a.test\u{7F}/", "http://ä.test/", "http://1.2/",
        "http://2001:db8::1/", "http://[192.0.2.1]/", "http://[a.test]/", "http://[fe80::1%]/", "http://[fe80::1%]x]/",
    ])
    func `what is no URL is refused`(text: String) {
        #expect(PageAddress(text) == nil)
    }
}

@Suite(.inNamespace) struct NameLookupTests {
    private static func look(up name: String) async throws -> NameLookup.Outcome {
        let loop = Namespace.current.loop
        var outcome: NameLookup.Outcome?
        let lookup = try NameLookup(name, family: nil, loop: loop) { outcome = $0 }
        await loop.eventually { outcome != nil }
        withExtendedLifetime(lookup) {}
        return try #require(outcome)
    }

    @Test func `the hosts file is read, and addresses are their own names`() async throws {
        guard case .addresses(let addresses) = try await Self.look(up: "localhost") else {
            Issue.record("localhost has no address")
            return
        }
        #expect(addresses.allSatisfy { $0.address.isLoopback } && !addresses.isEmpty)
        #expect(try await Self.look(up: "192.0.2.7") == .addresses([.init(.v4(0xC000_0207))]))
    }

    @Test func `a name that nobody knows is told in words`() async throws {
        guard case .failed(let text, _) = try await Self.look(up: "no-such-host.invalid") else {
            Issue.record("an invalid name has an address")
            return
        }
        #expect(!text.isEmpty)
    }

    @Test func `a look-up that is given up is not heard of again`() async throws {
        let loop = Namespace.current.loop
        var outcomes = 0
        for _ in 0..<8 {
            let lookup = try NameLookup("localhost", family: .ipv4, loop: loop) { _ in outcomes += 1 }
            lookup.cancel()
            lookup.cancel()
        }
        await loop.sleep(for: .milliseconds(50))
        #expect(outcomes == 0)
    }

    @Test func `a name that is too long is refused`() {
        let long = String(repeating: "a", count: 300)
        #expect(throws: Errno.invalid) { try NameLookup(long, family: nil, loop: Namespace.current.loop) { _ in } }
    }
}
