// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import Addressing

/// Sends packets with growing hop limits, as traceroute(8) does, and records who reports that they ended.
///
/// The first round explores: it goes on as long as something answers, to ``TraceroutePlan/silentHops`` beyond the last answer.
/// The next ones send to the hops that are known then. Packets of a round come from one socket where possible; the
/// hop limit is set before each. A router that quotes nothing of a datagram (RFC 792 requires its header only) cannot
/// be matched to a hop: the round then begins again with a socket for each hop, as do all that follow.
///
/// No privilege is needed but for echo requests (icmp(7)). Which routers end a connection the kernel reports since Linux 6.3.
package struct Traceroute: Probe {
    /// How often a packet is sent again that an error about another one kept back.
    private static let resends = 8
    /// Timers beside those of packets, whose numbers are at least 256.
    private enum Timer {
        static let pace = 0
        static let round = 1
        static let limit = 2
    }

    private enum Phase {
        case sending
        /// The first round has sent all that it may beyond the last answer.
        case exploring
        /// Until the next round begins.
        case pausing
        /// For the last answers.
        case waiting
    }

    private let address: ScopedAddress
    private let route: ProbeRoute
    private let plan: TraceroutePlan
    private var phase = Phase.sending
    private var round = 0
    /// The next hop limit of this round.
    private var next = 1
    private var began = Duration.zero
    private var due = Duration.zero
    private var sharesSocket: Bool
    private var isRaw = false
    private var resent = 0
    /// By the number of the round.
    private var messages: [TracerouteMessages] = []
    package private(set) var result: TracerouteResult

    package init(to address: ScopedAddress, route: ProbeRoute = ProbeRoute(), _ plan: TraceroutePlan) {
        self.address = address
        self.route = route
        self.plan = plan
        sharesSocket = plan.sharesSocket
        result = TracerouteResult(destination: address.address)
    }

    /// The check of a diagnosis: twelve datagrams, and answers until the limit, or until the destination answers.
    package init(to address: ScopedAddress, limit: Duration = .milliseconds(1200)) {
        self.init(to: address, .diagnosis(limit: limit))
    }

    package mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        switch event {
        case .started: return start(at: now.boot)
        case .opened(let socket, let state): return opened(socket, state, at: now.boot)
        case .failed(let failure, let socket, .open): return failed(failure, socket, at: now.boot)
        case .failed(let failure, let socket, .send(let bytes)): return unsent(failure, socket, bytes)
        case .failed: return []
        case .received(let packet, let socket): return receive(packet, socket, at: now.boot)
        case .fault(let fault, let details, let socket): return record(fault, details, socket, at: now.boot)
        case .fired(Timer.pace): return advance(at: now.boot)
        case .fired(Timer.round):
            round += 1
            return begin(at: now.boot)
        case .fired(Timer.limit):
            result.isCut = phase != .waiting
            return [.finish]
        case .fired(let socket): return [.close(socket: socket)]
        case .timedOut(let isDelayed):
            if isDelayed { result.isDelayed = true }
            return phase == .exploring ? endRound(at: now.boot) : [.finish]
        }
    }

    // MARK: - Sending

    private mutating func start(at now: Duration) -> [ProbeAction] {
        guard let limit = plan.limit else { return begin(at: now) }
        let end =
            plan.isOfDiagnosis ? ProbeAction.timeout(after: limit) : .schedule(at: now + limit, timer: Timer.limit)
        return [end] + begin(at: now)
    }

    private mutating func begin(at now: Duration) -> [ProbeAction] {
        (phase, next, began, due) = (.sending, 1, now, now)
        messages = messages.prefix(round) + [TracerouteMessages(plan.method, address.address.family, round: round)]
        guard sharesSocket else { return advance(at: now) }
        return [
            .open(plan.socket(to: address, route, round, distance: 0, hopLimit: nil), socket: Self.number(round, 0))
        ]
    }

    /// Sockets are numbered by round and hop limit; 0 is the one that all of a round share.
    private static func number(_ round: Int, _ distance: Int) -> Int { (round + 1) << 8 | distance }
    private static func round(_ socket: Int) -> Int { socket >> 8 - 1 }
    private static func distance(_ socket: Int) -> Int { socket & 0xFF }

    /// The largest hop limit that is worth sending now.
    private var reach: Int {
        guard !plan.isOfDiagnosis else { return plan.hops }
        return min(plan.hops, result.end ?? result.lastAnswered + TraceroutePlan.silentHops)
    }

    private mutating func advance(at now: Duration) -> [ProbeAction] {
        guard phase == .sending else { return [] }
        guard next <= reach else {
            guard round == 0, result.end == nil, next <= plan.hops else { return endRound(at: now) }
            phase = .exploring
            return [.timeout(after: plan.wait)]
        }
        let distance = next
        next += 1
        resent = 0
        due = max(due + plan.pace, now)
        result.depart(round, distance: distance, at: now)
        return send(distance, at: now) + [.schedule(at: due, timer: Timer.pace)]
    }

    private func send(_ distance: Int, at now: Duration) -> [ProbeAction] {
        if sharesSocket {
            let socket = Self.number(round, 0)
            return [.limitHops(distance, socket: socket), .send(messages[round].request(distance), socket: socket)]
        }
        let socket = Self.number(round, distance)
        let kind = plan.socket(to: address, route, round, distance: distance, hopLimit: distance)
        guard !plan.isOfDiagnosis else { return [.open(kind, socket: socket)] }
        let end = kind.isStream ? plan.connectionWait : plan.wait
        return [.open(kind, socket: socket), .schedule(at: now + end, timer: socket)]
    }

    private mutating func endRound(at now: Duration) -> [ProbeAction] {
        guard round + 1 < plan.rounds else {
            phase = .waiting
            guard !plan.isOfDiagnosis else { return [] }
            return isComplete(at: now) ? [.finish] : [.timeout(after: plan.wait)]
        }
        phase = .pausing
        return [.schedule(at: max(began + plan.interval, now), timer: Timer.round)]
    }

    // MARK: - Receiving

    private mutating func opened(_ socket: Int, _ state: SocketState, at now: Duration) -> [ProbeAction] {
        let distance = Self.distance(socket)
        guard distance > 0 else {
            isRaw = state.isRaw
            return advance(at: now)
        }
        guard case .tcp = plan.method else { return [.send(messages[round].request(distance), socket: socket)] }
        result.record(.destination, Self.round(socket), distance: distance, at: now)
        return [.close(socket: socket)] + settled(at: now)
    }

    private mutating func failed(_ failure: SocketFailure, _ socket: Int, at now: Duration) -> [ProbeAction] {
        if FailureClassifier.shortage(failure) != nil { result.isDelayed = true }
        guard !plan.isOfDiagnosis else { return [] }
        guard failure.step == .answer else {
            result.failure = FailureClassifier.outcome(of: failure, route: route)
            return [.finish]
        }
        // Other errors are those of routers, whom the kernel names before, if at all.
        guard FailureClassifier.reason(of: failure) == .refused else { return [] }
        result.record(.destination, Self.round(socket), distance: Self.distance(socket), at: now)
        return settled(at: now)
    }

    private mutating func unsent(_ failure: SocketFailure, _ socket: Int, _ bytes: [UInt8]) -> [ProbeAction] {
        if FailureClassifier.shortage(failure) != nil { result.isDelayed = true }
        guard !plan.isOfDiagnosis else { return [] }
        if FailureClassifier.reason(of: failure) != .blocked, resent < Self.resends {
            resent += 1
            return [.resend(bytes, socket: socket)]
        }
        result.failure = result.failure ?? FailureClassifier.outcome(of: failure, route: route)
        return []
    }

    private mutating func receive(_ packet: ReceivedPacket, _ socket: Int, at now: Duration) -> [ProbeAction] {
        let round = Self.round(socket)
        var distance = Self.distance(socket)
        if distance == 0 {
            let awaited = result.hops.map(\.distance).filter { result.awaits(round, distance: $0) }
            guard let found = messages[round].distance(of: packet.bytes, among: awaited, isRaw: isRaw) else {
                return []
            }
            distance = found
        }
        result.record(.destination, round, distance: distance, at: now - packet.age)
        return settled(at: now)
    }

    private mutating func record(
        _ fault: PacketFault,
        _ details: FaultDetails,
        _ socket: Int,
        at now: Duration
    ) -> [ProbeAction] {
        let round = Self.round(socket)
        var distance = Self.distance(socket)
        if plan.method.isMatched {
            switch messages[round].match(details.quote, isRaw: isRaw) {
            case .foreign: return []
            case .unknown where distance == 0: return separate(round, at: now)
            case .unknown: break
            case .distance(let found): distance = found
            }
        }
        result.record(fault, details.obstacle, round, distance: distance, at: now - details.age)
        if plan.isOfDiagnosis { return result.isArrived && fault.kind == .portClosed ? [.finish] : [] }
        return settled(at: now)
    }

    /// Gives each hop a socket of its own from now on; a round that is being sent begins again.
    private mutating func separate(_ round: Int, at now: Duration) -> [ProbeAction] {
        guard sharesSocket else { return [] }
        sharesSocket = false
        guard round == self.round, phase != .pausing else { return [] }
        result.forget(round)
        return [.close(socket: Self.number(round, 0)), .timeout(after: nil)] + begin(at: now)
    }

    /// Goes on where an answer shows that there is more to send, or nothing to wait for.
    private mutating func settled(at now: Duration) -> [ProbeAction] {
        switch phase {
        case .exploring where next <= reach || result.end != nil:
            (phase, due) = (.sending, now)
            return [.timeout(after: nil)] + advance(at: now)
        case .waiting where isComplete(at: now): return [.finish]
        case .sending, .exploring, .pausing, .waiting: return []
        }
    }

    /// Whether every packet is answered that may still be.
    private func isComplete(at now: Duration) -> Bool {
        result.hops.prefix(result.end ?? .max).allSatisfy { hop in
            hop.packets.allSatisfy { $0.answer != nil || $0.departure + plan.wait <= now }
        }
    }
}

extension TraceroutePlan.Method {
    /// Whether what an ICMP error quotes is compared with what was sent; of TCP the kernel does it.
    fileprivate var isMatched: Bool { if case .tcp = self { false } else { true } }
}
