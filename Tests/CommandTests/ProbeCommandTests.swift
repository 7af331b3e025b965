// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import OrderedJSON
import Probes
import TestSupport
import Testing

@testable import nwpath

@Suite struct ProbeRequestTests {
    private static func request(_ target: String, _ method: ProbeMethod? = nil) -> ProbeRequest {
        var request = ProbeRequest()
        request.target = target
        request.method = method
        return request
    }

    @Test(arguments: [
        ("gateway", true), ("my-probe_1", true), ("a.test", false), ("192.0.2.1", false),
        ("a:80", false),
    ])
    func `a plain word may be a probe of the service`(target: String, mayBe: Bool) {
        #expect(Self.request(target).mayBeName == mayBe)
        #expect(!Self.request(target, .icmp).mayBeName)
    }

    @Test func `what is said of how to ask is kept`() throws {
        var request = Self.request("example.test")
        request.server = SocketAddress("192.0.2.53", standardPort: 53)
        request.family = .ipv4
        let definition = try #require(request.definition)
        #expect(definition.method == .dns && definition.question.server == request.server)
        request.server = nil
        request.interface = "eth0"
        #expect(request.definition?.route.interface == "eth0" && request.definition?.method == .icmp)
        #expect(request.complaint == nil)
    }

    @Test func `what makes no sense is complained of`() {
        #expect(
            Self.request("a b").complaint?.contains("expected an address, a host name or gateway") == true
        )
        #expect(Self.request("a.test", .tcp).complaint?.contains("HOST:PORT") == true)
        var request = Self.request("a.test", .icmp)
        request.server = SocketAddress("192.0.2.53", standardPort: 53)
        #expect(request.complaint == "--server is for --method dns")
        request = Self.request("a.test")
        request.limit = .zero
        #expect(request.complaint != nil)
        #expect(ProbeRequest().complaint == nil)
    }
}

@Suite struct ProbeTallyTests {
    @Test func `success is one right answer`() {
        var tally = ProbeTally()
        #expect(tally.status == .negative && tally.lossPercent == 0)
        tally.record(ProbeResult(.failure(.timeout, detail: "")))
        #expect(tally.status == .negative && tally.lossPercent == 100)
        tally.record(ProbeResult(.success, duration: .milliseconds(3)))
        #expect(
            tally.status == .success && tally.lossPercent == 50 && tally.durations == [.milliseconds(3)]
        )
    }

    @Test func `an attempt that may not be made is a refusal`() {
        var tally = ProbeTally()
        tally.record(ProbeResult(.notAssessed(advice: "x")))
        #expect(tally.status == .refused && tally.sent == 0)
    }
}

@Suite struct ProbeTextTests {
    private static let text = ProbeText(renderer: TextRenderer(now: KernelClock().wall))

    @Test(
        arguments: [
            (0.000042, "42 µs"), (0.00123, "1.23 ms"), (0.0999, "99.90 ms"), (0.25, "250.0 ms"),
            (1.5, "1.50 s"), (0, "0 µs"),
        ]
    )
    func `times have the digits that count`(seconds: Double, text: String) {
        #expect(ProbeText.time(seconds) == text)
    }

    @Test func `a list shows state and figures, and hostile words harmlessly`() throws {
        let probes = try JSONValue(
            parsing:
                #"[{"name":"a","method":"icmp","target":"gateway","state":"ok","loss_percent":1.5,"p95_seconds":0.002,"#
                + #""last":{"success":true,"duration_seconds":0.001}},"#
                + #"{"name":"b","method":"http","target":"http://x/\u001b[31m","state":"failed","loss_percent":100,"#
                + #""last":{"success":false,"reason":"timeout"}},{"name":"c","state":"not_assessed"},{"name":"d"}]"#
        )
        let lines = Self.text.list(probes.array ?? []).split(separator: "\n")
        #expect(lines.count == 5)
        #expect(lines[1].contains("✓ ok") && lines[1].contains("1.00 ms") && lines[1].contains("1.5 %"))
        #expect(
            lines[2].contains("✗ timeout") && lines[2].contains("100 %") && !lines[2].contains("\u{1B}")
        )
        #expect(lines[3].contains("? not assessed") && lines[4].contains("not yet"))
        #expect(Self.text.list([]).contains("no probes configured"))
    }

    @Test func `an attempt is a line`() throws {
        let good = try JSONValue(
            parsing:
                #"{"success":true,"duration_seconds":0.002,"address":"192.0.2.1","hop_limit":64,"http_status":204,"#
                + #""addresses":["192.0.2.80"]}"#
        )
        #expect(
            Self.text.attempt(good, number: 1)
                == "✓ 1 from 192.0.2.1: time 2.00 ms, ttl 64, status 204, 192.0.2.80\n"
        )
        let bad = try JSONValue(parsing: #"{"success":false,"reason":"refused","message":"no"}"#)
        #expect(Self.text.attempt(bad, number: 2) == "✗ 2: refused: no\n")
        let unknown = try JSONValue(parsing: #"{"success":null,"message":"do this"}"#)
        #expect(Self.text.attempt(unknown, number: 3) == "? not assessed: do this\n")
    }
}

@Suite(.inNamespace) struct ProbeCommandTests {
    @Test func `a host is asked without a service`() async throws {
        let tool = Tool(scratch: try Scratch())
        let result = try await tool.run("probe", "127.0.0.1", "-c", "3", "-i", "10ms")
        #expect(result.status == 0, "\(result.messages)")
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 6)
        #expect(lines[0] == "PROBE 127.0.0.1 by icmp")
        #expect(lines[1].hasPrefix("✓ 1 from 127.0.0.1: time ") && lines[1].hasSuffix(", ttl 64"))
        #expect(lines[4] == "--- 127.0.0.1: 3 sent, 3 answered, 0 % loss")
        #expect(lines[5].hasPrefix("min/avg/max/p95 "))
    }

    @Test func `JSON lines tell each attempt and the sum`() async throws {
        let tool = Tool(scratch: try Scratch())
        let result = try await tool.run("probe", "[::1]:9", "--json", "-c", "2", "-i", "10ms")
        #expect(result.status == 1)
        let objects = try result.output.split(separator: "\n").map {
            try JSONValue(parsing: String($0))
        }
        #expect(objects.map { $0.text("event") } == ["attempt", "attempt", "summary"])
        #expect(objects[0].text("reason") == "refused" && objects[1]["seq"]?.int == 2)
        #expect(objects[2]["loss_percent"]?.double == 100 && objects[2]["min_seconds"] == .null)
        #expect(objects[2]["sent"]?.int == 2 && objects[2]["answered"]?.int == 0)
    }

    @Test func `the gateway and the name servers are those of the machine`() async throws {
        let tool = Tool(scratch: try Scratch())
        let none = try await tool.run("probe", "gateway", "-c", "1", "--method", "icmp")
        #expect(none.status == 1 && none.output.contains("there is no gateway"))
        let router = try Namespace()
        try Namespace.current.connect("eth0", to: router, as: "lan0")
        try Namespace.current.ip("addr add 192.0.2.2/24 dev eth0")
        try router.ip("addr add 192.0.2.1/24 dev lan0")
        try Namespace.current.ip("route add default via 192.0.2.1")
        let found = try await tool.run("probe", "gateway", "-c", "1", "--method", "icmp")
        #expect(found.status == 0 && found.output.contains("from 192.0.2.1: time "))
        let server = try await tool.run("probe", "example.test", "--server", "192.0.2.1", "-c", "1")
        #expect(server.status == 1 && server.output.contains("refused"))
    }

    @Test func `Ctrl-C ends it with a summary`() async throws {
        let tool = Tool(scratch: try Scratch())
        let running = try tool.launch("probe", "127.0.0.1", "-c", "0", "-i", "10ms")
        await Namespace.current.loop.eventually { running.lines.count > 3 }
        running.command.signal(SIGINT)
        #expect(running.command.wait() == 130)
        #expect(running.output.contains(" answered, 0 % loss"))
    }

    @Test func `the probes of a service are listed and run`() async throws {
        let service = try Service()
        let text =
            "probes: {active: {echo: {target: 127.0.0.1, interval: 1h}, closed: {target: '127.0.0.1:9', interval: 1s}}}"
        let file = try service.scratch.write(text, to: "nwpath.yaml")
        try await service.start("--config=\(file)")
        let listed = try await service.ask("probe")
        #expect(
            listed.status == 0 && listed.output.contains("echo") && listed.output.contains("127.0.0.1:9")
        )
        let good = try await service.ask("probe", "echo", "-c", "2")
        #expect(good.status == 0, "\(good.messages)")
        #expect(good.output.contains("--- echo: 2 sent, 2 answered, 0 % loss"))
        let bad = try await service.ask("probe", "closed", "-c", "1", "--json")
        #expect(bad.status == 1)
        #expect(bad.firstLine.contains(#""reason":"refused""#))
        let objects = try await service.ask("probe", "--json")
        #expect(try objects.json["probes"]?.array?.count == 2)
    }

    @Test(arguments: [
        ["probe", "a b"], ["probe", "127.0.0.1", "-i", "1ms"], ["probe", "x.test", "--method", "ping"],
    ])
    func `wrong usage is told`(words: [String]) async throws {
        let result = try await Tool(scratch: try Scratch()).run(words)
        #expect(result.status == 2 && !result.messages.isEmpty && result.output.isEmpty)
    }
}
