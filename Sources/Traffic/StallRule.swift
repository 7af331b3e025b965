// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// A connection that nothing answers, though the same peer answered just before.
struct StallCandidate {
    let group: Int
    let path: Int
    let address: IPAddress
    /// Whether the peer opened it: clients may leave without a word.
    let isInbound: Bool
    let isAttempt: Bool
    /// Whether an answer would be one of the host itself; see ``ConnectionSample/isProof``.
    let isProof: Bool
    let start: Duration
    let slack: Duration
    let responseTime: Duration
    let transmissions: Int
    /// When it was sent last.
    let sent: Duration

    /// Whether nothing answered since it began to wait: else it waits for its own peer.
    func counts(against lastAnswer: Duration) -> Bool { lastAnswer - start <= slack }
}

/// Decides what unanswered connections of one reading say of their paths and destinations.
///
/// A path is accused when at least three destinations are unanswered, or all of two, and nothing beyond it answered since
/// they began to be; one destination is accused alone when others answer, or none is in use. One lost packet, or two,
/// decide nothing.
struct StallRule {
    /// Transmissions in a row that nothing answered, of all connections together: with a loss of 5 % one in 10⁸ by chance.
    static let leastTransmissions = 6
    /// The share of segments sent again from which on a path is lossy after a while, and that below which it is so no more.
    static let lossLimit = 0.03
    static let lossEnd = 0.015
    static let lossHold = Duration.seconds(5)
    /// A stall or loss of which nothing was seen for so long is over without being known to be.
    static let expiry = Duration.seconds(60)
    /// How long a destination of one host, or two, is waited for, with several connections and with one or two.
    static let hostHold = Duration.seconds(1)
    static let connectionHold = Duration.seconds(2)
    /// Destinations of clients alone that accuse a path: a few may all be switched off, or sleep.
    static let leastClients = 8
    /// Destinations of a path that are reported at the same time.
    static let mostDestinations = 8

    private(set) var paths: [TrafficTracker.Path]
    private(set) var groups: [TrafficGroup?]
    private let byPath: [Int: [StallCandidate]]
    private let byGroup: [Int: [StallCandidate]]
    /// The groups of each path.
    private let members: [Int: [Int]]
    /// Whether something began to wait just now.
    let isSuspicious: Bool
    private let routesChanged: Duration
    private let now: Duration

    init(
        _ candidates: [StallCandidate],
        paths: [TrafficTracker.Path],
        groups: [TrafficGroup?],
        routesChanged: Duration,
        at now: Duration
    ) {
        self.routesChanged = routesChanged
        self.paths = paths
        self.groups = groups
        members = Dictionary(grouping: groups.indices.filter { groups[$0] != nil }) { groups[$0]?.path ?? 0 }
        self.now = now
        isSuspicious = candidates.contains { now - $0.start <= .seconds(5) }
        byPath = Dictionary(grouping: candidates, by: \.path)
        byGroup = Dictionary(grouping: candidates, by: \.group)
    }

    var changes: [TrafficChange] {
        mutating get {
            var changes: [TrafficChange] = []
            for index in paths.indices { changes += stalls(ofPath: index) }
            for index in groups.indices where groups[index] != nil { changes += stalls(ofGroup: index) }
            for index in paths.indices { changes += loss(ofPath: index) }
            return changes
        }
    }

    // MARK: - Stalls

    private mutating func stalls(ofPath index: Int) -> [TrafficChange] {
        let (lastAnswer, conclusive) = (paths[index].figures.lastAnswer, paths[index].lastConclusive)
        let evidence = (byPath[index] ?? []).filter {
            $0.counts(against: ($0.isProof ? conclusive : lastAnswer) ?? .zero)
        }
        let last = evidence.contains(where: \.isProof) ? conclusive : lastAnswer
        let isHeld = Set(evidence.filter(\.isProof).map(\.group)).count >= 2
        guard paths[index].figures.stall == nil else {
            return endStall(of: Subject(path: index), isWaiting: !evidence.isEmpty, isHeld: isHeld)
        }
        let destinations = Set(evidence.map(\.group))
        let least = evidence.allSatisfy(\.isInbound) ? Self.leastClients : 3
        let isAll = destinations.count == least - 1 && paths[index].figures.waiting == paths[index].figures.unanswered
        guard destinations.count >= least || isAll, hasWaited(evidence, since: last) else { return [] }
        // Loss was the beginning of it.
        for member in members(of: index) { self[member].endLoss() }
        let start = evidence.map(\.start).min() ?? now
        let since = last.map { max($0, min(lastAnswer ?? start, start)) } ?? start
        let change = begin(Subject(path: index), since: since, start: start, unanswered: evidence.count)
        if isHeld { paths[index].figures.stall?.held = now }
        return [change]
    }

    private mutating func stalls(ofGroup index: Int) -> [TrafficChange] {
        guard let group = groups[index] else { return [] }
        let last = group.figures.lastAnswer
        let waiting = (byGroup[index] ?? []).filter { $0.counts(against: last ?? .zero) }
        guard group.figures.stall == nil else {
            return endStall(of: Subject(path: group.path, group: index), isWaiting: !waiting.isEmpty)
        }
        guard paths[group.path].figures.stall == nil, group.figures.unanswered > 0 else { return [] }
        // After an outage of the path, what was not sent again yet is not answered yet.
        let resumed = paths[group.path].resumed
        let evidence = waiting.filter { !$0.isInbound && $0.sent > resumed && now - $0.sent >= $0.responseTime }
        guard !evidence.isEmpty, evidence.contains(where: { !$0.isAttempt }) else { return [] }
        let isOfSeveral = Set(evidence.map(\.address)).count >= 3
        let start = max(resumed, evidence.map(\.start).min() ?? now)
        // A path that is about to be accused is waited for.
        let answeredElsewhere = (paths[group.path].lastConclusive ?? .zero) > start + StallCandidate.margin
        let hold = evidence.count >= 3 ? Self.hostHold : Self.connectionHold
        let isLong = now - start >= (isOfSeveral ? StallCandidate.margin * 2 : hold)
        let isAll = group.figures.waiting == group.figures.unanswered
        guard isLong || evidence.count >= 3 && answeredElsewhere, isOfSeveral || isAll,
            hasWaited(evidence, since: last, least: 4),
            groups.count(where: { $0?.path == group.path && $0?.figures.stall != nil }) < Self.mostDestinations
        else { return [] }
        let subject = Subject(path: group.path, group: index)
        return [begin(subject, since: last ?? start, start: start, unanswered: evidence.count)]
    }

    private mutating func begin(
        _ subject: Subject,
        since: Duration,
        start: Duration,
        unanswered: Int
    ) -> TrafficChange {
        self[subject].stall = StandingTrouble(since: since, raised: now, lastSeen: now, began: start)
        if subject.group == nil { self[subject].endLoss() }
        return .stalled(finding(subject, unanswered: unanswered))
    }

    private mutating func endStall(of subject: Subject, isWaiting: Bool, isHeld: Bool = false) -> [TrafficChange] {
        guard var stall = self[subject].stall else { return [] }
        if isWaiting { stall.lastSeen = now }
        if isHeld { stall.held = now }
        self[subject].stall = stall
        let needsProof = subject.group == nil && now - stall.held <= .seconds(5)
        let last = needsProof ? paths[subject.path].lastConclusive : self[subject].lastAnswer
        let isAnswered = last.map { $0 > stall.raised } ?? false
        let isLeft = self[subject].connections == 0 && routesChanged > stall.raised
        guard isAnswered || isLeft || !isWaiting && now - stall.lastSeen > Self.expiry else { return [] }
        self[subject].stall = nil
        // What was sent again meanwhile is no loss of its own.
        self[subject].clearLoss()
        if subject.group == nil {
            paths[subject.path].resumed = now
            for member in members(of: subject.path) { self[member].clearLoss() }
        }
        let (finding, duration) = (finding(subject), now - stall.since)
        return [isAnswered ? .resumed(finding, duration: duration) : .unknown(finding, duration: duration)]
    }

    private func hasWaited(
        _ evidence: [StallCandidate],
        since last: Duration?,
        least: Int = StallRule.leastTransmissions
    ) -> Bool {
        now - (last ?? .zero) >= ConnectionSample.recent && evidence.reduce(0) { $0 + $1.transmissions } >= least
    }

    // MARK: - Loss

    private mutating func loss(ofPath index: Int) -> [TrafficChange] {
        guard paths[index].figures.stall == nil else { return [] }
        let members = members(of: index).filter { self[$0].stall == nil }
        let measured = members.filter { self[$0].accidents.sum(at: now).segments >= 50 }
        let lossy = measured.filter { self[$0].accidents.ratio(at: now) ?? 0 >= Self.lossLimit }
        guard paths[index].figures.lossiness == nil else { return endLoss(of: Subject(path: index)) }
        let isOfPath = lossy.count >= 3 || lossy.count == 2 && measured.count == 2
        if paths[index].figures.beginLoss(isOfPath, at: now) {
            for member in members { self[member].endLoss() }
            return [.lossy(finding(Subject(path: index)))]
        }
        return members.flatMap { member -> [TrafficChange] in
            guard self[member].lossiness == nil else { return endLoss(of: member) }
            return self[member].beginLoss(lossy.contains(member), at: now) ? [.lossy(finding(member))] : []
        }
    }

    private mutating func endLoss(of subject: Subject) -> [TrafficChange] {
        guard let lossiness = self[subject].lossiness else { return [] }
        let ratio = self[subject].accidents.ratio(at: now, of: 50)
        if ratio != nil { self[subject].noteLoss(at: now) }
        guard ratio.map({ $0 < Self.lossEnd }) ?? (now - lossiness.lastSeen > Self.expiry) else { return [] }
        self[subject].endLoss()
        let (finding, duration) = (finding(subject), now - lossiness.since)
        return [ratio == nil ? .unknown(finding, duration: duration) : .recovered(finding, duration: duration)]
    }

    // MARK: - Subjects

    /// What is accused: everything beyond a path, or one destination.
    private struct Subject: Hashable {
        let path: Int
        var group: Int?
    }

    private subscript(_ subject: Subject) -> TrafficFigures {
        get { subject.group.flatMap { groups[$0]?.figures } ?? paths[subject.path].figures }
        set {
            if let group = subject.group {
                groups[group]?.figures = newValue
            } else {
                paths[subject.path].figures = newValue
            }
        }
    }

    private func members(of path: Int) -> [Subject] {
        (members[path] ?? []).map { Subject(path: path, group: $0) }
    }

    private func finding(_ subject: Subject, unanswered: Int? = nil) -> TrafficFinding {
        let prefix = subject.group.flatMap { groups[$0]?.prefix }
        let (path, others) = (paths[subject.path].path, paths[subject.path].lastConclusive)
        return self[subject].finding(path, prefix, unanswered: unanswered, others: others, at: now)
    }
}

extension StallCandidate {
    /// How far apart retransmissions of connections are that were cut at the same time.
    static let margin = Duration.milliseconds(400)
}
