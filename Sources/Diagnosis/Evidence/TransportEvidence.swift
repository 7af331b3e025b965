// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

public struct TransportEvidence: Hashable, Sendable {
    /// Whether a time server answers (NTP, UDP port 123).
    public var timeAnswers: Assessment<Bool> = .notAsked
    /// The largest packets that arrive, by family.
    public var packetSizes: [PacketSize] = []

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
    /// How far the own clock is ahead of the time servers'.
    public var clockOffset: Assessment<Duration> = .notAsked

    public struct Certificate: Hashable, Sendable {
        public var anchor: String
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

        public init(
            target: String,
            sent: Int,
            received: Int,
            median: Duration,
            fifthPercentile: Duration,
            ninetyFifthPercentile: Duration
        ) {
            self.target = target
            self.sent = sent
            self.received = received
            self.median = median
            self.fifthPercentile = fifthPercentile
            self.ninetyFifthPercentile = ninetyFifthPercentile
        }

        /// The share that was lost, in percent.
        var loss: Double { sent > 0 ? Double(sent - min(received, sent)) * 100 / Double(sent) : 0 }
        var spread: Duration { ninetyFifthPercentile - fifthPercentile }
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
