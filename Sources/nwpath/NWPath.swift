// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The one executable: `nwpath serve` is the daemon, everything else asks it or the kernel.
@main enum NWPath {
    static let version = "0.2.0"

    /// Every subcommand, in the order of the help.
    static let program = Program(
        "nwpath",
        "shows whether this machine can reach the network, through what, and why not",
        version: version,
        examples: [
            CommandExample("nwpath", "connection summary in five lines"),
            CommandExample("nwpath status", "the verdict, then the reason"),
            CommandExample("nwpath watch --json", "changes as JSON lines"),
            CommandExample("nwpath why 192.0.2.1", "the kernel's path to a host"),
            CommandExample("nwpath diagnose", "test the network and find the root cause"),
        ],
        standard: ["status", "--brief"],
        commands: [
            Status.self, Watch.self, Wait.self, Why.self, Diagnose.self, Interfaces.self, Gateways.self,
            NameServers.self, Traffic.self, Probe.self, Trace.self,
            Services.self, Browse.self, Resolve.self, Advertise.self, History.self, Check.self, ExportMetrics.self,
            LogVerify.self, LogSchema.self, ConfigCheck.self, ConfigShow.self, ConfigSchema.self, BugReport.self,
            Setup.self, Page.self, Serve.self, Reload.self, Replay.self, Completions.self, Version.self,
        ]
    )

    static func main() {
        // A reader that went away ends the program quietly, by the error of its write.
        signal(SIGPIPE, SIG_IGN)
        do throws(UsageError) {
            switch try program.parse(Array(CommandLine.arguments.dropFirst())) {
            case .help(let text, let status), .version(let text, let status):
                Terminal.print(text)
                exit(status.rawValue)
            case .run(let command, let common):
                if common.isQuiet && !common.isJSON { Terminal.discardOutput() }
                exit(command.run(common).rawValue)
            }
        } catch {
            let status = program.status(of: error)
            if !program.isPlugin(error) {
                Terminal.explain("\(error)")
            } else {
                // Monitoring reads standard output alone.
                Terminal.print(CheckReport.unknown("\(error)").line)
            }
            exit(status.rawValue)
        }
    }
}
