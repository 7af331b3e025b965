// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport
import Testing

/// Programs in language mode 5, each a process of its own in a namespace of its own.
@Suite(.inNamespace) struct ArticleTests {
    private let bridge: Bridge
    private let loop = Namespace.current.loop

    init() throws { bridge = try Bridge() }

    /// Waits until a program's last line is this one.
    private func expect(_ program: Program, last line: String) async {
        await loop.eventually("\(line), after \(program.lines)") { program.lines.last == line }
    }

    /// Waits until a program has printed a line.
    private func expect(_ program: Program, line: String) async {
        await loop.eventually("\(line), after \(program.lines)") { program.lines.contains(line) }
    }

    private func routeLeft() throws { try bridge.left.ip("route add default via 10.55.0.2") }

    @Test func `a class with a handler follows the cable`() async throws {
        let program = try Program("ArticlePrograms", "path-handler", in: bridge.left)
        await expect(program, last: "offline")
        try routeLeft()
        await expect(program, last: "online by wiredEthernet")
        try bridge.left.set("eth0", isUp: false)
        await expect(program, last: "offline")
    }

    @Test func `a loop follows the cable`() async throws {
        try routeLeft()
        let program = try Program("ArticlePrograms", "path-loop", in: bridge.left)
        await expect(program, last: "satisfied eth0")
        #expect(program.lines == ["satisfied eth0"], "the first path is the current one")
        try Namespace.current.set("p1", isUp: false)
        await expect(program, last: "unsatisfied no_carrier")
        try Namespace.current.set("p1", isUp: true)
        await expect(program, last: "satisfied eth0")
    }

    @Test func `monitors of types tell what concerns them`() async throws {
        try routeLeft()
        let program = try Program("ArticlePrograms", "path-types", in: bridge.left)
        await loop.eventually("both") {
            Set(program.lines).isSuperset(of: ["wired satisfied", "wireless unsatisfied"])
        }
        try bridge.left.ip("route del default")
        await expect(program, line: "wired unsatisfied")
        #expect(!program.lines.contains("wireless satisfied"))
    }

    @Test func `a stream of browse results sees services of another host`() async throws {
        let program = try Program("ArticlePrograms", "browse-stream", "_demo._tcp", in: bridge.left)
        await expect(program, last: "ready")
        let lamp = try Program("nwpath", "advertise", "Lamp", "_demo._tcp", "8080", in: bridge.right)
        await expect(program, last: "found Lamp")
        let fan = try Program("nwpath", "advertise", "Fan", "_demo._tcp", "8081", in: bridge.right)
        await expect(program, last: "found Fan,Lamp")
        _ = lamp.interrupt()
        await expect(program, last: "found Fan")
        _ = fan.interrupt()
        await expect(program, last: "found ")
    }

    @Test func `delegates find services of two types at once, and where they are`() async throws {
        let types = ["_demo._tcp.", "_other._tcp"]
        let program = try Program("ArticlePrograms", "find-services", types[0], types[1], in: bridge.left)
        let lamp = try Program("ArticlePrograms", "publish-service", "Lamp", "_demo._tcp.", in: bridge.right)
        let fan = try Program("nwpath", "advertise", "Fan", "_other._tcp", "8081", in: bridge.right)
        let expected = ["Lamp _demo._tcp. 10.55.0.2 8080", "Fan _other._tcp. 10.55.0.2 8081"]
        await loop.eventually("both, after \(program.lines)") { Set(program.lines).isSuperset(of: expected) }
        await expect(lamp, line: "published Lamp")
        _ = fan.interrupt()
        await expect(program, line: "lost Fan _other._tcp.")
    }

    @Test func `a stream ends when its browser fails`() async throws {
        let program = try Program("ArticlePrograms", "browse-stream", "nonsense", in: bridge.left)
        await expect(program, last: "over")
        #expect(program.lines == ["failed -65540: BadParam", "over"])
    }

    @Test func `two programs find each other and exchange messages over UDP`() async throws {
        let guest = try Program("ArticlePrograms", "exchange-messages", "_talk._udp", "hello", "again", in: bridge.left)
        let host = try Program("ArticlePrograms", "host-messages", "Lamp", "_talk._udp", in: bridge.right)
        await expect(guest, last: "cancelled")
        #expect(
            guest.lines == [
                "found Lamp._talk._udp.local.", "ready", "you said hello so far", "you said again so far", "cancelled",
            ]
        )
        // It is registered when all families say so; who finds it by the first one may speak before.
        await loop.eventually("registered", found: host.lines) { host.lines.count { $0 == "advertised Lamp" } == 1 }
        #expect(host.lines.filter { $0 != "advertised Lamp" } == ["listening", "heard hello", "heard again"])
    }

    @Test func `a server hands what one says to all who are there`() async throws {
        let server = try Program("ArticlePrograms", "serve-chat", "7070", in: bridge.right)
        await expect(server, last: "server ready")
        let member = try Program("ArticlePrograms", "join-chat", "10.55.0.2", "7070", "hello", "again", in: bridge.left)
        await expect(member, last: "over")
        #expect(member.lines == ["connection 0 ready", "0 says hello", "0 says again", "over"])
        await expect(server, last: "0 left")
        #expect(server.lines == ["server ready", "connection 0 ready", "0: hello", "0: again", "0 left"])
        let late = try Program("ArticlePrograms", "join-chat", "10.55.0.2", "7071", "hello", in: bridge.left)
        await expect(late, last: "stopped: POSIXErrorCode(rawValue: 111): Connection refused")
    }

    @Test func `a list for a screen shows names and texts, and what goes`() async throws {
        let program = try Program("ArticlePrograms", "browse-model", "_demo._tcp", in: bridge.left)
        let lamp = try Program("nwpath", "advertise", "Lamp 2", "_demo._tcp", "8080", "path=/x", in: bridge.right)
        await expect(program, last: "added Lamp 2 _demo._tcp local. path=/x")
        _ = lamp.interrupt()
        await expect(program, last: "removed Lamp 2 _demo._tcp local. path=/x")
        #expect(program.lines.count == 2)
    }
}
