// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import PathModel
import TestSupport
import Testing

@testable import Providers

@Suite struct ResolvConfTests {
    private func parse(_ text: String) -> ResolvConf { ResolvConf(parsing: Array(text.utf8).span) }

    @Test(
        arguments: [
            ("nameserver 192.0.2.1\n", ["192.0.2.1"]),
            ("nameserver 192.0.2.1\nnameserver 2001:db8::1", ["192.0.2.1", "2001:db8::1"]),
            ("nameserver fe80::1%eth0\n", ["fe80::1%eth0"]),
            ("nameserver\t192.0.2.1 # office\r\n", ["192.0.2.1"]),
            ("nameserver 192.0.2.1%eth0\n", []),
            ("nameserver fe80::1%\n", []),
            ("nameserver fe80::1%a-name-that-is-too-long\n", []),
            (" nameserver 192.0.2.1\n", []),
            ("#nameserver 192.0.2.1\n;nameserver 192.0.2.2\n", []),
            ("Nameserver 192.0.2.1\n", []),
            ("nameserver resolver.example\n", []),
            ("nameserver\n", []),
            ("", []),
            (
                "nameserver 1.1.1.1\nnameserver 2.2.2.2\nnameserver 3.3.3.3\nnameserver 4.4.4.4\n",
                [
                    "1.1.1.1", "2.2.2.2", "3.3.3.3",
                ]
            ),
        ] as [(String, [String])]
    )
    func `takes the servers that the C library takes`(text: String, servers: [String]) {
        #expect(parse(text).servers.map(\.description) == servers)
    }

    @Test(
        arguments: [
            ("search a.example b.example\n", ["a.example", "b.example"]),
            ("domain a.example\n", ["a.example"]),
            ("domain a.example ignored.example\n", ["a.example"]),
            ("search a.example\ndomain b.example\n", ["b.example"]),
            ("domain b.example\nsearch a.example c.example\n", ["a.example", "c.example"]),
            ("search .\n", []),
            ("search a.example b.example\r\n", ["a.example"]),
            ("search\n", []),
        ] as [(String, [String])]
    )
    func `lets the last of search and domain win`(text: String, search: [String]) {
        #expect(parse(text).search == search)
    }

    @Test(
        arguments: [
            ("options ndots:3\n", 3, []),
            ("options ndots:2\r\n", 2, []),
            ("options ndots:99 rotate\n", 15, ["rotate"]),
            ("options ndots:-1 ndots:x edns0\n", 1, ["edns0"]),
            ("options edns0 trust-ad\noptions timeout:2\n", 1, ["edns0", "trust-ad", "timeout:2"]),
        ] as [(String, Int, [String])]
    )
    func `reads options`(text: String, ndots: Int, options: [String]) {
        #expect(parse(text).ndots == ndots)
        #expect(parse(text).options == options)
    }

    @Test func `asks this machine when no server is named`() {
        let configuration = parse("search a.example\n").configuration(source: "/etc/resolv.conf")
        #expect(configuration.servers.map(\.description) == ["127.0.0.1"] && configuration.isWithoutServer)
        #expect(configuration.search == ["a.example"])
        #expect(configuration.source == "/etc/resolv.conf")
    }

    @Test func `keeps its bounds with hostile files`() {
        let many = String(repeating: "search" + String(repeating: " x.example", count: 500) + "\n", count: 10)
        #expect(parse(many).search.count == ResolvConf.listLimit)
        let options = String(repeating: "options a b c d e f g h\n", count: 100)
        #expect(parse(options).options.count == ResolvConf.listLimit)
        let late = String(repeating: "#", count: ResolvConf.sizeLimit) + "\nnameserver 192.0.2.1\n"
        #expect(parse(late).servers.isEmpty)
    }

    @Test func `survives every byte in every place`() {
        let text = Array("nameserver 192.0.2.1\nsearch a\noptions ndots:2\n".utf8)
        for index in text.indices {
            for byte in [0, 9, 10, 37, 58, 128, 255] as [UInt8] {
                var changed = text
                changed[index] = byte
                let parsed = ResolvConf(parsing: changed.span)
                #expect(parsed.servers.count <= 1 && parsed.ndots <= 15)
            }
        }
    }
}

@Suite struct SymbolicPathTests {
    @Test(
        arguments: [
            ("/etc/../run/resolv.conf", "/run/resolv.conf"), ("/a/./b//c", "/a/b/c"), ("/../a", "/../a"),
            ("a/../b", "b"), ("/", "/"),
        ]
    )
    func `resolves dots by the letters`(path: String, expected: String) {
        #expect(SymbolicPath.normalize(path) == expected)
    }

    @Test func `follows links to a name that need not exist, and leaves loops`() throws {
        let scratch = try Scratch()
        try scratch.link("a", to: "b")
        try scratch.link("b", to: "sub/../c")
        #expect(SymbolicPath(following: scratch("a")).steps == [scratch("a"), scratch("b"), scratch("c")])
        try scratch.link("loop", to: "loop")
        #expect(SymbolicPath(following: scratch("loop")).steps.count == 41)
    }

    @Test func `follows links among the directories, and names everything that is looked up`() throws {
        let scratch = try Scratch()
        try Command.run(["mkdir", "-p", scratch("deep/a"), scratch("deep/b")])
        try scratch.link("first", to: "deep/a")
        try scratch.link("deep/a/resolv.conf", to: "../../second/resolv.conf")
        try scratch.link("second", to: scratch("deep/b"))
        let path = SymbolicPath(following: scratch("first/resolv.conf"))
        #expect(path.target == scratch("deep/b/resolv.conf"))
        #expect(path.steps.first == scratch("first/resolv.conf") && path.steps.last == path.target)
        let names = ["first", "deep", "deep/a", "deep/a/resolv.conf", "second", "deep/b", "deep/b/resolv.conf"]
        #expect(names.allSatisfy { path.components.contains(scratch($0)) })
        #expect(SymbolicPath(following: "a/../../b/./c").target == "../b/c")
        #expect(SymbolicPath(following: "/").target == "/")
    }
}

@Suite struct InotifyEventTests {
    private let record: [UInt8] =
        [1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0] + Array("resolv.conf".utf8)
        + [0, 0, 0, 0, 0]

    @Test func `reads records one after another`() {
        let events = InotifyEvent.parse((record + record)[...])
        #expect(events == Array(repeating: InotifyEvent(descriptor: 1, mask: 8, name: "resolv.conf"), count: 2))
    }

    @Test func `ends at a record that is cut short`() {
        for length in 0..<record.count {
            #expect(InotifyEvent.parse(record[..<length]).isEmpty)
        }
    }
}
