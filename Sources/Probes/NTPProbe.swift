// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO

public struct NTPResult: Hashable, Sendable {
    public var isAnswered = false
    /// Whether this machine was too busy to receive an answer.
    public var isDelayed = false
    /// How far the own clock is ahead of its; `nil` when it does not know the time.
    public var ahead: Duration?
}

/// Queries a time server (NTP, RFC 5905), three times while it does not answer.
///
/// At most three queries of 48 bytes, which disclose nothing about this machine.
package struct NTPProbe: Probe {
    /// When a query is sent; the first may be lost.
    private static let copies: [Duration] = [.zero, .milliseconds(450), .milliseconds(900)]

    private let server: SocketAddress
    private let limit: Duration
    private var queries: [(query: NTPQuery, sent: Int64)] = []
    private var isOpen = false
    package private(set) var bytesReceived = 0
    package private(set) var result = NTPResult()

    package init(_ server: SocketAddress, limit: Duration = .milliseconds(2500)) {
        self.server = server
        self.limit = limit
    }

    package mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        switch event {
        case .started:
            let copies = Self.copies.indices.map { ProbeAction.schedule(at: now.boot + Self.copies[$0], timer: $0) }
            return copies + [.timeout(after: limit)]
        case .fired: return isOpen ? query(at: now) : [.open(.datagram(to: server))]
        case .opened:
            isOpen = true
            return query(at: now)
        case .received(let packet, _): return receive(packet, at: now)
        case .timedOut(let isDelayed):
            result.isDelayed = isDelayed
            return [.finish]
        case .failed, .fault: return []
        }
    }

    private mutating func query(at now: ProbeTime) -> [ProbeAction] {
        let query = NTPQuery(cookie: .random(in: 1 ... .max))
        queries.append((query, now.wall))
        return [.send(query.bytes)]
    }

    private mutating func receive(_ packet: ReceivedPacket, at now: ProbeTime) -> [ProbeAction] {
        for (query, sent) in queries {
            switch query.read(packet.bytes.span, left: sent, arrived: now.wall - packet.age.nanoseconds) {
            case .foreign: continue
            case .unsynchronized: break
            case .ahead(let offset): result.ahead = offset
            }
            result.isAnswered = true
            bytesReceived = packet.bytes.count
            return [.finish]
        }
        return []
    }
}

/// A question to a time server and what its answer says of the own clock (RFC 5905 sections 7.3 and 8).
///
/// The own time is not sent: what stands in its place is random, and must come back, so that nobody can forge an answer
/// without having seen the question.
struct NTPQuery: Equatable {
    enum Reply: Equatable {
        /// It is no answer to this question.
        case foreign
        /// The server does not know the time, or wants to be left alone (stratum 0 or 16, or an alarm).
        case unsynchronized
        /// How far the own clock is ahead of the server's.
        case ahead(Duration)
    }

    /// The length of a message without extensions.
    static let length = 48
    /// From 1900, where the protocol's time begins, to 1970, in seconds.
    private static let epoch: Int64 = 2_208_988_800

    /// What stands where the own time would.
    let cookie: UInt64

    /// The message: version 4, mode 3 (client).
    var bytes: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.length)
        bytes[0] = 4 << 3 | 3
        for index in 0..<8 { bytes[40 + index] = UInt8(truncatingIfNeeded: cookie >> UInt64(56 - index * 8)) }
        return bytes
    }

    /// Reads a message; any bytes are allowed.
    /// - Parameters:
    ///   - message: What arrived.
    ///   - left: When the question left, in nanoseconds since 1970 by the own clock.
    ///   - arrived: When the answer arrived, likewise.
    /// - Returns: What it says; the difference is right within 68 years.
    func read(_ message: Span<UInt8>, left: Int64, arrived: Int64) -> Reply {
        guard message.count >= Self.length, message[0] & 7 == 4, Self.word(message, 24) == cookie else {
            return .foreign
        }
        let stratum = message[1]
        let received = Self.word(message, 32)
        let sent = Self.word(message, 40)
        guard message[0] >> 6 != 3, (1...15).contains(stratum), received != 0, sent != 0 else {
            return .unsynchronized
        }
        // Differences wrap around: right within 68 years, whatever the era.
        let there = Int64(bitPattern: received &- Self.timestamp(left))
        let back = Int64(bitPattern: sent &- Self.timestamp(arrived))
        let behind = there / 2 + back / 2
        return .ahead(.zero - Self.duration(behind))
    }

    private static func word(_ message: Span<UInt8>, _ offset: Int) -> UInt64 {
        var value: UInt64 = 0
        for index in offset..<(offset + 8) { value = value << 8 | UInt64(message[index]) }
        return value
    }

    /// A moment as the protocol has it: seconds since 1900, and a fraction of 32 bits.
    static func timestamp(_ nanoseconds: Int64) -> UInt64 {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let whole = rest < 0 ? seconds - 1 : seconds
        let fraction = UInt64(rest < 0 ? rest + 1_000_000_000 : rest)
        return UInt64(truncatingIfNeeded: whole + epoch) << 32 | (fraction << 32) / 1_000_000_000
    }

    private static func duration(_ fixed: Int64) -> Duration {
        let seconds = fixed >> 32
        let nanoseconds = ((fixed & 0xFFFF_FFFF) * 1_000_000_000) >> 32
        return .seconds(seconds) + .nanoseconds(nanoseconds)
    }
}
