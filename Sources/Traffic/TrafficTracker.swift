// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import Netlink

/// Follows the TCP connections of this machine from reading to reading, and decides what they say of paths and destinations.
///
/// Pure: connections, routes and times in, changes out. Times are those of a clock that stands still while the machine is
/// suspended, as the kernel's ages do. Memory is bounded: ``mostGroups`` groups, ``mostCounters`` connections whose losses
/// are counted.
public struct TrafficTracker {
    /// What a query for the kernel's route needs.
    public struct RouteKey: Hashable, Sendable {
        public var source: IPAddress
        public var destination: IPAddress
        public var uid: UInt32
        public var mark: UInt32
        public var boundInterface: Int?
    }

    public static let mostGroups = 4096
    public static let mostCounters = 32_768
    static let mostPaths = 256
    static let mostEndpoints = 8192
    /// Destinations whose routes are known one by one; beyond that, those of a prefix share one.
    static let mostRoutes = 16_384
    /// How long a group without connections is remembered: what answered then is known to exist.
    static let memory = Duration.seconds(600)

    struct Path {
        var path: TrafficPath
        var figures = TrafficFigures(capacity: 4096)
        var state = TrafficState.unknown
        var stateSince = Duration.zero
        /// When the last outage ended.
        var resumed = Duration.zero

        /// The last answer that connections to other ports than 80 are held against: a network with a page for logging in
        /// answers there itself.
        var lastConclusive: Duration? {
            path.range == .public ? figures.lastConclusive ?? figures.lastAnswer : figures.lastAnswer
        }
    }

    private struct Route {
        /// `nil` where there is none, or where packets stay on this machine.
        var group: Int?
        /// Since when packets use that path: those from before used another.
        var since: Duration
        var lookedUp: Duration
        var generation: UInt32
    }

    /// What programs connect to.
    private struct Endpoint: Hashable {
        let address: IPAddress
        let port: UInt16
    }

    private struct GroupKey: Hashable {
        let path: Int
        let prefix: IPPrefix
    }

    private struct Counters {
        var retransmitted: UInt32
        var duplicates: UInt32
        var segments: UInt32
        var reading: UInt32
        /// Whether it was cut off: what it sent meanwhile was not lost one by one.
        var isCutOff: Bool
        /// The path that its segments used.
        var path: Int
        /// When it was first read.
        var first: Duration
        /// Whether the peer opened it: the server may have stopped since.
        var isInbound: Bool
    }

    private(set) var paths: [Path] = []
    /// Indices of groups that were forgotten are used again.
    private(set) var groups: [TrafficGroup?] = []
    private var free: [Int] = []
    private var groupIndices: [GroupKey: Int] = [:]
    private var routes: [RouteKey: Route] = [:]
    private var generation: UInt32 = 0
    private var routesChangedAt = Duration.zero
    /// Lookups of this reading that are done anew because something is unanswered.
    private var renewals = 0
    /// When endpoints that programs of this machine connected to were last answered.
    private var endpoints: [Endpoint: Duration] = [:]
    private var counters: [UInt64: Counters] = [:]
    private var listening: Set<UInt16> = []
    private var newListening: Set<UInt16> = []
    private var candidates: [StallCandidate] = []
    /// Whether the last reading saw what may become a stall within seconds.
    public private(set) var isSuspicious = false
    private var reading: UInt32 = 0
    /// Answers from before prove nothing: peers may have given up while this machine was suspended.
    private var resumedAt = Duration.zero

    public init() {}

    /// Groups that are known.
    public var groupCount: Int { groups.count - free.count }

    // MARK: - Input

    /// The kernel's routes changed, or may have.
    public mutating func routesChanged(at now: Duration) {
        generation &+= 1
        routesChangedAt = now
    }

    /// The machine goes on after it was suspended.
    public mutating func resume(at now: Duration) { resumedAt = now }

    /// Begins a reading of all connections.
    public mutating func begin() {
        reading &+= 1
        renewals = 0
        candidates.removeAll(keepingCapacity: true)
        newListening.removeAll(keepingCapacity: true)
        for index in paths.indices { paths[index].figures.clear() }
        for index in groups.indices { groups[index]?.clear() }
    }

    /// Adds a connection of this reading.
    /// - Parameters:
    ///   - connection: As the kernel shows it now.
    ///   - now: When it was read.
    ///   - route: Finds the path of packets to a destination; `nil` where there is none, or where they stay on this
    ///     machine. It is called once for each destination until the routes change.
    public mutating func add(_ connection: TCPConnection, at now: Duration, route: (RouteKey) -> TrafficPath?) {
        guard connection.state != .listening else {
            newListening.insert(connection.sourcePort)
            return
        }
        let sample = ConnectionSample(connection, at: now)
        guard !connection.destination.isLoopback,
            let (group, since) = locate(connection, isUnanswered: sample.isUnanswered, at: now, route),
            let path = groups[group]?.path
        else { return }
        groups[group]?.note(connection.destination)
        guard sample.answer.map({ $0 >= since }) ?? true else {
            groups[group]?.figures.addMoved(at: now)
            paths[path].figures.addMoved(at: now)
            // What it sends again meanwhile may be lost on another path.
            counters[connection.cookie]?.isCutOff = true
            counters[connection.cookie]?.reading = reading
            return
        }
        let isConclusive = isConclusive(connection, sample, on: path, at: now)
        groups[group]?.figures.add(sample, isConclusive: isConclusive, at: now)
        paths[path].figures.add(sample, isConclusive: isConclusive, at: now)
        let isInbound = isInbound(connection)
        count(connection, sample, isInbound: isInbound, group: group, at: now)
        if !isInbound { note(connection, sample.answer) }
        guard sample.isUnanswered, candidates.count < Self.mostGroups else { return }
        if let received = sample.received {
            // What a network has forgotten after a pause is nobody's fault.
            guard received >= resumedAt,
                sample.start - received <= .seconds(60) || paths[path].figures.stall != nil
            else { return }
        }
        if sample.isAttempt {
            // Hosts and ports that never answered say nothing: programs try what is gone, or filtered.
            guard sample.start >= since,
                let last = endpoints[Endpoint(address: connection.destination, port: connection.destinationPort)],
                now - last <= Self.memory || paths[path].figures.stall != nil
            else { return }
        }
        candidates.append(
            StallCandidate(
                group: group,
                path: path,
                address: connection.destination,
                isInbound: isInbound,
                isAttempt: sample.isAttempt,
                isProof: sample.isProof,
                start: sample.start,
                slack: sample.slack,
                responseTime: sample.responseTime,
                transmissions: sample.transmissions,
                sent: sample.sent
            )
        )
    }

    /// A connection ended; one that never was established may have been refused by anything on the path.
    public mutating func end(_ connection: TCPConnection, at now: Duration, route: (RouteKey) -> TrafficPath?) {
        guard connection.roundTrip > 0, !connection.destination.isLoopback,
            let (group, since) = locate(connection, at: now, route)
        else { return }
        let sample = ConnectionSample(connection, at: now)
        let isInbound = isInbound(connection)
        if !isInbound { note(connection, sample.answer) }
        count(connection, sample, isInbound: isInbound, group: group, at: now)
        counters[connection.cookie] = nil
        guard let answer = sample.answer, answer >= since, let path = groups[group]?.path else { return }
        let isConclusive = isConclusive(connection, sample, on: path, at: now)
        groups[group]?.figures.noteAnswer(answer, isProof: sample.isProof, isConclusive: isConclusive)
        groups[group]?.figures.lastSeen = now
        paths[path].figures.noteAnswer(answer, isProof: sample.isProof, isConclusive: isConclusive)
        paths[path].figures.lastSeen = now
    }

    /// The reading is complete; with `isDoubtful` nothing begins because of it.
    /// - Returns: What began and what is over.
    public mutating func end(at now: Duration, isDoubtful: Bool = false) -> [TrafficChange] {
        listening = newListening
        for index in paths.indices { paths[index].figures.finish() }
        for index in groups.indices { groups[index]?.figures.finish() }
        // In an outage nothing is answered anew, however long it lasts.
        if endpoints.count >= Self.mostEndpoints / 2, paths.allSatisfy({ $0.figures.stall == nil }) {
            endpoints = endpoints.filter { now - $0.value <= Self.memory }
        }
        if counters.count >= Self.mostCounters / 2 { counters = counters.filter { $0.value.reading == reading } }
        var rule = StallRule(
            isDoubtful ? [] : candidates,
            paths: paths,
            groups: groups,
            routesChanged: routesChangedAt,
            at: now
        )
        let changes = rule.changes
        (paths, groups, isSuspicious) = (rule.paths, rule.groups, rule.isSuspicious)
        refresh(at: now)
        forget(at: now)
        return changes
    }

    /// The end of what stands, where nothing is read from now on.
    public func abandoned(at now: Duration) -> [TrafficChange] {
        func end(_ figures: TrafficFigures, _ path: TrafficPath, _ destination: IPPrefix? = nil) -> TrafficChange? {
            (figures.stall ?? figures.lossiness).map {
                .unknown(figures.finding(path, destination, at: now), duration: now - $0.since)
            }
        }
        return paths.compactMap { end($0.figures, $0.path) }
            + groups.compactMap { group in group.flatMap { end($0.figures, paths[$0.path].path, $0.prefix) } }
    }

    /// Lets answers grow old without a reading.
    /// - Returns: Whether the state of a path changed.
    @discardableResult
    public mutating func refresh(at now: Duration) -> Bool {
        var isChanged = false
        for index in paths.indices {
            let state = paths[index].figures.state(at: now)
            guard state != paths[index].state else { continue }
            (paths[index].state, paths[index].stateSince) = (state, now)
            isChanged = true
        }
        return isChanged
    }

    /// Whether something is known of a path or destination that will be so no more after a while.
    public var isTransient: Bool { isTroubled || paths.contains { ![.unknown, .unanswered].contains($0.state) } }

    /// Whether a stall or loss of a path or destination stands, which readings end.
    public var isTroubled: Bool {
        paths.contains { $0.figures.isTroubled } || groups.contains { $0?.figures.isTroubled ?? false }
    }

    /// Whether nothing is answered on some path.
    public var isStalled: Bool { paths.contains { $0.figures.stall != nil } }

    // MARK: - Output

    public func report(at now: Duration) -> TrafficReport {
        var report = TrafficReport()
        var roundTrips: [UInt32] = []
        var (segments, lost) = (0, 0)
        for (index, path) in paths.enumerated() where path.figures.lastSeen > .zero {
            var figures = path.figures.report(at: now)
            figures.state = path.state
            let groups = groups.compactMap { $0 }.filter { $0.path == index && $0.figures.connections > 0 }
            guard figures.connections > 0 || figures.state != .unknown else { continue }
            report.total.connections += figures.connections
            report.total.unanswered += figures.unanswered
            if let age = figures.lastAnswer { report.total.lastAnswer = min(report.total.lastAnswer ?? age, age) }
            roundTrips += path.figures.roundTrips
            let sum = path.figures.loss.sum(at: now)
            (segments, lost) = (segments + sum.segments, lost + sum.lost)
            report.paths.append(
                TrafficReport.Path(
                    path: path.path,
                    figures: figures,
                    since: path.stateSince,
                    groups: groups.map { group in
                        var figures = group.figures.report(at: now)
                        if path.figures.stall != nil, figures.unanswered > 0 { figures.state = .stalled }
                        return TrafficReport.Group(
                            destination: group.prefix,
                            figures: figures,
                            addresses: group.addresses.sorted()
                        )
                    }.sorted { $0.destination.address < $1.destination.address }
                )
            )
        }
        report.paths.sort { left, right in
            (left.path.index, left.path.family, right.path.range.rawValue)
                < (right.path.index, right.path.family, left.path.range.rawValue)
        }
        report.total.state = .worst(report.paths.map(\.figures.state))
        report.total.roundTrips = RoundTripQuantiles(roundTrips)
        report.total.loss = segments > 0 ? min(1, Double(lost) / Double(segments)) : nil
        return report
    }

    /// What stands of paths and destinations, and which paths are known to work.
    public func standing(at now: Duration) -> [TrafficStanding] {
        let ofPaths = paths.compactMap { path -> TrafficStanding? in
            let state = path.figures.state(at: now)
            guard ![.unknown, .unanswered].contains(state) else { return nil }
            return TrafficStanding(state: state, finding: path.figures.finding(path.path, at: now))
        }
        let ofGroups = groups.compactMap { group -> TrafficStanding? in
            guard let group, group.figures.stall != nil || group.figures.lossiness != nil else { return nil }
            let path = paths[group.path]
            let finding = group.figures.finding(path.path, group.prefix, others: path.lastConclusive, at: now)
            return TrafficStanding(state: group.figures.stall != nil ? .stalled : .lossy, finding: finding)
        }
        return ofPaths + ofGroups
    }

    /// What each path shows of what is beyond it.
    public var proofs: [TrafficProof] {
        paths.map { path in
            TrafficProof(
                path: path.path,
                answered: path.figures.lastProof,
                stalledSince: path.figures.stall?.since
            )
        }
    }

    // MARK: - Parts

    /// Whether an answer is none of a page for logging in, which answers connections to port 80 that are new.
    private func isConclusive(
        _ connection: TCPConnection,
        _ sample: ConnectionSample,
        on path: Int,
        at now: Duration
    ) -> Bool {
        guard !sample.isProof else { return true }
        guard let first = counters[connection.cookie]?.first else { return false }
        return paths[path].figures.stall.map { first < $0.since } ?? (now - first >= .seconds(2))
    }

    private func isInbound(_ connection: TCPConnection) -> Bool {
        listening.contains(connection.sourcePort) || newListening.contains(connection.sourcePort)
            || counters[connection.cookie]?.isInbound == true
    }

    private mutating func note(_ connection: TCPConnection, _ answer: Duration?) {
        let endpoint = Endpoint(address: connection.destination, port: connection.destinationPort)
        guard let answer, endpoints.count < Self.mostEndpoints || endpoints[endpoint] != nil else { return }
        endpoints[endpoint] = max(endpoints[endpoint] ?? answer, answer)
    }

    private mutating func count(
        _ connection: TCPConnection,
        _ sample: ConnectionSample,
        isInbound: Bool,
        group: Int,
        at now: Duration
    ) {
        guard let path = groups[group]?.path else { return }
        let new = Counters(
            retransmitted: connection.retransmitted,
            duplicates: connection.duplicates,
            segments: connection.segments,
            reading: reading,
            isCutOff: sample.isUnanswered && sample.isCutOff,
            path: path,
            first: counters[connection.cookie]?.first ?? now,
            isInbound: isInbound
        )
        let old = counters[connection.cookie]
        // Where there is no room, losses of new connections are not counted.
        guard old != nil || counters.count < Self.mostCounters else { return }
        // What is unanswered now may be cut off, or no more there: it is counted once it is answered.
        guard !sample.isUnanswered else {
            counters[connection.cookie] =
                old.map { kept in
                    var kept = kept
                    (kept.isCutOff, kept.reading) = (kept.isCutOff || sample.isCutOff, reading)
                    return kept
                } ?? new
            return
        }
        counters[connection.cookie] = new
        // Of what the first reading finds, it is not known when it was lost.
        guard old?.isCutOff != true, old?.path ?? path == path,
            old != nil || reading > 1 && now - paths[path].resumed > .seconds(30)
        else { return }
        let segments = new.segments &- (old?.segments ?? 0)
        let again = new.retransmitted &- (old?.retransmitted ?? 0)
        let duplicates = new.duplicates &- (old?.duplicates ?? 0)
        let lost = Int(again) - Int(duplicates)
        groups[group]?.figures.loss.add(segments: segments, lost: lost, at: now)
        paths[path].figures.loss.add(segments: segments, lost: lost, at: now)
        // A sender that fills a queue loses segments by itself.
        guard !sample.isQueued else { return }
        groups[group]?.figures.accidents.add(segments: segments, lost: lost, at: now)
        paths[path].figures.accidents.add(segments: segments, lost: lost, at: now)
    }

    /// The group of a connection, and since when its packets use that path.
    private mutating func locate(
        _ connection: TCPConnection,
        isUnanswered: Bool = false,
        at now: Duration,
        _ route: (RouteKey) -> TrafficPath?
    ) -> (Int, Duration)? {
        let prefix = TrafficGroup.prefix(of: connection.destination)
        let query = RouteKey(
            source: connection.source,
            destination: connection.destination,
            uid: connection.uid,
            mark: connection.mark,
            boundInterface: connection.boundInterface
        )
        var key = query
        if routes.count >= Self.mostRoutes, routes[key] == nil { key.destination = prefix.address }
        let known = routes[key]
        if let known, known.generation == generation {
            // Not all changes of routes are reported: before somebody is accused it is looked up again.
            let isRenewed = isUnanswered && now - known.lookedUp >= .seconds(1) && renewals < 64
            guard isRenewed else { return known.group.map { ($0, known.since) } }
            renewals += 1
        }
        let group = route(query).flatMap { self.group($0, prefix, at: now) }
        let since =
            known.map { known in
                known.group == group ? known.since : known.generation == generation ? now : routesChangedAt
            } ?? routesChangedAt
        if known == nil, routes.count >= 2 * Self.mostRoutes { routes.removeAll(keepingCapacity: true) }
        routes[key] = Route(group: group, since: since, lookedUp: now, generation: generation)
        return group.map { ($0, since) }
    }

    private mutating func group(_ path: TrafficPath, _ prefix: IPPrefix, at now: Duration) -> Int? {
        let index: Int
        if let known = paths.firstIndex(where: { $0.path.isSame(as: path) }) {
            index = known
            paths[index].path.interface = path.interface
        } else if paths.count < Self.mostPaths {
            paths.append(Path(path: path))
            index = paths.count - 1
        } else {
            // Interfaces and gateways come and go: one that has no destinations left makes room.
            let used = Set(groups.compactMap { $0?.path })
            guard let free = paths.indices.first(where: { !used.contains($0) && paths[$0].figures.stall == nil })
            else { return nil }
            paths[free] = Path(path: path)
            index = free
        }
        let key = GroupKey(path: index, prefix: prefix)
        if let known = groupIndices[key] { return known }
        var new = TrafficGroup(path: index, prefix: prefix)
        new.figures.lastSeen = now
        if let free = free.popLast() {
            groups[free] = new
            groupIndices[key] = free
            return free
        }
        guard groups.count < Self.mostGroups else { return nil }
        groups.append(new)
        groupIndices[key] = groups.count - 1
        return groups.count - 1
    }

    /// Forgets groups that were not seen for long, and much sooner where there is hardly any room.
    private mutating func forget(at now: Duration) {
        let age = groupCount > Self.mostGroups * 3 / 4 ? Duration.seconds(20) : Self.memory
        var gone: Set<Int> = []
        for (index, group) in groups.enumerated() {
            guard let group, now - group.figures.lastSeen > age, !group.figures.isTroubled else { continue }
            groups[index] = nil
            groupIndices[GroupKey(path: group.path, prefix: group.prefix)] = nil
            free.append(index)
            gone.insert(index)
        }
        guard !gone.isEmpty else { return }
        routes = routes.filter { $0.value.group.map { !gone.contains($0) } ?? true }
    }
}
