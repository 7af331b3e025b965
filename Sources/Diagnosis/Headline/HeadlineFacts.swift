// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import PathModel

/// What a headline is evaluated from.
public struct HeadlineFacts: Sendable {
    public var host: String
    public var path: Path
    /// Since when the path's status stands, as time since boot: what answered before is no evidence.
    public var statusSince: Duration
    /// The root causes that stand, worst first.
    public var verdicts: [VerdictTracker.Standing] = []
    /// The last examination; `nil` without one.
    public var examination: ExaminationSummary?
    /// Whether the first examination is to come.
    public var awaitsExamination = false
    /// Whether an examination follows by itself when tests fail.
    package var examinesFailures = false
    public var probes: [ProbeObservation] = []
    /// What the machine's own connections through the gateways of the path show.
    public var traffic: [TrafficObservation] = []
    /// Since when the state stands that was reported last, as time since boot.
    public var reportedSince = Duration.zero
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
        facts.verdicts.removeAll { $0.verdict.family != nil && $0.verdict.family != family }
        facts.probes.removeAll { $0.family != nil && $0.family != family }
        facts.traffic.removeAll { $0.family != family }
        return facts
    }
}

/// What an examination found.
public struct ExaminationSummary: Hashable, Sendable {
    /// When it started, as time since boot: what it proves was so no later.
    public var started: Duration
    public var ended: Duration
    /// How long after its end it counts.
    public var validity: Duration
    /// Whether something beyond the gateway answered.
    public var reachedInternet: Bool
    /// Whether a name server answered.
    public var reachedDNS: Bool
    /// Whether hosts beyond the gateway were queried, and none answered.
    public var isSilent: Bool

    public init(
        started: Duration,
        ended: Duration,
        validity: Duration,
        reachedInternet: Bool,
        reachedDNS: Bool,
        isSilent: Bool = false
    ) {
        self.started = started
        self.ended = ended
        self.validity = validity
        self.reachedInternet = reachedInternet
        self.reachedDNS = reachedDNS
        self.isSilent = isSilent
    }

    /// Sums up a diagnosis.
    public init(
        _ diagnosis: Diagnosis,
        reach: [ReachEvidence],
        started: Duration,
        ended: Duration,
        validity: Duration
    ) {
        func isSound(_ layer: Layer) -> Bool { diagnosis.ladder.contains { $0.layer == layer && $0.state == .sound } }
        let answered = reach.compactMap(\.isAlive)
        self.init(
            started: started,
            ended: ended,
            validity: validity,
            reachedInternet: isSound(.wan),
            reachedDNS: isSound(.dns),
            isSilent: !answered.isEmpty && !answered.contains(true)
        )
    }
}

/// What the machine's own connections to public addresses show of one gateway.
public struct TrafficObservation: Hashable, Sendable {
    /// How long an answer counts: as long as that of a probe that runs twice a minute.
    public static let validity = Duration.seconds(180)

    public var family: AddressFamily
    public var interface: String
    /// `nil` where the interface has none.
    public var gateway: IPAddress?
    /// When the last answer came, as time since boot.
    public var answered: Duration?
    /// Since when nothing is answered; `nil` while something is.
    public var stalledSince: Duration?

    public init(
        family: AddressFamily,
        interface: String,
        gateway: IPAddress?,
        answered: Duration? = nil,
        stalledSince: Duration? = nil
    ) {
        self.family = family
        self.interface = interface
        self.gateway = gateway
        self.answered = answered
        self.stalledSince = stalledSince
    }
}

/// What an active probe found.
public struct ProbeObservation: Hashable, Sendable {
    public enum Position: Hashable, Sendable {
        /// On this machine or the networks it is part of.
        case near
        case gateway
        case beyond
        /// One of those that this machine uses.
        case nameServer
        /// Its packets have another route than those of the path: by another uplink, a tunnel, or a rule of its own.
        case elsewhere
    }

    public var name: String
    public var position: Position
    /// The address that is tested, for people; `nil` where none is known yet.
    public var address: String?
    /// The family of its packets; `nil` where it may be either.
    public var family: AddressFamily?
    /// Whether consecutive failures reached `threshold`.
    public var isFailing: Bool
    /// When the first of the present row of failures started, as time since boot; `nil` after a success.
    public var failingSince: Duration?
    /// Whether a portal answered in its position, and no right answer came since.
    public var isCaptive: Bool
    /// When the portal began to answer, and when it answered last, as time since boot.
    public var captiveSince: Duration?
    public var lastCaptive: Duration?
    /// When its last right answer came, as time since boot.
    public var answered: Duration?
    /// When the first of the present row of right answers came.
    public var answeringSince: Duration?
    /// When the run of its last result started; `nil` before the first.
    public var lastStart: Duration?
    /// Whether its last run was assessed: this process may run it, and was not too busy.
    public var isAssessable: Bool
    /// When the last run ended that was assessed, as time since boot; by itself that of the last right answer.
    public var assessed: Duration?
    /// How long an answer counts.
    public var validity: Duration
    /// The round trip of the last right answer.
    public var roundTrip: Duration?
    /// Whether its right answers show that names are found.
    public var findsName: Bool
    /// Of a name server, whether queries pass no gateway of the path.
    public var bypassesGateway: Bool
    /// Why it fails, in one word, such as `timeout`.
    public var failure: String?
    /// The same in a sentence.
    public var failureDetail: String?

    /// What this machine lacks where the last run failed for that; `nil` otherwise.
    public var shortage: String? { failure == "resources" ? failureDetail ?? "resources are short" : nil }

    /// Describes a probe; what is not given follows from the rest.
    public init(
        _ name: String,
        _ position: Position,
        address: String? = nil,
        family: AddressFamily? = nil,
        isFailing: Bool = false,
        failingSince: Duration? = nil,
        isCaptive: Bool = false,
        captiveSince: Duration? = nil,
        lastCaptive: Duration? = nil,
        answered: Duration? = nil,
        answeringSince: Duration? = nil,
        lastStart: Duration? = nil,
        isAssessable: Bool = true,
        assessed: Duration? = nil,
        validity: Duration = .seconds(180),
        roundTrip: Duration? = nil,
        findsName: Bool = false,
        bypassesGateway: Bool = false,
        failure: String? = nil,
        failureDetail: String? = nil
    ) {
        self.name = name
        self.position = position
        self.address = address
        self.family = family
        self.isFailing = isFailing
        self.failingSince = failingSince ?? (isFailing ? answered ?? .zero : nil)
        self.isCaptive = isCaptive
        self.captiveSince = captiveSince ?? (isCaptive ? self.failingSince : nil)
        self.lastCaptive = lastCaptive ?? self.captiveSince
        self.answered = answered
        self.answeringSince = answeringSince ?? (self.failingSince == nil ? answered : nil)
        self.lastStart = lastStart
        self.isAssessable = isAssessable
        self.assessed = assessed ?? answered
        self.validity = validity
        self.roundTrip = roundTrip
        self.findsName = findsName || position == .nameServer
        self.bypassesGateway = bypassesGateway
        self.failure = failure
        self.failureDetail = failureDetail
    }
}
