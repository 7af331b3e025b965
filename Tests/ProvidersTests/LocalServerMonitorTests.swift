// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import Netlink
import Providers
import TestSupport
import Testing

/// Name servers on this machine that come, go, and are behind a redirect (S35).
@Suite(.inNamespace) struct LocalServerMonitorTests {
    private let namespace = Namespace.current
    private var loop: EventLoop { namespace.loop }
    private let local = IPAddress.v4(0x7F00_000B)

    init() throws { try namespace.set("lo", isUp: true) }

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

    private func watch(_ addresses: Set<IPAddress>) -> LocalServerMonitor {
        let watch = LocalServerMonitor(loop: loop)
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
        #expect(LocalServerMonitor.served([local]) == [local])
        let watch = watch([local])
        await loop.eventually("the answer") { watch.served == [local] }
        server.signal(SIGKILL)
        await loop.eventually("no answer") { watch.served.isEmpty }
        watch.stop()
    }

    @Test func `the end of a connection that a server accepted is not the end of the server (S35)`() async throws {
        let counter = "type filter hook input priority 0; tcp dport 53 tcp flags & (syn|ack) == syn counter;"
        try namespace.run(["nft", "table ip c { chain i { \(counter) }; }"])
        let program = """
            import socket
            server = socket.create_server(("127.0.0.11", 53))
            while True: server.accept()[0].close()
            """
        let server = try RunningCommand(["nsenter", "--net=\(namespace.path)", "python3", "-c", program])
        await loop.eventually("the server's socket") {
            (try? namespace.run("ss -Hltn"))?.contains("127.0.0.11:53") == true
        }
        let watch = LocalServerMonitor(loop: loop)
        watch.follow([local], over: .tcp)
        await loop.eventually("the server") { watch.served == [local] }
        // A loop of queries would have made thousands of connections meanwhile.
        try namespace.run("sleep 1")
        let words = try namespace.run("nft list table ip c").split(separator: " ")
        let place = try #require(words.firstIndex(of: "packets"))
        #expect(try #require(Int(words[place + 1])) < 5)
        watch.stop()
        withExtendedLifetime(server) {}
    }

    @Test func `a server that has to forward localhost, or misses one datagram, is there (S35)`() async throws {
        let program = """
            import socket
            server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            server.bind(("127.0.0.11", 53))
            while True:
                question, peer = server.recvfrom(512)
                if question[-1] == 3: server.sendto(question[:2] + b"\\x80\\x05" + question[4:], peer)
            """
        let server = try RunningCommand(["nsenter", "--net=\(namespace.path)", "python3", "-c", program])
        await loop.eventually("the server's socket") {
            (try? namespace.run("ss -Hlun"))?.contains("127.0.0.11:53") == true
        }
        #expect(LocalServerMonitor.served([local]) == [local])
        withExtendedLifetime(server) {}
    }

    private func redirect(_ address: String, to port: Int) throws {
        try namespace.run([
            "nft",
            "add table ip t; add chain ip t out { type nat hook output priority -100; };"
                + "add rule ip t out ip daddr \(address) udp dport 53 dnat to \(address):\(port)",
        ])
    }

    private func addOwnAddress() throws {
        try namespace.ipBatch(["link add d0 type ifb", "link set d0 up", "addr add 192.0.2.2/24 dev d0"])
    }

    @Test func `one at another address of this machine is seen to end, and found behind a redirect`() async throws {
        let own = IPAddress.v4(0xC000_0202)
        try addOwnAddress()
        var server = try await serve("192.0.2.2", port: 53)
        let watch = watch([own])
        #expect(watch.served == [own] && LocalServerMonitor.served([own]) == [own])
        server.signal(SIGKILL)
        // Nothing polls while all servers have sockets: the kernel announces it.
        await loop.eventually("its end") { watch.served.isEmpty }
        try redirect("192.0.2.2", to: 5053)
        server = try await serve("192.0.2.2", port: 5053)
        await loop.eventually("the answer") { watch.served == [own] }
        watch.stop()
        withExtendedLifetime(server) {}
    }

    @Test func `an address that comes to this machine is queried then, one that leaves it no longer`() async throws {
        let own = IPAddress.v4(0xC000_0202)
        try redirect("192.0.2.2", to: 5053)
        let server = try await serve("0.0.0.0", port: 5053)
        let watch = watch([own])
        #expect(watch.served.isEmpty)
        try addOwnAddress()
        watch.refresh()
        await loop.eventually("the answer") { watch.served == [own] }
        try namespace.ip("addr del 192.0.2.2/24 dev d0")
        watch.refresh()
        #expect(watch.served.isEmpty)
        watch.stop()
        withExtendedLifetime(server) {}
    }

    @Test(arguments: ["input", "output"])
    func `a filter keeps queries from a socket`(hook: String) async throws {
        let server = try await serve("127.0.0.11", port: 53)
        let watch = watch([local])
        #expect(watch.served == [local])
        try namespace.run([
            "nft",
            "add table ip t; add chain ip t c { type filter hook \(hook) priority 0; };"
                + "add rule ip t c udp dport 53 drop",
        ])
        watch.refresh()
        await loop.eventually("the filter") { watch.served.isEmpty }
        #expect(LocalServerMonitor.served([local]).isEmpty)
        try namespace.run(["nft", "flush ruleset"])
        await loop.eventually("no filter") { watch.served == [local] }
        watch.stop()
        withExtendedLifetime(server) {}
    }

    @Test func `over TCP only a server that accepts connections counts`() async throws {
        let server = try await serve("127.0.0.11", port: 53)
        let watch = LocalServerMonitor(loop: loop)
        watch.follow([local], over: .tcp)
        #expect(watch.served.isEmpty && LocalServerMonitor.served([local], over: .tcp).isEmpty)
        let program = "import socket, sys; s = socket.create_server(('127.0.0.11', 53)); sys.stdin.read()"
        let stream = try RunningCommand(["nsenter", "--net=\(namespace.path)", "python3", "-c", program])
        await loop.eventually("the server") { watch.served == [local] }
        #expect(LocalServerMonitor.served([local], over: .tcp) == [local])
        stream.signal(SIGKILL)
        await loop.eventually("its end") { watch.served.isEmpty }
        watch.follow([local], over: .udp)
        await loop.eventually("the other server") { watch.served == [local] }
        watch.stop()
        withExtendedLifetime(server) {}
    }

    @Test(
        arguments: [
            ("", "REFUSED", false), ("", "NXDOMAIN", false), ("", "constant", true),
            ("\\x0f10.9.9.9#53 0 0", "REFUSED", true), ("none", "REFUSED", true),
        ]
    )
    func `a server like dnsmasq that forwards to no other counts only where it answers for all names (S35)`(
        list: String,
        others: String,
        isServed: Bool
    ) async throws {
        let program = """
            import socket
            server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            server.bind(("127.0.0.11", 53))
            while True:
                query, peer = server.recvfrom(512)
                if b"localhost" in query:
                    head, record = b"\\x84\\x80", b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\0\\0\\4\\x7f\\0\\0\\1"
                elif b"invalid" in query and "\(others)" == "constant":
                    head, record = b"\\x84\\x80", b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\0\\0\\4\\xc0\\0\\2\\x50"
                elif b"invalid" in query:
                    error = b"\\x80\\x85" if "\(others)" == "REFUSED" else b"\\x80\\x83"
                    server.sendto(query[:2] + error + query[4:], peer)
                    continue
                elif "\(list)" == "none":
                    continue
                else:
                    text = b"\(list)"
                    head, record = b"\\x85\\x80", b"\\xc0\\x0c\\0\\x10\\0\\3\\0\\0\\0\\0" + len(text).to_bytes(2, "big") + text
                server.sendto(query[:2] + head + b"\\0\\1\\0\\1\\0\\0\\0\\0" + query[12:] + record, peer)
            """
        let server = try RunningCommand(["nsenter", "--net=\(namespace.path)", "python3", "-c", program])
        await loop.eventually("the socket") { (try? namespace.run("ss -Hlun"))?.contains("127.0.0.11:53") == true }
        #expect(LocalServerMonitor.served([local]) == (isServed ? [local] : []))
        let watch = watch([local])
        await loop.eventually("the verdict") { watch.served == (isServed ? [local] : []) }
        watch.stop()
        withExtendedLifetime(server) {}
    }

    /// Answers as dnsmasq, whose first servers are another server, and writes down what it is queried for.
    private func serveAsDnsmasq(_ log: String) async throws -> RunningCommand {
        let program = """
            import socket, sys
            server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            server.bind(("127.0.0.11", 53))
            while True:
                query, peer = server.recvfrom(512)
                print(query[13:14].decode(), end="", file=open(sys.argv[1], "a"))
                if query[13:14] == b"l":
                    head, record = b"\\x84\\x80", b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\0\\0\\4\\x7f\\0\\0\\1"
                else:
                    head, record = b"\\x84\\x80", b"\\xc0\\x0c\\0\\x10\\0\\3\\0\\0\\0\\0\\0\\2\\x011"
                server.sendto(query[:2] + head + b"\\0\\1\\0\\1\\0\\0\\0\\0" + query[12:] + record, peer)
            """
        let command = try RunningCommand(["nsenter", "--net=\(namespace.path)", "python3", "-c", program, log])
        await loop.eventually("the socket") { (try? namespace.run("ss -Hlun"))?.contains("127.0.0.11:53") == true }
        return command
    }

    @Test func `an audit sends one query to a server that lists its own (S35)`() async throws {
        let scratch = try Scratch()
        let server = try await serveAsDnsmasq(scratch("log"))
        let watch = watch([local])
        #expect(watch.served == [local])
        await loop.eventually("three audits") {
            watch.refresh()
            return scratch.read("log").count > 4
        }
        #expect(scratch.read("log").hasPrefix("lsss"))
        #expect(watch.served == [local])
        watch.stop()
        withExtendedLifetime(server) {}
    }

    @Test func `a process that hung answers as soon as it goes on, without another query (S35)`() async throws {
        let scratch = try Scratch()
        let server = try await serveAsDnsmasq(scratch("log"))
        let watch = watch([local])
        server.signal(SIGSTOP)
        watch.refresh()
        await loop.eventually("its silence") { watch.served.isEmpty }
        server.signal(SIGCONT)
        await loop.eventually("its answer") { watch.served == [local] }
        // One query at the audit, and one more for a lost datagram.
        #expect(scratch.read("log").hasPrefix("lssv"))
        watch.stop()
    }

    @Test func `nothing is read while a query waits for its answer (S35)`() async throws {
        final class Counter { var reads = 0 }
        let server = try await serve("127.0.0.11", port: 53, answers: false)
        let counter = Counter()
        let watch = LocalServerMonitor(loop: loop) { addresses, transport in
            counter.reads += 1
            return LocalServerFacts(of: addresses, over: transport)
        }
        watch.follow([local])
        // After 3 s, and 2 s later the second query.
        await loop.eventually("its silence") { watch.served.isEmpty }
        let first = counter.reads
        await loop.eventually("the third query") { counter.reads >= first + 2 }
        #expect(counter.reads == first + 2)
        watch.stop()
        withExtendedLifetime(server) {}
    }

    @Test func `all servers that hang are queried at the same time`() async throws {
        let one = try await serve("127.0.0.11", port: 53, answers: false)
        let other = try await serve("127.0.0.12", port: 53, answers: false)
        let start = KernelClock().boot
        #expect(LocalServerMonitor.served([local, .v4(0x7F00_000C)]).isEmpty)
        #expect(KernelClock().boot - start < .milliseconds(4500))
        withExtendedLifetime((one, other)) {}
    }

    @Test(arguments: [Listener.Transport.udp, .tcp])
    func `a redirect to a server behind a router leaves this machine (S35)`(transport: Listener.Transport) async throws
    {
        let router = try Namespace()
        try namespace.ip("link add r0 type veth peer name r1 netns \(router.path)")
        try namespace.ipBatch([
            "link set r0 up", "addr add 198.51.100.2/24 dev r0", "addr add 2001:db8::2/64 dev r0 nodad",
        ])
        try router.ipBatch([
            "link set r1 up", "addr add 198.51.100.1/24 dev r1", "addr add 2001:db8::1/64 dev r1 nodad",
            "route add 203.0.113.0/24 via 198.51.100.2", "route add 2001:db8:9::/64 via 2001:db8::2",
        ])
        try namespace.ipBatch(["route add default via 198.51.100.1", "route add 2001:db8:9::/64 via 2001:db8::1"])
        try router.run("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
        let own: [IPAddress] = [try #require(IPAddress("198.51.100.2")), try #require(IPAddress("2001:db8::2"))]
        let name = transport == .tcp ? "tcp" : "udp"
        // Without a redirect nobody is there.
        #expect(LocalServerMonitor.served(Set(own), over: transport).isEmpty)
        try namespace.run([
            "nft",
            "table inet t { chain out { type nat hook output priority -100; "
                + "ip daddr 198.51.100.2 \(name) dport 53 dnat ip to 203.0.113.53; "
                + "ip6 daddr 2001:db8::2 \(name) dport 53 dnat ip6 to [2001:db8:9::53]; }; }",
        ])
        let watch = LocalServerMonitor(loop: loop)
        watch.follow(Set(own), over: transport)
        await loop.eventually("the redirect") { watch.served == Set(own) }
        watch.stop()
        #expect(LocalServerMonitor.served(Set(own), over: transport) == Set(own))
    }

    @Test func `the end of one at an own IPv6 link-local address is announced, and its return is found (S35)`()
        async throws
    {
        try namespace.ipBatch(["link add d0 type ifb", "link set d0 up", "addr add fe80::53/64 dev d0 nodad"])
        let own = try #require(IPAddress("fe80::53"))
        let program = """
            import socket, sys
            server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            server.bind(("fe80::53", 53, 0, socket.if_nametoindex("d0")))
            sys.stdin.read()
            """
        func start() throws -> RunningCommand {
            try RunningCommand(["nsenter", "--net=\(namespace.path)", "python3", "-c", program])
        }
        let server = try start()
        await loop.eventually("the socket") { (try? namespace.run("ss -Hlun"))?.contains("fe80::53") == true }
        let watch = watch([own])
        #expect(watch.served == [own])
        server.signal(SIGKILL)
        await loop.eventually("its end") { watch.served.isEmpty }
        let again = try start()
        await loop.eventually("its return") { watch.served == [own] }
        watch.stop()
        withExtendedLifetime(again) {}
    }

    @Test func `nobody there, somebody silent, and an address of another machine`() async throws {
        #expect(LocalServerMonitor.served([local]).isEmpty)
        let silent = try await serve("127.0.0.11", port: 40053, answers: false)
        try namespace.run([
            "nft",
            "add table ip t; add chain ip t out { type nat hook output priority -100; };"
                + "add rule ip t out ip daddr 127.0.0.11 udp dport 53 dnat to 127.0.0.11:40053",
        ])
        let watch = watch([local, .v4(0xC000_0201)])
        #expect(watch.served.isEmpty && LocalServerMonitor.served([local]).isEmpty)
        silent.signal(SIGKILL)
        // The redirect leads past a socket of the address itself, too.
        try namespace.run(["nft", "flush ruleset"])
        let server = try await serve("127.0.0.11", port: 53)
        await loop.eventually("the server") { watch.served == [local] }
        watch.stop()
        withExtendedLifetime(server) {}
    }
}
