// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import LinuxIO
internal import OrderedJSON
internal import Spelling

/// `nwpath watch`: what changes, as it changes.
struct Watch: Command {
    var since: String?
    var events: [Glob] = []
    var count: Int?
    var doesNotFollow = false
    var showsAll = false

    static let specification = Specification<Watch>(
        "watch",
        "Shows changes as they happen.",
        discussion: """
            The first line is the current headline, unless --since starts in the past. With --json there is one JSON \
            object per line (JSON lines): first that of /api/v1/status, then events as in the log. Text output \
            combines the events of one cause within seconds into one line; --all, --event and -n show every event.

            When the service restarts, watch reconnects and continues after the last event; a stream.reset reports \
            lost events.
            """,
        examples: [
            CommandExample("nwpath watch", "until Ctrl-C"),
            CommandExample("nwpath watch --json --event 'path.*'", "changes of the path as JSON lines"),
            CommandExample("nwpath watch --since 1h --no-follow", "what happened in the last hour"),
        ],
        arguments: [
            .option("--since", value: "SEQ|DUR", into: \.since, startForm, help: "Start there instead of now."),
            .options("--event", value: "GLOB", into: \.events, names, help: "Show these events only."),
            .option(
                "-n",
                "--count",
                value: "COUNT",
                into: \.count,
                .integer(1...Int.max),
                help: "Stop after COUNT events."
            ),
            .flag("--no-follow", into: \.doesNotFollow, help: "Print past events and exit."),
            .flag("--all", into: \.showsAll, help: "Show every event on a line of its own."),
        ],
        exits: ServiceExits.all + [
            ExitNote(.negative, "the events after SEQ are no longer available"), ExitNote(.interrupted),
        ]
    )

    private static let startForm = ArgumentForm<String>(
        "a number, an event id such as 7f3a.45, or a duration such as 1h"
    ) {
        text in
        if UInt64(text) != nil || DurationText.parse(text) != nil { return text }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, UInt64(parts[1]) != nil, (1...16).contains(parts[0].count),
            parts[0].allSatisfy(\.isHexDigit)
        else { return nil }
        return text
    }

    private static let names = ArgumentForm<Glob>("the name of an event or a pattern such as path.*") { text in
        guard let glob = Glob(text), EventName.allCases.contains(where: { glob.matches($0.rawValue) }) else {
            return nil
        }
        return glob
    }

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            var connection = try ServiceConnection(common)
            let screen = Screen(common)
            let status = try connection.get("/api/v1/status").value
            let clock = KernelClock()
            Terminal.endWithReader()
            if since == nil {
                let text = StatusText(renderer: TextRenderer(screen, now: clock.wall))
                Terminal.print(common.isJSON ? try Screen.line(status) : Array((text.sentence(status) + "\n").utf8))
            }
            let position = since == nil ? EventFeed.id(of: status) : nil
            let feed = EventFeed(patterns: events, limit: count, position: position)
            var follower = EventFollower(connection, feed: feed, since: since, isQuiet: common.isQuiet)
            guard !common.isJSON, !showsAll, events.isEmpty, count == nil else {
                let show = { (event: JSONValue) in
                    Terminal.print(
                        Self.render(event, isJSON: common.isJSON, renderer: TextRenderer(screen, now: clock.wall))
                    )
                }
                if doesNotFollow { try follower.readPast { show($0) } } else { try follower.follow(show) }
                return .success
            }
            try showSuppressed(&follower, screen, clock)
            return .success
        }
    }

    private func showSuppressed(
        _ follower: inout EventFollower,
        _ screen: Screen,
        _ clock: KernelClock
    ) throws(CommandFailure) {
        var folder = EventFolder()
        let print = { (outputs: [EventFolder.Output]) in
            for output in outputs {
                Terminal.print(Self.render(output, renderer: TextRenderer(screen, now: clock.wall)))
            }
        }
        if doesNotFollow {
            let start = clock.wall
            try follower.readPast { event in
                print(folder.add(event, at: WallTime(event.text("time")).map { $0 - start } ?? .zero))
            }
            print(folder.finish())
        } else {
            try follower.follow { isBroken in
                print(isBroken ? folder.finish() : folder.settle(at: clock.boot))
            } _: { event in
                print(folder.add(event, at: clock.boot))
            }
        }
    }

    private static func render(_ output: EventFolder.Output, renderer: TextRenderer) -> [UInt8] {
        switch output {
        case .line(let event): return render(event, isJSON: false, renderer: renderer)
        case .opening(let event): return render(event, isJSON: false, renderer: renderer).dropLast()
        case .rest(let text): return Array((renderer.style(text) + "\n").utf8)
        }
    }

    /// An event as one line, and after a reset the state as another.
    static func render(_ event: JSONValue, isJSON: Bool, renderer: TextRenderer) -> [UInt8] {
        if isJSON { return (try? Screen.line(event)) ?? [] }
        var text = EventText(renderer: renderer).line(event)
        if let snapshot = event["snapshot"] { text += StatusText(renderer: renderer).sentence(snapshot) + "\n" }
        return Array(text.utf8)
    }
}
