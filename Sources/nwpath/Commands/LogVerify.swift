// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import Documents
internal import EventHub
internal import EventLog
internal import Glibc
internal import OrderedJSON

/// `nwpath log verify`: whether an event log is what it should be.
struct LogVerify: Command {
    var files: [String] = []

    static let specification = Specification<LogVerify>(
        "log verify",
        "Checks event logs: JSON, schema, numbers without gap or repeat.",
        discussion: """
            Without FILE it checks the log of the configuration and the rotated files beside it. Files compressed \
            as .gz are read as well.
            """,
        examples: [
            CommandExample("nwpath log verify", "the service's log and its rotated files"),
            CommandExample("nwpath log verify events.jsonl events.jsonl.1.gz", "these files"),
        ],
        arguments: [.positionals("FILE", into: \.files, .path, help: "The files, in any order.")],
        common: [.output, .messages],
        exits: [
            ExitNote(.success, "no problems"), ExitNote(.negative, "problems found; they are printed"),
            ExitNote(.usage),
        ]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            let report = LogVerifier.verify(files.isEmpty ? try Self.standardFiles() : files)
            let document = Self.members.value(of: report)
            let screen = Screen(common)
            if common.isJSON {
                try screen.print(document)
            } else {
                let text = LogText(screen: screen)
                Terminal.print(text.findings(document) + text.summary(document))
            }
            return report.isGood ? .success : .negative
        }
    }

    /// The log that the service writes, with its rotated files.
    private static func standardFiles() throws(CommandFailure) -> [String] {
        let environment = Environment.variables
        let paths = StandardPaths(userID: geteuid(), environment: environment)
        do {
            let configuration = try Configuration.load(.init(standard: paths), paths: paths, environment: environment)
            guard configuration.log.file != EventLog.standardOutput else {
                throw CommandFailure("the log goes to standard output; name a FILE", .usage)
            }
            return try LogVerifier.files(of: configuration.log.file)
        } catch let failure as CommandFailure {
            throw failure
        } catch let error as ConfigurationError {
            throw CommandFailure("\(error)", .usage)
        } catch {
            throw CommandFailure("\(error)", .negative)
        }
    }

    static let members = Members<LogVerifier.Report>.document("LogVerify", "What a log breaks.")
        .member("files") { $0.files }
        .member("records") { $0.records }
        .member("first", as: .position, "The first record; `null` without one.") { $0.first.map(text) }
        .member("last", as: .position) { $0.last.map(text) }
        .member("problem_count", "Of all problems, also of those that are not listed.") { $0.problemCount }
        .member(
            "problems",
            each: .object()
                .member("file") { $0.file }
                .member("line") { $0.line }
                .member("message") { "\($0.kind)" }
        ) { $0.problems }

    private static func text(_ position: EventPosition) -> String { "\(position.stream).\(position.sequence)" }
}
