// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetworkShims
internal import Synchronization

/// What went over a connection from its beginning to a time.
struct TransferCounts: Sendable, Hashable {
    /// What the transport has counted.
    struct Transport: Sendable, Hashable {
        var receivedPackets: UInt64 = 0
        var sentPackets: UInt64 = 0
        var receivedBytes: UInt64 = 0
        var outOfOrderBytes: UInt64 = 0
        var sentBytes: UInt64 = 0
        var retransmittedBytes: UInt64 = 0
        var smoothedRoundTrip = Duration.zero
        var shortestRoundTrip = Duration.zero
        var roundTripVariance = Duration.zero
    }

    /// The time, since boot.
    var at = Duration.zero
    var interface: NWInterface?
    var transport = Transport()
    var received: UInt64 = 0
    var sent: UInt64 = 0

    /// What went since another time; what counts up is a difference, round trips are as they are now.
    func report(since first: TransferCounts) -> NWConnection.DataTransferReport {
        let before = first.transport
        let path = NWConnection.DataTransferReport.PathReport(
            interface: interface,
            radioType: nil,
            receivedIPPacketCount: transport.receivedPackets - before.receivedPackets,
            sentIPPacketCount: transport.sentPackets - before.sentPackets,
            receivedTransportByteCount: transport.receivedBytes - before.receivedBytes,
            receivedTransportDuplicateByteCount: 0,
            // The usual length of segments changes, and the product with it.
            receivedTransportOutOfOrderByteCount: max(transport.outOfOrderBytes, before.outOfOrderBytes)
                - before.outOfOrderBytes,
            sentTransportByteCount: transport.sentBytes - before.sentBytes,
            retransmittedTransportByteCount: transport.retransmittedBytes - before.retransmittedBytes,
            transportSmoothedRTT: transport.smoothedRoundTrip.seconds,
            transportMinimumRTT: transport.shortestRoundTrip.seconds,
            transportRTTVariance: transport.roundTripVariance.seconds,
            receivedApplicationByteCount: received - first.received,
            sentApplicationByteCount: sent - first.sent
        )
        return NWConnection.DataTransferReport(
            duration: max(.zero, at - first.at).seconds,
            aggregatePathReport: path,
            pathReports: [path]
        )
    }
}

extension TransferCounts.Transport {
    /// What TCP says (`TCP_INFO`).
    init(_ state: nwp_tcp_state) {
        self.init(
            receivedPackets: UInt64(state.segments_received),
            sentPackets: UInt64(state.segments_sent),
            receivedBytes: state.bytes_received,
            outOfOrderBytes: UInt64(state.out_of_order) * UInt64(state.received_segment_size),
            sentBytes: state.bytes_sent,
            retransmittedBytes: state.bytes_retransmitted,
            smoothedRoundTrip: .microseconds(state.round_trip),
            // The kernel says that it has measured none by the largest number.
            shortestRoundTrip: state.shortest_round_trip == .max ? .zero : .microseconds(state.shortest_round_trip),
            roundTripVariance: .microseconds(state.round_trip_variance)
        )
    }

    /// A datagram came.
    mutating func receiveDatagram(_ length: Int) {
        receivedPackets += 1
        receivedBytes += UInt64(length)
    }

    /// A datagram went.
    mutating func sendDatagram(_ length: Int) {
        sentPackets += 1
        sentBytes += UInt64(length)
    }
}

/// What a report began with, once that is known: before whatever is requested later.
final class TransferBaseline: Sendable {
    private let counts = Mutex(TransferCounts())

    /// What it began with.
    var value: TransferCounts { counts.withLock { $0 } }

    /// Notes it.
    func set(_ value: TransferCounts) { counts.withLock { $0 = value } }
}
