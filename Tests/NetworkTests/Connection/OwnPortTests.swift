// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// Connections to ports out of which the kernel chooses those of clients, while nobody listens there.
@Suite(.inNamespace) struct OwnPortTests {
    private let namespace = Namespace.current

    private func allowPorts(_ range: String) throws {
        try namespace.run(["sysctl", "-qw", "net.ipv4.ip_local_port_range=\(range)"])
    }

    private func eventually(_ what: String, _ condition: () -> Bool) async {
        await namespace.loop.eventually(what, condition)
    }

    /// Of four ports the kernel chooses each as often as the others, but none of a client that is not closed yet.
    @Test(arguments: ["127.0.0.1", "::1"])
    func `a client of UDP never gets the port of its peer`(host: String) async throws {
        try allowPorts("40000 40003")
        for _ in 0..<32 {
            let client = Watched(to: host, 40000, .udp).start()
            await eventually("ready, but \(client.state)") { client.state == .ready }
            guard case .hostPort(_, let port)? = client.connection.currentPath?.localEndpoint else {
                Issue.record("no local endpoint")
                return
            }
            #expect(port != 40000)
            client.receiveMessage()
            client.send("hello")
            await eventually("the refusal") { client.state == .failed(.posix(.ECONNREFUSED)) }
            #expect(client.received.values.allSatisfy { $0.text == nil })
        }
    }

    @Test(arguments: ["127.0.0.1", "::1"])
    func `a client of TCP is refused where only it could listen`(host: String) async throws {
        try allowPorts("40000 40000")
        let client = Watched(to: host, 40000).start()
        await eventually("the refusal, but \(client.state)") { client.state == .waiting(.posix(.ECONNREFUSED)) }
        #expect(!client.states.values.contains(.ready))
        // Nothing keeps the port; another attempt of the client has it for a moment.
        var port = NWEndpoint.Port.any
        for _ in 0..<100 where port != 40000 {
            port = try await WatchedListener(.tcp, on: 40000).start()
            if port != 40000 { try await Task.sleep(for: .milliseconds(20)) }
        }
        #expect(port == 40000)
    }
}
