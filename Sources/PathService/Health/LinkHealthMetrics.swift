// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import Metrics
internal import PathModel

/// The counters of links, as the kernel has them.
enum LinkHealthMetrics {
    static func write(_ samples: [Int: LinkSample], to writer: inout MetricWriter) {
        for (family, _) in counters { writer.declare(family) }
        for (family, _) in radioCounters { writer.declare(family) }
        writer.declare(queueDrops)
        writer.declare(queueBacklog)
        for (_, sample) in samples.sorted(by: { $0.key < $1.key }) {
            let shown = sample.counters?.preferringMAC
            for (family, counter) in counters {
                if let value = shown?[keyPath: counter] { writer.write(family, Double(value), sample.name) }
            }
            if let queue = sample.counters?.queue {
                writer.write(queueDrops, Double(queue.drops), sample.name)
                writer.write(queueBacklog, Double(queue.backlog), sample.name)
            }
            for (family, counter) in radioCounters {
                if let value = sample.radio?[keyPath: counter] { writer.write(family, Double(value), sample.name) }
            }
        }
    }

    private static let counters: [(MetricFamily, any KeyPath<LinkCounters, UInt64> & Sendable)] = [
        (counter("interface_receive_errors", "Errors that the driver counts when it receives."), \.receiveErrors),
        (counter("interface_receive_crc_errors", "Received frames with a wrong checksum."), \.crcErrors),
        (counter("interface_receive_frame_errors", "Received frames with a wrong alignment."), \.frameErrors),
        (counter("interface_receive_overruns", "Received frames that the card had no room for."), \.overruns),
        (counter("interface_transmit_errors", "Errors that the driver counts when it sends."), \.transmitErrors),
        (counter("interface_late_collisions", "Collisions after the first 64 bytes of a frame."), \.lateCollisions),
    ]

    private static let queueDrops = counter("interface_queue_drops", "Packets that the queue for sending dropped.")
    private static let queueBacklog = MetricFamily.gauge(
        "interface_queue_backlog_bytes",
        "Bytes that wait to be sent.",
        ["device"]
    )

    private static let radioCounters: [(MetricFamily, any KeyPath<RadioCounters, UInt32?> & Sendable)] = [
        (counter("wifi_transmit_retries", "Frames that were sent again to the access point."), \.retries),
        (counter("wifi_transmit_failures", "Packets that the access point did not acknowledge."), \.failures),
        (counter("wifi_beacon_losses", "How often several beacons in a row were missing."), \.beaconLosses),
    ]

    private static func counter(_ name: String, _ help: String) -> MetricFamily { .counter(name, help, ["device"]) }
}
