// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import OrderedJSON
internal import Spelling

/// `nwpath check`: a plugin for Nagios, Icinga and whatever understands their plugins.
struct Check: Command {
    var subject: CheckSubject?
    var name: String?
    var timeout = Duration.seconds(10)
    var warning: CheckRange?
    var critical: CheckRange?
    var warnsOfExpense = false
    var host: String?
    var port = 8353

    static let specification = Specification<Check>(
        "check",
        "Checks the path, the diagnosis, an interface, services, traffic or the daemon, as a Nagios or Icinga plugin.",
        discussion: """
            One line with performance data is printed. RANGE is [@]start:end of the monitoring plugins: a value \
            outside of it alerts, with @ one inside of it; ~ is minus infinity.

            path: for the monitor default the headline, critical when it is bad (such as no_internet), a warning when \
            it is slow or degraded; another monitor is critical when its path is not satisfied; the ranges are for the number of services. diagnosis: critical when the daemon's own \
            diagnosis found something broken, a warning when it found anything else; the ranges are for the number of \
            verdicts. interface: critical when NAME, or a required interface, is not usable; the ranges are for the number of usable interfaces. \
            service: NAME is TYPE[/NAME]; the ranges are for their number, which is critical at 0 unless given. \
            traffic: critical when this machine's own connections are no longer answered, a warning when segments \
            are lost, answers are slow or no attempt is answered; the ranges are for the seconds within which nine of \
            ten connections are answered. \
            daemon: warns of its problems; the ranges are for the seconds until it answered.
            """,
        examples: [
            CommandExample("nwpath check", "the Internet connection of this machine"),
            CommandExample("nwpath check path --warn-expensive -w 5: -c 1:", "with services"),
            CommandExample("nwpath check diagnosis", "what the diagnosis of the service found"),
            CommandExample("nwpath check interface eth0", "one interface"),
            CommandExample("nwpath check service _ipp._tcp -c 2:", "at least two printers"),
            CommandExample("nwpath check traffic -w 0.2", "a warning when answers take longer than 0.2 s"),
            CommandExample("nwpath check daemon -H 192.0.2.7 -t 5 -w 0.5", "of another machine"),
        ],
        arguments: [
            .positional("WHAT", into: \.subject, .choice, help: "What to check; path when not given."),
            .positional("NAME", into: \.name, .checkedName, help: "The monitor, the interface, or TYPE[/NAME]."),
            .option("-t", "--timeout", value: "SECONDS", into: \.timeout, .seconds, help: "Timeout."),
            .option("-w", "--warning", value: "RANGE", into: \.warning, .range, help: "Warning range."),
            .option("-c", "--critical", value: "RANGE", into: \.critical, .range, help: "Critical range."),
            .flag("--warn-expensive", into: \.warnsOfExpense, help: "Warn when the path is expensive (metered)."),
            .option("-H", "--hostname", value: "HOST", into: \.host, .text, help: "Query the service of this host."),
            .option("-p", "--port", value: "PORT", into: \.port, .integer(1...65_535), help: "The port on HOST."),
        ],
        common: .connection,
        exits: [
            ExitNote(CheckReport.State.ok.status, "OK"), ExitNote(CheckReport.State.warning.status, "WARNING"),
            ExitNote(CheckReport.State.critical.status, "CRITICAL"),
            ExitNote(CheckReport.State.unknown.status, "UNKNOWN: no answer, wrong usage, or this help"),
        ],
        helpStatus: CheckReport.State.unknown.status,
        check: { command in
            guard command.name != nil else { return nil }
            switch command.subject {
            case .daemon, .diagnosis, .traffic: return "\(command.subject?.rawValue ?? "") takes no NAME"
            default: return nil
            }
        }
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        var report: CheckReport
        do throws(CommandFailure) {
            report = try makeReport(common)
        } catch {
            report = .unknown(error.message)
        }
        Terminal.print(report.line)
        return report.state.status
    }

    private func makeReport(_ common: CommonOptions) throws(CommandFailure) -> CheckReport {
        var common = common
        if let host {
            guard common.socket == nil, common.url == nil else {
                throw CommandFailure("give -H, --socket or --url, not two of them", .usage)
            }
            common.url = "http://" + (host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host) + ":\(port)"
        }
        common.timeout = timeout
        var connection = try ServiceConnection(common)
        let clock = KernelClock()
        let started = clock.boot
        var rules = CheckEvaluator(name: name, warning: warning, critical: critical, warnsOfExpense: warnsOfExpense)
        func fetch(_ target: String, accepting: Set<Int> = []) throws(CommandFailure) -> JSONValue {
            let rest = timeout - (clock.boot - started)
            let answer = try connection.get(target, accepting: accepting, timeout: max(.milliseconds(1), rest))
            rules.answered = answer.date
            return answer.value
        }
        switch subject ?? .path {
        case .path:
            let status = try fetch("/api/v1/status")
            return rules.path(status)
        case .diagnosis:
            let diagnosis = try fetch("/api/v1/diagnosis")
            return rules.diagnosis(diagnosis)
        case .interface:
            return rules.interface(try fetch("/api/v1/interfaces"), configuration: try fetch("/api/v1/config"))
        case .service: return rules.service(try fetch("/api/v1/services"), status: try fetch("/api/v1/status"))
        case .traffic:
            let traffic = try fetch("/api/v1/traffic", accepting: [404])
            return rules.traffic(traffic)
        case .daemon:
            let status = try fetch("/api/v1/status")
            return rules.daemon(status, responseTime: clock.boot - started)
        }
    }
}

extension ArgumentForm where Value == Duration {
    /// A time-out as plugins take it: bare seconds, or with a unit.
    static let seconds = ArgumentForm(
        "seconds from 1, such as 10",
        format: { DurationText.format($0) },
        parse: { text in
            let duration = DurationText.parse(text) ?? DurationText.parse(text + "s")
            return duration.flatMap { $0 > .zero && $0 <= .seconds(86_400) ? $0 : nil }
        }
    )
}
