// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// `nwpath bugreport`: one file with what is needed to understand a bug.
struct BugReport: Command {
    var file = "nwpath-bugreport.jsonl"
    var isFull = false

    static let specification = Specification<BugReport>(
        "bugreport",
        "Writes a bug report to one file.",
        discussion: """
            The file holds JSON lines and is readable by its owner alone; its head and standard error list the \
            sections. Secrets are removed, hardware addresses shortened, public addresses masked, URLs cut to their \
            scheme, names of services, hosts, Wi-Fi networks and search domains replaced by tags; --full removes secrets only. \
            Review it before you send it.

            What is unavailable because the service is not running is left out, and the head says so.
            """,
        examples: [
            CommandExample("nwpath bugreport", "into nwpath-bugreport.jsonl"),
            CommandExample("nwpath bugreport --output report.jsonl --full", "with all addresses and names"),
        ],
        arguments: [
            .option("--output", value: "FILE", into: \.file, .path, help: "The file."),
            .flag("--full", into: \.isFull, help: "Keep addresses and names; secrets are always removed."),
        ],
        common: [.connection, .messages],
        exits: [ExitNote(.success), ExitNote(.negative, "the file cannot be written"), ExitNote(.usage)]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            var collector = ReportCollector()
            try collector.collect(common)
            let redactor = Redactor(isFull: isFull, salt: .random(in: 0...UInt64.max))
            let report = try collector.contents.lines(redactor, time: "\(KernelClock().wall)")
            try OutputFile.write(file, report, mode: 0o600)
            if !common.isQuiet {
                for section in collector.contents.sections { Terminal.complain(section.line) }
            }
            Terminal.print(file)
            return .success
        }
    }
}
