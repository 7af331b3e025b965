// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// Which address of a host is tried when: alternating families, IPv6 first, each a little after the one before
/// (RFC 8305, Happy Eyeballs version 2).
///
/// Pure: answers of look-ups and outcomes of attempts in, attempts out; the clock is an argument.
struct HappyEyeballs: Sendable {
    /// How long it waits for what; the defaults are those that RFC 8305 section 8 recommends.
    struct Delays: Hashable, Sendable {
        /// For an answer with IPv6 addresses, once there are IPv4 addresses.
        var resolution = Duration.milliseconds(50)
        /// Between the starts of two attempts.
        var attempt = Duration.milliseconds(250)
    }

    /// What is to be done.
    enum Action: Hashable, Sendable {
        /// Connect to an end, as the attempt of this number.
        case attempt(Int, SocketEnd)
        /// Give an attempt up: another one has won.
        case abandon(Int)
        /// Nothing is left to be tried.
        case exhausted(NWError)
    }

    private let delays: Delays
    private var awaited: Set<AddressFamily>
    private var queues: [AddressFamily: [SocketEnd]] = [:]
    private var known: Set<SocketEnd> = []
    private var running: Set<Int> = []
    private var count = 0
    private var lastFamily: AddressFamily?
    private var lastStart: Duration?
    private var firstAnswer: Duration?
    private var error: NWError
    private(set) var isOver = false

    /// Prepares for the answers of lookups for these families; the error is reported without an address, when no lookup
    /// says why.
    init(awaiting families: Set<AddressFamily>, delays: Delays = Delays(), error: NWError) {
        awaited = families
        self.delays = delays
        self.error = error
    }

    /// Ends that a look-up found; they are tried in this order within their family.
    mutating func found(_ ends: [SocketEnd], at now: Duration) -> [Action] {
        for end in ends where known.insert(end).inserted { queues[end.family, default: []].append(end) }
        if firstAnswer == nil, !known.isEmpty { firstAnswer = now }
        return next(at: now)
    }

    /// A family has no more addresses to come.
    mutating func finished(_ family: AddressFamily, error: NWError? = nil, at now: Duration) -> [Action] {
        awaited.remove(family)
        // The errors of attempts say more than that the other family has no address.
        if let error, count == 0 { self.error = error }
        return next(at: now)
    }

    /// An attempt failed.
    mutating func failed(_ attempt: Int, _ error: NWError, at now: Duration) -> [Action] {
        guard running.remove(attempt) != nil else { return [] }
        self.error = error
        // The next one need not wait (section 5).
        lastStart = nil
        return next(at: now)
    }

    /// An attempt succeeded.
    /// - Returns: The others, to be abandoned.
    mutating func connected(_ attempt: Int) -> [Action] {
        guard !isOver, running.remove(attempt) != nil else { return [] }
        isOver = true
        defer { running = [] }
        return running.sorted().map { .abandon($0) }
    }

    /// Cancels everything that runs now, and goes on with what was not tried yet.
    mutating func skip(_ error: NWError, at now: Duration) -> [Action] {
        let abandoned = running.sorted().map { Action.abandon($0) }
        running = []
        self.error = error
        lastStart = nil
        return abandoned + next(at: now)
    }

    /// Starts what is due.
    mutating func next(at now: Duration) -> [Action] {
        guard !isOver else { return [] }
        guard hasCandidates else {
            guard awaited.isEmpty, running.isEmpty else { return [] }
            isOver = true
            return [.exhausted(error)]
        }
        if let deadline, deadline > now { return [] }
        guard let end = nextCandidate() else { return [] }
        count += 1
        running.insert(count)
        lastStart = now
        return [.attempt(count, end)]
    }

    /// When ``next(at:)`` is to be called again; `nil` when it waits for others.
    var deadline: Duration? {
        guard !isOver, hasCandidates else { return nil }
        if count == 0, awaited.contains(.ipv6), queues[.ipv6, default: []].isEmpty {
            return (firstAnswer ?? .zero) + delays.resolution
        }
        guard let lastStart, !running.isEmpty else { return .zero }
        return lastStart + delays.attempt
    }

    private var hasCandidates: Bool { queues.values.contains { !$0.isEmpty } }

    /// The next address: of the other family than the last one, where there is one (section 4).
    private mutating func nextCandidate() -> SocketEnd? {
        let wanted: AddressFamily = lastFamily == .ipv6 ? .ipv4 : .ipv6
        let other: AddressFamily = wanted == .ipv6 ? .ipv4 : .ipv6
        for family in [wanted, other] {
            guard let first = queues[family]?.first else { continue }
            queues[family]?.removeFirst()
            lastFamily = family
            return first
        }
        return nil
    }
}
