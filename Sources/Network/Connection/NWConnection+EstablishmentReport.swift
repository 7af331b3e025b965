// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Dispatch
public import FoundationEssentials

extension NWConnection {
    /// How a connection came about; all times are in seconds.
    public struct EstablishmentReport: Sendable {
        /// One protocol that talked to its peer before content went.
        public struct Handshake: Sendable {
            /// The protocol.
            public let definition: NWProtocolDefinition
            /// Its duration.
            public let handshakeDuration: TimeInterval
            /// A round trip to the peer: of TCP as the kernel measured it (`tcpi_rtt`), of what is upon TCP the time between
            /// its first words and the first that came of them; 0 where nothing was measured.
            public let handshakeRTT: TimeInterval
        }

        /// One look-up of the endpoint.
        public struct Resolution: Sendable {
            /// Where an answer came from.
            public enum Source: Hashable, Sendable, CaseIterable {
                /// It was queried.
                case query
                /// It was known.
                case cache
                /// It was known, and had expired; never on Linux.
                case expiredCache
            }

            /// The transport of the DNS query.
            public enum DNSProtocol: Hashable, Sendable, CaseIterable {
                /// Unknown: the system's resolver was used.
                case unknown
                /// UDP, which multicast DNS is.
                case udp
                /// TCP.
                case tcp
                /// TLS.
                case tls
                /// HTTPS.
                case https
            }

            /// Where the answer came from.
            public let source: Source
            /// Its duration.
            public let duration: TimeInterval
            /// How many addresses came.
            public let endpointCount: Int
            /// The address that was connected to, of whichever look-up.
            public let successfulEndpoint: NWEndpoint
            /// The address of this look-up that was the first to be tried.
            public let preferredEndpoint: NWEndpoint
            /// The transport of the query.
            public let dnsProtocol: DNSProtocol
        }

        /// From the beginning of the attempt that succeeded, when the connection was prepared, to its being ready.
        public let duration: TimeInterval
        /// From the start of the connection to the beginning of that attempt.
        public let attemptStartedAfterInterval: TimeInterval
        /// How many attempts came to nothing before: how often it was waiting.
        public let previousAttemptCount: Int
        /// What protocols did, the one nearest to the network first.
        public let handshakes: [Handshake]
        /// What was looked up; empty for an address.
        public let resolutions: [Resolution]
        /// Whether a proxy was used; never on Linux.
        public let usedProxy: Bool
        /// Whether a proxy was configured; never on Linux.
        public let proxyConfigured: Bool
        /// The proxy that was used; always `nil` on Linux.
        public let proxyEndpoint: NWEndpoint?
    }

    /// Reports how the connection was established.
    ///
    /// - Parameters:
    ///   - queue: Where `completion` is called.
    ///   - completion: Called once, with `nil` when the connection is not ready and never was.
    @preconcurrency public func requestEstablishmentReport(
        queue: DispatchQueue,
        completion: @escaping @Sendable (_ report: EstablishmentReport?) -> Void
    ) {
        let report = establishment?.report
        queue.async { completion(report) }
    }
}
