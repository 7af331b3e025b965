// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Netlink

/// Decides when the counters of TCP are read, and when all connections are.
///
/// Pure: counters, results and times in, the next step out. A machine without connections outside loopback is polled only
/// when something else wakes the process (``isDue(_:)``); one whose connections are silent, every four seconds; a busy one,
/// four times a second, which costs a tenth of what reading its connections would.
public struct TrafficSampling: Hashable, Sendable {
    /// What the last reading of all connections found.
    public struct Result: Hashable, Sendable {
        /// Those outside loopback.
        public var connections: Int
        public var isSuspicious: Bool
        public var isStalled: Bool
        /// Whether something stands that readings end.
        public var isTroubled: Bool
        /// The processor time that it needed.
        public var cost: Duration

        public init(
            connections: Int,
            isSuspicious: Bool = false,
            isStalled: Bool = false,
            isTroubled: Bool = false,
            cost: Duration = .zero
        ) {
            self.connections = connections
            self.isSuspicious = isSuspicious
            self.isStalled = isStalled
            self.isTroubled = isTroubled
            self.cost = cost
        }
    }

    static let fastest = Duration.milliseconds(250)
    static let slowest = Duration.seconds(4)
    /// Between readings of a machine on which nothing happens that could be lost.
    static let routine = Duration.seconds(10)
    /// The share of a processor for readings, but for the first few after something was sent again.
    static let share = 0.015
    static let mostUrgent = 3

    private var counters: TCPCounters?
    private var interval = Self.fastest
    /// When the counters were read last, and when connections were.
    private var lastGate: Duration?
    private var lastReading: Duration?
    private var hasRetransmitted = false
    private var hasReceived = false
    private var hasMoved = false
    private var fruitless = 0
    /// Readings in a row since something was sent again.
    private var urgent = 0
    private var result = Result(connections: 0)
    /// The connections opened before the last reading: a machine whose connections are all over loopback is not read again.
    private var openedAtReading: UInt64?

    public init() {}

    /// Whether readings are further apart than they would be with fewer connections.
    public var isLimited: Bool { result.cost > Self.fastest * Self.share }

    /// How far apart readings are while all is well.
    public var routineInterval: Duration { max(Self.routine, result.cost * (1 / Self.share)) }

    /// When the counters are to be read next.
    /// - Parameter isTransient: Whether states of paths will be others without a reading.
    /// - Returns: `nil` when nothing is to be waited for.
    public func next(isTransient: Bool = false) -> Duration? {
        guard result.connections > 0 || isTransient, let lastGate else { return nil }
        return lastGate + interval
    }

    /// Whether the counters may be read because the process is awake anyhow.
    public func isDue(_ now: Duration) -> Bool {
        lastGate.map { now - $0 >= (result.connections > 0 ? interval : .seconds(1)) } ?? true
    }

    /// Records the counters.
    /// - Returns: Whether all connections are to be read now.
    public mutating func gate(_ new: TCPCounters, at now: Duration) -> Bool {
        lastGate = now
        let old = counters ?? new
        counters = new
        if new.retransmitted != old.retransmitted { hasRetransmitted = true }
        if new.segmentsReceived != old.segmentsReceived { hasReceived = true }
        let moved = new.segmentsSent &- old.segmentsSent
        if moved > 0 || hasReceived { hasMoved = true }
        interval = moved >= 4 || hasRetransmitted ? Self.fastest : min(Self.slowest, interval * 2)
        guard let lastReading else { return new.opened > 0 || new.established > 0 }
        guard result.connections > 0 || result.isStalled || result.isTroubled else {
            return new.opened != openedAtReading && now - lastReading >= .seconds(fruitless > 4 ? 10 : 1)
        }
        if !hasRetransmitted, now - lastReading >= .seconds(2) { urgent = 0 }
        let isUrgent = hasRetransmitted && urgent < Self.mostUrgent
        guard isUrgent || now - lastReading >= result.cost * (1 / Self.share) else { return false }
        if result.isSuspicious { return true }
        if result.isStalled { return hasReceived || now - lastReading >= .seconds(1) }
        // A reading ends a little after the counters were read: the second next reading of them is just before two intervals.
        if hasRetransmitted { return fruitless < 3 || now - lastReading >= Self.fastest * 1.5 }
        return (hasMoved || result.isTroubled) && now - lastReading >= routineInterval
    }

    /// All connections were read.
    public mutating func read(_ new: Result, at now: Duration) {
        let isFruitless = hasRetransmitted && !new.isSuspicious && !new.isStalled || new.connections == 0
        fruitless = isFruitless ? min(fruitless + 1, 8) : 0
        result = new
        if hasRetransmitted { urgent += 1 }
        if new.isSuspicious || new.isStalled { interval = Self.fastest }
        lastReading = now
        openedAtReading = counters?.opened
        (hasRetransmitted, hasReceived, hasMoved) = (false, false, false)
    }

    /// A connection ended: there are some, of which the last reading may have seen none.
    public mutating func connectionEnded() {
        hasMoved = true
    }
}
