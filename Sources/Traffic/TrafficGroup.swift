// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// What stands of a path or a group, until it is reported as over.
struct StandingTrouble: Hashable {
    /// When the last answer came before, or when loss began.
    var since: Duration
    var raised: Duration
    /// When it was last seen.
    var lastSeen: Duration
    /// Of a stall: when what is unanswered was first sent.
    var began = Duration.zero
    /// Of a stall: when connections to several destinations and other ports than 80 last waited.
    var held = Duration.zero
}

/// The figures of a set of connections: those of one reading, and what is kept from one to the next.
struct TrafficFigures {
    /// How long an answer proves a path: longer than readings of a machine on which all is well are apart.
    private static let validity = Duration.seconds(15)

    /// Round trips of this many connections of a reading are kept.
    private let capacity: Int

    private(set) var connections = 0
    /// Connections with something unacknowledged.
    private(set) var waiting = 0
    /// Those whose retransmission timeout has passed without an answer, and attempts to connect likewise.
    private(set) var unanswered = 0
    private(set) var attempts = 0
    private(set) var roundTrips: [UInt32] = []
    private var leastRoundTrips: [UInt32] = []
    /// Whether round trips are much longer than they could be: they wait in a queue.
    private var isSlow = false

    var lastAnswer: Duration?
    /// The last one that no page for logging in would give.
    var lastProof: Duration?
    /// The same, and those from port 80 to connections from before: a login page answers new ones.
    var lastConclusive: Duration?
    var lastSeen = Duration.zero
    var loss = LossWindow()
    /// The same of connections that do not fill a queue.
    var accidents = LossWindow()
    var stall: StandingTrouble?
    private(set) var lossiness: StandingTrouble?
    /// Since when there is loss that may be the beginning of an outage.
    private var lossBegan: Duration?

    init(capacity: Int) { self.capacity = capacity }

    /// Begins a new reading.
    mutating func clear() {
        (connections, waiting, unanswered, attempts) = (0, 0, 0, 0)
        roundTrips.removeAll(keepingCapacity: true)
        leastRoundTrips.removeAll(keepingCapacity: true)
    }

    /// Adds one that used another path before, and was not answered since: it says nothing of this one.
    mutating func addMoved(at now: Duration) {
        connections += 1
        lastSeen = now
    }

    mutating func add(_ sample: ConnectionSample, isConclusive: Bool, at now: Duration) {
        connections += 1
        lastSeen = now
        if sample.isWaiting { waiting += 1 }
        if sample.isUnanswered { unanswered += 1 }
        if sample.isAttempt { attempts += 1 }
        guard let answer = sample.answer else { return }
        noteAnswer(answer, isProof: sample.isProof, isConclusive: isConclusive)
        guard now - answer <= .seconds(30), sample.roundTrip > 0, roundTrips.count < capacity else { return }
        roundTrips.append(sample.roundTrip)
        leastRoundTrips.append(sample.leastRoundTrip)
    }

    /// Ends a reading.
    mutating func finish() {
        isSlow = false
        guard !roundTrips.isEmpty else { return }
        let median = roundTrips.sorted()[roundTrips.count / 2]
        let least = leastRoundTrips.sorted()[leastRoundTrips.count / 2]
        isSlow = median >= 200_000 && median / 3 >= least
    }

    mutating func noteAnswer(_ time: Duration, isProof: Bool, isConclusive: Bool) {
        lastAnswer = max(lastAnswer ?? time, time)
        if isProof { lastProof = max(lastProof ?? time, time) }
        if isConclusive { lastConclusive = max(lastConclusive ?? time, time) }
    }

    /// Notes whether segments are lost now.
    /// - Returns: Whether they have been for so long that it is to be reported.
    mutating func beginLoss(_ isLossy: Bool, at now: Duration) -> Bool {
        guard isLossy, accidents.ratio(at: now, of: 200) ?? 0 >= StallRule.lossLimit else {
            lossBegan = nil
            return false
        }
        let began = lossBegan ?? now
        lossBegan = began
        guard now - began >= StallRule.lossHold else { return false }
        lossiness = StandingTrouble(since: began, raised: now, lastSeen: now)
        return true
    }

    mutating func clearLoss() {
        loss.clear()
        accidents.clear()
    }

    mutating func endLoss() { (lossiness, lossBegan) = (nil, nil) }

    mutating func noteLoss(at now: Duration) { lossiness?.lastSeen = now }

    func state(at now: Duration) -> TrafficState {
        if stall != nil { return .stalled }
        guard let lastAnswer, now - lastAnswer <= Self.validity else {
            return attempts > 0 && attempts == connections ? .unanswered : .unknown
        }
        if lossiness != nil { return .lossy }
        return isSlow ? .slow : .proved
    }

    var isTroubled: Bool { stall != nil || lossiness != nil }

    /// What is reported; `others` is when anything on the path was answered last.
    func finding(
        _ path: TrafficPath,
        _ destination: IPPrefix? = nil,
        unanswered count: Int? = nil,
        others: Duration? = nil,
        at now: Duration
    ) -> TrafficFinding {
        var finding = TrafficFinding(
            path: path,
            destination: destination,
            connections: connections,
            unanswered: count ?? unanswered,
            lastAnswer: lastAnswer.map { max(.zero, now - (stall?.since ?? $0)) },
            loss: loss.ratio(at: now)
        )
        let own = max(lastAnswer ?? .zero, stall?.began ?? .zero)
        finding.othersAnswer = others.map { $0 > own + StallCandidate.margin } ?? false
        return finding
    }

    func report(at now: Duration) -> TrafficReport.Figures {
        var figures = TrafficReport.Figures()
        figures.state = state(at: now)
        figures.connections = connections
        figures.unanswered = unanswered
        figures.lastAnswer = lastAnswer.map { max(.zero, now - $0) }
        figures.roundTrips = RoundTripQuantiles(roundTrips)
        figures.loss = loss.ratio(at: now)
        return figures
    }
}

/// The connections of one path to one prefix: /24 of IPv4, /48 of IPv6.
struct TrafficGroup {
    /// The index of its path.
    let path: Int
    let prefix: IPPrefix
    var figures = TrafficFigures(capacity: 64)
    private(set) var addresses: [IPAddress] = []

    init(path: Int, prefix: IPPrefix) {
        self.path = path
        self.prefix = prefix
    }

    static func prefix(of address: IPAddress) -> IPPrefix {
        IPPrefix(address, length: address.family == .ipv4 ? 24 : 48)
    }

    mutating func clear() {
        figures.clear()
        addresses.removeAll(keepingCapacity: true)
    }

    mutating func note(_ address: IPAddress) {
        guard addresses.count < 64, !addresses.contains(address) else { return }
        addresses.append(address)
    }
}
