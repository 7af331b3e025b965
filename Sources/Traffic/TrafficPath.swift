// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// Where the packets of connections leave, and how far they go.
public struct TrafficPath: Hashable, Sendable {
    /// What kind of addresses is reached; answers from the one say nothing of the other.
    public enum Range: String, Hashable, Sendable, CaseIterable {
        case `public`
        /// RFC 1918, RFC 6598, unique local and link-local addresses.
        case `private`

        public init(_ address: IPAddress) { self = address.isPrivate || address.isLinkLocal ? .private : .public }
    }

    /// The interface's index and name.
    public var index: Int
    public var interface: String
    /// `nil` for destinations on the interface's own network.
    public var gateway: IPAddress?
    public var family: AddressFamily
    public var range: Range

    public init(index: Int, interface: String, gateway: IPAddress?, family: AddressFamily, range: Range) {
        self.index = index
        self.interface = interface
        self.gateway = gateway
        self.family = family
        self.range = range
    }
}

extension TrafficPath {
    /// Whether it is the same but for the interface's name, which may change.
    func isSame(as other: TrafficPath) -> Bool {
        index == other.index && gateway == other.gateway && family == other.family && range == other.range
    }
}

/// What connections say of a path or a destination.
public enum TrafficState: String, Hashable, Sendable, CaseIterable {
    /// There was an answer in the last fifteen seconds.
    case proved
    /// Answers are much slower than they could be.
    case slow
    /// More segments are sent again than is acceptable.
    case lossy
    /// Connections are attempted, none is answered, and none was before.
    case unanswered
    /// Nothing is answered.
    case stalled
    /// Nothing was sent.
    case unknown

    /// The one that is worth mentioning first of several.
    static func worst(_ states: some Sequence<TrafficState>) -> TrafficState {
        let order: [TrafficState] = [.stalled, .lossy, .slow, .proved, .unanswered]
        let states = Set(states)
        return order.first { states.contains($0) } ?? .unknown
    }
}

/// Round trips of several connections, as smoothed by the kernel.
public struct RoundTripQuantiles: Hashable, Sendable {
    public var p50: Duration
    public var p90: Duration
    public var p99: Duration

    /// Source: `tcpi_rtt`, in microseconds; `nil` without any.
    init?(_ microseconds: [UInt32]) {
        guard !microseconds.isEmpty else { return nil }
        let sorted = microseconds.sorted()
        func quantile(_ percent: Int) -> Duration {
            .microseconds(Int64(sorted[min(sorted.count - 1, sorted.count * percent / 100)]))
        }
        (p50, p90, p99) = (quantile(50), quantile(90), quantile(99))
    }
}

/// What is reported of a path, or of a destination beyond it.
public struct TrafficFinding: Hashable, Sendable {
    public var path: TrafficPath
    /// `nil` when it is about everything beyond the path.
    public var destination: IPPrefix?
    public var connections: Int
    public var unanswered: Int
    /// How long ago the last answer came.
    public var lastAnswer: Duration?
    /// The share of data segments that were sent again.
    public var loss: Double?
    /// Of a destination: whether others on the path were answered after its last answer.
    public var othersAnswer = false

    public init(
        path: TrafficPath,
        destination: IPPrefix?,
        connections: Int,
        unanswered: Int,
        lastAnswer: Duration?,
        loss: Double?
    ) {
        self.path = path
        self.destination = destination
        self.connections = connections
        self.unanswered = unanswered
        self.lastAnswer = lastAnswer
        self.loss = loss
    }
}

/// What stands of a path or a destination.
public struct TrafficStanding: Hashable, Sendable {
    public var state: TrafficState
    public var finding: TrafficFinding
}

/// What a path shows of what is beyond it; times are on the clock of the readings.
public struct TrafficProof: Hashable, Sendable {
    public var path: TrafficPath
    /// When the last answer came that no page for logging in would give: those of port 80 do not count.
    public var answered: Duration?
    /// Since when nothing is answered; `nil` while something is.
    public var stalledSince: Duration?
}

public enum TrafficChange: Hashable, Sendable {
    case stalled(TrafficFinding)
    case lossy(TrafficFinding)
    /// What was stalled is answered again; `duration` is how long it was not.
    case resumed(TrafficFinding, duration: Duration)
    /// What was lossy is no more.
    case recovered(TrafficFinding, duration: Duration)
    /// What was stalled or lossy has no traffic left that could show whether it still is.
    case unknown(TrafficFinding, duration: Duration)

    /// Whether it says anew whether what is beyond a path can be reached.
    public var concernsReach: Bool {
        switch self {
        case .stalled, .resumed, .unknown: finding.destination == nil
        case .lossy, .recovered: false
        }
    }

    public var finding: TrafficFinding {
        switch self {
        case .stalled(let finding), .lossy(let finding), .resumed(let finding, _), .recovered(let finding, _),
            .unknown(let finding, _):
            finding
        }
    }
}

/// What is known at one time.
public struct TrafficReport: Hashable, Sendable {
    public struct Group: Hashable, Sendable {
        public var destination: IPPrefix
        public var figures: Figures
        /// Of at most 64 connections, in order.
        public var addresses: [IPAddress]
    }

    public struct Path: Hashable, Sendable {
        public var path: TrafficPath
        public var figures: Figures
        /// Since when the state stands, on the clock of the readings.
        public var since: Duration
        public var groups: [Group]
    }

    public struct Figures: Hashable, Sendable {
        public var state = TrafficState.unknown
        public var connections = 0
        public var unanswered = 0
        /// How long ago the last answer came; `nil` when none did.
        public var lastAnswer: Duration?
        public var roundTrips: RoundTripQuantiles?
        public var loss: Double?

        public init() {}
    }

    public var total = Figures()
    public var paths: [Path] = []

    public init() {}
}
