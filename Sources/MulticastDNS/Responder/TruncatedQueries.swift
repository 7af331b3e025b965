// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

/// Queries whose known answers go on in further packets; their answers wait (rules A3, A4).
struct TruncatedQueries: Sendable {
    struct Held: Sendable {
        let asker: Asker
        var answers: [WantedAnswer]
        fileprivate var until: Duration
        fileprivate let limit: Duration
    }

    static let pause = 400...500
    /// However many packets follow, the answer comes by then.
    static let longest = Duration.seconds(2)
    static let maximumSources = 32
    static let maximumAnswers = 4096

    private var held: [IPAddress: Held] = [:]

    /// When ``due(at:)`` is to be called next.
    var nextDeadline: Duration? { held.values.lazy.map(\.until).min() }

    /// Holds the answers to a truncated query back.
    /// - Returns: A query that made room, to be answered now.
    mutating func hold(
        _ answers: [WantedAnswer],
        for asker: Asker,
        at now: Duration,
        random: inout RandomSource
    ) -> Held? {
        var evicted: Held?
        if held[asker.address] == nil, held.count >= Self.maximumSources {
            let oldest = held.min { ($0.value.limit, $0.key) < ($1.value.limit, $1.key) }
            evicted = oldest.flatMap { held.removeValue(forKey: $0.key) }
        }
        let until = now + random.duration(in: Self.pause)
        var entry = held[asker.address] ?? Held(asker: asker, answers: [], until: until, limit: now + Self.longest)
        let planned = Set(entry.answers.map(\.key))
        let room = max(0, Self.maximumAnswers - entry.answers.count)
        entry.answers += answers.filter { !planned.contains($0.key) }.prefix(room)
        entry.until = min(until, entry.limit)
        held[asker.address] = entry
        return evicted
    }

    /// Receives a further packet of a querier: drops what it lists, and waits on when still more follows.
    mutating func receive(
        _ known: KnownAnswers,
        isTruncated: Bool,
        from source: IPAddress,
        at now: Duration,
        random: inout RandomSource
    ) {
        guard var entry = held[source] else { return }
        if !known.isEmpty {
            entry.answers = entry.answers.compactMap { answer in
                var answer = answer
                answer.unknown.removeAll(where: known.contains)
                return answer.unknown.isEmpty ? nil : answer
            }
        }
        if isTruncated { entry.until = min(now + random.duration(in: Self.pause), entry.limit) }
        held[source] = entry.answers.isEmpty ? nil : entry
    }

    mutating func due(at now: Duration) -> [Held] {
        let due = held.filter { $0.value.until <= now }.inKeyOrder.map(\.value)
        for entry in due { held[entry.asker.address] = nil }
        return due
    }
}

/// The querier, and what an answer by unicast must repeat.
struct Asker: Hashable, Sendable {
    let address: IPAddress
    let port: UInt16
    let id: UInt16
    /// Whether it is on this link: nobody else is answered by unicast, now or later.
    var isOnLink = true
    /// Whether it is a plain DNS resolver: its source port is not 5353 (rule A15).
    var isLegacy = false
    /// The questions of a plain resolver, to be repeated to it.
    var questions: [Question] = []
    /// The longest answer it accepts.
    var limit = 512
}
