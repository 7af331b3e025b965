// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import OrderedJSON
public import PathModel

/// What the kernel counted of a link since it was made, and what its cable negotiated, as of the last reading.
public struct LinkCountersDocument: MemberDeclaring, Equatable, Sendable {
    public var wired: WiredFacts?
    public var counters: LinkCounters

    /// Shows all but the packets that were received and sent.
    public init(_ wired: WiredFacts?, _ counters: LinkCounters) {
        self.wired = wired
        self.counters = counters.preferringMAC
        (self.counters.received, self.counters.sent) = (0, 0)
        self.counters.queue?.sent = 0
    }

    public static let members = Members<Self>
        .named("Counters", "What the kernel and the driver counted of a link, read once a minute.")
        .member("bits_per_second", "The speed of the cable; `null` when unknown.") {
            $0.wired.map { $0.megabits * 1_000_000 }
        }
        .member("offered_bits_per_second", "The most that both ends of a copper cable offer.") {
            $0.wired?.offered.map { $0 * 1_000_000 }
        }
        .member("duplex", as: .words("full", "half")) { $0.wired.map { $0.isFullDuplex ? "full" : "half" } }
        .member("negotiated", "`false` where speed and duplex were set by hand.") { $0.wired?.isNegotiated }
        .member("rx_errors", "All errors that the driver counts when it receives.") {
            Self.count($0.counters.receiveErrors)
        }
        .member("rx_crc_errors", "Frames with a wrong checksum.") { Self.count($0.counters.crcErrors) }
        .member("rx_frame_errors", "Frames with a wrong alignment.") { Self.count($0.counters.frameErrors) }
        .member("rx_overruns", "Frames that the card had no room for.") { Self.count($0.counters.overruns) }
        .member("tx_errors") { Self.count($0.counters.transmitErrors) }
        .member("late_collisions", "Collisions after the first 64 bytes of a frame.") {
            Self.count($0.counters.lateCollisions)
        }
        .member("queue", "The queueing discipline, such as `fq_codel`; `null` without one.") { $0.counters.queue?.kind }
        .member("queue_drops") { $0.counters.queue.map { Self.count($0.drops) } }
        .member("queue_backlog_bytes", "Bytes that wait to be sent.") {
            $0.counters.queue.map { Self.count($0.backlog) }
        }

    private static func count(_ value: UInt64) -> Int { Int(clamping: value) }
}
