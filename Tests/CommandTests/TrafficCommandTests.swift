// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

/// Documents of `/api/v1/traffic`.
private enum Document {
    static let start =
        #""schema":"nwpath.traffic/1","stream":"7f3a","seq":45,"time":"2026-11-28T19:00:00.000000000Z","host":"h""#

    static func figures(
        _ connections: Int,
        unanswered: Int = 0,
        answer: String = "0.04",
        p90: String? = "0.04",
        ratio: String = "0.002"
    ) -> String {
        let times = p90.map { #"{"p50":0.018,"p90":\#($0),"p99":\#($0)}"# } ?? "null"
        return #""connections":\#(connections),"unanswered":\#(unanswered),"last_answer_seconds":\#(answer),"#
            + #""rtt_seconds":\#(times),"retransmit_ratio":\#(ratio)"#
    }

    static func path(
        _ state: String,
        _ figures: String,
        gateway: String = #""192.0.2.1""#,
        family: String = "ipv4",
        range: String = "public",
        groups: [String] = []
    ) -> String {
        #"{"interface":{"name":"eth0"},"gateway":\#(gateway),"family":"\#(family)","range":"\#(range)","#
            + #""state":"\#(state)","since":"2026-11-28T15:00:00.000000000Z",\#(figures),"destinations":\#(groups.count),"#
            + #""groups":[\#(groups.joined(separator: ","))]}"#
    }

    static func group(_ destination: String, _ state: String, _ figures: String, addresses: String? = nil) -> String {
        #"{"destination":"\#(destination)","state":"\#(state)",\#(figures)"#
            + (addresses.map { ",\"addresses\":[\($0)]" } ?? "") + "}"
    }

    static func whole(
        _ state: String,
        _ figures: String,
        _ paths: [String] = [],
        isEnabled: Bool = true,
        isLimited: Bool = false,
        problem: String = "null"
    ) -> String {
        #"{\#(start),"enabled":\#(isEnabled),"problem":\#(problem),"state":"\#(state)",\#(figures),"sampled":null,"#
            + #""interval_seconds":\#(isLimited ? 25 : 10),"limited":\#(isLimited),"paths":[\#(paths.joined(separator: ","))]}"#
    }

    static let off = whole("unknown", none, isEnabled: false)
    static let none = figures(0, answer: "null", p90: nil, ratio: "null")
    static let proved = whole(
        "proved",
        figures(212, unanswered: 3),
        [
            path(
                "proved",
                figures(212, unanswered: 3),
                groups: [
                    group("198.51.100.0/24", "proved", figures(20), addresses: #""198.51.100.7","198.51.100.9""#),
                    group("203.0.113.0/24", "stalled", figures(3, unanswered: 3, answer: "12.5", p90: nil, ratio: "1")),
                ]
            )
        ]
    )
    static let stalled = whole("stalled", figures(150, unanswered: 148, answer: "1.4", p90: nil, ratio: "0.4"))
    static let lossy = whole("lossy", figures(212, ratio: "0.048"))
    static let slow = whole("slow", figures(7, p90: "0.9504"))
    static let unanswered = whole("unanswered", figures(3, unanswered: 3, answer: "null", p90: nil, ratio: "null"))
    static let idle = whole("unknown", figures(12, answer: "45.2", p90: nil, ratio: "null"))
    static let empty = whole("unknown", none)
    static let refused = whole("unknown", none, problem: #""TCP connections cannot be read: EPERM""#)
}

private let summaries: [(document: String, summary: String)] = [
    (Document.proved, "✓ 212 connections answered within 40 ms, 0.2 % sent again, but none to 203.0.113.0/24"),
    (Document.whole("proved", Document.figures(1, ratio: "null")), "✓ 1 connection answered within 40 ms"),
    (Document.stalled, "✗ 148 of 150 connections unanswered for 1.4 s"),
    (
        Document.whole("stalled", Document.figures(1, unanswered: 1, answer: "null", p90: nil)),
        "✗ the only connection unanswered"
    ),
    (Document.lossy, "! 212 connections answered within 40 ms, but 4.8 % sent again"),
    (Document.slow, "! 7 connections answered slowly, within 950 ms, 0.2 % sent again"),
    (Document.unanswered, "! 3 connections attempted, none answered"),
    (Document.idle, "? 12 connections, last answer 45 s ago"),
    (Document.empty, "? no connections"),
    (Document.refused, "? TCP connections cannot be read: EPERM"),
    (Document.whole("proved", Document.figures(0, answer: "2", p90: nil)), "✓ no connections, last answer 2.0 s ago"),
]

@Suite struct TrafficTextTests {
    private let text = TrafficText(Screen(), now: WallTime("2026-11-28T19:00:00Z") ?? WallTime(nanoseconds: 0))

    @Test(arguments: summaries)
    func `all connections are one line, whatever their state`(document: String, summary: String) throws {
        #expect(text.summary(try JSONValue(parsing: document)) == summary)
    }

    @Test func `paths and destinations follow, those in trouble first`() throws {
        let expected = """
            ✓ 212 connections answered within 40 ms, 0.2 % sent again, but none to 203.0.113.0/24
              through 192.0.2.1 on eth0: proved, for 4 h (since 15:00)
              DESTINATION      STATE    CONN  UNANSWERED    RTT     LOSS  LAST ANSWER
              203.0.113.0/24   stalled     3           3         100.0 %     12 s ago
              198.51.100.0/24  proved     20           0  18 ms    0.2 %    40 ms ago
                198.51.100.7 198.51.100.9

            """
        #expect(text.report(try JSONValue(parsing: Document.proved)) == expected)
    }

    @Test func `the path in trouble is named where another one works`() throws {
        let good = Document.path("proved", Document.figures(50), gateway: #""2001:db8::1""#, family: "ipv6")
        let bad = Document.path("stalled", Document.figures(20, unanswered: 19, answer: "3", p90: nil))
        let one = try JSONValue(parsing: Document.whole("stalled", Document.figures(70, unanswered: 19), [good, bad]))
        let sentence = "19 of 20 connections through 192.0.2.1 on eth0 (IPv4) unanswered for 3.0 s"
        #expect(TrafficText.sentence(one) == sentence)
        let near = Document.path("stalled", Document.figures(5, unanswered: 5), gateway: "null", range: "private")
        let two = try JSONValue(parsing: Document.whole("stalled", Document.figures(75), [good, bad, near]))
        #expect(TrafficText.sentence(two) == "24 of 25 connections on 2 of 3 paths unanswered for 40 ms")
        let all = try JSONValue(parsing: Document.whole("stalled", Document.figures(20, unanswered: 20), [bad, bad]))
        #expect(TrafficText.sentence(all) == "20 of 20 connections unanswered for 40 ms")
    }

    @Test func `paths by one gateway are told apart by the addresses that they lead to`() throws {
        let far = try JSONValue(parsing: Document.path("proved", Document.figures(1)))
        let near = try JSONValue(parsing: Document.path("proved", Document.figures(1), range: "private"))
        let link = try JSONValue(parsing: Document.path("proved", Document.figures(1), gateway: "null"))
        #expect(TrafficText.direction(far, among: [far, link]) == "through 192.0.2.1 on eth0")
        #expect(TrafficText.direction(link, among: [far, link]) == "on eth0")
        #expect(TrafficText.direction(far, among: [far, near]) == "through 192.0.2.1 on eth0 (public addresses)")
    }

    @Test(
        arguments: [
            (0, "0 µs"), (0.0004, "400 µs"), (0.0014, "1.4 ms"), (0.01, "10 ms"), (0.9994, "999 ms"), (0.9996, "1.0 s"),
            (35, "35 s"), (725, "12 min"), (1e300, "?"), (-1, "?"),
        ] as [(Double, String)]
    )
    func `times are as exact as people compare them`(seconds: Double, text: String) {
        #expect(TrafficText.time(seconds) == text)
    }

    @Test func `numbers that cannot be harm nothing`() throws {
        let figures = Document.figures(-1, unanswered: -5, answer: "-1", p90: "1e300", ratio: "1e300")
        for state in ["proved", "stalled", "lossy", "slow", "unanswered", "unknown", "of the future"] {
            let document = try JSONValue(parsing: Document.whole(state, figures, isLimited: true))
            #expect(!text.report(document).isEmpty && !CheckEvaluator().traffic(document).line.isEmpty)
        }
    }
}

@Suite struct TrafficJudgeTests {
    @Test(
        arguments: [
            (
                Document.proved, CheckEvaluator(), .ok,
                "OK - 212 connections answered within 40 ms, 0.2 % sent again, but none"
            ),
            (Document.empty, CheckEvaluator(warning: CheckRange("0.01")), .ok, "OK - no connections"),
            (Document.idle, CheckEvaluator(), .ok, "OK - 12 connections, last answer 45 s ago"),
            (Document.lossy, CheckEvaluator(), .warning, "WARNING - 212 connections answered within 40 ms, but 4.8 %"),
            (Document.slow, CheckEvaluator(), .warning, "WARNING - 7 connections answered slowly"),
            (Document.unanswered, CheckEvaluator(), .warning, "WARNING - 3 connections attempted, none answered"),
            (
                Document.stalled, CheckEvaluator(), .critical,
                "CRITICAL - 148 of 150 connections unanswered for 1.4 s | "
            ),
            (
                Document.proved, CheckEvaluator(warning: CheckRange("0.03")), .warning,
                "but none to 203.0.113.0/24, rtt_p90 is 0.040s, expected 0.03 | "
            ),
            (
                Document.proved, CheckEvaluator(warning: CheckRange("0.03"), critical: CheckRange("0.035")), .critical,
                "expected 0.035 | "
            ),
            (Document.off, CheckEvaluator(), .unknown, "UNKNOWN - traffic.enabled is off; set "),
            (#"{"detail":"There is no such route."}"#, CheckEvaluator(), .unknown, "it is older than this program"),
        ] as [(String, CheckEvaluator, CheckReport.State, String)]
    )
    func `connections are judged by their state, then by their round trips`(
        document: String,
        judge: CheckEvaluator,
        state: CheckReport.State,
        part: String
    ) throws {
        let report = judge.traffic(try JSONValue(parsing: document))
        #expect(report.state == state && report.line.contains(part), "\(report.line)")
    }

    @Test func `figures are those of the document, and what was not measured is left out`() throws {
        let judge = CheckEvaluator(warning: CheckRange("0.2"), critical: CheckRange("1"))
        #expect(
            judge.traffic(try JSONValue(parsing: Document.proved)).measures.map(\.text) == [
                "connections=212;;;0", "unanswered=3;;;0", "rtt_p50=0.018s;;;0", "rtt_p90=0.040s;0.2;1;0",
                "retransmit=0.200%;;;0;100",
            ]
        )
        let empty = judge.traffic(try JSONValue(parsing: Document.empty)).measures.compactMap(\.text)
        #expect(empty == ["connections=0;;;0", "unanswered=0;;;0"])
    }
}

@Suite struct TrafficConditionTests {
    @Test(
        arguments: [
            (Document.proved, nil), (Document.empty, "no connections"),
            (Document.stalled, "148 of 150 connections unanswered for 1.4 s"), (Document.off, TrafficText.off),
            ("null", TrafficText.missing),
        ] as [(String, String?)]
    )
    func `traffic holds while connections are answered`(document: String, missing: String?) throws {
        let traffic = try JSONValue(parsing: document)
        #expect(WaitCondition.traffic.missing(in: .null, services: [], traffic: traffic) == missing)
        #expect(WaitCondition("traffic")?.description == "traffic")
    }
}

@Suite(.inNamespace) struct TrafficCommandTests {
    private static let route = "/api/v1/traffic"
    private static let status = """
        {"message":"Path default is satisfied via eth0","path":{"status":"satisfied","sources":["192.0.2.10"]},
        "headline":{"state":"online","message":"m"}}
        """
    private var loop: EventLoop { Namespace.current.loop }

    private func server(_ documents: [String]) throws -> (tool: Tool, server: CannedAPI) {
        let tool = Tool(scratch: try Scratch())
        let documents = [Self.route: documents, "/api/v1/status": [Self.status]]
        return (tool, try CannedAPI(tool.scratch, documents))
    }

    @Test(arguments: summaries)
    func `traffic and status say the same`(document: String, summary: String) async throws {
        let (tool, server) = try server([document])
        let traffic = try await tool.run("traffic", "--socket", server.path)
        #expect(traffic.status == 0 && traffic.firstLine == summary && traffic.messages == "", "\(traffic)")
        let status = try await tool.run("status", "--socket", server.path)
        let line = "\n  from      192.0.2.10\n  traffic   \(summary.dropFirst(2))\n"
        #expect(status.status == 0 && status.output.contains(line), "\(status)")
        let json = try await tool.run("traffic", "--json", "--socket", server.path)
        #expect(json.status == 0 && json.output == document + "\n")
    }

    @Test func `status asks for the traffic only to show it, and says nothing where there is none`() async throws {
        let (tool, server) = try server([Document.proved])
        let json = try await tool.run("status", "--json", "--socket", server.path).json
        #expect(try json == JSONValue(parsing: Self.status))
        #expect(try await tool.run("status", "-q", "--socket", server.path).output == "")
        #expect(server.targets == ["/api/v1/status", "/api/v1/status"])
        for documents in [[], [Document.off]] as [[String]] {
            let (tool, server) = try self.server(documents)
            let status = try await tool.run("status", "--socket", server.path)
            #expect(status.status == 0 && status.messages == "" && !status.output.contains("traffic"), "\(status)")
            #expect(server.targets == ["/api/v1/status", Self.route])
        }
    }

    @Test func `connections that are not read are one line that says how to turn that on`() async throws {
        let (tool, server) = try server([Document.off])
        let text = try await tool.run("traffic", "--socket", server.path)
        let line = "traffic.enabled is off; set `traffic: {enabled: true}` in nwpath.yaml, then run `nwpath reload`\n"
        #expect(text.status == 0 && text.output == line && text.messages == "")
        let json = try await tool.run("traffic", "--json", "--socket", server.path)
        #expect(json.status == 0 && json.output == Document.off + "\n")
        let wait = try await tool.run("wait", "traffic", "--timeout", "300ms", "--socket", server.path)
        let waiting = "nwpath: still waiting for: traffic (traffic.enabled is off;"
        #expect(wait.status == 3 && wait.messages.hasPrefix(waiting), "\(wait)")
    }

    @Test func `a service that is older says so`() async throws {
        let (tool, server) = try server([])
        let text = try await tool.run("traffic", "--socket", server.path)
        #expect(text.status == 1 && text.output == "" && text.messages == "nwpath: \(TrafficText.missing)\n")
        let wait = try await tool.run("wait", "traffic", "--timeout", "2s", "--socket", server.path)
        #expect(wait.status == 3 && wait.messages == "nwpath: still waiting for: traffic (\(TrafficText.missing))\n")
        // It is polled once a second at most.
        #expect(server.targets.count <= 7, "\(server.targets)")
        let check = try await tool.run("check", "traffic", "--socket", server.path)
        #expect(check.status == 3 && check.output == "NWPATH UNKNOWN - \(TrafficText.missing)\n")
    }

    @Test func `addresses are requested only when they are wanted`() async throws {
        let (tool, server) = try server([Document.proved])
        let text = try await tool.run("traffic", "--addresses", "--socket", server.path)
        #expect(text.output.contains("\n    198.51.100.7 198.51.100.9\n"), "\(text)")
        #expect(try await tool.run("traffic", "--socket", server.path).status == 0)
        #expect(server.targets == ["\(Self.route)?addresses=true", Self.route])
    }

    @Test func `follows the state, a line for each change`() async throws {
        let (tool, server) = try server([Document.proved, Document.stalled, Document.lossy])
        let watch = try tool.launch("traffic", "--watch", "--socket", server.path)
        let clock = #"2026-11-28 \d\d:\d\d:00"#
        await loop.eventually("the lines") { watch.output.contains("4.8 % sent again\n") }
        let lines = watch.lines
        let proved = "✓ 212 connections answered within 40 ms, 0.2 % sent again, but none to 203.0.113.0/24"
        #expect(lines.first.map(String.init) == proved)
        #expect(lines.dropLast().last?.hasSuffix(" ✗ 148 of 150 connections unanswered for 1.4 s") == true)
        #expect(lines.last?.wholeMatch(of: try Regex("\(clock) ! 212 connections .* sent again")) != nil, "\(lines)")
        await loop.eventually("another poll") { server.targets.count == 4 }
        #expect(server.targets.dropFirst().allSatisfy { $0 == "\(Self.route)?wait=30s" }, "\(server.targets)")
        #expect(watch.messages == "")
    }

    @Test func `follows in JSON lines, a document each`() async throws {
        let (tool, server) = try server([Document.proved, Document.stalled, Document.stalled])
        let watch = try tool.launch("traffic", "--watch", "--json", "--socket", server.path)
        await loop.eventually("the documents") { watch.lines.count == 3 }
        #expect(try watch.objects.map { $0.text("state") } == ["proved", "stalled", "stalled"])
    }

    @Test func `a watch outlives the service`() async throws {
        let service = try Service()
        try await service.start()
        let watch = try service.tool.launch("traffic", "--watch", "--json", "--socket", service.socket)
        await loop.eventually("the first line") { watch.lines.count == 1 }
        service.kill()
        await loop.eventually("the loss") { watch.messages.contains("connection to the service lost (") }
        try await service.start()
        await loop.eventually(within: .seconds(10), "the return") { watch.messages.contains("reconnected to unix:") }
        await loop.eventually("the state") { watch.lines.count >= 2 }
        #expect(watch.messages.split(separator: "\n").count == 2, "\(watch.messages)")
    }

    @Test func `waits until connections are answered`() async throws {
        let (tool, server) = try server([Document.empty, Document.stalled, Document.proved])
        let result = try await tool.run("wait", "traffic", "connected", "--timeout", "20s", "--socket", server.path)
        #expect(result.status == 0 && result.messages == "", "\(result)")
        #expect(server.targets.count == 6, "\(server.targets)")
        let missing = try await tool.run("wait", "traffic", "ipv6", "--timeout", "300ms", "--socket", server.path)
        #expect(missing.status == 3 && missing.messages.hasPrefix("nwpath: still waiting for: ipv6 ("), "\(missing)")
    }

    @Test(
        arguments: [(Document.proved, 0), (Document.slow, 1), (Document.stalled, 2), (Document.off, 3)]
            as [(String, Int32)]
    )
    func `check exits as plugins do`(document: String, status: Int32) async throws {
        let (tool, server) = try server([document])
        let result = try await tool.run("check", "traffic", "--socket", server.path)
        #expect(result.status == status && result.messages == "" && result.output.hasPrefix("NWPATH "), "\(result)")
    }

    @Test(
        arguments: [
            (["traffic", "--adresses"], "unknown option '--adresses' (did you mean '--addresses'?)"),
            (["traffic", "eth0"], "unexpected argument 'eth0'"), (["trafic"], "(did you mean 'traffic'?)"),
            (["wait", "trafic"], "(did you mean 'traffic'?)"), (["check", "trafic"], "(did you mean 'traffic'?)"),
            (["check", "traffic", "eth0"], "traffic takes no NAME"),
        ] as [([String], String)]
    )
    func `a wrong argument names the nearest right one`(words: [String], part: String) async throws {
        let result = try await Tool(scratch: try Scratch()).run(words)
        #expect(result.status == (words[0] == "check" ? 3 : 2), "\(result)")
        #expect((result.output + result.messages).contains(part), "\(result)")
    }
}
