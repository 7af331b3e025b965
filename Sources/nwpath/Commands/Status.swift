// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CommandLineKit
internal import LinuxIO
internal import OrderedJSON

/// `nwpath status`: the verdict, then why.
struct Status: Command {
    var monitor: String?
    var hasExitCode = false

    static let specification = Specification<Status>(
        "status",
        "Shows whether there is a path, through what, and why not.",
        discussion: "The first line is the verdict. --json prints the same object as /api/v1/status.",
        examples: [
            CommandExample("nwpath status", "the verdict, then why"),
            CommandExample("nwpath status --exit-code -q", "for scripts: 1 when there is no path"),
            CommandExample("nwpath status --json", "everything as one JSON object"),
        ],
        arguments: [
            .option("--monitor", value: "NAME", into: \.monitor, .text, help: "Show this monitor only."),
            .flag("--exit-code", into: \.hasExitCode, help: "Exit with 1 when the path is not satisfied."),
        ],
        exits: ServiceExits.all + [ExitNote(.negative, "not satisfied, with --exit-code; or no such monitor")]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            var connection = try ServiceConnection(common)
            let target = monitor.map { "/api/v1/paths/\(RequestText.encode($0))" } ?? "/api/v1/status"
            let answer = try connection.get(target)
            let screen = Screen(common)
            if common.isJSON {
                try screen.print(answer)
            } else {
                let text = StatusText(sheet: Sheet(screen, now: KernelClock().wall))
                // Quiet leaves the answer itself: one line.
                let shown = monitor == nil ? text.overview : text.monitor
                let line = monitor == nil ? text.judgement : text.verdict
                Terminal.print(common.isQuiet ? line(answer.value) : shown(answer.value))
            }
            let isSatisfied = answer.value["path"]?["status"]?.string == "satisfied"
            return hasExitCode && !isSatisfied ? .negative : .success
        }
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
