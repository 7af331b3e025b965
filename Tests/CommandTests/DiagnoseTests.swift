// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Diagnosis
import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

@Suite struct DiagnosisFiguresTests {
    @Test(arguments: [
        (#"{"round_trip_seconds":0.011,"loss_percent":0}"#, "11.00 ms round trip, 0 % lost"),
        (#"{"answer_seconds":0.0023}"#, "answers in 2.30 ms"), (#"{"answering":3,"asked":4}"#, "3 of 4 answer"),
        (#"{"offset_seconds":-0.0004}"#, "the clock is 400 µs behind"), (#"{"mtu":1500}"#, "MTU 1500"),
        (#"{"largest_bytes":1400}"#, "packets up to 1400 bytes pass"), ("{}", ""),
    ])
    func `what was measured is told in words`(evidence: String, words: String) throws {
        #expect(DiagnosisText.figures(try JSONValue(parsing: evidence)) == words)
    }
}

@Suite(.inNamespace) struct DiagnoseTests {
    /// A configuration that names this machine's own network only: nothing leaves it.
    private static func tool(_ targets: String = "anchors: [{name: a, addr4: 198.51.100.80}]") throws -> (Tool, String)
    {
        let tool = Tool(scratch: try Scratch())
        let resolver = try tool.scratch.write("nameserver 192.0.2.53\n", to: "resolv.conf")
        let text = "dns: {resolv_conf: \(resolver)}\ndiagnosis: {\(targets)}\n"
        return (tool, try tool.scratch.write(text, to: "nwpath.yaml"))
    }

    private static func codes(_ value: JSONValue) -> [String] { value.list("verdicts").map { $0.text("code") } }

    @Test func `a machine without interfaces has none`() async throws {
        let (tool, file) = try Self.tool()
        let result = try await tool.run("diagnose", "--json", "--config", file)
        #expect(result.status == 1, "\(result.messages)")
        let value = try result.json
        #expect(Self.codes(value) == ["link.none"])
        #expect(value.text("severity") == "broken" && value.text("targets") == "configuration")
        #expect(value["bytes"]?.int == 0)
        let text = try await tool.run("diagnose", "--config", file)
        #expect(text.firstLine == "✗ there is no network interface" && text.status == 1)
        #expect(text.output.contains("✗ link        link.none\n? address, local, gateway, "))
        let quiet = try await tool.run("diagnose", "-q", "--config", file)
        #expect(quiet.status == 1 && quiet.output == "" && quiet.messages == "")
    }

    @Test func `what the kernel knows is told without sending anything`() async throws {
        let (tool, file) = try Self.tool()
        try Namespace.current.ipBatch([
            "link add eth0 type veth peer name far", "addr add 192.0.2.10/24 dev eth0", "link set eth0 up",
            "link set far up", "route add default via 192.0.2.1",
        ])
        try Namespace.current.waitUntilRunning("eth0")
        let fine = try await tool.run("diagnose", "--offline", "--json", "--config", file)
        #expect(fine.status == 0, "\(fine.output)\(fine.messages)")
        #expect(try fine.json["bytes"]?.int == 0 && fine.json.list("verdicts").isEmpty)
        #expect(try fine.json["path"]?.texts("gateways") == ["192.0.2.1"])
        #expect(try fine.json["path"]?.texts("name_servers") == ["192.0.2.53"])
        let rungs = try fine.json.list("ladder").filter { $0.text("message") == "nothing is sent with --offline" }
        #expect(rungs.count == 7)
        try Namespace.current.ip("route replace blackhole default")
        let hole = try await tool.run("diagnose", "--offline", "--json", "--config", file)
        #expect(try Self.codes(hole.json) == ["route.blackhole"] && hole.status == 1)
        #expect(try hole.json.list("verdicts").first?.text("hint") == "`ip route del blackhole default`")
        try Namespace.current.ip("route del blackhole default")
        let none = try await tool.run("diagnose", "--offline", "--json", "--config", file)
        #expect(try Self.codes(none.json) == ["route.no-default"] && none.status == 1)
        try Namespace.current.set("eth0", isUp: false)
        let down = try await tool.run("diagnose", "--json", "--config", file)
        #expect(try Self.codes(down.json) == ["link.admin-down"] && down.status == 1)
    }

    @Test func `nobody is asked for longer than the limit, and what is missing is said`() async throws {
        let (tool, file) = try Self.tool()
        try Namespace.current.ipBatch([
            "link add eth0 type veth peer name far", "addr add 192.0.2.10/24 dev eth0", "link set eth0 up",
            "link set far up", "route add default via 192.0.2.1",
        ])
        try Namespace.current.waitUntilRunning("eth0")
        let result = try await tool.run("diagnose", "--json", "--timeout", "100ms", "--config", file)
        #expect(result.status == 3, "\(result.output)")
        #expect(try result.json["complete"]?.bool == false && result.json.list("verdicts").isEmpty)
        #expect(try result.json.list("ladder").contains { $0.text("message") == "timed out" })
        let text = try await tool.run("diagnose", "--timeout", "100ms", "--config", file)
        #expect(text.firstLine == "? timed out before everything was tested")
    }

    @Test func `an address that another interface of this machine answers for has no second holder`() async throws {
        let (tool, file) = try Self.tool()
        try Namespace.current.ipBatch([
            "link add eth0 type veth peer name far", "addr add 192.0.2.10/24 dev eth0", "link set eth0 up",
            "link set far up", "route add default via 192.0.2.1",
        ])
        try Namespace.current.waitUntilRunning("eth0")
        let result = try await tool.run("diagnose", "--json", "--config", file)
        let codes = try Self.codes(result.json)
        #expect(!codes.contains("addr.duplicate") && !codes.isEmpty && result.status == 1, "\(result.output)")
    }

    @Test func `Ctrl-C ends it at once and leaves nothing behind`() async throws {
        let (tool, file) = try Self.tool()
        try Namespace.current.ipBatch([
            "link add eth0 type veth peer name far", "addr add 192.0.2.10/24 dev eth0", "link set eth0 up",
            "link set far up", "route add default via 192.0.2.1",
        ])
        try Namespace.current.waitForAddresses(on: "eth0", isLinkLocal: true)
        let before = try Namespace.current.ip("-d addr show dev eth0")
        let running = try tool.launch("diagnose", "--json", "--config", file)
        await Namespace.current.loop.eventually("questions on the link") {
            (try? Namespace.current.run("ss -0Hl").contains("eth0")) == true
        }
        running.command.signal(SIGINT)
        #expect(running.command.wait() == 130)
        #expect(running.output.isEmpty && running.messages.contains("interrupted; nothing was changed"))
        #expect(try Namespace.current.ip("-d addr show dev eth0") == before)
    }

    @Test func `a file of targets that is wrong ends with its place, and no verdict`() async throws {
        let (tool, file) = try Self.tool()
        let bad = try tool.scratch.write("anchors: []\nhttp_prt: 80\n", to: "targets.yaml")
        let result = try await tool.run("diagnose", "--targets", bad, "--config", file)
        #expect(result.status == 2 && result.output.isEmpty)
        #expect(result.messages.contains("\(bad):2:1: unknown key 'http_prt' (did you mean 'http_port'?)"))
        let gone = try await tool.run("diagnose", "--targets", "/nowhere.yaml", "--config", file)
        #expect(gone.status == 2 && gone.messages.contains("/nowhere.yaml: cannot be read"))
        let config = try await tool.run("diagnose", "--config", "/nowhere.yaml")
        #expect(config.status == 2 && config.output.isEmpty)
        let bytes = try tool.scratch.write("nq: {max_bytes: 40000001}\n", to: "targets.yaml")
        let many = try await tool.run("diagnose", "--targets", bytes, "--config", file)
        #expect(many.status == 2 && many.messages.contains("expected a whole number from 1000000 to 40000000"))
        for words in [["--offlin"], ["--timeout", "soon"], ["--timeout", "1ms"], ["a b"]] {
            let wrong = try await tool.run(["diagnose"] + words)
            #expect(wrong.status == 2 && wrong.output.isEmpty && wrong.messages.hasPrefix("nwpath diagnose: "))
        }
    }

    @Test func `a load test needs something to load, the network, and leave to send`() async throws {
        let (tool, file) = try Self.tool()
        let nothing = try await tool.run("diagnose", "--load", "--config", file)
        #expect(nothing.status == 2 && nothing.output.isEmpty)
        #expect(nothing.messages.contains("set diagnosis.nq.download or diagnosis.nq.upload"))
        let targets = try tool.scratch.write("nq: {small: 'http://192.0.2.80/'}\n", to: "targets.yaml")
        let small = try await tool.run("diagnose", "--load", "--targets", targets, "--config", file)
        #expect(small.status == 2 && small.messages.contains("set nq.download or nq.upload"))
        let offline = try await tool.run("diagnose", "--load", "--offline", "--config", file)
        #expect(offline.status == 2 && offline.messages.contains("--load and --offline exclude each other"))
        let host = try await tool.run("diagnose", "--load", "192.0.2.80", "--config", file)
        #expect(host.status == 2 && host.messages.contains("--load takes no HOST|URL"))
        // Where nothing is there to load the line, the fault is told and nothing is sent.
        let (other, loading) = try Self.tool(
            "anchors: [{name: a, addr4: 198.51.100.80}], nq: {download: 'http://198.51.100.80/'}"
        )
        let none = try await other.run("diagnose", "--load", "--json", "--config", loading)
        #expect(try Self.codes(none.json) == ["link.none"] && none.status == 1)
        #expect(try none.json["bytes"]?.int == 0 && none.json["load"] == nil)
    }

    @Test(
        arguments: [
            (
                #"{"down_mbps":93.46,"up_mbps":8,"rpm":1204,"responsiveness":"good"}"#,
                "93.5 Mbit/s down, 8 Mbit/s up, 1204 round trips per minute (good)"
            ),
            (#"{"down_mbps":812.7,"up_mbps":null,"rpm":null,"responsiveness":null}"#, "813 Mbit/s down"),
            (#"{"down_mbps":null,"up_mbps":0.04,"rpm":null,"responsiveness":null}"#, "0 Mbit/s up"),
        ]
    )
    func `a load test is told in a line`(load: String, line: String) throws {
        #expect(DiagnosisText.load(try JSONValue(parsing: load)) == line)
    }

    @Test(
        arguments: [
            (Severity.broken, true, 1), (.broken, false, 1), (.degraded, true, 1), (.warning, true, 1), (nil, true, 0),
            (nil, false, 3), (.degraded, false, 1),
        ] as [(Severity?, Bool, Int32)]
    )
    func `the exit status is the worst severity`(severity: Severity?, isComplete: Bool, status: Int32) {
        #expect(DiagnosisRun.status(severity, isComplete: isComplete).rawValue == status)
    }

    @Test func `progress tells what is still asked, in one line of the terminal`() {
        #expect(LayerTicker.line(waitingFor: [.gateway, .dns], width: 80) == "testing: gateway, dns")
        let many: [Layer] = [.gateway, .dns, .application, .transport]
        #expect(LayerTicker.line(waitingFor: many, width: 33) == "testing: gateway, dns and 2 more")
        #expect(LayerTicker.line(waitingFor: many, width: 20) == "testing: 4 layers")
        for width in 1...200 {
            #expect(LayerTicker.line(waitingFor: Layer.ofNetwork, width: width).count < width)
        }
        #expect(LayerTicker.line(waitingFor: [], width: 80) == "")
    }
}
