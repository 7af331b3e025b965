// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// An ICMP error about a packet (RFC 792; RFC 4443 section 3).
public struct PacketFault: Hashable, Sendable {
    /// Who reported it; `nil` is the own machine.
    public var speaker: IPAddress?
    public var kind: Kind
    /// The largest packet that would have passed, in bytes; `nil` unless it was too big and this was reported.
    public var largest: Int?
    public enum Kind: Hashable, Sendable {
        case portClosed
        /// There is no route, or it is forbidden.
        case unreachable
        case hopLimit
        case tooBig
        case other

        init(_ family: AddressFamily, type: UInt8, code: UInt8) {
            switch (family, type, code) {
            case (.ipv4, 3, 3), (.ipv6, 1, 4): self = .portClosed
            case (.ipv4, 3, 4), (.ipv6, 2, _): self = .tooBig
            case (.ipv4, 3, _), (.ipv6, 1, _): self = .unreachable
            case (.ipv4, 11, 0), (.ipv6, 3, 0): self = .hopLimit
            default: self = .other
            }
        }
    }

    public init(speaker: IPAddress?, kind: Kind) {
        self.speaker = speaker
        self.kind = kind
    }
}

/// What an error of the type "destination unreachable" says is unreachable; the raw value is what documents show.
package enum PacketObstacle: String, Hashable, Sendable, CaseIterable {
    /// There is no route.
    case network
    case host
    case transport
    case port
    /// A packet filter refuses it.
    case prohibited
    case other

    init?(_ family: AddressFamily, type: UInt8, code: UInt8) {
        switch (family, type, code) {
        case (.ipv4, 3, 0), (.ipv4, 3, 6), (.ipv4, 3, 11), (.ipv6, 1, 0): self = .network
        case (.ipv4, 3, 1), (.ipv4, 3, 7), (.ipv4, 3, 12), (.ipv6, 1, 3): self = .host
        case (.ipv4, 3, 2): self = .transport
        case (.ipv4, 3, 3), (.ipv6, 1, 4): self = .port
        case (.ipv4, 3, 9), (.ipv4, 3, 10), (.ipv4, 3, 13), (.ipv6, 1, 1), (.ipv6, 1, 5), (.ipv6, 1, 6):
            self = .prohibited
        case (.ipv4, 3, 4): return nil
        case (.ipv4, 3, _), (.ipv6, 1, _): self = .other
        default: return nil
        }
    }
}

public struct TrainResult: Hashable, Sendable {
    /// How many packets were handed to the kernel.
    public var sent = 0
    /// The round trips of those that came back, in the order of their departure.
    public var durations: [Duration] = []
    /// Why none could be sent; `nil` when one was.
    public var failure: ProbeReason?
    /// Why nothing follows from packets that did not come back: this process may not send, was too busy to receive them, or
    /// this machine lacks what sending needs.
    public var advice: String?
    /// The ICMP errors about the packets, each once.
    public var faults: Set<PacketFault> = []

    public var received: Int { durations.count }
    /// The middle one of the round trips; `nil` without any.
    public var median: Duration? { percentile(50) }

    /// The round trip that so many percent do not exceed (nearest rank); `nil` without any.
    public func percentile(_ percent: Int) -> Duration? {
        guard !durations.isEmpty else { return nil }
        let rank = (durations.count * percent + 99) / 100
        return durations.sorted()[min(max(rank, 1), durations.count) - 1]
    }
}

/// Sends packets at a steady pace to a peer that sends each back, and receives meanwhile.
///
/// It sends `count` packets of 64 bytes, and nothing twice; it ends early when all came back, or one where that is enough.
package struct PacketTrain: Probe {
    private static let mostFaults = 16

    private let address: ScopedAddress
    private let route: ProbeRoute
    private let pace: Duration
    private let timeout: Duration
    private let isOneEnough: Bool
    private let messages: TrainMessages
    private var record: TrainRecord
    private var due = Duration.zero
    private var isRaw = false
    private var isResent = false
    package private(set) var bytesReceived = 0
    package private(set) var result = TrainResult()

    /// A packet leaves at each `pace`; the answer of the last one may take until the `timeout`.
    package init(
        _ kind: TrainKind,
        to address: ScopedAddress,
        route: ProbeRoute = ProbeRoute(),
        count: Int,
        pace: Duration,
        timeout: Duration,
        isOneEnough: Bool = false
    ) {
        self.isOneEnough = isOneEnough
        self.address = address
        self.route = route
        self.pace = pace
        self.timeout = timeout
        messages = TrainMessages(kind, family: address.address.family)
        record = TrainRecord(count: count)
    }

    package var kind: TrainKind { messages.kind }
    package var family: AddressFamily { address.address.family }

    package mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        switch event {
        case .started: return [.open(messages.kind.socket(to: address, route))]
        case .opened(_, let state):
            isRaw = state.isRaw
            due = now.boot
            return send(at: now)
        case .fired:
            due += pace
            return send(at: now)
        case .received(let packet, _): return receive(packet, at: now.boot - packet.age)
        case .fault(let fault, _, _):
            if result.faults.count < Self.mostFaults { result.faults.insert(fault) }
            return []
        case .failed(let failure, _, .open):
            switch FailureClassifier.outcome(of: failure, route: route) {
            case .notAssessed(let advice): result.advice = advice
            case .failure(let reason, let detail):
                result.failure = reason
                if reason == .resources { result.advice = detail }
            case .success: break
            }
            return [.finish]
        case .failed(let failure, _, .send(let bytes))
        where !isResent && FailureClassifier.reason(of: failure) != .blocked:
            isResent = true
            return [.resend(bytes)]
        case .failed(let failure, _, _):
            if let shortage = FailureClassifier.shortage(failure) { result.advice = shortage }
            result.failure = FailureClassifier.reason(of: failure)
            return []
        case .timedOut(let isDelayed):
            if isDelayed { result.advice = SchedulingDelay.text }
            return finish()
        }
    }

    private mutating func send(at now: ProbeTime) -> [ProbeAction] {
        guard let number = record.next else { return [] }
        record.depart(at: now.boot)
        result.sent += 1
        isResent = false
        let next = record.next == nil ? ProbeAction.timeout(after: timeout) : .schedule(at: due + pace)
        return [.send(messages.request(number)), next]
    }

    private mutating func receive(_ packet: ReceivedPacket, at time: Duration) -> [ProbeAction] {
        let number = messages.number(of: packet.bytes.span, isRaw: isRaw, awaited: record.outstanding)
        guard let number, record.arrive(number, at: time) else { return [] }
        bytesReceived += EchoMessage.length
        return record.isComplete || isOneEnough ? finish() : []
    }

    private mutating func finish() -> [ProbeAction] {
        result.durations = record.durations
        if !result.durations.isEmpty { result.failure = nil }
        return [.finish]
    }
}

/// Which packets of a train left when, and which came back.
struct TrainRecord {
    let count: Int
    private var departures: [Duration] = []
    private var trips: [Duration?] = []

    init(count: Int) { self.count = count }

    /// The number of the next packet; `nil` when all left.
    var next: Int? { departures.count < count ? departures.count : nil }
    var isComplete: Bool { next == nil && trips.allSatisfy { $0 != nil } }
    /// The round trips so far, in the order of departure.
    var durations: [Duration] { trips.compactMap(\.self) }
    var outstanding: [Int] { trips.indices.filter { trips[$0] == nil } }

    mutating func depart(at now: Duration) {
        departures.append(now)
        trips.append(nil)
    }

    /// Records that a packet came back; a second copy of it says nothing.
    /// - Returns: Whether it was awaited.
    mutating func arrive(_ number: Int, at now: Duration) -> Bool {
        guard trips.indices.contains(number), trips[number] == nil else { return false }
        trips[number] = max(.zero, now - departures[number])
        return true
    }
}

public enum TrainKind: Hashable, Sendable {
    /// ICMP echo requests of 64 bytes.
    case echo
    /// Datagrams of 64 bytes to a UDP port whose server sends them back.
    case datagram(port: UInt16)

    func socket(
        to address: ScopedAddress,
        _ route: ProbeRoute = ProbeRoute(),
        isUnfragmented: Bool = false
    ) -> ProbeSocketKind {
        let options = ProbeSocketOptions(reportsFaults: true, isUnfragmented: isUnfragmented)
        return switch self {
        case .echo: .echo(to: address, route, options)
        case .datagram(let port): .datagram(to: SocketAddress(address, port: port), route, options)
        }
    }
}

/// The packets of one train, recognized by what nobody can guess.
struct TrainMessages {
    let kind: TrainKind
    private let echo: EchoMessage

    init(_ kind: TrainKind, family: AddressFamily) {
        self.kind = kind
        echo = EchoMessage(family: family, sequence: 0)
    }

    /// The bytes of a packet.
    func request(_ number: Int) -> [UInt8] {
        switch kind {
        case .echo: return numbered(number).request
        case .datagram:
            var bytes = echo.token + [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
            while bytes.count < EchoMessage.length { bytes.append(UInt8(truncatingIfNeeded: bytes.count)) }
            return bytes
        }
    }

    /// Which of the awaited packets a received one answers; `nil` for anything else, however short.
    func number(of datagram: Span<UInt8>, isRaw: Bool, awaited: [Int]) -> Int? {
        switch kind {
        case .echo:
            for number in awaited where numbered(number).isAnswered(by: datagram, isRaw: isRaw) { return number }
            return nil
        case .datagram:
            guard datagram.count == EchoMessage.length else { return nil }
            let number = Int(datagram[16]) << 8 | Int(datagram[17])
            let isOurs = echo.token.indices.allSatisfy { datagram[$0] == echo.token[$0] }
            return isOurs && awaited.contains(number) ? number : nil
        }
    }

    private func numbered(_ number: Int) -> EchoMessage {
        var message = echo
        message.sequence = UInt16(truncatingIfNeeded: number + 1)
        return message
    }
}
