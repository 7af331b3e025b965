// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import EventHub
internal import EventLog
internal import Glibc
internal import LinuxIO
internal import OrderedJSON
internal import PathModel
internal import PathService
internal import Spelling

/// `nwpath history`: outages and availability, without any other tool.
struct History: Command {
    var since = TimePoint.ago(.seconds(86_400))
    var until: TimePoint?
    var monitor: String?
    var state: OutageHistory.State?
    var file: String?
    var showsOutagesOnly = false
    var isCSV = false

    static let specification = Specification<History>(
        "history",
        "Shows outages and availability.",
        discussion: """
            The service reads them from its event log; --file reads a log directly, without the service. Where no \
            service is running, the log of its configuration is read.

            Time without records is unknown and counts neither as up nor as down: the service did not run, or the \
            machine was suspended. Time after the last record of a log is unknown too. Durations are correct across \
            steps of the system clock; times are those of the clock after the last step.

            An outage is one of the headline, so an Internet connection that does not work is an outage although the \
            path is satisfied. For other monitors only the path counts.
            """,
        examples: [
            CommandExample("nwpath history", "the last 24 hours"),
            CommandExample("nwpath history --since 7d --csv", "the outages of a week for a spreadsheet"),
            CommandExample(
                "nwpath history --file /var/log/nwpath/events.jsonl --since 2026-11-20T00:00:00Z",
                "a log file"
            ),
        ],
        arguments: [
            .option("--since", value: "DUR|TIME", into: \.since, .timePoint, help: "Start."),
            .option("--until", value: "DUR|TIME", into: \.until, .timePoint, help: "End; default: now."),
            .option(
                "--monitor",
                value: "NAME",
                into: \.monitor,
                .monitorName,
                help: "The monitor; default: default."
            ),
            .option(
                "--state",
                value: "WORD",
                into: \.state,
                .choice,
                help: "Count the headline, or the status of the path alone; headline for the monitor default."
            ),
            .option(
                "--file",
                value: "FILE",
                into: \.file,
                .path,
                help: "Read this log instead of querying the service."
            ),
            .flag("--outages", into: \.showsOutagesOnly, help: "List the outages only."),
            .flag("--csv", into: \.isCSV, help: "Print the outages as comma-separated values."),
        ],
        exits: ServiceExits.all + [ExitNote(.negative, "no such monitor, or the log cannot be read")],
        check: { $0.counted == .headline && !$0.hasHeadline ? "only the monitor default has a headline" : nil }
    )

    private var hasHeadline: Bool { monitor == nil || monitor == MonitorPolicy.standardName }

    /// What counts as an outage.
    private var counted: OutageHistory.State { state ?? (hasHeadline ? .headline : .path) }

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            guard !common.isJSON || !isCSV else { throw CommandFailure("give --json or --csv, not both", .usage) }
            let now = KernelClock().wall
            let (begin, end) = (since.time(before: now), until?.time(before: now) ?? now)
            guard begin < end else { throw CommandFailure("--since must be before --until, and before now", .usage) }
            let history = try read(common, from: begin, to: min(end, now))
            let screen = Screen(common)
            if common.isJSON {
                try screen.print(history)
            } else if isCSV {
                Terminal.print(HistoryText.csv(history))
            } else {
                let text = HistoryText(renderer: TextRenderer(screen, now: now))
                Terminal.print(showsOutagesOnly ? text.outages(history) : text.all(history))
            }
            return .success
        }
    }

    private func read(
        _ common: CommonOptions,
        from begin: WallTime,
        to end: WallTime
    ) throws(CommandFailure) -> JSONValue {
        func read(_ file: String) throws(CommandFailure) -> JSONValue {
            try Self.read(file, monitor: monitor ?? "default", state: counted, since: begin, until: end)
        }
        if let file { return try read(file) }
        var connection = try ServiceConnection(common)
        do throws(CommandFailure) {
            return try fetch(&connection)
        } catch {
            guard error.status == .unreachable, connection.isStandard else { throw error }
            let log = Self.configuration.log.file
            do throws(CommandFailure) {
                let history = try read(log)
                if !common.isQuiet { Terminal.complain("the service is not running; read from \(log)") }
                return history
            } catch let unread {
                throw CommandFailure("\(error.message); \(unread.message)", error.status)
            }
        }
    }

    private func fetch(_ connection: inout ServiceConnection) throws(CommandFailure) -> JSONValue {
        let query = [
            (name: "since", value: since.description), (name: "until", value: until?.description),
            (name: "monitor", value: monitor), (name: "state", value: counted.rawValue),
        ]
        return try connection.get(RequestText.target("/api/v1/history", query)).value
    }

    /// Works history out from a log file and the rotated ones beside it.
    static func read(
        _ file: String,
        monitor: String,
        state: OutageHistory.State,
        since: WallTime,
        until: WallTime
    ) throws(CommandFailure) -> JSONValue {
        do {
            // A missing file would read as an empty log.
            _ = try FileDescriptor(opening: file, flags: 0)
            var history = OutageHistory(monitor: monitor, since: since, until: until, state: state)
            var last: EventPosition?
            let stateDirectory = configuration.stateDirectory
            let outages = "\(stateDirectory)/\(OutageLog.name)"
            let reader = try OutageReader(log: file, outages: outages, isOwnStreamOnly: true)
            while try reader.advance(
                lines: .max,
                { header, line in
                    history.take(at: header.time, name: header.event) {
                        (try? JSONValue(parsing: line)).flatMap { OutageMark($0) }
                    }
                    last = header.position
                    return true
                }
            ) {}
            // Whether a daemon runs is not in the file; the last sign of life may be later than its last record.
            let lastAlive = AliveFile.read(directory: stateDirectory).flatMap { $0.isOfRun(endingAt: last) ? $0 : nil }
            history.end(alive: lastAlive?.time)
            return try JSONValue(parsing: OrderedJSONEncoder().encode(history.document(at: until)))
        } catch let error as Errno {
            throw CommandFailure("\(file): cannot open the log: \(error)", .negative)
        } catch {
            throw CommandFailure("\(error)", .negative)
        }
    }
}

extension History {
    /// What the service of this user works with; the defaults where the configuration is not valid.
    private static var configuration: Configuration {
        let environment = Environment.variables
        let paths = StandardPaths(userID: geteuid(), environment: environment)
        let configuration = try? Configuration.load(.init(standard: paths), paths: paths, environment: environment)
        return configuration ?? Configuration(paths: paths)
    }
}

/// A moment as people name one: a time, or how long ago.
enum TimePoint: Hashable, Sendable, CustomStringConvertible {
    /// So long before now.
    case ago(Duration)
    case at(WallTime)

    /// Reads `24h` or `2026-11-20T13:00:00Z`.
    init?(_ text: String) {
        if let duration = DurationText.parse(text) {
            self = .ago(duration)
        } else if let time = WallTime(text) {
            self = .at(time)
        } else {
            return nil
        }
    }

    func time(before now: WallTime) -> WallTime {
        switch self {
        case .ago(let duration): now - duration
        case .at(let time): time
        }
    }

    /// The text that the API understands.
    var description: String {
        switch self {
        case .ago(let duration): DurationText.format(duration)
        case .at(let time): time.description
        }
    }
}

extension ArgumentForm where Value == TimePoint {
    static let timePoint = ArgumentForm(
        "a duration such as 24h, or a time such as 2026-11-20T13:00:00Z",
        format: { $0.description },
        parse: { TimePoint($0) }
    )
}
