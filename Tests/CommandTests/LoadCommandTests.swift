// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

/// `nwpath diagnose --load` against nginx on another machine, which is the anchor and the name server as well.
@Suite(.inNamespace) struct LoadCommandTests {
    /// The two machines and what runs on the far one.
    private struct Line {
        let tool: Tool
        let far: Namespace
        let servers: [RunningCommand]

        init() async throws {
            tool = Tool(scratch: try Scratch())
            far = try Namespace()
            try Namespace.current.connect("eth0", to: far, as: "eth1")
            try far.ipBatch(["address add 192.0.2.1/24 dev eth1", "address add 198.51.100.80/32 dev eth1"])
            try Namespace.current.ipBatch(["address add 192.0.2.10/24 dev eth0", "route add default via 192.0.2.1"])
            try Namespace.current.waitUntilRunning("eth0")
            let folder = tool.scratch.file("nginx")
            try Command.run(["mkdir", folder])
            try Command.run(["truncate", "-s", "64M", "\(folder)/large"])
            let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            let places = kinds.map { "\($0)_temp_path \(folder)/\($0);" }.joined(separator: " ")
            let settings = """
                daemon off; master_process off; pid \(folder)/pid; error_log \(folder)/log; events { }
                http { access_log off; \(places)
                  server { listen 198.51.100.80:8088; root \(folder); client_max_body_size 0;
                    location = /small { return 200 small; }
                    location = /slurp { return 200; } } }
                """
            let file = try tool.scratch.write(settings, to: "nginx.conf")
            let inside = ["nsenter", "--net=\(far.path)"]
            let names = [
                "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root",
                "--group=root",
                "--address=/#/198.51.100.80", "--listen-address=198.51.100.80", "--bind-interfaces",
                "--pid-file=\(folder)/names",
            ]
            servers = [
                try RunningCommand(inside + ["nginx", "-e", "stderr", "-p", folder, "-c", file]),
                try RunningCommand(inside + names),
            ]
            try await Namespace.current.loop.eventually("servers") { [far] in
                let listening = try far.run("ss -Hltn")
                return listening.contains(":8088") && listening.contains(":53")
            }
        }

        /// A configuration that loads these pages.
        func configure(_ pages: String, _ more: String = "") throws -> String {
            let resolver = try tool.scratch.write("nameserver 198.51.100.80\n", to: "resolv.conf")
            let text = "dns: {resolv_conf: \(resolver)}\ndiagnosis: {anchors: [{name: a, addr4: 198.51.100.80}], "
            return try tool.scratch.write(text + "nq: {\(pages)}\(more)}\n", to: "nwpath.yaml")
        }

        /// Makes the way to the far machine a narrow one.
        func narrow() throws {
            try Namespace.current.run("tc qdisc add dev eth0 root tbf rate 2mbit burst 16k limit 10000")
            try far.run("tc qdisc add dev eth1 root tbf rate 2mbit burst 16k limit 10000")
        }

        /// Whether a connection carries the load.
        func isLoaded() -> Bool {
            let table = try? Namespace.current.run("ss -Htn state established dport = :8088")
            return (table ?? "").split(separator: "\n").count >= 4
        }

        /// The most that any connection to the server has in the kernel, waiting to be sent or confirmed.
        func queued() throws -> Int {
            let table = try Namespace.current.run("ss -Htn state established state fin-wait-1 dport = :8088")
            return table.split(separator: "\n").compactMap { line in
                let words = line.split(separator: " ")
                return words.count > 2 ? Int(words[2]) : nil
            }.max() ?? 0
        }

        static let base = "http://198.51.100.80:8088"
        static let pages = "download: '\(base)/large', upload: '\(base)/slurp', small: '\(base)/small'"
    }

    @Test func `throughput and latency under load are measured, shown and counted`() async throws {
        let line = try await Line()
        let file = try line.configure(Line.pages + ", max_bytes: 8000000", ", budgets: {rpm: 1}")
        let result = try await line.tool.run("diagnose", "--load", "--json", "--config", file)
        #expect(result.status == 0, "\(result.output)\(result.messages)")
        let value = try result.json
        let load = try #require(value["load"], "\(result.output)")
        #expect(load["down_mbps"]?.double ?? 0 > 1 && load["up_mbps"]?.double ?? 0 > 1, "\(load)")
        #expect(load["idle_seconds"]?.double ?? 0 > 0 && load["rpm"]?.int ?? 1 > 0, "\(load)")
        let moved = (load["sent_bytes"]?.int ?? 0) + (load["received_bytes"]?.int ?? 0)
        #expect(moved > 1_000_000 && moved < 8_000_000, "\(load)")
        #expect(value["bytes"]?.int ?? 0 > moved && value["bytes"]?.int ?? 0 < moved + 160_000)
        let text = try await line.tool.run("diagnose", "--config", file)
        #expect(text.output.contains("Mbit/s down, ") && text.status == 0, "\(text.output)")
        withExtendedLifetime(line) {}
    }

    @Test func `a line below the budget is slow`() async throws {
        let line = try await Line()
        try line.narrow()
        let budgets = ", budgets: {down_mbps: 20, up_mbps: 0.01, rpm: 1}"
        let file = try line.configure(Line.pages + ", max_seconds: 3", budgets)
        let result = try await line.tool.run("diagnose", "--json", "--config", file)
        #expect(result.status == 1, "\(result.output)\(result.messages)")
        let verdicts = try result.json.list("verdicts")
        #expect(verdicts.map { $0.text("code") } == ["perf.low-throughput"], "\(result.output)")
        #expect(verdicts.first?.text("message").hasSuffix(" Mbit/s arrive of 20") == true, "\(result.output)")
        withExtendedLifetime(line) {}
    }

    @Test(
        arguments: [
            ("download: 'http://198.51.100.80:8088/gone'", "load test: nq.download answered with status 404"),
            ("upload: 'http://198.51.100.80:8088/large'", "load test: nq.upload answered with status 405"),
            ("download: 'http://nowhere.invalid/large'", "no load test: nq.download: nowhere.invalid has no address"),
        ]
    )
    func `what cannot be loaded leaves its layer open`(pages: String, because: String) async throws {
        let line = try await Line()
        let file = try line.configure(pages)
        for words in [["--load"], []] {
            let result = try await line.tool.run(["diagnose", "--json", "--config", file] + words)
            #expect(result.status == (words.isEmpty ? 0 : 3), "\(result.output)\(result.messages)")
            let rung = try result.json.list("ladder").first { $0.text("layer") == "performance" }
            #expect(rung?.text("message") == because && rung?.text("state") == "not_assessed", "\(result.output)")
            #expect(try result.json["load"] == nil)
        }
        withExtendedLifetime(line) {}
    }

    @Test func `Ctrl-C and the limit end the load at once, and nothing is sent any more`() async throws {
        let line = try await Line()
        try line.narrow()
        let file = try line.configure(Line.pages)
        let running = try line.tool.launch("diagnose", "--json", "--config", file)
        await Namespace.current.loop.eventually("the load") { line.isLoaded() }
        running.command.signal(SIGINT)
        #expect(running.command.wait() == 130)
        #expect(running.output.isEmpty && running.messages.contains("interrupted; nothing was changed"))
        // A connection that was kept says goodbye; no other is left.
        #expect(try line.queued() < 1000)
        let short = try await line.tool.run("diagnose", "--load", "--json", "--timeout", "5s", "--config", file)
        #expect(short.status == 3, "\(short.output)\(short.messages)")
        let value = try short.json
        #expect(value["complete"]?.bool == false && value["load"] == nil)
        let rung = value.list("ladder").first { $0.text("layer") == "performance" }
        #expect(rung?.text("message") == "timed out before the load test ended", "\(short.output)")
        // What was moved until then is counted.
        #expect(value["bytes"]?.int ?? 0 > 60_000, "\(short.output)")
        // A connection that was kept says goodbye; no other is left.
        #expect(try line.queued() < 1000)
        withExtendedLifetime(line) {}
    }
}
