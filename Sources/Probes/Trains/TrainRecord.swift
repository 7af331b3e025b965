// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// What somebody on the way said of a packet (RFC 792; RFC 4443 section 3).
public struct PacketFault: Hashable, Sendable {
    /// Who said so; `nil` is the own machine.
    public var speaker: IPAddress?
    public var kind: Kind
    /// The largest packet that would have passed, in bytes; `nil` unless it was too big and this was told.
    public var largest: Int?

    public enum Kind: Hashable, Sendable {
        case portClosed
        /// There is no way, or it is forbidden.
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

public struct TrainResult: Hashable, Sendable {
    /// How many packets were handed to the kernel.
    public var sent = 0
    /// How many of these a packet filter of this machine refused (`EPERM`).
    public var refused = 0
    /// The round trips of those that came back, in the order of their departure.
    public var durations: [Duration] = []
    /// Why none could be sent; `nil` when one was, or when nothing was tried.
    public var failure: ProbeReason?
    /// Why nothing follows from packets that did not come back: this process may not send, was too busy to hear them, or this
    /// machine lacks what sending needs.
    public var advice: String?
    /// What routers and hosts on the way said of the packets, each statement once.
    public var faults: Set<PacketFault> = []
    /// The bytes that were sent, without the headers of IP and UDP.
    public var bytesSent = 0
    /// The bytes that came back, counted likewise.
    public var bytesReceived = 0

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

/// Remembers which packets of a train left when, and which came back.
///
/// Pure: packets and moments in, round trips out.
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

    /// Notes that a packet came back; a second copy of it says nothing.
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
}

/// The packets of one train, told from those of others by what nobody can guess.
struct TrainMessages {
    let kind: TrainKind
    private let echo: EchoMessage

    init(_ kind: TrainKind, family: AddressFamily) {
        self.kind = kind
        echo = EchoMessage(
            family: family,
            identifier: .random(in: .min ... .max),
            sequence: 0,
            token: (0..<16).map { _ in .random(in: .min ... .max) }
        )
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
        EchoMessage(
            family: echo.family,
            identifier: echo.identifier,
            sequence: UInt16(truncatingIfNeeded: number + 1),
            token: echo.token
        )
    }
}
