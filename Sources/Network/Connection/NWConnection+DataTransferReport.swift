// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Dispatch
public import FoundationEssentials

extension NWConnection {
    /// What went over a connection within a span of time.
    public struct DataTransferReport: Sendable {
        /// What went by one interface; times are in seconds.
        ///
        /// Of TCP it is what the kernel has counted (`TCP_INFO`), of UDP what the library has; a unix socket has no packets.
        public struct PathReport: Sendable {
            /// The interface; `nil` for unix sockets, and for a connection that never was ready.
            public let interface: NWInterface?
            /// The radio technology of the interface; always `nil` on Linux.
            public let radioType: NWInterface.RadioType?
            /// How many packets came: segments of TCP, or datagrams.
            public let receivedIPPacketCount: UInt64
            /// How many packets went.
            public let sentIPPacketCount: UInt64
            /// How many bytes the transport has received, each once.
            public let receivedTransportByteCount: UInt64
            /// How many bytes came that were there already; always 0, Linux does not count them for one connection.
            public let receivedTransportDuplicateByteCount: UInt64
            /// How many bytes came out of order: Linux counts segments, assumed to be as long as the peer's segments
            /// usually are (`tcpi_rcv_ooopack`, `tcpi_rcv_mss`).
            public let receivedTransportOutOfOrderByteCount: UInt64
            /// How many bytes the transport has sent, those that were sent again included.
            public let sentTransportByteCount: UInt64
            /// How many bytes were sent again.
            public let retransmittedTransportByteCount: UInt64
            /// The round trip as TCP smooths it, at the end; 0 where there is none.
            public let transportSmoothedRTT: TimeInterval
            /// The shortest round trip of late, at the end.
            public let transportMinimumRTT: TimeInterval
            /// How much round trips vary, at the end.
            public let transportRTTVariance: TimeInterval
            /// How many bytes came for the program, without those of TLS and WebSocket.
            public let receivedApplicationByteCount: UInt64
            /// How many bytes of the program went.
            public let sentApplicationByteCount: UInt64
        }

        /// How many seconds the report is about.
        public let duration: TimeInterval
        /// All paths together.
        public let aggregatePathReport: PathReport
        /// Each path by itself; on Linux there is one.
        public let pathReports: [PathReport]
    }

    /// A report that has begun.
    ///
    /// It keeps the connection until it is let go.
    public struct PendingDataTransferReport: Sendable {
        private let connection: NWConnection
        private let began: TransferBaseline

        init(_ connection: NWConnection, _ began: TransferBaseline) {
            self.connection = connection
            self.began = began
        }

        /// Reports what was transferred since the report was begun, or until the connection was over.
        ///
        /// It may be called again, for a longer span.
        /// - Parameters:
        ///   - queue: Where `completion` is called.
        ///   - completion: Called once.
        @preconcurrency public func collect(
            queue: DispatchQueue,
            completion: @escaping @Sendable (_ report: DataTransferReport) -> Void
        ) {
            connection.count { [began] counts in
                let report = counts.report(since: began.value)
                queue.async { completion(report) }
            }
        }
    }

    /// Begins to report what goes over the connection.
    public func startDataTransferReport() -> PendingDataTransferReport {
        let baseline = TransferBaseline()
        count { counts in baseline.set(counts) }
        return PendingDataTransferReport(self, baseline)
    }
}
