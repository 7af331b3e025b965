// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import OrderedJSON
public import PathModel

/// What the kernel counted of a link since it was made, and what its cable negotiated, as of the last reading.
public struct LinkCountersDocument: JSONObjectWritable, Equatable, Sendable {
    public var wired: WiredFacts?
    public var counters: LinkCounters

    /// Shows all but the packets that were received and sent.
    public init(_ wired: WiredFacts?, _ counters: LinkCounters) {
        self.wired = wired
        self.counters = counters.preferringMAC
        (self.counters.received, self.counters.sent) = (0, 0)
        self.counters.queue?.sent = 0
    }

    public func write(to object: inout JSONObjectWriter) {
        object.write("bits_per_second", wired.map { $0.megabits * 1_000_000 })
        object.write("offered_bits_per_second", wired?.offered.map { $0 * 1_000_000 })
        object.write("duplex", wired.map { $0.isFullDuplex ? "full" : "half" })
        object.write("negotiated", wired?.isNegotiated)
        object.write("rx_errors", Self.count(counters.receiveErrors))
        object.write("rx_crc_errors", Self.count(counters.crcErrors))
        object.write("rx_frame_errors", Self.count(counters.frameErrors))
        object.write("rx_overruns", Self.count(counters.overruns))
        object.write("tx_errors", Self.count(counters.transmitErrors))
        object.write("late_collisions", Self.count(counters.lateCollisions))
        object.write("queue", counters.queue?.kind)
        object.write("queue_drops", counters.queue.map { Self.count($0.drops) })
        object.write("queue_backlog_bytes", counters.queue.map { Self.count($0.backlog) })
    }

    private static func count(_ value: UInt64) -> Int { Int(clamping: value) }
}

extension LinkCountersDocument {
    public static var form: Form {
        .named("Counters", "What the kernel and the driver counted of a link, read once a minute.")
            .member("bits_per_second", .count.orNull, "The speed of the cable; `null` when unknown.")
            .member("offered_bits_per_second", .count.orNull, "The most that both ends of a copper cable offer.")
            .member("duplex", .words("full", "half").orNull)
            .member("negotiated", .truth.orNull, "`false` where speed and duplex were set by hand.")
            .member("rx_errors", .count, "All errors that the driver counts when it receives.")
            .member("rx_crc_errors", .count, "Frames with a wrong checksum.")
            .member("rx_frame_errors", .count, "Frames with a wrong alignment.")
            .member("rx_overruns", .count, "Frames that the card had no room for.")
            .member("tx_errors", .count)
            .member("late_collisions", .count, "Collisions after the first 64 bytes of a frame.")
            .member("queue", .text.orNull, "The queueing discipline, such as `fq_codel`; `null` without one.")
            .member("queue_drops", .count.orNull)
            .member("queue_backlog_bytes", .count.orNull, "Bytes that wait to be sent.")
    }
}
