// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// What the neighbourhood offers, discovered and scraped by the real Prometheus.
@Suite(.inNamespace) struct PrometheusDiscoveryTests {
    private var loop: EventLoop { Namespace.current.loop }

    /// An exporter that has one metric at `/probe` and nothing elsewhere.
    private static let exporter = """
        import http.server, socket
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200 if self.path == "/probe" else 404)
                self.send_header("Content-Type", "text/plain")
                self.end_headers()
                self.wfile.write(b"lamp_lit 1\\n" if self.path == "/probe" else b"")
            def log_message(self, *_): pass
        class Server(http.server.ThreadingHTTPServer):
            address_family = socket.AF_INET6
        Server(("::", 9100), Handler).serve_forever()
        """

    private static func configuration(_ query: String) -> String {
        """
        global: {scrape_interval: 1s}
        scrape_configs:
          - job_name: lan
            http_sd_configs: [{url: "http://127.0.0.1:18353/api/v1/sd/prometheus?\(query)", refresh_interval: 1s}]
            relabel_configs:
              - {source_labels: [__meta_nwpath_name], target_label: name}
              - {source_labels: [__meta_nwpath_txt_room], target_label: room}
        """
    }

    private func inside(_ words: [String]) throws -> RunningCommand {
        try RunningCommand(["nsenter", "--net=\(Namespace.current.path)"] + words, captures: true)
    }

    private func offers() -> [Neighbour.Offer] {
        let text = ["path=/probe", "room=Küche \"1\""].map { Array($0.utf8) }
        let near = Neighbour.Offer("Lamp", "_lamp._tcp").with { $0.text = text }
        let far = Neighbour.Offer("Link\u{2028}Local \u{1B}[31m", "_lamp._tcp").with {
            $0.text = text
            $0.host = Array("other".utf8)
            $0.addresses = ["fe80::1"]
        }
        return [near, far]
    }

    @Test func `promtool discovers the services of a type as targets`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let service = try await Service(
            ["--listen", "127.0.0.1:18353", "--listen", "unix:" + scratch.file("api.sock")],
            in: scratch,
            takesCensus: true
        )
        try scratch.write(Self.configuration("type=_lamp._tcp"), to: "prometheus.yml")
        let check = ["promtool", "check", "service-discovery", "--timeout=4s", scratch.file("prometheus.yml"), "lan"]
        // An empty list is what http_sd wants where there is nothing.
        #expect(try service.get("/api/v1/sd/prometheus?type=_lamp._tcp") == "[]\n")
        try neighbour.offer(offers(), in: scratch)
        try await loop.eventually(within: .seconds(60), "the services") {
            try service.json("/api/v1/sd/prometheus?type=_lamp._tcp").array?.count == 2
        }
        var targets: [JSONValue] = []
        // It tells what it has found when its time is over, which may be nothing yet.
        await loop.eventually("both services as targets", found: targets) {
            targets = (try? JSONValue(parsing: try inside(check).finish()))?.array ?? []
            return targets.count == 2
        }
        let addresses = targets.compactMap { $0["discoveredLabels"]?["__address__"]?.string }
        #expect(addresses.sorted() == ["192.0.2.1:9100", "[fe80::1%up0]:9100"])
        for target in targets {
            #expect(target["error"] == nil)
            #expect(target["labels"]?["__metrics_path__"]?.string == "/probe")
            #expect(target["labels"]?["room"]?.string == "Küche \"1\"")
            #expect(["Lamp", "Link\\226\\128\\168Local \\027[31m"].contains(target["labels"]?["name"]?.string))
        }
        let showType = ["-o", "/dev/null", "-w", "%{content_type}"]
        #expect(try service.get("/api/v1/sd/prometheus?type=_lamp._tcp", showType) == "application/json")
    }

    @Test func `Prometheus scrapes them by IPv4 and by link-local IPv6`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let service = try await Service(
            ["--listen", "127.0.0.1:18353", "--listen", "unix:" + scratch.file("api.sock")],
            in: scratch,
            takesCensus: true
        )
        let exporter = try neighbour.run(["python3", "-c", Self.exporter])
        try neighbour.offer(offers(), in: scratch)
        try scratch.write(Self.configuration("type=_none._tcp,_lamp._tcp"), to: "prometheus.yml")
        let prometheus = try inside([
            "prometheus", "--config.file=\(scratch.file("prometheus.yml"))",
            "--storage.tsdb.path=\(scratch.file("tsdb"))", "--web.listen-address=127.0.0.1:19790",
        ])
        func lit() -> [JSONValue] {
            let query = ["curl", "-s", "--max-time", "5", "http://127.0.0.1:19790/api/v1/query?query=lamp_lit"]
            guard let text = try? inside(query).finish(), let answer = try? JSONValue(parsing: text) else { return [] }
            return answer["data"]?["result"]?.array ?? []
        }
        await loop.eventually(within: .seconds(90), "both lamps") { lit().count == 2 }
        let metrics = lit().compactMap { $0["metric"] }
        #expect(
            Set(metrics.compactMap { $0["instance"]?.string }) == ["192.0.2.1:9100", "[fe80::1%up0]:9100"]
        )
        #expect(metrics.allSatisfy { $0["room"]?.string == "Küche \"1\"" })
        withExtendedLifetime((exporter, prometheus, service)) {}
    }
}
