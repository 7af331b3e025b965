// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

/// Reads events from the daemon, and waits for it when it goes away.
struct EventFollower {
    private(set) var connection: ServiceConnection
    private(set) var feed: EventFeed
    /// Where to begin instead of after the feed's position: a number, an id or a duration.
    private var since: String?
    private let isQuiet: Bool

    /// Goes on after the feed's position, or begins at `since`.
    init(_ connection: ServiceConnection, feed: EventFeed, since: String? = nil, isQuiet: Bool = false) {
        self.connection = connection
        self.feed = feed
        self.since = since
        self.isQuiet = isQuiet
    }

    /// Hands over what there is, page by page, and returns.
    mutating func readPast(_ show: (JSONValue) throws(CommandFailure) -> Void) throws(CommandFailure) {
        var position = since
        while let start = position, !feed.isDone {
            let query = [("since", start), ("limit", "1000"), ("event", feed.serverFilter)] as [(String, String?)]
            let target = RequestText.target("/api/v1/events", query.map { (name: $0.0, value: $0.1) })
            let page = try connection.get(target, fields: [("Accept", "application/json")]).value
            for event in page.list("events") where !feed.isDone {
                if case .show(let event) = feed.receive(event) { try show(event) }
            }
            let next = page["next"]?.string
            position = next == start ? nil : next
        }
    }

    /// Hands over events as they come, until there are enough of them.
    ///
    /// When the connection breaks, the daemon is waited for, and reading goes on after the last event. `tick` is called
    /// about once a second with `false` while it stands, and with `true` when it breaks.
    mutating func follow(
        tick: @escaping (_ isBroken: Bool) -> Void = { _ in },
        _ show: @escaping (JSONValue) -> Void
    ) throws(CommandFailure) {
        var hasBegun = false
        while !feed.isDone {
            do throws(StatusClientError) {
                var reason = "the stream ended"
                defer { tick(true) }
                try readStream(tick) { event in
                    hasBegun = true
                    show(event)
                } ended: {
                    reason = $0
                }
                guard !feed.isDone else { return }
                report("connection to the service lost (\(reason)); reconnecting")
            } catch {
                switch error {
                case .notReachable(_, let reason), .failed(_, let reason):
                    report("connection to the service lost (\(reason)); reconnecting")
                case .timedOut: report("the service does not answer; retrying")
                case .problem(let status, _, _) where hasBegun && (status == 429 || status == 503):
                    report("the service has too many streams (\(error)); retrying")
                default: throw CommandFailure(error)
                }
            }
            try waitForService()
        }
    }

    private mutating func readStream(
        _ tick: @escaping (Bool) -> Void,
        _ show: @escaping (JSONValue) -> Void,
        ended: @escaping (String) -> Void
    ) throws(StatusClientError) {
        var fields = [(name: "Accept", value: "application/x-ndjson")]
        if since == nil, let position = feed.position { fields.append((name: "Last-Event-ID", value: position)) }
        let query = [(name: "since", value: since), (name: "event", value: feed.serverFilter)]
        let target = RequestText.target("/api/v1/events", query)
        var feed = feed
        defer { self.feed = feed }
        try connection.client.stream(target, fields: fields, tick: { tick(false) }) { line in
            switch feed.receive(line) {
            case .show(let event): show(event)
            case .ended(let reason): ended(reason)
            case .skip, .malformed: break
            }
            return !feed.isDone
        }
    }

    /// Asks again and again until the daemon answers.
    private mutating func waitForService() throws(CommandFailure) {
        // An event that came tells better where to go on than what the user asked for at first.
        if feed.position != nil { since = nil }
        var backoff = Backoff()
        while true {
            do throws(CommandFailure) {
                let answer = try connection.get("/api/v1/status")
                if feed.position == nil && since == nil { feed.begin(after: EventFeed.id(of: answer.value)) }
                report("reconnected to \(connection.client.endpoint)")
                return
            } catch {
                guard [.unreachable, .timedOut, .negative].contains(error.status) else { throw error }
                Pause.sleep(backoff.next())
            }
        }
    }

    private func report(_ text: String) {
        if !isQuiet { Terminal.complain(text) }
    }
}
