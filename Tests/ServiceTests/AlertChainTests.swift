// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// From a cable to a notification: the real service, Prometheus and Alertmanager with the files of `dashboards/`.
@Suite(.inNamespace) struct AlertChainTests {
    private var loop: EventLoop { Namespace.current.loop }

    private static let configuration = """
        interfaces: {up0: {required: true}}
        gateway_liveness: {enabled: true, interval: 1s}
        mdns: {census_interval: 10s, watched: [_lamp._tcp/Lamp]}

        """

    private func service(in scratch: Scratch) async throws -> Service {
        try scratch.write(Self.configuration, to: "nwpath.yaml")
        let listen = ["--listen", "127.0.0.1:8353", "--listen", "unix:" + scratch.file("api.sock")]
        return try await Service(["--config", scratch.file("nwpath.yaml")] + listen, in: scratch, takesCensus: true)
    }

    private func check(_ arguments: [String] = []) throws -> Outcome {
        let words = ["python3", "-B", Monitoring.dashboards + "/check", "--range=300", "--rate-interval=5s"]
        let inside = ["nsenter", "--net=\(Namespace.current.path)"]
        let address = ["http://127.0.0.1:9090"]
        return Service.outcome(of: try RunningCommand(inside + words + address + arguments, captures: true))
    }

    @Test func `an outage is told once with its reason, then its end, and every panel has data`() async throws {
        let neighbour = try Neighbour()
        try Namespace.current.ip("route replace default via 192.0.2.1")
        let scratch = try Scratch()
        let service = try await service(in: scratch)
        let offers = [Neighbour.Offer("Lamp", "_lamp._tcp"), Neighbour.Offer("Meter", "_prometheus-http._tcp")]
        try neighbour.offer(offers, in: scratch)
        let monitoring = try Monitoring(in: scratch)
        try monitoring.startAlertmanager()
        try monitoring.startPrometheus()
        let good = "nwpath_path_satisfied == 1 and on (instance) nwpath_mdns_watched_service_up == 1"
        await loop.eventually("a good state that is scraped") { Monitoring.query(good).count == 1 }
        // The second job of the example finds by mDNS what there is; nobody listens there, which is no alert of ours.
        await loop.eventually("the neighbour as a target") {
            Monitoring.query("up{job=\"lan\", name=\"Meter\"}").count == 1
        }

        try Namespace.current.set("up0", isUp: false)
        func alert(_ name: String) -> JSONValue? { Monitoring.alerts().first { $0.alertName == name } }
        await loop.eventually("the alert") { alert("NwpathWayOutBroken") != nil }
        let down = try #require(alert("NwpathWayOutBroken"))
        #expect(down["annotations"]?["description"]?.string == "host-1: offline, link_down. Down: up0.")
        #expect(down["labels"]?["site"]?.string == "north")
        await loop.eventually("what follows from it") { alert("NwpathRequiredInterfaceDown") != nil }
        await loop.eventually("its inhibition") {
            let status = alert("NwpathRequiredInterfaceDown")?["status"]
            return status?["state"]?.string == "suppressed"
                && status?["inhibitedBy"]?.array?.compactMap(\.string) == [down["fingerprint"]?.string ?? ""]
        }
        await loop.eventually("the notification") { !monitoring.notified("firing").isEmpty }

        try Namespace.current.set("up0", isUp: true)
        try Namespace.current.ip("route replace default via 192.0.2.1")
        await loop.eventually("the all-clear") {
            monitoring.notified("resolved").contains { $0.alertName == "NwpathWayOutBroken" }
        }
        #expect(monitoring.notified("firing").compactMap(\.alertName) == ["NwpathWayOutBroken"])
        #expect(!Monitoring.alerts().contains { $0["labels"]?["job"]?.string == "lan" })
        try await expectDashboards(in: scratch)
        try await expectConsole()
        // What a centre of several sites takes from each.
        let series = ["--data-urlencode", "match[]={__name__=~\"site:nwpath_.*\"}", "http://127.0.0.1:9090/federate"]
        let federated = try Monitoring.inside(["curl", "-s", "-f", "-G"] + series)
        #expect(federated.contains("site:nwpath_path_unsatisfied:ratio{job=\"nwpath\",site=\"north\""))
        withExtendedLifetime((neighbour, service)) {}
    }

    /// Every query of the dashboards has data, and the check would have told if one had not.
    private func expectDashboards(in scratch: Scratch) async throws {
        var last = Outcome(code: -1, output: "")
        try await loop.eventually("data for every query") {
            last = try check()
            return last.code == 0 && last.output.contains(", 0 empty, ")
        }
        let summary = last.output.lines.last ?? ""
        #expect(summary.hasPrefix("4 dashboards, 54 panels; "), "\(last.output)")
        #expect(summary.hasSuffix(", 0 bad"), "\(last.output)")
        // Only what the check names may be missing, each line with what it needs.
        let absent = last.output.lines.filter { $0.hasPrefix("not configured  ") }
        #expect(summary.contains(" \(absent.count) not configured, "))
        #expect(absent.allSatisfy { $0.contains(" needs ") })
        for (right, wrong, complaint) in [
            ("nwpath_events_published_total", "nwpath_events_publised_total", "no metric nwpath_events_publised_total"),
            ("process_open_fds{", #"process_open_fds{device=\\"none\\", "#, "no series"),
            ("process_open_fds{", "process_open_fds{{", "parse error"),
        ] {
            let board = Monitoring.dashboards + "/grafana/nwpath-daemon.json"
            try scratch.write(try Command.run(["sed", "s/\(right)/\(wrong)/", board]), to: "wrong.json")
            let outcome = try check(["--files", scratch.file("wrong.json")])
            #expect(outcome.code == 1 && outcome.output.contains(complaint), "\(outcome.output)")
        }
    }

    private func expectConsole() async throws {
        var page = ""
        let texts = ["? connected", "<td>host-1</td><td>default</td>", "✓ satisfied", "<td>up0 </td>", "</html>"]
        // The server scrapes and evaluates its rules at times of its own.
        try await loop.eventually("all of the console", found: page) {
            page = try Monitoring.inside(["curl", "-s", "-f", "http://127.0.0.1:9090/consoles/nwpath.html"])
            return texts.allSatisfy(page.contains)
        }
        #expect(!page.contains("error executing template") && !page.contains("<no value>"), "\(page)")
    }

    @Test func `the centre may be away for a while and then has every sample of the agent`() async throws {
        try Uplink.make()
        try Uplink.connect()
        let scratch = try Scratch()
        let service = try await service(in: scratch)
        let monitoring = try Monitoring(in: scratch)
        try Command.run(["sed", "-i", "s/centre.example/127.0.0.1/", scratch.file("prometheus-agent.yml")])
        try scratch.write("global: {}\n", to: "centre.yml")
        func startCentre() throws {
            try monitoring.startPrometheus(configuration: "centre.yml", ["--web.enable-remote-write-receiver"])
        }
        // The service counts the scrapes itself, so a sample that got lost is a number that is missing.
        let counter = "nwpath_http_requests_total{handler=\"/metrics\", code=\"200\", instance=\"edge-1\"}"
        func samples(_ expression: String = counter) -> [Int] {
            Monitoring.query(expression + "[10m]").first?["values"]?.array?
                .compactMap { $0.array?.last?.string.flatMap { Int($0) } } ?? []
        }
        func scrapes() throws -> Int {
            let text = try Monitoring.inside(["curl", "-s", "http://127.0.0.1:9095/metrics"])
            let line = text.lines.first { $0.hasPrefix("prometheus_target_interval_length_seconds_count") }
            return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
        }
        try startCentre()
        try monitoring.startAgent()
        await loop.eventually("samples") { samples().count >= 5 }
        monitoring.kill("prometheus")
        let before = try scrapes()
        try await loop.eventually("scrapes that the centre cannot take") { try scrapes() >= before + 20 }
        let after = try scrapes()
        try startCentre()
        await loop.eventually("samples of after the outage") { (samples().last ?? 0) > after }
        let numbers = samples()
        let failures = samples("up{instance=\"edge-1\"}").count { $0 == 0 }
        let lost = zip(numbers, numbers.dropFirst()).map { $1 - $0 - 1 }
        #expect(lost.allSatisfy { $0 >= 0 } && lost.reduce(0, +) <= failures, "\(numbers), \(failures) failed")
        #expect(numbers.count >= 25)
        withExtendedLifetime((monitoring, service)) {}
    }
}
