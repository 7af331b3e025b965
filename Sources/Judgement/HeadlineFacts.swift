// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import Diagnosis
public import PathModel

/// What a headline is judged from.
public struct HeadlineFacts: Sendable {
    public var host: String
    public var path: Path
    /// Since when the path's status stands, as time since boot: what answered before is no evidence.
    public var statusSince: Duration
    /// The root causes that stand, worst first.
    public var verdicts: [Verdict] = []
    /// The last examination; `nil` without one.
    public var examination: ExaminationSign?
    public var probes: [ProbeSign] = []
    public var now: Duration

    public init(host: String, path: Path, statusSince: Duration = .zero, now: Duration = .zero) {
        self.host = host
        self.path = path
        self.statusSince = statusSince
        self.now = now
    }

    /// What is known of one family alone.
    func restricted(to family: AddressFamily) -> HeadlineFacts {
        var facts = self
        if family == .ipv4 { facts.path.ipv6 = nil } else { facts.path.ipv4 = nil }
        facts.verdicts.removeAll { $0.family != nil && $0.family != family }
        facts.probes.removeAll { $0.family != nil && $0.family != family }
        return facts
    }
}

/// What an examination found out by asking.
public struct ExaminationSign: Hashable, Sendable {
    /// When it ended, as time since boot.
    public var ended: Duration
    /// How long it counts.
    public var validity: Duration
    /// Whether something beyond the gateway answered.
    public var reachedInternet: Bool
    /// Whether a name server answered.
    public var reachedDNS: Bool
    /// Whether hosts beyond the gateway were queried, and none answered.
    public var isSilent: Bool

    public init(
        ended: Duration,
        validity: Duration,
        reachedInternet: Bool,
        reachedDNS: Bool,
        isSilent: Bool = false
    ) {
        self.ended = ended
        self.validity = validity
        self.reachedInternet = reachedInternet
        self.reachedDNS = reachedDNS
        self.isSilent = isSilent
    }

    /// Makes a sign of the layers of a diagnosis.
    public init(_ diagnosis: Diagnosis, reach: [ReachEvidence], ended: Duration, validity: Duration) {
        func isSound(_ layer: Layer) -> Bool { diagnosis.ladder.contains { $0.layer == layer && $0.state == .sound } }
        let answered = reach.compactMap(\.isAlive)
        self.init(
            ended: ended,
            validity: validity,
            reachedInternet: isSound(.wan),
            reachedDNS: isSound(.dns),
            isSilent: !answered.isEmpty && !answered.contains(true)
        )
    }
}

/// What an active probe says.
public struct ProbeSign: Hashable, Sendable {
    public enum Place: Hashable, Sendable {
        /// On this machine or the networks it is part of.
        case near
        case gateway
        case beyond
        /// One of those that this machine uses.
        case nameServer
    }

    public var name: String
    public var place: Place
    /// Whether its target is beyond the gateway.
    public var isBeyond: Bool { place == .beyond }
    /// The family of its packets; `nil` where it may be either.
    public var family: AddressFamily?
    /// Whether it failed as often as is told.
    public var isFailing: Bool
    /// Whether a portal answered in its place.
    public var isCaptive: Bool
    /// When its last right answer came, as time since boot.
    public var answered: Duration?
    /// How long an answer counts.
    public var validity: Duration
    /// How long the last right answer took.
    public var roundTrip: Duration?
    /// Whether its right answers show that names are found.
    public var findsName: Bool
    /// Why it fails, in words.
    public var failure: String?

    public init(
        _ name: String,
        _ place: Place,
        family: AddressFamily? = nil,
        isFailing: Bool = false,
        isCaptive: Bool = false,
        answered: Duration? = nil,
        validity: Duration = .seconds(180),
        roundTrip: Duration? = nil,
        findsName: Bool = false,
        failure: String? = nil
    ) {
        self.name = name
        self.place = place
        self.family = family
        self.isFailing = isFailing
        self.isCaptive = isCaptive
        self.answered = answered
        self.validity = validity
        self.roundTrip = roundTrip
        self.findsName = findsName || place == .nameServer
        self.failure = failure
    }
}
