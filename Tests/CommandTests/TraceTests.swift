// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import Probes
@testable import nwpath

@Suite struct TraceDocumentTests {
    private static let end = IPAddress.v4(0xC000_0207)
    private static let own = IPAddress.v4(0x0A00_0001)

    /// A path of the test's own; `answers` are those to one packet for each hop, in each round.
    private static func document(
        _ rounds: [[TracerouteHop.Answer?]],
        target: String = "192.0.2.7",
        hops: Int = 30,
        _ change: (inout TracerouteResult) -> Void = { _ in }
    ) -> TraceDocument {
        var result = TracerouteResult(destination: end)
        for (round, answers) in rounds.enumerated() {
            for (index, answer) in answers.enumerated() {
                result.depart(round, distance: index + 1, at: .zero)
                guard let answer else { continue }
                result.record(answer, round, distance: index + 1, at: .milliseconds(10 + round))
            }
        }
        change(&result)
        var plan = TraceroutePlan()
        plan.hops = hops
        return TraceDocument(target, ScopedAddress(end), plan, result, own: own)
    }

    private static func router(_ number: UInt32) -> TracerouteHop.Answer { .router(.v4(number)) }

    @Test func `the sentence says how far packets get`() {
        let one = Self.document([[.destination]])
        #expect(one.state == .arrived && one.message == "192.0.2.7 answers after 1 hop, 10.00 ms")
        let lossy = Self.document([[Self.router(1), .destination], [Self.router(1), nil]], target: "a.test")
        #expect(lossy.message == "a.test (192.0.2.7) answers after 2 hops, 10.00 ms, 50 % of the packets are lost")
        let silent = Self.document([[Self.router(1), Self.router(2), nil, nil]])
        #expect(silent.message == "packets get as far as hop 2 (0.0.0.2); nothing beyond it answers")
        #expect(silent.state == .silent && silent.hops.count == 4)
        #expect(Self.document([[nil, nil]]).message == "nothing answers, not even the first hop")
        let far = Self.document([[Self.router(1), Self.router(2)]], hops: 2)
        #expect(far.message == "192.0.2.7 is more than 2 hops away; hop 2 is 0.0.0.2")
        let loop = Self.document([[Self.router(1), Self.router(2), Self.router(3), Self.router(2)]])
        #expect(loop.state == .loop && loop.message == "packets loop between 0.0.0.2 and 0.0.0.3")
    }

    @Test(arguments: [
        (PacketObstacle.network, "the network is unreachable"), (.host, "the host is unreachable"),
        (.transport, "the protocol is unreachable"), (.port, "the port is unreachable"),
        (.prohibited, "a packet filter refuses the packets"), (.other, "the destination is unreachable"),
    ])
    func `a router that refuses is named`(obstacle: PacketObstacle, words: String) {
        let document = Self.document([[Self.router(1), .obstacle(obstacle, .v4(2)), nil]])
        #expect(document.state == .unreachable && document.message == "hop 2 (0.0.0.2) reports that \(words)")
        #expect(document.hops.count == 2 && document.hops[1].refusals.map(\.reason) == [obstacle])
        let own = Self.document([[.obstacle(obstacle, Self.own)]])
        #expect(own.message == "this machine itself reports that \(words)")
    }

    @Test func `what keeps packets back here is named`() {
        let filtered = Self.document([[nil]]) { $0.failure = .failure(.blocked, detail: "") }
        #expect(filtered.state == .unsent)
        #expect(filtered.message == "a local firewall rule drops packets to 192.0.2.7")
        let routeless = Self.document([[nil]]) { $0.failure = .failure(.unreachable, detail: "no route") }
        #expect(routeless.message == "this machine cannot send to 192.0.2.7: no route")
        let later = Self.document([[Self.router(1), nil]]) { $0.failure = .failure(.resources, detail: "no memory") }
        #expect(later.state == .silent)
        let busy = Self.document([[nil]]) {
            $0.isDelayed = true
            $0.isCut = true
        }
        #expect(busy.message.hasPrefix("timed out: nothing answers"))
        #expect(busy.message.hasSuffix("; this machine was too busy to receive all answers"))
    }

    @Test func `loss in the middle is no problem where later hops lose less`() {
        let fine = Self.document([
            [Self.router(1), nil, .destination], [Self.router(1), Self.router(2), .destination],
        ])
        let hint = "the loss at hop 2 is no problem: hops beyond lose less; routers limit ICMP errors"
        #expect(fine.hint == hint && TraceText(Screen()).render(fine).hasSuffix("i \(hint)\n"))
        let kept = Self.document([[nil, nil, .destination], [Self.router(1), Self.router(2), nil]])
        #expect(kept.hint == nil)
        #expect(Self.document([[nil, nil, .destination]]).hint?.hasPrefix("the loss at hops 1 and 2 is") == true)
    }

    @Test func `a line shows each hop, with all addresses, and what is silent to the end is one`() {
        var document = Self.document([
            [Self.router(1), Self.router(2), nil, Self.router(4), nil, nil],
            [Self.router(1), Self.router(3), nil, Self.router(4), nil, nil],
            [Self.router(1), Self.router(3), nil, Self.router(4), nil, nil],
        ])
        document.name(by: [.v4(1): "gateway\u{1B}.test"])
        let lines = TraceText(Screen()).render(document).split(separator: "\n").map(String.init)
        #expect(
            lines[1].split(separator: " ") == ["HOP", "ADDRESS", "NAME", "SENT", "LOSS", "BEST", "MEDIAN", "WORST"]
        )
        #expect(lines[2].hasPrefix("  1  0.0.0.1    gateway\\u{1B}.test") && !lines[2].contains("\u{1B}"))
        #expect(lines[2].hasSuffix("3    0 %  10.00 ms  11.00 ms  12.00 ms"))
        #expect(lines[3].hasPrefix("  2  0.0.0.3") && lines[4] == "     0.0.0.2")
        #expect(lines[5].hasPrefix("  3  no answer") && lines[7].hasPrefix("5-6  no answer") && lines.count == 9)
    }

    @Test(arguments: [
        ["trace"], ["trace", "a b"], ["trace", "192.0.2.1", "-6"], ["trace", "2001:db8::1", "-4"],
        ["trace", "a.test", "-4", "-6"], ["trace", "a.test", "--tcp", "--icmp"],
        ["trace", "a.test", "--icmp", "--port", "1"],
        ["trace", "a.test", "--rounds", "101"], ["trace", "a.test", "--hops", "65"],
        ["trace", "a.test", "--timeout", "1ms"],
    ])
    func `wrong usage is reported`(words: [String]) {
        #expect(throws: UsageError.self) { try NWPath.program.parse(words) }
    }
}

/// Three routers in a row between this machine and a host.
private struct RouterRow {
    let routers: [Namespace]
    let end: Namespace

    static let end4 = "10.4.0.2"
    static let end6 = "fd00:4::2"

    init() throws {
        routers = try (0..<3).map { _ in try Namespace() }
        end = try Namespace()
        let row = [Namespace.current] + routers + [end]
        for (index, machine) in row.enumerated().dropLast() {
            let (next, net) = (row[index + 1], index + 1)
            try machine.connect("right", to: next, as: "left")
            try machine.ipBatch([
                "address add 10.\(net).0.1/24 dev right", "address add fd00:\(net)::1/64 dev right nodad",
            ])
            try next.ipBatch(["address add 10.\(net).0.2/24 dev left", "address add fd00:\(net)::2/64 dev left nodad"])
        }
        for (index, machine) in row.enumerated() {
            if index > 0 {
                try machine.run([
                    "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1",
                    "net.ipv4.icmp_ratelimit=0", "net.ipv6.icmp.ratelimit=0",
                ])
            }
            let left = index > 0 ? ["10.0.0.0/8 via 10.\(index).0.1", "fd00::/16 via fd00:\(index)::1"] : []
            let right =
                index < 4 ? ["10.4.0.0/24 via 10.\(index + 1).0.2", "fd00:4::/64 via fd00:\(index + 1)::2"] : []
            try machine.ipBatch((left + (index == 3 ? [] : right)).map { "route replace \($0)" })
            for device in (index > 0 ? ["left"] : []) + (index < 4 ? ["right"] : []) {
                try machine.waitForAddresses(on: device, isLinkLocal: true)
            }
        }
    }

    /// Puts rules into a hook of a machine; a counter `hits` may be used.
    static func filter(_ machine: Namespace, _ hook: String, _ rules: [String]) throws {
        let table = """
            table inet t {
              counter hits { }
              chain c {
                type filter hook \(hook) priority 0;
            \(rules.joined(separator: "\n"))
              }
            }

            """
        try Command.run(["nsenter", "--net=\(machine.path)", "nft", "-f", "-"], input: table)
    }

    /// How many packets the counter of a machine saw.
    static func hits(_ machine: Namespace) throws -> Int {
        let words = try machine.run("nft list counter inet t hits").split { $0 == " " || $0 == "\n" || $0 == "\t" }
        let index = try #require(words.firstIndex(of: "packets"))
        return try #require(Int(words[index + 1]))
    }
}

@Suite(.inNamespace) struct TraceCommandTests {
    private static func trace(_ words: String...) async throws -> (status: Int32, document: JSONValue) {
        let result = try await Tool(scratch: try Scratch()).run(["trace"] + words + ["--json"])
        return (result.status, try result.json)
    }

    private static func addresses(_ document: JSONValue) -> [[String]] {
        document.list("hops").map { $0.list("addresses").map { $0.text("address") } }
    }

    @Test(arguments: [["--icmp"], ["--tcp"], ["--port", "53"], []])
    func `each method shows the routers, of both families`(options: [String]) async throws {
        let row = try RouterRow()
        for (end, net) in [(RouterRow.end4, "10.*.0.2"), (RouterRow.end6, "fd00:*::2")] {
            let tool = Tool(scratch: try Scratch())
            let result = try await tool.run(["trace", end, "--rounds", "1", "--json"] + options)
            let document = try result.json
            #expect(result.status == 0 && document.text("state") == "arrived", "\(result)")
            let expected = (1...4).map { [net.replacing("*", with: "\($0)")] }
            #expect(Self.addresses(document) == expected, "\(result.output)")
            #expect(document.text("message").hasPrefix("\(end) answers after 4 hops, "))
            #expect(document.list("hops").allSatisfy { $0["loss_percent"]?.double == 0 })
        }
        withExtendedLifetime(row) {}
    }

    @Test func `loss and silence are what the kernel counted`() async throws {
        let row = try RouterRow()
        try RouterRow.filter(row.routers[1], "output", ["icmp type time-exceeded counter name hits drop"])
        // Every other round has one of these ports.
        let half = "udp dport { 33435, 33437, 33439 } counter name hits drop"
        try RouterRow.filter(row.routers[2], "forward", [half])
        try RouterRow.filter(row.end, "input", ["udp dport 33434-33534 counter name hits"])
        let (status, document) = try await Self.trace(RouterRow.end4, "--rounds", "6")
        let hops = document.list("hops")
        #expect(status == 0 && hops.map { $0["received"]?.int } == [6, 0, 6, 3], "\(document)")
        #expect(hops.map { $0["sent"]?.int } == [6, 6, 6, 6] && hops.last?["loss_percent"]?.double == 50)
        let counted = try [row.routers[1], row.routers[2], row.end].map(RouterRow.hits)
        #expect(counted == [6, 3, 3])
        #expect(document.text("message").hasSuffix(", 50 % of the packets are lost"))
        #expect(document.text("hint").hasPrefix("the loss at hop 2 is no problem"))
    }

    @Test func `a dead path ends where packets get to, in time`() async throws {
        let row = try RouterRow()
        try RouterRow.filter(row.routers[2], "forward", ["drop"])
        let began = KernelClock().boot
        let (status, document) = try await Self.trace(RouterRow.end4)
        #expect(status == 1 && document.text("state") == "silent")
        #expect(document.text("message") == "packets get as far as hop 3 (10.3.0.2); nothing beyond it answers")
        #expect(document.list("hops").count == 8)
        // Six of its own, and what a busy machine needs.
        #expect(KernelClock().boot - began < .seconds(12))
    }

    @Test func `who refuses, a loop, and a limit are reported`() async throws {
        let row = try RouterRow()
        try RouterRow.filter(row.routers[2], "forward", ["meta nfproto ipv4 reject with icmp type admin-prohibited"])
        let refused = try await Self.trace(RouterRow.end4, "--rounds", "1")
        #expect(refused.status == 1 && refused.document.text("state") == "unreachable", "\(refused)")
        let reports = refused.document.list("hops").last?.list("unreachable") ?? []
        #expect(
            reports.map { $0.text("reason") } == ["prohibited"] && reports.map { $0.text("address") } == ["10.3.0.2"]
        )
        try row.routers[2].run("nft flush ruleset")
        let cut = try await Self.trace("10.9.0.1", "--timeout", "300ms")
        #expect(cut.status == 1 || cut.status == 3, "\(cut)")
        try row.routers[2].ip("address del 10.4.0.1/24 dev right")
        let loop = try await Self.trace(RouterRow.end4, "--rounds", "1")
        #expect(loop.status == 1 && loop.document.text("state") == "loop", "\(loop)")
        #expect(loop.document.text("message") == "packets loop between 10.2.0.2 and 10.3.0.2")
        let six = try await Self.trace(RouterRow.end6, "--rounds", "1")
        #expect(six.status == 0)
    }

    @Test func `rounds show the routers that share the load`() async throws {
        let (near, first, last) = (Namespace.current, try Namespace(), try Namespace())
        let pair = try (0..<2).map { _ in try Namespace() }
        try near.connect("eth0", to: first, as: "left")
        try near.ipBatch(["address add 10.1.0.1/24 dev eth0", "route add default via 10.1.0.2 dev eth0 onlink"])
        try first.ip("address add 10.1.0.2/24 dev left")
        for (index, router) in pair.enumerated() {
            let net = index + 2
            try first.connect("r\(net)", to: router, as: "left")
            try router.connect("right", to: last, as: "l\(net)")
            try first.ip("address add 10.\(net).0.1/24 dev r\(net)")
            try router.ipBatch([
                "address add 10.\(net).0.2/24 dev left", "address add 10.1\(net).0.1/24 dev right",
                "route add 10.99.0.1/32 via 10.1\(net).0.2", "route add 10.1.0.0/24 via 10.\(net).0.1",
            ])
            try last.ip("address add 10.1\(net).0.2/24 dev l\(net)")
        }
        for machine in pair + [first, last] {
            try machine.run([
                "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.icmp_ratelimit=0",
                "net.ipv4.fib_multipath_hash_policy=1", "net.ipv4.conf.all.rp_filter=0",
            ])
        }
        try last.ipBatch(["address add 10.99.0.1/32 dev lo", "route add 10.1.0.0/24 via 10.12.0.1"])
        try first.ip("route add 10.99.0.1/32 nexthop via 10.2.0.2 nexthop via 10.3.0.2")
        let (status, document) = try await Self.trace("10.99.0.1", "--rounds", "12")
        #expect(status == 0 && Self.addresses(document).count == 3, "\(document)")
        // Twelve flows by one router of two are one chance in two thousand.
        #expect(Set(Self.addresses(document)[1]) == ["10.2.0.2", "10.3.0.2"], "\(document)")
    }

    @Test func `this machine itself is a hop away, and has a name`() async throws {
        let (status, document) = try await Self.trace("127.0.0.1", "--names", "--rounds", "2")
        #expect(status == 0 && Self.addresses(document) == [["127.0.0.1"]])
        #expect(document.list("hops")[0].list("addresses")[0].text("name") == "localhost")
        let named = try await Self.trace("localhost", "-4", "--rounds", "2")
        #expect(
            named.status == 0 && named.document.text("message").hasPrefix("localhost (127.0.0.1) answers after 1 hop")
        )
        let none = try await Self.trace("192.0.2.1", "--rounds", "1")
        #expect(none.status == 1 && none.document.text("state") == "unsent")
        let tool = Tool(scratch: try Scratch())
        let bound = try await tool.run("trace", "127.0.0.1", "--interface", "eth9")
        #expect(bound.status == 1 && bound.output.contains("there is no interface eth9"))
        let running = try tool.launch("trace", "127.0.0.1", "--rounds", "100")
        await Namespace.current.loop.sleep(for: .milliseconds(300))
        running.command.signal(SIGINT)
        #expect(running.command.wait() == 130)
    }
}
