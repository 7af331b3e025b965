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
    let start: Duration
    let slack: Duration
    let transmissions: Int
    /// When it was sent last.
    let sent: Duration

    /// Whether nothing answered since it began to wait: else it waits for its own peer.
    func counts(against lastAnswer: Duration) -> Bool { lastAnswer - start <= slack }
}

/// Decides what unanswered connections of one reading say of their paths and destinations.
///
/// A path is accused when at least three destinations are unanswered, or all of two, and nothing beyond it answered since
/// they began to be; one destination is accused alone when others answer. One lost packet, or two, decide nothing.
struct StallRule {
    /// Transmissions in a row that nothing answered, of all connections together: with a loss of 5 % one in 10⁸ by chance.
    static let leastTransmissions = 6
    /// The share of segments sent again from which on a path is lossy after a while, and that below which it is so no more.
    static let lossLimit = 0.03
    static let lossEnd = 0.015
    static let lossHold = Duration.seconds(5)
    /// How long a destination of one host, or two, is waited for, with several connections and with one or two.
    static let hostHold = Duration.seconds(1)
    static let connectionHold = Duration.seconds(2)
    /// Destinations of a path that are reported at the same time.
    static let mostDestinations = 8

    private(set) var paths: [TrafficTracker.Path]
    private(set) var groups: [TrafficGroup?]
    private let byPath: [Int: [StallCandidate]]
    private let byGroup: [Int: [StallCandidate]]
    /// Whether something began to wait just now.
    let isSuspicious: Bool
    private let now: Duration

    init(
        _ candidates: [StallCandidate],
        paths: [TrafficTracker.Path],
        groups: [TrafficGroup?],
        at now: Duration
    ) {
        self.paths = paths
        self.groups = groups
        self.now = now
        // Hosts that never answered say nothing: programs try addresses of hosts that are gone.
        let candidates = candidates.filter { candidate in
            guard candidate.isAttempt else { return true }
            return groups[candidate.group]?.figures.lastAnswer.map { now - $0 <= TrafficTracker.memory } ?? false
        }
        isSuspicious = candidates.contains { now - $0.start <= .seconds(5) }
        byPath = Dictionary(grouping: candidates, by: \.path)
        byGroup = Dictionary(grouping: candidates, by: \.group)
    }

    var changes: [TrafficChange] {
        mutating get {
            var changes: [TrafficChange] = []
            for index in paths.indices { changes += ofPath(index) }
            for index in groups.indices where groups[index] != nil { changes += ofGroup(index) }
            for index in paths.indices { changes += loss(ofPath: index) }
            return changes
        }
    }

    // MARK: - Stalls

    private mutating func ofPath(_ index: Int) -> [TrafficChange] {
        let last = paths[index].figures.lastAnswer
        let evidence = (byPath[index] ?? []).filter { $0.counts(against: last ?? .zero) }
        if let stall = paths[index].figures.stall {
            if let last, last > stall.raised { return resume(path: index, stall) }
            if !evidence.isEmpty { paths[index].figures.stall?.lastSeen = now }
            return now - stall.lastSeen > .seconds(60) ? resume(path: index, stall) : []
        }
        let destinations = Set(evidence.map(\.group))
        let isAll = destinations.count == 2 && paths[index].figures.waiting == paths[index].figures.unanswered
        guard destinations.count >= 3 || isAll, hasWaited(evidence, since: last) else { return [] }
        paths[index].figures.stall = StandingTrouble(
            since: last ?? evidence.map(\.start).min() ?? now,
            raised: now,
            lastSeen: now
        )
        // Loss was the beginning of it.
        paths[index].figures.endLoss()
        for member in groups.indices where groups[member]?.path == index {
            groups[member]?.figures.stall = nil
            groups[member]?.figures.endLoss()
        }
        return [.stalled(finding(path: index, unanswered: evidence.count))]
    }

    private mutating func resume(path index: Int, _ stall: StandingTrouble) -> [TrafficChange] {
        let finding = finding(path: index, unanswered: paths[index].figures.unanswered)
        paths[index].figures.stall = nil
        paths[index].resumed = now
        // What was sent again meanwhile is no loss of its own.
        paths[index].figures.clearLoss()
        for member in groups.indices where groups[member]?.path == index { groups[member]?.figures.clearLoss() }
        return [.resumed(finding, duration: now - stall.since)]
    }

    private mutating func ofGroup(_ index: Int) -> [TrafficChange] {
        guard let group = groups[index] else { return [] }
        let last = group.figures.lastAnswer
        if let stall = group.figures.stall {
            let evidence = (byGroup[index] ?? []).contains { $0.counts(against: last ?? .zero) }
            if evidence { groups[index]?.figures.stall?.lastSeen = now }
            guard last.map({ $0 > stall.raised }) ?? false || now - stall.lastSeen > .seconds(60) else { return [] }
            let finding = finding(group, unanswered: group.figures.unanswered)
            groups[index]?.figures.stall = nil
            groups[index]?.figures.clearLoss()
            return [.resumed(finding, duration: now - stall.since)]
        }
        guard paths[group.path].figures.stall == nil, group.figures.unanswered > 0 else { return [] }
        // After an outage of the path, what was not sent again yet is not answered yet.
        let resumed = paths[group.path].resumed
        let evidence = (byGroup[index] ?? []).filter {
            !$0.isInbound && $0.counts(against: last ?? .zero) && $0.sent > resumed && now - $0.sent >= $0.slack
        }
        guard !evidence.isEmpty, evidence.contains(where: { !$0.isAttempt }) else { return [] }
        let isOfSeveral = Set(evidence.map(\.address)).count >= 3
        let start = max(resumed, evidence.map(\.start).min() ?? now)
        // A path that is about to be accused is waited for.
        let answeredElsewhere = (paths[group.path].figures.lastAnswer ?? .zero) > start + StallCandidate.margin
        let hold = evidence.count >= 3 ? Self.hostHold : Self.connectionHold
        let isLong = now - start >= (isOfSeveral ? StallCandidate.margin * 2 : hold)
        let isAll = group.figures.waiting == group.figures.unanswered
        guard isLong || isOfSeveral && answeredElsewhere, isOfSeveral || isAll,
            hasWaited(evidence, since: last, least: 4),
            groups.count(where: { $0?.path == group.path && $0?.figures.stall != nil }) < Self.mostDestinations
        else { return [] }
        var stalled = group
        stalled.figures.stall = StandingTrouble(since: last ?? start, raised: now, lastSeen: now)
        groups[index] = stalled
        return [.stalled(finding(stalled, unanswered: evidence.count))]
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
        let members = groups.indices.filter { groups[$0]?.path == index && groups[$0]?.figures.stall == nil }
        let measured = members.filter { (groups[$0]?.figures.accidents.sum(at: now).segments ?? 0) >= 50 }
        let lossy = measured.filter { (groups[$0]?.figures.accidents.ratio(at: now) ?? 0) >= Self.lossLimit }
        if let standing = paths[index].figures.lossiness {
            guard let ratio = paths[index].figures.accidents.ratio(at: now, of: 50) else {
                return now - standing.lastSeen > .seconds(60) ? endLoss(path: index, standing) : []
            }
            paths[index].figures.noteLoss(at: now)
            return ratio < Self.lossEnd ? endLoss(path: index, standing) : []
        }
        let isOfPath = lossy.count >= 3 || lossy.count == 2 && measured.count == 2
        if paths[index].figures.beginLoss(isOfPath, at: now) {
            for member in members { groups[member]?.figures.endLoss() }
            return [.lossy(finding(path: index, unanswered: paths[index].figures.unanswered))]
        }
        return members.flatMap { loss(ofGroup: $0, isLossy: lossy.contains($0)) }
    }

    private mutating func endLoss(path index: Int, _ standing: StandingTrouble) -> [TrafficChange] {
        paths[index].figures.endLoss()
        let finding = finding(path: index, unanswered: paths[index].figures.unanswered)
        return [.recovered(finding, duration: now - standing.since)]
    }

    private mutating func loss(ofGroup index: Int, isLossy: Bool) -> [TrafficChange] {
        guard var group = groups[index] else { return [] }
        let figures = group.figures
        guard let standing = figures.lossiness else {
            let begins = group.figures.beginLoss(isLossy, at: now)
            groups[index] = group
            return begins ? [.lossy(finding(group, unanswered: figures.unanswered))] : []
        }
        if let ratio = figures.accidents.ratio(at: now, of: 50) {
            groups[index]?.figures.noteLoss(at: now)
            guard ratio < Self.lossEnd else { return [] }
        } else {
            guard now - standing.lastSeen > .seconds(60) else { return [] }
        }
        groups[index]?.figures.endLoss()
        return [.recovered(finding(group, unanswered: figures.unanswered), duration: now - standing.since)]
    }

    // MARK: - Findings

    private func finding(path index: Int, unanswered: Int) -> TrafficFinding {
        paths[index].figures.finding(paths[index].path, unanswered: unanswered, at: now)
    }

    private func finding(_ group: TrafficGroup, unanswered: Int) -> TrafficFinding {
        group.figures.finding(paths[group.path].path, group.prefix, unanswered: unanswered, at: now)
    }
}

extension StallCandidate {
    /// How far apart retransmissions of connections are that were cut at the same time.
    static let margin = Duration.milliseconds(400)
}
