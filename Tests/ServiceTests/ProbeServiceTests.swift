// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// The real service with active probes, and real programs that answer.
@Suite(.inNamespace) struct ProbeServiceTests {
    private func start(_ probes: String) async throws -> Service {
        let scratch = try Scratch()
        try scratch.write("probes:\n  active:\n\(probes)", to: "nwpath.yaml")
        return try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch)
    }

    private func probe(_ service: Service, _ name: String) throws -> JSONValue {
        try service.json("/api/v1/probes/\(name)")
    }

    private func post(_ service: Service, _ name: String, _ arguments: [String] = []) throws -> String {
        try service.code("/api/v1/probes/\(name)", ["-X", "POST"] + arguments)
    }

    private func wait(
        _ service: Service,
        _ name: String,
        _ condition: @escaping (JSONValue) -> Bool
    )
        async throws
    {
        try await Namespace.current.loop.eventually("the probe \(name)") {
            condition(try probe(service, name))
        }
    }

    /// A web server in the namespace, which sends everybody to a login page until it is told otherwise.
    private func portal(_ scratch: Scratch) async throws -> RunningCommand {
        let server = """
            import http.server, os
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    if os.path.exists("\(scratch.file("open"))"):
                        self.send_response(204)
                    else:
                        self.send_response(302); self.send_header("Location", "http://login.example.test/")
                    self.end_headers()
                def log_message(self, *words): pass
            http.server.HTTPServer(("127.0.0.1", 8080), Handler).serve_forever()
            """
        let running = try RunningCommand([
            "nsenter", "--net=\(Namespace.current.path)", "python3", "-c", server,
        ])
        try await Namespace.current.loop.eventually("the web server") {
            try Namespace.current.run("ss -Hltn sport = :8080").contains(":8080")
        }
        return running
    }

    @Test func `without probes there are none, and nothing is sent`() async throws {
        let service = try await Service()
        #expect(try service.json("/api/v1/probes")["probes"]?.array?.isEmpty == true)
        #expect(try service.code("/api/v1/probes/gateway") == "404")
        #expect(try post(service, "gateway") == "404")
        let text = try service.get("/metrics")
        #expect(text.contains("# TYPE nwpath_probe_attempts_total counter\n"))
        #expect(!text.contains("nwpath_probe_attempts_total{"))
        #expect(!text.contains("nwpath_path_captive_portal{"))
    }

    @Test func `results are shown by the API and counted`() async throws {
        let service = try await start(
            """
                echo: {target: 127.0.0.1, interval: 1s, timeout: 1s}
                sixth: {target: "::1", interval: 1s, timeout: 1s}
                closed: {target: "127.0.0.1:9", interval: 1s, timeout: 1s, threshold: 1}
            """
        )
        try await wait(service, "closed") { $0["failing"]?.bool == true }
        for name in ["echo", "sixth"] { try await wait(service, name) { $0["state"]?.string == "ok" } }
        let all = try service.json("/api/v1/probes")["probes"]?.array ?? []
        #expect(all.compactMap { $0["name"]?.string } == ["echo", "sixth", "closed"])
        let echo = try probe(service, "echo")
        #expect(echo["method"]?.string == "icmp" && echo["last"]?["hop_limit"]?.int == 64)
        #expect(echo["seq"] != nil && echo["host"] != nil)
        let closed = try probe(service, "closed")
        #expect(closed["last"]?["reason"]?.string == "refused" && closed["loss_percent"]?.double == 100)
        let text = try service.get("/metrics")
        for sample in [
            #"nwpath_probe_success{probe="echo",method="icmp"} 1"#,
            #"nwpath_probe_success{probe="closed",method="tcp"} 0"#,
            #"nwpath_probe_failures_total{probe="echo",method="icmp",reason="dns"} 0"#,
            #"nwpath_probe_failures_total{probe="closed",method="tcp",reason="captive_portal"} 0"#,
            #"nwpath_probe_bytes_total{probe="closed",method="tcp",direction="sent"} 0"#,
            #"nwpath_probe_duration_seconds_count{probe="closed",method="tcp"} 0"#,
        ] { #expect(text.contains(sample + "\n"), "\(sample)") }
        #expect(try Command.run(["promtool", "check", "metrics"], input: text) == "")
        let failed = try #require(try service.records("probe.failed").first)
        #expect(failed["message"]?.string == "Probe closed failed: refused")
        #expect(failed["probe"]?["target"]?.string == "127.0.0.1:9")
        #expect(try service.records("probe.failed").count == 1)
    }

    @Test func `a portal is detected and cleared`() async throws {
        let scratch = try Scratch()
        let server = try await portal(scratch)
        try scratch.write(
            """
            probes:
              active:
                portal: {target: "http://127.0.0.1:8080/generate_204", interval: 1s, timeout: 1s, expect_status: [204]}
            """,
            to: "nwpath.yaml"
        )
        let service = try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch)
        try await service.eventually("captive_portal.detected")
        #expect(
            try service.get("/metrics").contains("nwpath_path_captive_portal{monitor=\"default\"} 1\n")
        )
        #expect(try probe(service, "portal")["captive_portal"]?.bool == true)
        let detected = try #require(try service.records("captive_portal.detected").first)
        #expect(detected["probe"]?["location"]?.string == "http://login.example.test/")
        try await service.eventually("probe.failed")
        try scratch.write("", to: "open")
        try await service.eventually("probe.recovered")
        #expect(try service.records("captive_portal.cleared").count == 1)
        #expect(
            try service.get("/metrics").contains("nwpath_path_captive_portal{monitor=\"default\"} 0\n")
        )
        #expect(try service.records("captive_portal.detected").count == 1)
        server.signal(SIGKILL)
    }

    @Test func `a name server is counted by its address`() async throws {
        let server = try RunningCommand([
            "nsenter", "--net=\(Namespace.current.path)", "dnsmasq", "--keep-in-foreground",
            "--conf-file=/dev/null",
            "--no-resolv", "--no-hosts", "--user=root", "--group=root", "--listen-address=127.0.0.1",
            "--bind-interfaces",
            "--pid-file=",
            "--host-record=www.example.test,192.0.2.80",
        ])
        let service = try await start(
            """
                names: {method: dns, target: www.example.test, server: 127.0.0.1, interval: 1s, timeout: 1s}
                other: {method: dns, target: nowhere.test, server: 127.0.0.1, interval: 1s, timeout: 1s}
            """
        )
        try await wait(service, "names") { $0["state"]?.string == "ok" }
        try await wait(service, "other") { $0["last"]?["reason"]?.string == "dns" }
        #expect(try probe(service, "names")["last"]?["addresses"]?.array == [.string("192.0.2.80")])
        let text = try service.get("/metrics")
        #expect(text.contains(#"nwpath_dns_queries_total{server="127.0.0.1"} "#))
        #expect(
            text.contains(#"nwpath_dns_query_failures_total{server="127.0.0.1",reason="timeout"} 0"#)
        )
        #expect(text.contains(#"nwpath_dns_query_duration_seconds_count{server="127.0.0.1"} "#))
        server.signal(SIGKILL)
    }

    @Test func `a run is made on demand, once a second, and a reader can wait for it`() async throws {
        let service = try await start("    echo: {target: 127.0.0.1, interval: 1h}\n")
        try await wait(service, "echo") { $0["attempts"]?.int == 1 }
        try await Namespace.current.loop.eventually("a run on demand") {
            try post(service, "echo") == "202"
        }
        try await wait(service, "echo") { $0["attempts"]?.int == 2 }
        #expect(try post(service, "echo") == "429")
        let format = ["-o", "/dev/null", "-w", "%header{etag}"]
        let tag = try service.get("/api/v1/probes/echo", format)
        let condition = ["-H", "If-None-Match: \(tag)"]
        #expect(try service.code("/api/v1/probes/echo", condition) == "304")
        try await Namespace.current.loop.eventually("another run") {
            try post(service, "echo") == "202"
        }
        let answer = try service.get("/api/v1/probes/echo?wait=10s", condition)
        #expect(try JSONValue(parsing: answer)["attempts"]?.int == 3)
        #expect(try post(service, "nothing") == "404")
        #expect(try service.records("probe.failed").isEmpty)
    }

    @Test func `a reload adds, changes and removes probes`() async throws {
        let service = try await start("    one: {target: 127.0.0.1, interval: 1s, timeout: 1s}\n")
        try await wait(service, "one") { ($0["attempts"]?.int ?? 0) >= 1 }
        let text = "probes: {active: {two: {target: 127.0.0.1, interval: 1s, timeout: 1s}}}"
        try service.scratch.write(text, to: "nwpath.yaml")
        _ = try service.curl(["-X", "POST", "http://localhost/-/reload"])
        try await wait(service, "two") { $0["state"]?.string == "ok" }
        #expect(try service.code("/api/v1/probes/one") == "404")
        let metrics = try service.get("/metrics")
        #expect(metrics.contains(#"nwpath_probe_attempts_total{probe="two",method="icmp"}"#))
        #expect(!metrics.contains(#"probe="one""#))
        try service.scratch.write("probes: {active: {two: {target: a b}}}", to: "nwpath.yaml")
        let refused = try service.curl(["-X", "POST", "http://localhost/-/reload"])
        #expect(refused.contains("probes.active.two.target is 'a b'"))
        #expect(try probe(service, "two")["state"]?.string == "ok")
        try service.scratch.write("", to: "nwpath.yaml")
        _ = try service.curl(["-X", "POST", "http://localhost/-/reload"])
        #expect(try service.json("/api/v1/probes")["probes"]?.array?.isEmpty == true)
    }

    @Test func `a changed path is probed soon`() async throws {
        try Uplink.make()
        let service = try await start("    echo: {target: 127.0.0.1, interval: 1h}\n")
        try await wait(service, "echo") { $0["attempts"]?.int == 1 }
        try Uplink.connect()
        try await service.eventually("path.changed")
        try await wait(service, "echo") { ($0["attempts"]?.int ?? 0) >= 2 }
    }

    @Test func `the gateway is probed wherever it is`() async throws {
        let router = try Namespace()
        try Namespace.current.connect("up0", to: router, as: "lan0")
        try Namespace.current.ip("addr add 192.0.2.2/24 dev up0")
        try router.ip("addr add 192.0.2.1/24 dev lan0")
        let service = try await start(
            "    gateway: {target: gateway, interval: 1s, timeout: 500ms, threshold: 2}\n"
        )
        try await wait(service, "gateway") { $0["last"]?["reason"]?.string == "unreachable" }
        try Uplink.connect()
        try await wait(service, "gateway") { $0["state"]?.string == "ok" }
        #expect(try probe(service, "gateway")["last"]?["address"]?.string == "192.0.2.1")
        let before = try service.records("probe.failed").count
        try router.set("lan0", isUp: false)
        try await service.eventually("probe.failed", count: before + 1)
    }
}
