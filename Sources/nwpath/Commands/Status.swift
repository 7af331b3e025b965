// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import LinuxIO
internal import OrderedJSON

/// `nwpath status`: the verdict, then why.
struct Status: Command {
    var monitor: String?
    var hasExitCode = false
    var isBrief = false

    static let specification = Specification<Status>(
        "status",
        "Shows whether the Internet connection works, and why not.",
        discussion: """
            The first line is the headline. --json prints the same object as /api/v1/status. Without a service the \
            kernel is read once; then there is no time of the last change. --exit-code is 0 while the headline is \
            online, connected or checking; with --monitor, while the path of that monitor is satisfied. `nwpath` \
            without a command is `nwpath status --brief`.
            """,
        examples: [
            CommandExample("nwpath status", "the headline, then details"),
            CommandExample("nwpath status --exit-code -q", "for scripts: 1 when something is wrong"),
            CommandExample("nwpath status --json", "everything as one JSON object"),
        ],
        arguments: [
            .option("--monitor", value: "NAME", into: \.monitor, .monitorName, help: "Show this monitor only."),
            .flag("--exit-code", into: \.hasExitCode, help: "Exit with 1 when a problem is known."),
            .flag("--brief", into: \.isBrief, help: "Show five lines, with the last day."),
        ],
        exits: ServiceExits.all + [ExitNote(.negative, "something is wrong, with --exit-code; or no such monitor")],
        check: { $0.isBrief && $0.monitor != nil ? "--brief covers all monitors; leave --monitor out" : nil }
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            let (status, history, traffic) = try fetch(common)
            let screen = Screen(common)
            let text = StatusText(renderer: TextRenderer(screen, now: KernelClock().wall))
            if common.isJSON {
                try screen.print(status)
            } else if isBrief {
                Terminal.print(text.brief(status, history: history))
            } else {
                Terminal.print(monitor == nil ? text.overview(status, traffic: traffic) : text.monitor(status))
            }
            return hasExitCode && !isGood(status) ? .negative : .success
        }
    }

    private func isGood(_ status: JSONValue) -> Bool {
        guard monitor == nil, let headline = status["headline"] else {
            return status["path"]?["status"]?.string == "satisfied"
        }
        return Headline.State(rawValue: headline.text("state"))?.isGood ?? false
    }

    /// The status, and the last day and the traffic where they are shown and known.
    private func fetch(
        _ common: CommonOptions
    ) throws(CommandFailure) -> (status: JSONValue, history: JSONValue?, traffic: JSONValue?) {
        guard let monitor else {
            var source = try StatusReader(common)
            let status = try source.read("/api/v1/status") { kernel throws(CommandFailure) in try kernel.overview }
                .value
            guard !common.isJSON, !common.isQuiet else { return (status, nil, nil) }
            return isBrief ? (status, source.day, nil) : (status, nil, source.traffic)
        }
        var connection = try ServiceConnection(common)
        return (try connection.get("/api/v1/paths/\(RequestText.encode(monitor))").value, nil, nil)
    }
}

/// The exit statuses of every command that asks the daemon.
enum ServiceExits {
    /// In the order of their numbers.
    static let all = [
        ExitNote(.success), ExitNote(.usage), ExitNote(.timedOut, "the service did not answer in time"),
        ExitNote(.unreachable), ExitNote(.refused),
    ]
}
