// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

/// The files of `dashboards/` by themselves, without a service.
@Suite struct DashboardFileTests {
    private static let prometheus = Monitoring.dashboards + "/prometheus"
    private static let boards = ["census", "daemon", "fleet", "host"].map { "nwpath-\($0).json" }

    private func alerts() throws -> [String] {
        try Command.run(["grep", "-oP", "(?<=- alert: ).*", Self.prometheus + "/nwpath-alerts.yml"]).lines
    }

    @Test(arguments: boards)
    func `a dashboard is what the program writes`(board: String) throws {
        let scratch = try Scratch()
        try Command.run(["python3", "-B", Monitoring.dashboards + "/grafana/generate", scratch.path])
        #expect(try scratch.text(board) == Command.run(["cat", Monitoring.dashboards + "/grafana/" + board]))
    }

    @Test func `the rules and examples are right for the tools of their programs`() throws {
        let rules = [Self.prometheus + "/nwpath-alerts.yml", Self.prometheus + "/nwpath-recording.yml"]
        let checked = try Command.run(["promtool", "check", "rules"] + rules)
        #expect(checked.contains("SUCCESS: 31 rules found") && checked.contains("SUCCESS: 5 rules found"))
        try Command.run(["promtool", "check", "config", Self.prometheus + "/prometheus.yml"])
        try Command.run(["promtool", "check", "config", "--agent", Self.prometheus + "/prometheus-agent.yml"])
        let example = try Command.run(["amtool", "check-config", Self.prometheus + "/alertmanager.yml"])
        #expect(example.contains(" - 13 inhibit rules\n"))
    }

    @Test(
        arguments: [
            "daemon", "decommissioned", "diagnosis", "fleet", "interface", "path", "probe", "services", "silence",
            "traffic", "wayout",
        ]
    )
    func `promtool finds every alert firing and silent as its tests say`(file: String) throws {
        try Command.run(["promtool", "test", "rules", "\(Self.prometheus)/tests/\(file).yml"])
    }

    @Test func `a wrong digit in a description fails the tests of promtool`() throws {
        let scratch = try Scratch()
        try Command.run(["cp", "-r", Self.prometheus, scratch.path])
        let test = scratch.file("prometheus/tests/probe.yml")
        try Command.run(["sed", "-i", "s/of a is 950ms/of a is 951ms/", test])
        let outcome = Service.outcome(of: try RunningCommand(["promtool", "test", "rules", test], captures: true))
        #expect(outcome.code == 1 && outcome.output.contains("of a is 950ms"))
    }

    @Test func `each alert has a test for firing and one for silence`() throws {
        let alerts = try alerts()
        #expect(alerts.count == 31 && Set(alerts).count == 31)
        let lines = try Command.run(["sh", "-c", "cat \(Self.prometheus)/tests/*.yml"]).lines
        for alert in alerts {
            let silent = lines.count { $0.hasSuffix("alertname: \(alert)}") }
            let firing = lines.indices.count {
                lines[$0].hasSuffix("alertname: \(alert)") && lines[$0 + 1].hasSuffix("exp_alerts:")
            }
            #expect(silent > 0 && firing > 0, "\(alert)")
        }
    }

    @Test func `each alert has its texts, its severity and a section of the runbooks`() throws {
        let alerts = try alerts()
        let runbooks = try Command.run(["cat", Monitoring.dashboards + "/runbooks.md"]).lines
        #expect(runbooks.filter { $0.hasPrefix("## ") } == alerts.map { "## \($0)" })
        let lines = try Command.run(["cat", Self.prometheus + "/nwpath-alerts.yml"]).lines
        let starts = lines.indices.filter { lines[$0].contains("- alert: ") }
        for (index, start) in starts.enumerated() {
            let rule = lines[start..<(index + 1 < starts.count ? starts[index + 1] : lines.count)]
            let name = alerts[index]
            #expect(rule.contains { $0.hasSuffix("/runbooks#\(name.lowercased())") }, "\(name)")
            for key in ["severity: ", "summary: ", "description: "] {
                #expect(rule.count { $0.contains(key) } == 1, "\(name): \(key)")
            }
        }
    }

    @Test(
        arguments: [
            ("s/\"editable\": false/\"editable\": true/", "editable"),
            ("s/\"uid\": \"${datasource}\"/\"uid\": \"abc\"/", "not of ${datasource}"),
            ("s/\"unit\": \"bytes\"/\"unit\": \"\"/", "Memory: no unit"),
            ("s/\"title\": \"Memory\"/\"title\": \"\"/", "no title"),
            ("s/\"description\": \"Resident memory.\"/\"description\": \"\"/", "Memory: no description"),
            ("s/\"allValue\": \".+\"/\"allValue\": null/", "variable job cannot be several"),
            ("s/rate(process_cpu_seconds_total\\({[^}]*}\\)\\[[^]]*\\])/process_cpu_seconds_total\\1/", "CPU: counter"),
            ("s/\\[$__rate_interval\\]/[5m]/", "range [5m]"),
            ("s/instance=~\\\\\"$instance\\\\\"/instance=\\\\\"a\\\\\"/", "is not selected by $job and $instance"),
            ("s/process_open_fds{[^}]*}/process_open_fds/", "process_open_fds is not selected"),
            ("s/$instance/$host/", "variable $host is not declared"),
            ("s/\"x\": 8/\"x\": 7/", "overlaps"),
            ("s/\"x\": 16/\"x\": 17/", "outside the grid"),
            ("s/\"nwpath\"/\"other\"/", "not tagged nwpath"),
        ] as [(String, String)]
    )
    func `the check finds what is wrong with a dashboard`(change: String, complaint: String) throws {
        let scratch = try Scratch()
        let board = try Command.run(["sed", change, Monitoring.dashboards + "/grafana/nwpath-daemon.json"])
        try scratch.write(board, to: "wrong.json")
        let words = ["python3", "-B", Monitoring.dashboards + "/check", "--files", scratch.file("wrong.json")]
        let outcome = Service.outcome(of: try RunningCommand(words, captures: true))
        #expect(outcome.code == 1 && outcome.output.contains(complaint), "\(outcome.output)")
    }
}
