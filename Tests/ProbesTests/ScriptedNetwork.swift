// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO

@testable import Probes

/// A network in virtual time that does with the packets of a probe what a script says; the rest is silence.
///
/// It treats actions and events as ``ProbeRunner`` does: actions in order, events that an action causes after all
/// actions of its event, timers replaced by number, nothing after the end.
struct ScriptedNetwork {
    /// A packet that a probe sends; a copy is a packet of its own, what is sent again is not.
    struct Packet {
        /// From 1, over all sockets.
        let number: Int
        let socket: Int
        let kind: ProbeSocketKind
        let bytes: [UInt8]
        /// How many routers it may pass, and the one that drops it; `nil` is the kernel's default.
        var hopLimit: Int?
    }

    /// What becomes of a packet.
    enum Effect {
        /// It comes back, as this changes it.
        case answer(after: Duration, (inout ReceivedPacket) -> Void)
        /// A router or the host reports an ICMP error, if the socket reports them.
        /// It quotes the packet, or what is given.
        case fault(PacketFault, after: Duration, quote: [UInt8]? = nil, obstacle: PacketObstacle? = nil)
        /// Receiving fails.
        case receiveFailure(Errno, after: Duration)
        /// One attempt to send it fails, and the kernel had these errors about packets before.
        case sendFailure(Errno, reporting: [PacketFault] = [])
    }

    /// What becomes of an attempt to open a socket.
    enum Opening {
        /// At once, but for a connection.
        case success
        case failure(Errno, SocketStep)
        /// A connection is made or fails later.
        case connection(after: Duration, retransmissions: Int = 0)
        case refusal(Errno, after: Duration, reporting: PacketFault? = nil)
    }

    /// The calendar at the start, in nanoseconds since 1970.
    static let wall: Int64 = 1_800_000_000_000_000_000

    /// By the number of the packet.
    var packets: [Int: [Effect]] = [:]
    var everyPacket: (Packet) -> [Effect] = { _ in [] }
    /// By the number of the socket, one for each attempt.
    var openings: [Int: [Opening]] = [:]
    /// Of a socket that has no opening left.
    var everyOpening: (ProbeSocketKind) -> Opening? = { _ in nil }
    /// Which timeouts, from 1, end on a machine that was too busy to receive.
    var delayedTimeouts: Set<Int> = []
    /// Whether echo sockets are raw ones.
    var isRaw = false

    /// Runs a probe until it finishes or nothing more happens.
    func run<Result>(_ probe: any Probe<Result>) -> ScriptedRun<Result> {
        var execution = ScriptedExecution(probe, self)
        return execution.run()
    }
}

/// What came of a probe in a ``ScriptedNetwork``.
struct ScriptedRun<Result> {
    /// A packet that left, or a connection that was begun.
    struct Departure {
        let time: Duration
        let socket: Int
        let kind: ProbeSocketKind
        /// `nil` for the beginning of a connection.
        let bytes: [UInt8]?
    }

    let result: Result
    let traffic: ProbeTraffic
    let departures: [Departure]
    /// Whether the probe finished by itself.
    let isFinished: Bool
    /// Until it finished, or nothing more happened.
    let duration: Duration

    /// Time, kind of the socket and number of bytes of what left, such as `450 ms udp 48`.
    var sent: [String] {
        departures.map { departure in
            let size = departure.bytes.map { "\($0.count)" } ?? "connection"
            return "\(departure.time.inMilliseconds) \(departure.kind.word) \(size)"
        }
    }
}

extension Duration {
    /// Such as `450 ms`.
    fileprivate var inMilliseconds: String {
        let whole = Int(self / .milliseconds(1))
        return self == .milliseconds(whole) ? "\(whole) ms" : "\(self / .milliseconds(1)) ms"
    }
}

extension ProbeSocketKind {
    fileprivate var word: String {
        switch self {
        case .stream: "tcp"
        case .datagram: "udp"
        case .echo: "icmp"
        case .link(.arp, _): "arp"
        case .link(.neighborDiscovery, _): "nd"
        case .link(.routerDiscovery, _): "rs"
        case .link(.dhcp, _): "dhcp"
        case .link(.multicastDNS, _): "mdns"
        case .capture: "capture"
        }
    }
}

/// One run of a probe in a scripted network.
private struct ScriptedExecution<Result> {
    private struct Socket {
        let kind: ProbeSocketKind
        /// Distinguishes it from an earlier one of the same number.
        let generation: Int
        /// The last packet that it sent, and how often that was attempted.
        var last = (packet: 0, attempts: 0)
        /// What lets its packets pass so many routers, where that was changed.
        var hopLimit: Int?
    }

    /// What happens later.
    private struct Occurrence {
        enum Kind {
            /// To a socket, while it is open.
            case event(ProbeEvent, socket: Int, generation: Int)
            case timer(Int)
            case timeout
        }

        let time: Duration
        /// Of what happens at once: ICMP errors, then packets, then timers.
        let rank: Int
        let number: Int
        let kind: Kind
    }

    private static var start: Duration { .seconds(1000) }

    private let network: ScriptedNetwork
    private var probe: any Probe<Result>
    private var openings: [Int: [ScriptedNetwork.Opening]]
    private var now = Self.start
    private var queue: [ProbeEvent] = []
    private var isHandling = false
    private var occurrences: [Occurrence] = []
    private var nextNumber = 0
    private var sockets: [Int: Socket] = [:]
    /// The occurrences of the timers that count.
    private var timers: [Int: Int] = [:]
    private var timeout: Int?
    private var timeouts = 0
    private var traffic = ProbeTraffic()
    private var departures: [ScriptedRun<Result>.Departure] = []
    private var isFinished = false

    init(_ probe: any Probe<Result>, _ network: ScriptedNetwork) {
        self.probe = probe
        self.network = network
        openings = network.openings
    }

    mutating func run() -> ScriptedRun<Result> {
        handle(.started)
        while !isFinished, let next = dequeue() {
            now = max(now, next.time)
            occur(next)
        }
        return ScriptedRun(
            result: probe.result,
            traffic: traffic,
            departures: departures,
            isFinished: isFinished,
            duration: now - Self.start
        )
    }

    private mutating func handle(_ event: ProbeEvent) {
        queue.append(event)
        guard !isHandling else { return }
        isHandling = true
        defer { isHandling = false }
        while !isFinished, !queue.isEmpty {
            let time = ProbeTime(boot: now, wall: ScriptedNetwork.wall + (now - Self.start).nanoseconds)
            for action in probe.handle(queue.removeFirst(), at: time) where !isFinished { perform(action) }
        }
    }

    private mutating func perform(_ action: ProbeAction) {
        switch action {
        case .open(let kind, let number): open(kind, number)
        case .send(let bytes, let number):
            traffic.packets += 1
            sockets[number]?.last = (traffic.packets, 0)
            send(bytes, number)
        case .resend(let bytes, let number): send(bytes, number)
        case .limitHops(let hops, let number): sockets[number]?.hopLimit = hops
        case .close(let number): sockets[number] = nil
        case .schedule(let time, let number): timers[number] = plan(time, rank: 2, .timer(number))
        case .timeout(let limit?): timeout = plan(now + limit, rank: 2, .timeout)
        case .timeout(nil): timeout = nil
        case .finish:
            isFinished = true
            traffic.bytesReceived = probe.bytesReceived
        }
    }

    // MARK: - Time

    private mutating func plan(_ time: Duration, rank: Int, _ kind: Occurrence.Kind) -> Int {
        nextNumber += 1
        occurrences.append(Occurrence(time: time, rank: rank, number: nextNumber, kind: kind))
        return nextNumber
    }

    private mutating func dequeue() -> Occurrence? {
        let next = occurrences.indices.min { left, right in
            let (left, right) = (occurrences[left], occurrences[right])
            return (left.time, left.rank, left.number) < (right.time, right.rank, right.number)
        }
        return next.map { occurrences.remove(at: $0) }
    }

    private mutating func occur(_ occurrence: Occurrence) {
        switch occurrence.kind {
        case .event(let event, let number, let generation):
            guard sockets[number]?.generation == generation else { return }
            if case .failed(let failure, _, let use) = event { return fail(failure, number, use) }
            handle(event)
        case .timer(let number):
            guard timers[number] == occurrence.number else { return }
            timers[number] = nil
            handle(.fired(timer: number))
        case .timeout:
            guard timeout == occurrence.number else { return }
            timeout = nil
            timeouts += 1
            handle(.timedOut(isDelayed: network.delayedTimeouts.contains(timeouts)))
        }
    }

    // MARK: - Sockets

    private mutating func open(_ kind: ProbeSocketKind, _ number: Int) {
        sockets[number] = nil
        let usual = kind.isStream ? ScriptedNetwork.Opening.connection(after: .milliseconds(20)) : .success
        var opening = network.everyOpening(kind) ?? usual
        if var rest = openings[number], !rest.isEmpty {
            opening = rest.removeFirst()
            openings[number] = rest
        }
        if case .failure(let error, let step) = opening {
            return fail(SocketFailure(error: error, step: step), number, .open)
        }
        nextNumber += 1
        sockets[number] = Socket(kind: kind, generation: nextNumber)
        if kind.isStream {
            departures.append(.init(time: now - Self.start, socket: number, kind: kind, bytes: nil))
        }
        switch opening {
        case .failure, .success: handle(.opened(socket: number, SocketState(isRaw: network.isRaw && kind.isEcho)))
        case .connection(let delay, let retransmissions):
            happen(.opened(socket: number, SocketState(retransmissions: retransmissions)), number, after: delay)
        case .refusal(let error, let delay, let fault):
            if let fault { happen(.fault(fault, FaultDetails(), socket: number), number, after: delay, rank: 0) }
            let failure = SocketFailure(error: error, step: .answer)
            happen(.failed(failure, socket: number, .open), number, after: delay)
        }
    }

    private mutating func happen(_ event: ProbeEvent, _ number: Int, after delay: Duration, rank: Int = 1) {
        guard let generation = sockets[number]?.generation else { return }
        _ = plan(now + delay, rank: rank, .event(event, socket: number, generation: generation))
    }

    private mutating func fail(_ failure: SocketFailure, _ number: Int, _ use: SocketUse) {
        switch use {
        case .open: sockets[number] = nil
        case .send where FailureClassifier.reason(of: failure) == .blocked: traffic.refused += 1
        case .send, .receive: break
        }
        if let shortage = FailureClassifier.shortage(failure) { traffic.shortage = shortage }
        handle(.failed(failure, socket: number, use))
    }

    private mutating func send(_ bytes: [UInt8], _ number: Int) {
        guard let socket = sockets[number] else { return }
        let (packet, attempt) = socket.last
        sockets[number]?.last.attempts += 1
        let hops = socket.hopLimit ?? socket.kind.hopLimit
        let sent = ScriptedNetwork.Packet(
            number: packet,
            socket: number,
            kind: socket.kind,
            bytes: bytes,
            hopLimit: hops
        )
        let effects = network.everyPacket(sent) + (network.packets[packet] ?? [])
        let failures = effects.compactMap { effect -> (Errno, [PacketFault])? in
            if case .sendFailure(let error, let faults) = effect { (error, faults) } else { nil }
        }
        if failures.indices.contains(attempt) {
            for fault in failures[attempt].1 where socket.kind.reportsFaults {
                handle(.fault(fault, FaultDetails(), socket: number))
            }
            return fail(SocketFailure(error: failures[attempt].0, step: .use), number, .send(bytes))
        }
        traffic.bytesSent += bytes.count
        departures.append(.init(time: now - Self.start, socket: number, kind: socket.kind, bytes: bytes))
        for effect in effects { happen(effect, bytes, number, socket.kind) }
    }

    private mutating func happen(
        _ effect: ScriptedNetwork.Effect,
        _ bytes: [UInt8],
        _ number: Int,
        _ kind: ProbeSocketKind
    ) {
        switch effect {
        case .answer(let delay, let change):
            var packet = ReceivedPacket(bytes: bytes)
            change(&packet)
            happen(.received(packet, socket: number), number, after: delay)
        case .fault(let fault, let delay, let quote, let obstacle):
            guard kind.reportsFaults else { return }
            let details = FaultDetails(quote: quote ?? bytes, obstacle: obstacle)
            happen(.fault(fault, details, socket: number), number, after: delay, rank: 0)
        case .receiveFailure(let error, let delay):
            let failure = SocketFailure(error: error, step: .use)
            happen(.failed(failure, socket: number, .receive), number, after: delay)
        case .sendFailure: break
        }
    }
}

extension ProbeSocketKind {
    fileprivate var isEcho: Bool { if case .echo = self { true } else { false } }

    fileprivate var hopLimit: Int? {
        switch self {
        case .stream(_, _, let options), .datagram(_, _, let options), .echo(_, _, let options): options.hopLimit
        case .link, .capture: nil
        }
    }
}
