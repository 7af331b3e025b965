// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import Netlink
import Providers
import TestSupport
import Testing

/// Name servers on this machine that come, go, and are behind a redirect (S35).
@Suite(.inNamespace) struct LocalServerWatchTests {
    private let namespace = Namespace.current
    private var loop: EventLoop { namespace.loop }
    private let local = IPAddress.v4(0x7F00_000B)

    init() throws { try namespace.ip("link set lo up") }

    /// A server that answers every query with an error, or none.
    private func serve(_ address: String, port: Int, answers: Bool = true) async throws -> RunningCommand {
        let program = """
            import socket, sys
            server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            server.bind((sys.argv[1], int(sys.argv[2])))
            while True:
                question, peer = server.recvfrom(512)
                if sys.argv[3] == "True": server.sendto(question[:2] + b"\\x80\\x05" + question[4:], peer)
            """
        let words = ["python3", "-c", program, address, "\(port)", answers ? "True" : "False"]
        let command = try RunningCommand(["nsenter", "--net=\(namespace.path)"] + words)
        await loop.eventually("the server's socket") {
            (try? namespace.run("ss -Hlun"))?.contains("\(address):\(port)") == true
        }
        return command
    }

    private func watch(_ addresses: Set<IPAddress>) -> LocalServerWatch {
        let watch = LocalServerWatch(loop: loop) { ListenerSocket.served($0) }
        watch.follow(addresses)
        return watch
    }

    @Test func `one that listens is served at once, its end is heard, and it is found when it returns`() async throws {
        let server = try await serve("127.0.0.11", port: 53)
        let watch = watch([local, .v4(0x0808_0808)])
        #expect(watch.served == [local])
        server.signal(SIGKILL)
        // Nothing looks while all servers have sockets: the kernel tells it.
        await loop.eventually("its end") { watch.served.isEmpty }
        let again = try await serve("127.0.0.11", port: 53)
        await loop.eventually("its return") { watch.served == [local] }
        watch.stop()
        #expect(watch.served == [local])
        withExtendedLifetime(again) {}
    }

    @Test func `one behind a redirect is found by a question, and its end by the next`() async throws {
        try namespace.run([
            "nft",
            "add table ip t; add chain ip t out { type nat hook output priority -100; };"
                + "add rule ip t out ip daddr 127.0.0.11 udp dport 53 dnat to 127.0.0.11:40053",
        ])
        let server = try await serve("127.0.0.11", port: 40053)
        #expect(ListenerSocket.served([local]).isEmpty)
        #expect(LocalServerWatch.served([local]) == [local])
        let watch = watch([local])
        await loop.eventually("the answer") { watch.served == [local] }
        server.signal(SIGKILL)
        await loop.eventually("no answer") { watch.served.isEmpty }
        watch.stop()
    }

    @Test func `nobody there, somebody silent, and an address of another machine`() async throws {
        #expect(LocalServerWatch.served([local]).isEmpty)
        let silent = try await serve("127.0.0.11", port: 40053, answers: false)
        try namespace.run([
            "nft",
            "add table ip t; add chain ip t out { type nat hook output priority -100; };"
                + "add rule ip t out ip daddr 127.0.0.11 udp dport 53 dnat to 127.0.0.11:40053",
        ])
        let watch = watch([local, .v4(0xC000_0201)])
        #expect(watch.served.isEmpty && LocalServerWatch.served([local]).isEmpty)
        silent.signal(SIGKILL)
        let server = try await serve("127.0.0.11", port: 53)
        await loop.eventually("the server") { watch.served == [local] }
        watch.stop()
        withExtendedLifetime(server) {}
    }
}
