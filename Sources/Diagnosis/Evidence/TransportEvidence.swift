// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

public struct TransportEvidence: Hashable, Sendable {
    /// Whether a time server answers (NTP, UDP port 123).
    public var timeAnswers: Assessment<Bool> = .notAsked
    /// What became of QUIC packets.
    package var quic: [QUIC] = []
    /// The largest packets that arrive, by family.
    public var packetSizes: [PacketSize] = []

    /// What became of the query for the versions of QUIC that an anchor speaks (RFC 9000 section 6).
    package struct QUIC: Hashable, Sendable {
        public var anchor: String
        /// Whether its HTTPS server says that it is offered there.
        package var isOffered: Bool
        /// Whether nothing came back, no refusal either.
        package var isSilent: Bool

        package init(anchor: String, isOffered: Bool, isSilent: Bool) {
            self.anchor = anchor
            self.isOffered = isOffered
            self.isSilent = isSilent
        }
    }

    /// What a search for the path MTU found.
    public struct PacketSize: Hashable, Sendable {
        public var family: AddressFamily
        /// The largest packet that arrives, in bytes.
        public var largest: Int
        /// The MTU of the own link, in bytes.
        public var linkMTU: Int
        /// Whether a router said that a packet was too big.
        public var isAnnounced: Bool
        /// Whether a transfer of full packets came to a halt.
        public var transferStalls: Assessment<Bool>

        public init(
            _ family: AddressFamily,
            largest: Int,
            linkMTU: Int,
            isAnnounced: Bool,
            transferStalls: Assessment<Bool> = .notAsked
        ) {
            self.family = family
            self.largest = largest
            self.linkMTU = linkMTU
            self.isAnnounced = isAnnounced
            self.transferStalls = transferStalls
        }
    }
}

public struct ApplicationEvidence: Hashable, Sendable {
    public var certificates: [Certificate] = []
    /// TLS handshakes that got no answer or were reset, whether or not a connection could be made.
    package var failedHandshakes: [Handshake] = []
    /// How far the own clock is ahead of the time servers'.
    public var clockOffset: Assessment<Duration> = .notAsked

    package struct Handshake: Hashable, Sendable {
        package var anchor: String
        package var family: AddressFamily
        package var port: UInt16
        /// Whether nothing came back, no reset either.
        package var isSilent: Bool

        package init(anchor: String, family: AddressFamily, port: UInt16, isSilent: Bool) {
            self.anchor = anchor
            self.family = family
            self.port = port
            self.isSilent = isSilent
        }
    }

    public struct Certificate: Hashable, Sendable {
        package var anchor: String
        /// Why the chain does not verify; `nil` when it does.
        public var failure: String?
        public var issuer: String?
        /// Whether the failure is about dates alone.
        public var isAboutTime: Bool

        public init(anchor: String, failure: String? = nil, issuer: String? = nil, isAboutTime: Bool = false) {
            self.anchor = anchor
            self.failure = failure
            self.issuer = issuer
            self.isAboutTime = isAboutTime
        }
    }
}

public struct PerformanceEvidence: Hashable, Sendable {
    /// A paced train of packets to the gateway.
    public var gateway: Train?
    /// A paced train of packets to each anchor.
    public var anchors: [Train] = []
    /// TCP connections that were made because echo requests were lost.
    package var connections: [Connections] = []
    /// What a load test found; `nil` without one.
    public var load: Load?
    /// Why a load test that was wanted found less than it should; `nil` when there is no reason.
    public var loadGap: String?

    public struct Train: Hashable, Sendable {
        public var target: String
        public var sent: Int
        public var received: Int
        /// The median round trip.
        public var median: Duration
        /// The round trip that one in twenty undercuts.
        public var fifthPercentile: Duration
        /// The round trip that one in twenty exceeds.
        public var ninetyFifthPercentile: Duration
        /// Whether it was of ICMP echo requests.
        package var isEcho: Bool

        public init(
            target: String,
            sent: Int,
            received: Int,
            median: Duration,
            fifthPercentile: Duration,
            ninetyFifthPercentile: Duration,
            isEcho: Bool = true
        ) {
            self.target = target
            self.sent = sent
            self.received = received
            self.median = median
            self.fifthPercentile = fifthPercentile
            self.ninetyFifthPercentile = ninetyFifthPercentile
            self.isEcho = isEcho
        }

        /// The same with the packets of an earlier one counted as well.
        package func adding(_ earlier: Train) -> Train {
            var train = self
            train.sent += earlier.sent
            train.received += earlier.received
            return train
        }

        /// The share that was lost, in percent.
        var loss: Double { sent > 0 ? Double(sent - min(received, sent)) * 100 / Double(sent) : 0 }
        var spread: Duration { ninetyFifthPercentile - fifthPercentile }
    }

    /// Connections made one after another to one anchor.
    package struct Connections: Hashable, Sendable {
        package var target: String
        package var made: Int
        /// How many needed a second SYN, or got no answer.
        package var repeated: Int

        package init(target: String, made: Int, repeated: Int) {
            self.target = target
            self.made = made
            self.repeated = repeated
        }
    }

    public struct Load: Hashable, Sendable {
        /// The median round trip before.
        public var idle: Duration?
        /// The median round trip under load, in the direction that suffers more.
        public var loaded: Duration?
        /// Round trips per minute under load (the IETF's responsiveness), in the direction that suffers more.
        public var roundTripsPerMinute: Int?
        /// Megabits per second that were downloaded; `nil` without a download.
        public var down: Double?
        /// Megabits per second that were uploaded; `nil` without an upload.
        public var up: Double?
        public var duration = Duration.zero
        /// The bytes that were sent.
        public var sent = 0
        /// The bytes that came back.
        public var received = 0

        public init(idle: Duration?, loaded: Duration?, roundTripsPerMinute: Int?, down: Double?, up: Double?) {
            self.idle = idle
            self.loaded = loaded
            self.roundTripsPerMinute = roundTripsPerMinute
            self.down = down
            self.up = up
        }

        /// How good that is, if it was measured.
        public var responsiveness: Responsiveness? { roundTripsPerMinute.map(Responsiveness.init) }
    }

    public init() {}
}
