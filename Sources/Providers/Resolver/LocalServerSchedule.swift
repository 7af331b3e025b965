// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO

/// What queries to one name server showed.
struct LocalServer {
    /// Whether the last one was answered, or left this machine.
    var isServed: Bool?
    /// Whether a router dropped the last one.
    var isRedirected = false
    var kind: LocalServerQuery.Kind?
    /// Whether the address had a socket at some time.
    var hadSocket = false
    /// The one that waits for its answer.
    var query: PendingQuery?
    /// When the next one is due; a server that is missing here waits for an event.
    var due: Duration?
    /// How many in a row had no answer.
    var unanswered = 0

    /// Whether a query waits for its answer, and is not late.
    var isWaiting: Bool { query?.isLate == false }
}

/// Records what queries to name servers on this machine showed, and decides when they are sent without an event (rule S35).
///
/// A socket that is closed is announced, one that is made is not: while one is missing, sockets are read every second, half a
/// minute long at the start, since it starts after this service as a rule, and ten minutes after it was there, since it is
/// about to be started again; then every 5 s. A query to a server that keeps silent is repeated at growing intervals.
struct LocalServerSchedule {
    private static let pace = Duration.seconds(5)
    private static let hurry = (pace: Duration.seconds(1), atStart: 30, afterEnd: 600)
    /// The longest interval while a socket is there, which keeps the query until its process goes on.
    private static let longest = Duration.seconds(30)

    var servers: [IPAddress: LocalServer] = [:]
    private var missingSince: Duration?
    private var hasServed = false

    /// Records what became of a query; `isListening` is whether the address has a socket.
    mutating func record(
        _ outcome: LocalServerQuery.Outcome,
        of address: IPAddress,
        isListening: Bool,
        at now: Duration
    ) {
        var server = servers[address] ?? LocalServer()
        var interval: Duration?
        switch outcome {
        case .answered: interval = isListening ? nil : Self.pace
        case .refused: interval = isHurried(at: now) ? Self.hurry.pace : Self.pace
        case .silent, .withoutUpstream:
            server.unanswered = min(server.unanswered + 1, 5)
            let limit = isListening && outcome == .silent ? Self.longest : Self.pace
            interval = min(.seconds(1 << server.unanswered), limit)
        case .redirected, .waiting: break
        }
        if outcome != .silent, outcome != .withoutUpstream { server.unanswered = 0 }
        server.due = interval.map { now + $0 }
        // One error of the router may be lost, or left out where it limits their rate.
        let isServed = [.answered, .redirected].contains(outcome) || outcome == .silent && server.isRedirected
        server.isServed = isServed
        server.isRedirected = outcome == .redirected
        server.kind = isServed || outcome == .withoutUpstream ? server.query?.socket.kind : nil
        if outcome == .silent { server.query?.isLate = true } else { server.query = nil }
        servers[address] = server
    }

    /// Records that a query is sent: until its outcome is known there is nothing to repeat.
    mutating func begin(_ address: IPAddress) { servers[address]?.due = nil }

    /// Records that none could be sent for want of what this machine lacks.
    mutating func postpone(_ address: IPAddress, at now: Duration) { servers[address]?.due = now + Self.pace }

    /// Whether it is time to query an address; `isKnown` is whether an earlier query had an outcome.
    func isDue(_ address: IPAddress, isKnown: Bool, at now: Duration) -> Bool {
        servers[address]?.due.map { $0 <= now } ?? !isKnown
    }

    /// Records whether servers are there.
    mutating func update(isSomeServed: Bool, isSomeMissing: Bool, at now: Duration) {
        if isSomeServed { hasServed = true }
        missingSince = isSomeMissing ? missingSince ?? now : nil
    }

    /// Begins anew: other addresses are followed if `isOther`, else a socket was closed.
    mutating func restart(isOther: Bool) {
        missingSince = nil
        if isOther { hasServed = false }
        for address in servers.keys {
            servers[address]?.unanswered = 0
            guard !isOther else { continue }
            // What starts next may be another program, and what waits for an answer waits for the one that ended.
            servers[address]?.kind = nil
            servers[address]?.query = nil
        }
    }

    /// When to read and query again; `lacksSocket` is whether a missing server has none.
    func next(lacksSocket: Bool, at now: Duration) -> Duration? {
        let reading = lacksSocket ? now + (isHurried(at: now) ? Self.hurry.pace : Self.pace) : nil
        return [servers.values.compactMap(\.due).min(), reading].compactMap(\.self).min()
    }

    private func isHurried(at now: Duration) -> Bool {
        now - (missingSince ?? now) < .seconds(hasServed ? Self.hurry.afterEnd : Self.hurry.atStart)
    }
}
