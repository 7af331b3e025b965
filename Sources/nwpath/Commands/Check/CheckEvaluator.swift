// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import LinuxIO
internal import OrderedJSON
internal import Traffic

/// What `nwpath check` looks at.
enum CheckSubject: String, CaseIterable {
    case path, diagnosis, interface, service, traffic, daemon
}

/// Decides what a monitoring system is told.
///
/// Pure: documents of the service go in, a report comes out.
struct CheckEvaluator {
    /// The monitor, interface, or service type with a name after a slash; `nil` is the default or all.
    var name: String?
    var warning: CheckRange?
    var critical: CheckRange?
    var warnsOfExpense = false
    /// When the service answered, by its own clock; documents tell when they were rendered, which may be long ago.
    var answered: WallTime?

    // MARK: - Path

    /// Judges `/api/v1/status`; the thresholds are for the number of services.
    func path(_ status: JSONValue) -> CheckReport {
        let wanted = name ?? "default"
        guard let monitor = status.list("monitors").first(where: { $0.text("monitor") == wanted }) else {
            return .unknown("there is no monitor \(wanted)")
        }
        let path = monitor["path"] ?? .null
        let isSatisfied = path.text("status") == "satisfied"
        let age = age(of: monitor.text("since"), renderedAt: status.text("time"))
        let word = path.text("status") == "requiresConnection" ? "requires a connection" : path.text("status")
        let detail =
            isSatisfied
            ? (path.list("interfaces").first.map { " via \($0.text("name"))" } ?? "")
            : (path["unsatisfied_reason"]?.string.map { " (\($0))" } ?? "")
        var report = CheckReport(
            state: isSatisfied ? .ok : .critical,
            text: "path \(wanted) \(word)\(detail)" + (age.map { " for \(Int($0))s" } ?? "")
        )
        if wanted == "default" { Self.begin(&report, with: status["headline"] ?? .null) }
        if report.state == .ok, isSatisfied, warnsOfExpense, path.isTrue("is_expensive") {
            report.state = .warning
            report.text += ", expensive"
        }
        report.measures = [
            CheckReport.Measure(
                label: "satisfied",
                value: isSatisfied ? 1 : 0,
                critical: CheckRange("1:"),
                minimum: 0,
                maximum: 1
            ),
            CheckReport.Measure(label: "since_change", value: age.map { $0.rounded(.down) }, unit: "s", minimum: 0),
            CheckReport.Measure(
                label: "interfaces_up",
                value: Double(status.list("interfaces").count { $0.isTrue("usable") }),
                minimum: 0
            ),
            measure("services", status["services"]?["count"]?.double),
        ]
        report.evaluate()
        return report
    }

    /// The headline is the answer, and the path a detail of it.
    private static func begin(_ report: inout CheckReport, with headline: JSONValue) {
        guard let state = Headline.State(rawValue: headline.text("state")) else { return }
        report.state =
            switch state.level {
            case .good, .untested: .ok
            case .worse: .warning
            case .bad: .critical
            }
        report.text = "\(state.word): \(headline.text("message")), \(report.text)"
    }

    // MARK: - Diagnosis

    /// Judges `/api/v1/diagnosis`: critical when something is broken, a warning when something is worse than it should be.
    ///
    /// The thresholds are for the number of verdicts.
    func diagnosis(_ answer: JSONValue) -> CheckReport {
        let (time, verdicts) = (WallTime(answer.text("time")), answer.list("verdicts"))
        // The counters of links give verdicts without an examination.
        guard time != nil || !verdicts.isEmpty else {
            return .unknown(
                "no diagnosis has run yet: no connection, gateway or probe has failed, or diagnosis.enabled is false"
            )
        }
        let worst = verdicts.first?.text("severity")
        var report = CheckReport(
            state: verdicts.isEmpty ? .ok : worst == "broken" ? .critical : .warning,
            text: verdicts.isEmpty ? "no problems found" : ""
        )
        report.text += verdicts.map { "\($0.text("code")): \($0.text("message"))" }.joined(separator: ", ")
        report.measures = [
            measure("verdicts", Double(verdicts.count)),
            CheckReport.Measure(
                label: "age",
                value: time.flatMap { time in answered.map { max(0, ($0 - time).seconds.rounded(.down)) } },
                unit: "s",
                minimum: 0
            ),
        ]
        report.evaluate()
        return report
    }

    // MARK: - Interface

    /// Judges `/api/v1/interfaces`: the named interface must be usable, or every required one.
    ///
    /// The thresholds are for the number of usable interfaces.
    /// - Parameters:
    ///   - answer: The interfaces.
    ///   - configuration: `/api/v1/config`; a required interface may not exist at all.
    /// - Returns: The report.
    func interface(_ answer: JSONValue, configuration: JSONValue) -> CheckReport {
        let all = answer.list("interfaces")
        let shown = all.filter { !$0.isTrue("ignored") }
        let usable = shown.count { $0.isTrue("usable") }
        var complaints: [String] = []
        if let name {
            if let found = all.first(where: { InterfaceText.isNamed($0, name) }) {
                complaints = found.isTrue("usable") ? [] : [Self.state(of: found)]
            } else {
                complaints = ["\(name) does not exist"]
            }
        } else {
            complaints = shown.filter { $0.isTrue("required") && !$0.isTrue("usable") }.map(Self.state)
            let known = Set(all.flatMap(InterfaceText.names))
            complaints += Self.required(configuration).filter { !known.contains($0) }.map { "\($0) does not exist" }
        }
        let good = name.map { "\($0) is usable" } ?? "\(usable) of \(shown.count) usable"
        var report = CheckReport(
            state: complaints.isEmpty ? .ok : .critical,
            text: "interface " + (complaints.isEmpty ? good : complaints.joined(separator: ", "))
        )
        report.measures = [measure("interfaces_up", Double(usable))]
        if let name, let found = all.first(where: { InterfaceText.isNamed($0, name) }) {
            let changes = found["carrier_changes"]?.double
            report.measures.append(CheckReport.Measure(label: "carrier_changes", value: changes, unit: "c", minimum: 0))
        }
        report.evaluate()
        return report
    }

    private static func state(of interface: JSONValue) -> String {
        let name = interface.text("name")
        return interface["problem"]?.string.map { "\(name) is not usable (\($0))" } ?? "\(name) is not usable"
    }

    /// The required interfaces that the configuration names without a pattern.
    private static func required(_ configuration: JSONValue) -> [String] {
        let interfaces = configuration["interfaces"] ?? configuration["config"]?["interfaces"] ?? .null
        return (interfaces.object ?? JSONObject()).members.compactMap { member in
            let isPattern = member.key.contains { "*?[".contains($0) }
            return member.value.isTrue("required") && !isPattern ? member.key : nil
        }
    }

    // MARK: - Service

    /// Judges `/api/v1/services`; without thresholds there must be one.
    ///
    /// - Parameters:
    ///   - answer: The services.
    ///   - status: `/api/v1/status`, which tells whether there is a census.
    /// - Returns: The report.
    func service(_ answer: JSONValue, status: JSONValue) -> CheckReport {
        guard status["services"]?.object != nil else { return .unknown("service discovery is off (mdns.enabled)") }
        let parts = (name ?? "").split(separator: "/", maxSplits: 1).map(String.init)
        let type = parts.first
        let instance = parts.count == 2 ? parts[1] : nil
        // One service that is heard on two links is still one.
        let found = Set(
            answer.list("services")
                .filter { (type ?? $0.text("type")) == $0.text("type") }
                .filter { (instance ?? $0.text("name")) == $0.text("name") }
                .map { [$0.text("type"), $0.text("name")] }
        )
        let kind = type.map { " of type \($0)" } ?? ""
        let named = instance.map { " named \($0)" } ?? ""
        var report = CheckReport(
            state: .ok,
            text: "\(found.count) service\(found.count == 1 ? "" : "s")\(kind)\(named)"
        )
        var services = measure("services", Double(found.count))
        if warning == nil && critical == nil { services.critical = CheckRange("1:") }
        report.measures = [services]
        report.evaluate()
        return report
    }

    // MARK: - Traffic

    /// Judges `/api/v1/traffic` by its state; the thresholds are for the round trip of nine of ten connections.
    func traffic(_ document: JSONValue) -> CheckReport {
        guard TrafficText.isKnown(document) else { return .unknown(TrafficText.missing) }
        guard document.isTrue("enabled") else { return .unknown(TrafficText.off) }
        if let problem = document["problem"]?.string { return .unknown(problem) }
        let state: CheckReport.State =
            switch TrafficText.state(document) {
            case .proved, .unknown: .ok
            case .lossy, .slow, .unanswered: .warning
            case .stalled: .critical
            }
        var report = CheckReport(state: state, text: TrafficText.sentence(document))
        let figures = TrafficText.Figures(document)
        let median = document["rtt_seconds"]?["p50"]?.double
        // Without traffic there is nothing that could be too slow.
        let isMeasured = figures.roundTrip != nil
        report.measures = [
            CheckReport.Measure(label: "connections", value: Double(figures.connections), minimum: 0),
            CheckReport.Measure(label: "unanswered", value: Double(figures.unanswered), minimum: 0),
            CheckReport.Measure(label: "rtt_p50", value: median, unit: "s", minimum: 0),
            CheckReport.Measure(
                label: "rtt_p90",
                value: figures.roundTrip,
                unit: "s",
                warning: isMeasured ? warning : nil,
                critical: isMeasured ? critical : nil,
                minimum: 0
            ),
            CheckReport.Measure(
                label: "retransmit",
                value: figures.loss.map { $0 * 100 },
                unit: "%",
                minimum: 0,
                maximum: 100
            ),
        ]
        report.evaluate()
        return report
    }

    // MARK: - Daemon

    /// Judges that `/api/v1/status` was answered; the thresholds are for the seconds that it took.
    func daemon(_ status: JSONValue, responseTime time: Duration) -> CheckReport {
        let daemon = status["daemon"] ?? .null
        let uptime = age(of: daemon.text("started"), renderedAt: status.text("time"))
        let problems = status.list("problems")
        var report = CheckReport(
            state: problems.isEmpty ? .ok : .warning,
            text: "daemon \(daemon.text("version"))" + (uptime.map { " up for \(Int($0))s" } ?? "")
        )
        for problem in problems { report.text += ", \(problem.text("part")): \(problem.text("message"))" }
        report.measures = [
            CheckReport.Measure(
                label: "time",
                value: time.seconds,
                unit: "s",
                warning: warning,
                critical: critical,
                minimum: 0
            ),
            CheckReport.Measure(label: "uptime", value: uptime.map { $0.rounded(.down) }, unit: "s", minimum: 0),
            CheckReport.Measure(label: "problems", value: Double(problems.count), minimum: 0),
        ]
        report.evaluate()
        return report
    }

    // MARK: - Parts

    private func measure(_ label: String, _ value: Double?) -> CheckReport.Measure {
        CheckReport.Measure(label: label, value: value, warning: warning, critical: critical, minimum: 0)
    }

    /// The seconds from one moment to the answer, both of the service's own clock.
    private func age(of since: String, renderedAt rendered: String) -> Double? {
        guard let since = WallTime(since), let rendered = WallTime(rendered) else { return nil }
        let now = max(rendered, answered ?? rendered)
        return max(0, (now - since).seconds)
    }
}
