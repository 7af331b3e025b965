// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Diagnosis
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

@Suite struct CheckRangeTests {
    @Test(
        arguments: [
            ("10", 10, false), ("10", 10.5, true), ("10", -1, true), ("10", 0, false), ("10:", 9, true),
            ("10:", 1e9, false), ("~:10", -1e9, false), ("~:10", 11, true), ("10:20", 9.9, true),
            ("10:20", 20, false), ("@10:20", 10, true), ("@10:20", 20, true), ("@10:20", 21, false),
            ("@10", 5, true), ("1:", 0, true), ("0.5", 0.6, true), ("-5:-1", -3, false), ("-5:-1", 0, true),
            (":3", 4, true), ("~:", 7, false), ("@~:", 7, true), ("@0:0", 0, true), ("@0:0", 1, false),
        ] as [(String, Double, Bool)]
    )
    func `a range alerts as the guidelines of the plugins say`(text: String, value: Double, alerts: Bool) throws {
        let range = try #require(CheckRange(text))
        #expect(range.alerts(value) == alerts)
        #expect(range.description == text)
    }

    @Test(arguments: [
        "", "@", "a", "5:3", "1:2:3", "~", "1:~", "nan", "inf", "1e3", "0x10", "1:a", "--1", "1..2", " 1", "+1", "~1:",
    ])
    func `anything else is no range`(text: String) {
        #expect(CheckRange(text) == nil)
    }
}

@Suite struct CheckReportTests {
    typealias Measure = CheckReport.Measure

    @Test(
        arguments: [
            (Measure(label: "a", value: 1), "a=1", .ok),
            (Measure(label: "a", value: nil), nil, .ok),
            (Measure(label: "a", value: nil, warning: CheckRange("1:")), nil, .unknown),
            (Measure(label: "a", value: 0.0305, unit: "s", minimum: 0), "a=0.0305s;;;0", .ok),
            (Measure(label: "a", value: -0.5), "a=-0.500", .ok),
            (Measure(label: "a", value: 73, unit: "s", minimum: 0), "a=73s;;;0", .ok),
            (
                Measure(label: "a", value: 0, critical: CheckRange("1:"), minimum: 0, maximum: 1), "a=0;;1:;0;1",
                .critical
            ),
            (
                Measure(label: "a", value: 3, warning: CheckRange("5:"), critical: CheckRange("1:")), "a=3;5:;1:",
                .warning
            ),
            (Measure(label: "a", value: 1e15), "a=1000000000000", .ok),
        ] as [(Measure, String?, CheckReport.State)]
    )
    func `a measure is written with its thresholds and judged by them`(
        measure: Measure,
        text: String?,
        state: CheckReport.State
    ) {
        #expect(measure.text == text)
        #expect(measure.state == state)
        #expect((measure.complaint == nil) == (state == .ok))
    }

    @Test(
        arguments: [(.ok, 0), (.warning, 1), (.critical, 2), (.unknown, 3)] as [(CheckReport.State, Int32)]
    )
    func `states have the exit statuses of plugins`(state: CheckReport.State, status: Int32) {
        #expect(state.status.rawValue == status)
        #expect(state.worst(.critical) == .critical)
        #expect(CheckReport.State.ok.worst(state) == state)
    }

    @Test func `a line holds no bar, no line feed and no escape of its text`() {
        let report = CheckReport(state: .ok, text: "a|b\nc\u{1B}[m", measures: [Measure(label: "x", value: 2)])
        #expect(report.line == "NWPATH OK - a/b\\nc\\u{1B}[m | x=2")
        #expect(CheckReport.unknown("no").line == "NWPATH UNKNOWN - no")
    }
}

@Suite struct CheckJudgeTests {
    private func status(
        _ path: String = #"{"status":"satisfied","interfaces":[{"name":"eth0"}],"is_expensive":false}"#,
        services: String? = #"{"count":9}"#,
        problems: String = ""
    ) throws -> JSONValue {
        try JSONValue(
            parsing: """
                {"time":"2026-11-20T13:01:13.500Z","daemon":{"version":"1","started":"2026-11-20T13:00:00Z"},
                "monitors":[{"monitor":"default","since":"2026-11-20T13:00:00Z","path":\(path)}],
                "interfaces":[{"name":"eth0","usable":true},{"name":"eth1","usable":false}],
                \(services.map { "\"services\":\($0)," } ?? "")"problems":[\(problems)]}
                """
        )
    }

    private let down = #"{"status":"unsatisfied","unsatisfied_reason":"no_default_route","interfaces":[]}"#

    @Test func `the line for a lost path is the one that is documented`() throws {
        let judge = CheckEvaluator(warning: CheckRange("5:"), critical: CheckRange("1:"))
        let report = judge.path(try status(down))
        #expect(
            report.line == "NWPATH CRITICAL - path default unsatisfied (no_default_route) for 73s | "
                + "satisfied=0;;1:;0;1 since_change=73s;;;0 interfaces_up=1;;;0 services=9;5:;1:;0"
        )
        #expect(report.state.status.rawValue == 2)
    }

    @Test(
        arguments: [
            (CheckEvaluator(), 9, .ok, "path default satisfied via eth0 for 73s | "),
            (CheckEvaluator(warning: CheckRange("10:")), 9, .warning, "for 73s, services is 9, expected 10: | "),
            (CheckEvaluator(critical: CheckRange("10:")), 9, .critical, "services is 9, expected 10: | "),
            (CheckEvaluator(critical: CheckRange("@9")), 9, .critical, "services is 9, expected @9 | "),
            (CheckEvaluator(critical: CheckRange("1:")), nil, .unknown, "services is not known | "),
            (CheckEvaluator(), nil, .ok, "interfaces_up=1;;;0"),
            (CheckEvaluator(name: "wired"), 9, .unknown, "UNKNOWN - there is no monitor wired"),
        ] as [(CheckEvaluator, Int?, CheckReport.State, String)]
    )
    func `a path is judged by its status, then by the services`(
        judge: CheckEvaluator,
        services: Int?,
        state: CheckReport.State,
        part: String
    ) throws {
        let report = judge.path(try status(services: services.map { "{\"count\":\($0)}" }))
        #expect(report.state == state)
        #expect(report.line.contains(part), "\(report.line)")
    }

    @Test(arguments: Headline.State.allCases)
    func `the headline is the answer, and the path follows it`(state: Headline.State) throws {
        let path = #"{"status":"satisfied","interfaces":[{"name":"eth0"}]}"#
        var status = try #require(try status(path).object)
        status["headline"] = try JSONValue(parsing: #"{"state":"\#(state.rawValue)","message":"m"}"#)
        let report = CheckEvaluator().path(.object(status))
        #expect(report.text == "\(state.word): m, path default satisfied via eth0 for 73s")
        switch state.level {
        case .good, .untested: #expect(report.state == .ok)
        case .worse: #expect(report.state == .warning)
        case .bad: #expect(report.state == .critical)
        }
        let other = CheckEvaluator(name: "wired").path(.object(status))
        #expect(other.state == .unknown)
    }

    @Test func `ages are those of the answer, however long ago the document was rendered`() throws {
        var judge = CheckEvaluator()
        judge.answered = WallTime("2026-11-20T13:02:00Z")
        #expect(judge.path(try status()).line.contains(" for 120s | "))
        #expect(judge.daemon(try status(), responseTime: .zero).line.contains(" up for 120s | "))
        // `Date` knows no parts of a second.
        judge.answered = WallTime("2026-11-20T13:01:13Z")
        #expect(judge.path(try status()).line.contains(" for 73s | "))
    }

    @Test(
        arguments: [
            ("", .ok, "OK - no problems found | verdicts=0;;;0 age=7s;;;0"),
            (
                #"{"code":"dns.slow","severity":"degraded","message":"slow"}"#, .warning,
                "WARNING - dns.slow: slow | verdicts=1"
            ),
            (
                #"{"code":"wan.down","severity":"broken","message":"down"},"#
                    + #"{"code":"dns.slow","severity":"degraded","message":"slow"}"#,
                .critical, "CRITICAL - wan.down: down, dns.slow: slow | verdicts=2"
            ),
        ] as [(String, CheckReport.State, String)]
    )
    func `a diagnosis is as bad as its worst verdict`(
        verdicts: String,
        state: CheckReport.State,
        part: String
    ) throws {
        var judge = CheckEvaluator()
        judge.answered = WallTime("2026-11-20T13:00:07Z")
        let answer = try JSONValue(parsing: #"{"time":"2026-11-20T13:00:00Z","verdicts":[\#(verdicts)]}"#)
        let report = judge.diagnosis(answer)
        #expect(report.state == state && report.line.contains(part), "\(report.line)")
        let idle = judge.diagnosis(try JSONValue(parsing: #"{"time":null,"verdicts":[]}"#))
        #expect(idle.state == .unknown && idle.line.contains("diagnosis.enabled"))
        let counted = judge.diagnosis(try JSONValue(parsing: #"{"time":null,"verdicts":[\#(verdicts)]}"#))
        #expect(verdicts.isEmpty || counted.state == state && counted.line.contains(part), "\(counted.line)")
    }

    @Test(arguments: [(true, true, CheckReport.State.warning), (true, false, .ok), (false, true, .ok)])
    func `an expensive path is worth a warning when asked for`(
        asked: Bool,
        isExpensive: Bool,
        state: CheckReport.State
    ) throws {
        let path = #"{"status":"satisfied","interfaces":[],"is_expensive":\#(isExpensive)}"#
        let report = CheckEvaluator(warnsOfExpense: asked).path(try status(path))
        #expect(report.state == state)
        #expect(report.line.contains(", expensive") == (state == .warning))
    }

    @Test(
        arguments: [
            (
                CheckEvaluator(name: "eth0"), .ok,
                "interface eth0 is usable | interfaces_up=1;;;0 carrier_changes=4c;;;0"
            ),
            (CheckEvaluator(name: "eth1"), .critical, "interface eth1 is not usable (no_carrier) | "),
            (CheckEvaluator(name: "lan"), .ok, "interface lan is usable | interfaces_up=1;;;0 carrier_changes=4c;;;0"),
            (CheckEvaluator(name: "lo"), .ok, "interface lo is usable"),
            (CheckEvaluator(name: "eth9"), .critical, "interface eth9 does not exist | interfaces_up=1;;;0"),
            (CheckEvaluator(), .critical, "interface eth1 is not usable (no_carrier), wwan0 does not exist | "),
            (CheckEvaluator(name: "eth0", warning: CheckRange("2:")), .warning, "interfaces_up is 1, expected 2:"),
        ] as [(CheckEvaluator, CheckReport.State, String)]
    )
    func `an interface must be usable, or all that are required`(
        judge: CheckEvaluator,
        state: CheckReport.State,
        part: String
    ) throws {
        let answer = try JSONValue(
            parsing: """
                {"interfaces":[{"name":"eth0","alternative_names":["lan"],"usable":true,"carrier_changes":4},
                {"name":"lo","usable":true,"ignored":true},{"name":"eth1","usable":false,"required":true,"problem":"no_carrier"}]}
                """
        )
        let configuration = try JSONValue(
            parsing: """
                {"interfaces":{"wwan0":{"required":true},"usb*":{"required":true},"eth1":{"required":true},
                "lan":{"required":true}}}
                """
        )
        let report = judge.interface(answer, configuration: configuration)
        #expect(report.state == state)
        #expect(report.line.contains(part), "\(report.line)")
    }

    @Test(
        arguments: [
            (CheckEvaluator(), .ok, "3 services | services=3;;1:;0"),
            (CheckEvaluator(name: "_ipp._tcp"), .ok, "2 services of type _ipp._tcp | services=2;;1:;0"),
            (
                CheckEvaluator(name: "_ipp._tcp/A / B"), .ok,
                "1 service of type _ipp._tcp named A / B | services=1;;1:;0"
            ),
            (CheckEvaluator(name: "_ssh._tcp"), .critical, "services is 0, expected 1: | services=0;;1:;0"),
            (CheckEvaluator(name: "_ssh._tcp", warning: CheckRange("1:")), .warning, "services=0;1:;;0"),
            (CheckEvaluator(name: "_ipp._tcp", critical: CheckRange("3:")), .critical, "services=2;;3:;0"),
        ] as [(CheckEvaluator, CheckReport.State, String)]
    )
    func `services are counted once however many links they are heard on`(
        judge: CheckEvaluator,
        state: CheckReport.State,
        part: String
    ) throws {
        let answer = try JSONValue(
            parsing: """
                {"services":[{"type":"_ipp._tcp","name":"A / B","interface":"eth0"},
                {"type":"_ipp._tcp","name":"A / B","interface":"eth1"},{"type":"_ipp._tcp","name":"C"},
                {"type":"_http._tcp","name":"A / B"}]}
                """
        )
        let report = judge.service(answer, status: try status())
        #expect(report.state == state)
        #expect(report.line.contains(part), "\(report.line)")
        #expect(judge.service(answer, status: try status(services: nil)).state == .unknown)
    }

    @Test func `the daemon is judged by its problems and its speed`() throws {
        let good = CheckEvaluator().daemon(try status(), responseTime: .milliseconds(3))
        #expect(good.line == "NWPATH OK - daemon 1 up for 73s | time=0.003s;;;0 uptime=73s;;;0 problems=0;;;0")
        let slow = CheckEvaluator(warning: CheckRange("0.001"), critical: CheckRange("1"))
        #expect(slow.daemon(try status(), responseTime: .milliseconds(3)).state == .warning)
        #expect(slow.daemon(try status(), responseTime: .seconds(2)).state == .critical)
        let problem = #"{"part":"log","message":"disk | full"}"#
        let bad = CheckEvaluator().daemon(try status(problems: problem), responseTime: .zero)
        #expect(bad.state == .warning && bad.line.contains(", log: disk / full | time=0s;;;0"))
    }
}

@Suite(.inNamespace) struct CheckCommandTests {
    @Test func `follows the real service from good to bad`() async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        try await service.settle("satisfied")
        let good = try await service.ask("check")
        #expect(good.status == 0 && good.messages == "")
        #expect(good.output.hasPrefix("NWPATH OK - Connected: "))
        #expect(good.output.contains("s | satisfied=1;;1:;0;1 since_change="))
        #expect(good.output.hasSuffix(" interfaces_up=1;;;0\n"), "\(good.output)")
        #expect(try await service.ask("check", "daemon", "-w", "60").status == 0)
        #expect(try await service.ask("check", "interface", "eth0").status == 0)
        #expect(try await service.ask("check", "interface", "eth7").status == 2)
        #expect(try await service.ask("check", "service").status == 3)
        try Namespace.current.ip("route del default")
        try await service.settle("unsatisfied")
        let bad = try await service.ask("check", "path", "default")
        #expect(bad.status == 2)
        #expect(bad.output.hasPrefix("NWPATH CRITICAL - Local only: "))
    }

    @Test func `a required interface that is missing is critical`() async throws {
        let service = try Service()
        _ = try service.scratch.write("interfaces:\n  wwan7:\n    required: true\n", to: "nwpath.yaml")
        try service.connect()
        try await service.start()
        let result = try await service.ask("check", "interface")
        #expect(result.status == 2)
        #expect(result.output.hasPrefix("NWPATH CRITICAL - interface wwan7 does not exist | "), "\(result.output)")
    }

    @Test(arguments: [
        ["check"], ["check", "service", "-c", "1:"], ["check", "daemon"], ["check", "-H", "127.0.0.1", "-p", "1"],
    ])
    func `without a daemon the state is not known`(words: [String]) async throws {
        let result = try await Tool(scratch: try Scratch()).run(words)
        #expect(result.status == 3 && result.messages == "")
        #expect(result.output.hasPrefix("NWPATH UNKNOWN - the service cannot be reached; tried "))
        #expect(result.output.split(separator: "\n").count == 1)
    }

    @Test func `a daemon that never answers is given up`() async throws {
        let tool = Tool(scratch: try Scratch())
        let server = try CannedServer(tool.scratch, answer: nil)
        let result = try await tool.run("check", "--socket", server.path, "-t", "100ms")
        #expect(result.status == 3)
        #expect(result.output == "NWPATH UNKNOWN - timed out waiting for unix:\(server.path)\n")
    }

    @Test(
        arguments: [
            (["-w", "5:3"], "-w is '5:3', expected a range"), (["nonsense"], "WHAT is 'nonsense'"),
            (["--bogus"], "unknown option '--bogus'"), (["daemon", "x"], "daemon takes no NAME"),
            (["-t", "0"], "-t is '0', expected seconds"), (["-H", "a", "--url", "http://b"], "not two of them"),
        ] as [([String], String)]
    )
    func `wrong usage is told where monitoring reads, with 3`(words: [String], part: String) async throws {
        let result = try await Tool(scratch: try Scratch()).run(["check"] + words)
        #expect(result.status == 3 && result.messages == "")
        #expect(result.output.hasPrefix("NWPATH UNKNOWN - ") && result.output.contains(part), "\(result.output)")
    }

    @Test(arguments: ["--help", "-h", "--version"])
    func `help and version exit with 3`(option: String) async throws {
        let result = try await Tool(scratch: try Scratch()).run("check", option)
        #expect(result.status == 3 && !result.output.isEmpty && result.messages == "")
    }
}
