// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

/// `nwpath metrics`: what Prometheus would scrape, printed or put into a file.
struct ExportMetrics: Command {
    var file: String?
    var isOpenMetrics = false

    static let specification = Specification<ExportMetrics>(
        "metrics",
        "Prints the metrics of the service, or writes them to a file.",
        discussion: """
            The file is replaced as a whole, so the textfile collector of node_exporter never reads half of it. It \
            is world-readable, regardless of the umask. Metrics that node_exporter exports about itself under the \
            same names (process_*) are left out.
            """,
        examples: [
            CommandExample("nwpath metrics", "the text that Prometheus reads"),
            CommandExample("nwpath metrics --write /var/lib/prometheus/node-exporter/nwpath.prom", "from a timer"),
        ],
        arguments: [
            .option("--write", value: "FILE", into: \.file, .path, help: "Replace this file instead of printing."),
            .flag("--openmetrics", into: \.isOpenMetrics, help: "Write OpenMetrics instead of the text format 0.0.4."),
        ],
        common: [.connection, .messages],
        exits: ServiceExits.all + [ExitNote(.negative, "the file cannot be written")]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            var connection = try ServiceConnection(common)
            let type = isOpenMetrics ? "application/openmetrics-text" : "text/plain"
            let text = try connection.fetch("/metrics", fields: [(name: "Accept", value: type)]).body
            guard let file else {
                Terminal.print(Terminal.isInteractive ? Self.printable(text) : text)
                return .success
            }
            try OutputFile.write(file, Self.withoutProcess(text))
            return .success
        }
    }

    /// The lines as a terminal may get them: help texts and labels hold names that others chose.
    static func printable(_ text: [UInt8]) -> [UInt8] {
        let newline = UInt8(ascii: "\n")
        let lines = text.split(separator: newline, omittingEmptySubsequences: false).map { line in
            Array(PrintableText.escape(String(decoding: line, as: UTF8.self)).utf8)
        }
        return Array(lines.joined(separator: [newline]))
    }

    /// Leaves out the families that every exporter has of itself.
    static func withoutProcess(_ text: [UInt8]) -> [UInt8] {
        let newline = UInt8(ascii: "\n")
        let lines = text.split(separator: newline, omittingEmptySubsequences: false).filter { line in
            !["process_", "# HELP process_", "# TYPE process_"].contains { line.starts(with: $0.utf8) }
        }
        return Array(lines.joined(separator: [newline]))
    }
}
