// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import OrderedJSON

/// `nwpath traffic`: whether this machine's own connections are answered.
struct Traffic: Command {
    var follows = false
    var showsAddresses = false

    /// The longest long poll; shorter than the limit of the service.
    private static let longestPoll = Duration.seconds(30)
    /// Lines of the same state are at least so far apart.
    private static let pace = Duration.seconds(1)

    static let specification = Specification<Traffic>(
        "traffic",
        "Shows whether this machine's own TCP connections are answered, how fast, and what is sent again.",
        discussion: """
            The service reads the TCP connections of this machine from the kernel and sends nothing itself. The first \
            line is about all connections to other hosts, then come paths, each with its destinations (/24 of \
            IPv4, /48 of IPv6), those in trouble first. UNANSWERED are connections that wait for an answer longer than \
            usual, RTT is the median round trip, LOSS the share of segments sent again in the last 20 s.

            STATE is proved (an answer in the last 15 s), stalled (nothing is answered), lossy, slow, \
            unanswered (only attempts to connect, none answered) or unknown (nothing was sent). QUIC and other UDP, \
            and connections in other network namespaces, such as those of containers, are not seen.

            With --watch a line follows for each change; with --json one object per line (JSON lines).
            """,
        examples: [
            CommandExample("nwpath traffic", "all paths and destinations"),
            CommandExample("nwpath traffic --addresses", "also the remote addresses"),
            CommandExample("nwpath traffic --watch", "follow the state until Ctrl-C"),
            CommandExample("nwpath traffic --json", "the same as JSON"),
        ],
        arguments: [
            .flag("--watch", into: \.follows, help: "Continue with changes."),
            .flag("--addresses", into: \.showsAddresses, help: "Also show remote addresses, 64 a destination at most."),
        ],
        exits: ServiceExits.all + [ExitNote(.negative, "the service is too old to report traffic")]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            var connection = try ServiceConnection(common)
            let answer = try read(&connection)
            let screen = Screen(common)
            guard follows else {
                common.isJSON ? try screen.print(answer) : Terminal.print(Self.text(answer.value, screen))
                return .success
            }
            Terminal.endWithReader()
            let first = common.isJSON ? try Screen.line(answer.value) : Array(Self.text(answer.value, screen).utf8)
            Terminal.print(first)
            try follow(&connection, answer, common)
            return .success
        }
    }

    private static func text(_ document: JSONValue, _ screen: Screen) -> String {
        guard document.isTrue("enabled") else { return TrafficText.off + "\n" }
        return TrafficText(screen, now: KernelClock().wall).report(document)
    }

    /// Fetches the document; with the tag of the last response the service responds when it changes.
    ///
    /// - Returns: The document; `null` when it has not changed.
    /// - Throws: Why there is none, as where the service is older than this command.
    private func read(
        _ connection: inout ServiceConnection,
        after tag: String? = nil
    ) throws(CommandFailure) -> ServiceConnection.Answer {
        let wait = tag.map { _ in "\(Self.longestPoll.components.seconds)s" }
        let query = [(name: "addresses", value: showsAddresses ? "true" : nil), (name: "wait", value: wait)]
        let answer = try connection.get(
            RequestText.target("/api/v1/traffic", query),
            fields: tag.map { [("If-None-Match", $0)] } ?? [],
            accepting: [304, 404],
            timeout: tag.map { _ in Self.longestPoll + .seconds(1) }
        )
        guard answer.value.isNull && tag != nil || TrafficText.isKnown(answer.value) else {
            throw CommandFailure(TrafficText.missing, .negative)
        }
        return answer
    }

    /// Prints what changes, and waits for the service when it goes away.
    private func follow(
        _ connection: inout ServiceConnection,
        _ first: ServiceConnection.Answer,
        _ common: CommonOptions
    ) throws(CommandFailure) {
        let (screen, clock) = (Screen(common), KernelClock())
        var last = (tag: first.tag, state: first.value.text("state"), time: clock.boot)
        var backoff = Backoff()
        var isLost = false
        while true {
            do throws(CommandFailure) {
                let answer = try read(&connection, after: last.tag)
                if isLost, !common.isQuiet { Terminal.complain("reconnected to \(connection.client.endpoint)") }
                isLost = false
                backoff.reset()
                // A server without tags is polled with pauses.
                if answer.tag == nil { Pause.sleep(Self.pace) }
                last.tag = answer.tag ?? last.tag
                guard !answer.value.isNull else { continue }
                let (state, now) = (answer.value.text("state"), clock.boot)
                guard common.isJSON || state != last.state || now - last.time >= Self.pace else { continue }
                (last.state, last.time) = (state, now)
                let text = TrafficText(screen, now: clock.wall)
                Terminal.print(common.isJSON ? try Screen.line(answer.value) : Array(text.line(answer.value).utf8))
            } catch {
                guard [.unreachable, .timedOut, .negative].contains(error.status) else { throw error }
                if !isLost, !common.isQuiet {
                    Terminal.complain("connection to the service lost (\(error.message)); reconnecting")
                }
                (isLost, last.tag) = (true, nil)
                Pause.sleep(backoff.next())
            }
        }
    }
}
