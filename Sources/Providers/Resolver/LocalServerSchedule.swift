// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO

/// Decides when name servers on this machine are queried without an event (rule S35).
///
/// A socket that is closed is announced, one that is made is not: while one is missing, sockets are read every second, half a
/// minute long at the start, since it starts after this service as a rule, and ten minutes after it was there, since it is
/// about to be started again; then every 5 s. A query to a server that keeps silent is repeated at growing intervals.
struct LocalServerSchedule {
    private static let pace = Duration.seconds(5)
    private static let hurry = (pace: Duration.seconds(1), atStart: 30, afterEnd: 600)
    /// The longest interval while a socket is there, which keeps the query until its process goes on.
    private static let longest = Duration.seconds(30)

    /// When each is queried again; one that is missing here waits for an event.
    private var dues: [IPAddress: Duration] = [:]
    /// How many queries in a row had no answer.
    private var unanswered: [IPAddress: Int] = [:]
    private var missingSince: Duration?
    private var hasServed = false

    /// Records what became of a query; `isListening` is whether the address has a socket.
    mutating func record(
        _ outcome: LocalServerQuery.Outcome,
        of address: IPAddress,
        isListening: Bool,
        at now: Duration
    ) {
        var interval: Duration?
        switch outcome {
        case .answered: interval = isListening ? nil : Self.pace
        case .refused: interval = isHurried(at: now) ? Self.hurry.pace : Self.pace
        case .silent, .withoutUpstream:
            let count = min(unanswered[address, default: 0] + 1, 5)
            unanswered[address] = count
            let limit = isListening && outcome == .silent ? Self.longest : Self.pace
            interval = min(.seconds(1 << count), limit)
        case .redirected, .waiting: break
        }
        if outcome != .silent, outcome != .withoutUpstream { unanswered[address] = nil }
        dues[address] = interval.map { now + $0 }
    }

    /// Records that a query is sent: until its outcome is known there is nothing to repeat.
    mutating func begin(_ address: IPAddress) { dues[address] = nil }

    /// Records that none could be sent for want of what this machine lacks.
    mutating func postpone(_ address: IPAddress, at now: Duration) { dues[address] = now + Self.pace }

    /// Forgets what queries to an address showed: it has another socket, or is no longer of this machine.
    mutating func forget(_ address: IPAddress) {
        dues[address] = nil
        unanswered[address] = nil
    }

    /// Whether it is time to query an address; `isKnown` is whether an earlier query had an outcome.
    func isDue(_ address: IPAddress, isKnown: Bool, at now: Duration) -> Bool {
        dues[address].map { $0 <= now } ?? !isKnown
    }

    /// Records whether servers are there.
    mutating func update(isSomeServed: Bool, isSomeMissing: Bool, at now: Duration) {
        if isSomeServed { hasServed = true }
        missingSince = isSomeMissing ? missingSince ?? now : nil
    }

    /// Begins anew, since something happened; `isOther` is whether other addresses are followed.
    mutating func restart(isOther: Bool) {
        missingSince = nil
        unanswered = [:]
        if isOther { hasServed = false }
    }

    /// When to read and query again; `lacksSocket` is whether a missing server has none.
    func next(lacksSocket: Bool, at now: Duration) -> Duration? {
        let reading = lacksSocket ? now + (isHurried(at: now) ? Self.hurry.pace : Self.pace) : nil
        return [dues.values.min(), reading].compactMap(\.self).min()
    }

    private func isHurried(at now: Duration) -> Bool {
        now - (missingSince ?? now) < .seconds(hasServed ? Self.hurry.afterEnd : Self.hurry.atStart)
    }
}
