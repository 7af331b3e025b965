// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// The real Prometheus and Alertmanager in the namespace of the test, with the files of `dashboards/` as they are
/// shipped, only sixty times as fast: a minute of theirs is a second here.
final class Monitoring {
    static let dashboards = Place.root + "/dashboards"
    private let scratch: Scratch
    private var running: [String: RunningCommand] = [:]

    /// Copies the files; starts nothing.
    init(in scratch: Scratch) throws {
        self.scratch = scratch
        let files = [
            "nwpath-alerts.yml", "nwpath-recording.yml", "prometheus.yml", "prometheus-agent.yml", "alertmanager.yml",
        ]
        let paths = files.map { "\(Self.dashboards)/prometheus/\($0)" }
        try Command.run(["python3", Place.fixtures + "/hasten.py", scratch.path] + paths)
    }

    /// Runs a program in the namespace of the test.
    static func inside(_ words: [String], input: String = "") throws -> String {
        try Command.run(["nsenter", "--net=\(Namespace.current.path)"] + words, input: input)
    }

    private func start(_ name: String, _ words: [String]) throws {
        running[name] = try RunningCommand(["nsenter", "--net=\(Namespace.current.path)"] + words)
    }

    func startPrometheus(configuration: String = "prometheus.yml", _ more: [String] = []) throws {
        let console = "--web.console.templates=\(Self.dashboards)/consoles"
        let words = [
            "prometheus", "--config.file=\(scratch.file(configuration))", "--storage.tsdb.path=\(scratch.file("tsdb"))",
            "--web.listen-address=127.0.0.1:9090", console,
        ]
        try start("prometheus", words + more)
    }

    /// Prometheus as an agent on port 9095.
    func startAgent() throws {
        let words = [
            "prometheus", "--enable-feature=agent", "--config.file=\(scratch.file("prometheus-agent.yml"))",
            "--storage.agent.path=\(scratch.file("agent"))", "--web.listen-address=127.0.0.1:9095",
        ]
        try start("agent", words)
    }

    func startAlertmanager() throws {
        let words = [
            "prometheus-alertmanager", "--config.file=\(scratch.file("alertmanager.yml"))",
            "--storage.path=\(scratch.file("alertmanager"))", "--web.listen-address=127.0.0.1:9093",
            "--cluster.listen-address=",
        ]
        try start("alertmanager", words)
        try start("webhook", ["python3", Place.fixtures + "/webhook.py", scratch.file("posted")])
    }

    /// Ends one of them as a power cut would.
    func kill(_ name: String) {
        running[name]?.signal(SIGKILL)
        _ = running[name]?.wait()
        running[name] = nil
    }

    /// A document of Prometheus or Alertmanager; `nil` while nobody answers.
    static func document(_ url: String, _ words: [String] = []) -> JSONValue? {
        let curl = ["curl", "-s", "-f", "--max-time", "20", "-G"] + words + [url]
        return (try? inside(curl)).flatMap { try? JSONValue(parsing: $0) }
    }

    /// The series that a query finds.
    static func query(_ expression: String) -> [JSONValue] {
        let answer = document("http://127.0.0.1:9090/api/v1/query", ["--data-urlencode", "query=\(expression)"])
        return answer?["data"]?["result"]?.array ?? []
    }

    /// The alerts that Alertmanager knows.
    static func alerts() -> [JSONValue] {
        document("http://127.0.0.1:9093/api/v2/alerts")?.array ?? []
    }

    /// The alerts of the notifications that were posted with a status.
    func notified(_ status: String) -> [JSONValue] {
        let bodies = ((try? scratch.text("posted"))?.lines ?? []).compactMap { try? JSONValue(parsing: $0) }
        return bodies.flatMap { $0["alerts"]?.array ?? [] }.filter { $0["status"]?.string == status }
    }
}

extension JSONValue {
    /// The name of an alert.
    var alertName: String? { self["labels"]?["alertname"]?.string }
}
