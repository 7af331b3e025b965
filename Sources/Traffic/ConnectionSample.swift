// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Netlink

/// What one connection shows at one time.
struct ConnectionSample {
    /// An acknowledgement younger than this is an answer of now.
    static let recent = Duration.milliseconds(300)

    /// When the peer was last received from; `nil` when it never was.
    let received: Duration?
    /// The same, but not after the first of what is sent again: whoever still sends may receive nothing.
    let answer: Duration?
    /// Whether an answer is one of the host itself: what a network redirects to a page for logging in goes to port 80.
    let isProof: Bool
    /// Whether something is unacknowledged.
    let isWaiting: Bool
    /// Whether its retransmission timeout has passed without an answer.
    let isUnanswered: Bool
    /// Whether it is an attempt to connect that was sent more than once.
    let isAttempt: Bool
    /// Whether it has been unanswered for several timeouts.
    let isCutOff: Bool
    /// Whether its segments wait in a queue, which it may have filled itself.
    let isQueued: Bool
    /// When what is unanswered was first sent.
    let start: Duration
    /// How long after that an answer to others may still come from before.
    let slack: Duration
    /// How long after a transmission its answer may still come.
    let responseTime: Duration
    /// When it was sent last, or the time before, where the answer to the last one may still come.
    let sent: Duration
    /// How often it was sent.
    let transmissions: Int
    let roundTrip: UInt32
    let leastRoundTrip: UInt32

    init(_ connection: TCPConnection, at now: Duration) {
        func before(_ milliseconds: UInt32) -> Duration { now - .milliseconds(Int64(milliseconds)) }
        let isConnecting = connection.state == .synSent
        let received = min(connection.lastAcknowledged, connection.lastReceived)
        // A socket that never received anything counts from before the start of the machine.
        let isAnswered = !isConnecting && received < 1 << 30
        let isTimingOut = !isConnecting && connection.unacknowledged > 0 && !connection.isProbingWindow
        let isDeaf = isTimingOut && connection.retransmissions >= 2
        isProof = connection.destinationPort != 80
        self.received = isAnswered ? before(received) : nil
        isWaiting = isConnecting || connection.unacknowledged > 0
        isAttempt = isConnecting && connection.retransmissions > 0
        isUnanswered =
            isAttempt || isDeaf
            || isTimingOut && connection.retransmissions > 0 && before(connection.lastAcknowledged) + Self.recent <= now
        isCutOff = connection.retransmissions >= 3
        let least = connection.leastRoundTrip ?? connection.roundTrip
        isQueued = connection.roundTrip >= least + 50_000 && connection.roundTrip / 3 >= least
        transmissions = Int(connection.retransmissions) + 1
        roundTrip = connection.roundTrip
        leastRoundTrip = connection.leastRoundTrip ?? connection.roundTrip
        // Timeouts double: all before the present one lasted as long as it will, less one.
        let timeout = Duration.microseconds(Int64(connection.timeout))
        let passed =
            connection.backoff == 0
            ? timeout * Int(connection.retransmissions) : timeout - timeout / (1 << min(Int(connection.backoff), 20))
        let sent =
            isConnecting
            ? min(now, now - timeout + .milliseconds(Int64(connection.timeLeft))) : before(connection.lastSent)
        let start = sent - passed
        self.start = start
        answer = self.received.map { isTimingOut && connection.retransmissions > 0 ? min($0, start) : $0 }
        responseTime = max(Self.recent, .microseconds(Int64(connection.roundTrip) * 2))
        let isFirst = connection.retransmissions < 2 || connection.backoff < 2
        self.sent = isFirst || now - sent >= responseTime ? sent : sent - timeout / 2
        slack = max(responseTime, timeout / (1 << min(Int(connection.backoff), 20)))
    }
}
