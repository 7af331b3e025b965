// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// What a traceroute sends, and when.
package struct TraceroutePlan: Hashable, Sendable {
    package enum Method: Hashable, Sendable {
        /// Datagrams of 32 bytes; without a port to those from 33434 on, at which no program listens.
        case udp(port: UInt16?)
        /// Connections, which are closed at once.
        case tcp(port: UInt16)
        /// Echo requests.
        case icmp
    }

    /// The port of traceroute(8).
    package static let firstPort: UInt16 = 33434
    /// So many hops in a row without an answer are the end of the path.
    static let silentHops = 5

    package var method = Method.udp(port: nil)
    package var rounds = 5
    /// The largest hop limit.
    package var hops = 30
    /// When it ends at the latest; `nil` sets no limit.
    package var limit: Duration?
    /// Whether it is a check of a diagnosis: one packet for each hop limit, until the destination answers.
    private(set) var isOfDiagnosis = false

    /// From one packet to the next.
    let pace = Duration.milliseconds(30)
    /// From the start of a round to that of the next one: routers send about one ICMP error a second to each host.
    let interval = Duration.seconds(1)
    /// How long the last packets of a round are awaited.
    let wait = Duration.seconds(1)
    /// When connections are given up: the kernel would send their SYN again after a second.
    let connectionWait = Duration.milliseconds(900)

    package init() {}

    /// Twelve datagrams from sockets of their own, each to another port.
    static func diagnosis(limit: Duration) -> TraceroutePlan {
        var plan = TraceroutePlan()
        plan.isOfDiagnosis = true
        plan.rounds = 1
        plan.hops = 12
        plan.limit = limit
        return plan
    }

    /// Whether packets of one round can come from one socket, so that they are one flow (Paris traceroute).
    ///
    /// Datagrams are then distinguished by what an ICMP error quotes of their content, echo requests by their sequence.
    /// A program at a port of the user's choice may answer with anything, and a connection needs a socket.
    var sharesSocket: Bool {
        switch method {
        case .udp(port: nil): !isOfDiagnosis
        case .icmp: true
        case .udp, .tcp: false
        }
    }

    /// Such as 33434: each round has another one, so that it may go by other routers.
    func port(_ round: Int, distance: Int) -> UInt16 {
        switch method {
        case .udp(let port?), .tcp(let port): port
        case .udp(nil): Self.firstPort + UInt16(truncatingIfNeeded: isOfDiagnosis ? distance : round)
        case .icmp: 0
        }
    }

    func socket(
        to address: ScopedAddress,
        _ route: ProbeRoute,
        _ round: Int,
        distance: Int,
        hopLimit: Int?
    ) -> ProbeSocketKind {
        let options = ProbeSocketOptions(reportsFaults: true, hopLimit: hopLimit)
        let peer = SocketAddress(address, port: port(round, distance: distance))
        return switch method {
        case .udp: .datagram(to: peer, route, options)
        case .tcp: .stream(to: peer, route, options)
        case .icmp: .echo(to: address, route, options)
        }
    }
}

/// The packets of one round, and how ICMP errors and replies are matched to them.
struct TracerouteMessages {
    private static let length = 32

    private let isEcho: Bool
    private let echo: EchoMessage

    init(_ method: TraceroutePlan.Method, _ family: AddressFamily, round: Int) {
        isEcho = method == .icmp
        echo = EchoMessage(family: family, sequence: UInt16(truncatingIfNeeded: round << 8))
    }

    private func message(_ distance: Int) -> EchoMessage {
        var message = echo
        message.sequence |= UInt16(truncatingIfNeeded: distance)
        // The checksum stays the same, by which routers may choose the path as well.
        let complement = ~message.sequence
        message.token[14] = UInt8(complement >> 8)
        message.token[15] = UInt8(complement & 0xFF)
        return message
    }

    /// The bytes of a packet; a datagram begins with its hop limit, and random bytes follow.
    func request(_ distance: Int) -> [UInt8] {
        guard !isEcho else { return message(distance).request }
        let bytes = [UInt8(truncatingIfNeeded: distance)] + echo.token
        return bytes + [UInt8](repeating: 0x40, count: Self.length - bytes.count)
    }

    /// What the quote of an ICMP error says.
    enum Match: Equatable {
        case distance(Int)
        /// Nothing of the packet is quoted, so it may be any.
        case unknown
        /// It is about a packet of another program.
        case foreign
    }

    /// Matches what an ICMP error quotes; routers may quote a part, and fill it up with zeros (RFC 4884).
    func match(_ quote: [UInt8], isRaw: Bool) -> Match {
        guard isEcho else {
            guard let distance = quote.first, quote.contains(where: { $0 != 0 }) else { return .unknown }
            let isOurs = zip(quote, request(Int(distance))).allSatisfy { $0 == $1 }
            return isOurs ? .distance(Int(distance)) : .foreign
        }
        guard quote.count >= 8, quote[0] == (echo.family == .ipv4 ? 8 : 128), quote[6] == UInt8(echo.sequence >> 8)
        else { return .foreign }
        let distance = Int(quote[7])
        let expected = message(distance).request
        // The kernel chooses the identifier of sockets that are not raw, and reports errors about it alone.
        guard !isRaw || quote[4..<6] == expected[4..<6] else { return .foreign }
        let rest = quote[8...]
        let isOurs = rest.allSatisfy { $0 == 0 } || zip(rest, expected[8...]).allSatisfy { $0 == $1 }
        return isOurs ? .distance(distance) : .foreign
    }

    /// Which of some packets a reply answers; `nil` for anything else.
    func distance(of reply: [UInt8], among distances: [Int], isRaw: Bool) -> Int? {
        distances.first { distance in
            isEcho ? message(distance).isAnswered(by: reply.span, isRaw: isRaw) : reply == request(distance)
        }
    }
}
