// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import PathModel
import TestSupport
import Testing

@testable import Providers

/// Files in the place of resolv.conf that nobody would write on purpose.
@Suite struct OddResolverTests {
    private func parse(_ bytes: [UInt8]) -> ResolvConf { ResolvConf(parsing: bytes.span) }

    @Test(
        arguments: [
            ("nameserver 192.0.2.1", ["192.0.2.1"]), ("nameserver\t\t192.0.2.1\t\n", ["192.0.2.1"]),
            ("\n\n\r\nnameserver 192.0.2.1\r\n", []), ("nameserver 192.0.2.1;x\n", []),
            ("nameserver ::1\nnameserver 127.0.0.1\n", ["::1", "127.0.0.1"]),
            ("nameserver 192.0.2.1\nnameserver 192.0.2.1\n", ["192.0.2.1", "192.0.2.1"]),
            ("nameserver [2001:db8::1]\n", []), ("nameserver 192.0.2.1:53\n", []),
            ("nameserver 192.0.2\n", ["192.0.0.2"]),
            // What the C library of Debian 12 makes of them (res_ninit).
            ("nameserver 10.9\n", ["10.0.0.9"]), ("nameserver 010.9.0.11\n", ["8.9.0.11"]),
            ("nameserver 0x7f000001\n", ["127.0.0.1"]), ("nameserver 256.1\n", []), ("nameserver 192.0.2.1#x\n", []),
            ("nameserver 192.0.2.1 \r\n", ["192.0.2.1"]), ("nameserver 1.1.1.1\rnameserver 2.2.2.2\r", []),
            ("nameserver abc\n", []), ("nameserver 192.0.2.1\rfoo\n", []),
            ("nameserver 192.0.2.256\nnameserver 192.0.2.2\n", ["192.0.2.2"]),
            ("nameservers 192.0.2.1\n", []), ("name server 192.0.2.1\n", []),
            ("nameserver fe80::1%eth0%eth1\n", ["fe80::1%eth0%eth1"]),
            ("nameserver FE80::A%wlan0\n", ["fe80::a%wlan0"]),
            ("nameserver ::ffff:192.0.2.1\n", ["::ffff:192.0.2.1"]),
            ("{\"nameserver\": \"192.0.2.1\"}\n", []),
        ] as [(String, [String])]
    )
    func `a server is an address and nothing else`(text: String, servers: [String]) {
        #expect(parse(Array(text.utf8)).servers.map(\.description) == servers)
    }

    @Test func `zeros and bytes that are no text spoil their own line only`() {
        var bytes = Array("nameserver 192.0.2.1\0\nnameserver ".utf8)
        bytes += [0xFF, 0xFE]
        bytes += Array("\nnameserver 192.0.2.3\n".utf8)
        #expect(parse(bytes).servers.map(\.description) == ["192.0.2.3"])
    }

    @Test func `the fourth server is not asked, though the third was no address`() {
        let text =
            "nameserver 192.0.2.1\nnameserver x\nnameserver 192.0.2.2\nnameserver 192.0.2.3\nnameserver 192.0.2.4\n"
        #expect(parse(Array(text.utf8)).servers.map(\.description) == ["192.0.2.1", "192.0.2.2", "192.0.2.3"])
    }

    @Test(
        arguments: [
            ("options ndots:0\n", 0, []), ("options ndots:15\n", 15, []), ("options ndots:16\n", 15, []),
            ("options ndots:2 ndots:5\n", 5, []), ("options ndots: rotate\n", 1, ["rotate"]),
            ("options\n", 1, []), ("options \(String(repeating: "x", count: 65)) y\n", 1, ["y"]),
            ("option ndots:3\n", 1, []),
        ] as [(String, Int, [String])]
    )
    func `options are kept within bounds`(text: String, ndots: Int, options: [String]) {
        let parsed = parse(Array(text.utf8))
        #expect(parsed.ndots == ndots && parsed.options == options)
    }

    @Test(arguments: ["nameserver 192.0.2.1\n", ""]) func `servers are queried over TCP where the file says so`(
        text: String
    ) {
        for (options, expected) in [("", false), ("options use-vc\n", true), ("options rotate use-vcx\n", false)] {
            let configuration = parse(Array((text + options).utf8)).configuration(source: "")
            #expect(configuration.usesTCP == expected && configuration.servers.count == 1)
        }
    }

    @Test func `a domain longer than any name is left out, the others stay`() {
        let long = String(repeating: "a", count: 256)
        #expect(parse(Array("search a.example \(long) b.example\n".utf8)).search == ["a.example", "b.example"])
        #expect(parse(Array("domain \(long)\n".utf8)).search == [])
    }
}

@Suite(.inNamespace) struct ResolverFileTests {
    private let loop = Namespace.current.loop

    @Test func `a file is read once, through links, and what cannot be read means this machine`() throws {
        let scratch = try Scratch()
        try scratch.write("nameserver 192.0.2.1\nsearch a.example\n", to: "real")
        try scratch.link("link", to: "real")
        try scratch.link("loop", to: "loop")
        try Command.run(["mkfifo", scratch("pipe")])
        let read = ResolverFile.configuration(at: scratch("link"))
        #expect(read.servers.map(\.description) == ["192.0.2.1"] && read.search == ["a.example"])
        #expect(read.source == scratch("link"))
        for name in ["missing", "loop", "pipe", "real/below"] {
            let configuration = ResolverFile.configuration(at: scratch(name))
            #expect(configuration.servers.map(\.description) == ["127.0.0.1"], "\(name)")
            #expect(configuration.source == scratch(name))
        }
    }

    @Test func `a directory in its place means no server, and it is why (S36)`() async throws {
        let scratch = try Scratch()
        try Command.run(["mkdir", scratch("resolv.conf")])
        #expect(ResolverFile.configuration(at: scratch("resolv.conf")).servers == [])
        let watcher = ResolverConfigurationMonitor(loop: loop, path: scratch("resolv.conf"))
        watcher.start()
        #expect(watcher.configuration.servers == [])
        #expect(watcher.configuration.unreadable == "Is a directory (EISDIR)")
        try Command.run(["rmdir", scratch("resolv.conf")])
        await loop.eventually { watcher.configuration.servers.map(\.description) == ["127.0.0.1"] }
        #expect(watcher.configuration.unreadable == nil)
        watcher.stop()
    }

    @Test func `a name that the kernel cannot watch is told, and the file is read all the same`() {
        let path = "/" + String(repeating: "x", count: 300) + "/resolv.conf"
        let watcher = ResolverConfigurationMonitor(loop: loop, path: path)
        watcher.start()
        #expect(watcher.configuration.servers.map(\.description) == ["127.0.0.1"])
        guard case .system(_, let code)? = watcher.health.lastError else {
            Issue.record("\(watcher.health)")
            return
        }
        #expect(code == Errno(ENAMETOOLONG))
        watcher.stop()
    }

    @Test func `watches that cannot be made do not keep the others from being made`() async throws {
        let scratch = try Scratch()
        let watch = FileMonitor(loop: loop)
        var events = 0
        watch.onEvent = { events += 1 }
        watch.start()
        watch.follow(files: ["/" + String(repeating: "x", count: 300) + "/y", scratch("a")], directories: [])
        #expect(watch.lastError == .system(call: "inotify_add_watch", code: Errno(ENAMETOOLONG)))
        try scratch.write("x", to: "a")
        await loop.eventually { events > 0 }
        watch.follow(files: [scratch("a")], directories: [])
        #expect(watch.lastError == nil)
        watch.stop()
    }
}
