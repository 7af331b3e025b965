// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import DNSWire

public struct RecordAnswer: Hashable, Sendable {
    /// The record, as it was received; the cache-flush bit is clear.
    public let record: ResourceRecord
    public let interface: String
    public let interfaceIndex: Int
}

public enum RecordEvent: Hashable, Sendable {
    case added(RecordAnswer)
    case removed(RecordAnswer, reason: RemovalReason)

    var answer: RecordAnswer {
        switch self {
        case .added(let answer), .removed(let answer, _): answer
        }
    }
}

/// Queries the records of a name, and follows them as long as it is held.
///
/// Confined to the thread of its engine's loop, and to be let go there.
public final class RecordQuery {
    private let follower: RecordFollower

    /// Queries with intervals that double up to an hour; what is known already is reported within this call.
    /// - Parameters:
    ///   - engine: The engine, started or not.
    ///   - name: The name, below `.local` or among the link-local reverse names.
    ///   - types: The types of the records.
    ///   - interface: The one interface to use, by name; `nil` is all of them.
    ///   - rounds: How often each question is sent at most; 1 makes it a one-shot question, `nil` has no limit.
    ///   - onEvent: Called on the loop's thread whenever an answer comes or goes.
    public init(
        _ engine: MulticastEngine,
        name: DomainName,
        types: [RecordType],
        interface: String? = nil,
        rounds: Int? = nil,
        onEvent: @escaping (RecordEvent) -> Void
    ) {
        let keys = Set(types.map { RecordKey(name, $0) })
        let subscription = Subscription(interface: interface, records: keys, rounds: rounds ?? .max)
        follower = RecordFollower(engine, subscription, onEvent: onEvent)
    }

    deinit { follower.cancel() }

    /// The answers known now, those that came first first.
    public var answers: [RecordAnswer] { follower.list.answers }

    /// Ends it: no more events and queries.
    public func cancel() { follower.cancel() }
}
