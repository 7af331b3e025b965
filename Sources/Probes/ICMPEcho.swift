// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// Sends one echo request and waits for its reply.
struct ICMPEcho: Probe {
    private let address: ScopedAddress
    private let route: ProbeRoute
    private let message: EchoMessage
    private var isRaw = false
    private(set) var bytesReceived = 0
    private(set) var result = ProbeResult(.failure(.timeout, detail: ""))

    init(to address: ScopedAddress, route: ProbeRoute = ProbeRoute()) {
        self.address = address
        self.route = route
        message = EchoMessage(family: address.address.family, sequence: .random(in: .min ... .max))
    }

    mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        switch event {
        case .started: return [.open(.echo(to: address, route))]
        case .opened(_, let state):
            isRaw = state.isRaw
            return [.send(message.request)]
        case .failed(let failure, _, _):
            result = ProbeResult(FailureClassifier.outcome(of: failure, route: route))
            return [.finish]
        case .received(let packet, _):
            guard message.isAnswered(by: packet.bytes.span, isRaw: isRaw) else { return [] }
            // Without the header that a raw IPv4 socket shows.
            let header = isRaw && address.address.family == .ipv4 ? Int(packet.bytes[0] & 0xF) * 4 : 0
            bytesReceived = packet.bytes.count - header
            result = ProbeResult(.success)
            result.hopLimit = packet.hopLimit
            result.lateness = packet.age
            return [.finish]
        case .fault, .fired, .timedOut: return []
        }
    }
}

/// An ICMP echo request, and how its reply is known (RFC 792; RFC 4443 sections 4.1 and 4.2).
struct EchoMessage: Equatable {
    /// The length of a request in bytes: a header of 8 and 56 bytes, as of ping(8).
    static let length = 64

    let family: AddressFamily
    /// Distinguishes it from others; a datagram socket's is chosen by the kernel.
    var identifier = UInt16.random(in: .min ... .max)
    var sequence: UInt16
    /// 16 bytes that nobody can guess, so that a forged reply is noticed.
    var token = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    /// How long the request is, in bytes.
    var size = Self.length

    /// The request; the kernel fills in the checksum of ICMPv6, and both fields of a datagram socket.
    var request: [UInt8] {
        var bytes: [UInt8] = [family == .ipv4 ? 8 : 128, 0, 0, 0]
        bytes += [UInt8(identifier >> 8), UInt8(identifier & 0xFF), UInt8(sequence >> 8), UInt8(sequence & 0xFF)]
        bytes += token
        while bytes.count < size { bytes.append(UInt8(truncatingIfNeeded: bytes.count)) }
        if family == .ipv4 {
            let sum = Self.checksum(bytes.span)
            (bytes[2], bytes[3]) = (UInt8(sum >> 8), UInt8(sum & 0xFF))
        }
        return bytes
    }

    /// Whether a received datagram is the reply.
    ///
    /// - Parameters:
    ///   - datagram: What arrived; on a raw IPv4 socket it begins with the IP header.
    ///   - isRaw: Whether the socket is a raw one; the identifier of others is checked by the kernel.
    /// - Returns: `false` for anything else, however short.
    func isAnswered(by datagram: Span<UInt8>, isRaw: Bool) -> Bool {
        var start = 0
        if isRaw && family == .ipv4 {
            guard datagram.count > 0, datagram[0] >> 4 == 4 else { return false }
            start = Int(datagram[0] & 0xF) * 4
            guard start >= 20 else { return false }
        }
        guard datagram.count - start >= 8 + token.count else { return false }
        func word(_ offset: Int) -> UInt16 {
            UInt16(datagram[start + offset]) << 8 | UInt16(datagram[start + offset + 1])
        }
        guard datagram[start] == (family == .ipv4 ? 0 : 129), datagram[start + 1] == 0, word(6) == sequence,
            !isRaw || word(4) == identifier
        else { return false }
        return token.indices.allSatisfy { datagram[start + 8 + $0] == token[$0] }
    }

    /// The checksum of RFC 1071, over bytes whose checksum field is zero.
    static func checksum(_ bytes: Span<UInt8>) -> UInt16 {
        var sum: UInt32 = 0
        var index = 0
        while index < bytes.count {
            let low = index + 1 < bytes.count ? UInt32(bytes[index + 1]) : 0
            sum += UInt32(bytes[index]) << 8 | low
            index += 2
        }
        while sum >> 16 != 0 { sum = sum & 0xFFFF + sum >> 16 }
        return ~UInt16(truncatingIfNeeded: sum)
    }
}
