// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import Addressing

/// What a packet socket saw of the traffic with some hosts, while it was open.
package struct WitnessResult: Hashable, Sendable {
    /// A host and what was sent to it, or came from it.
    package struct Exchange: Hashable, Sendable {
        package var host: IPAddress
        /// IPPROTO_ICMP (1, for both families), IPPROTO_TCP (6) or IPPROTO_UDP (17).
        package var transport: UInt8
        /// The host's port; 0 of ICMP echo.
        package var port: UInt16

        package init(_ host: IPAddress, _ transport: UInt8, port: UInt16) {
            (self.host, self.transport, self.port) = (host, transport, port)
        }
    }

    /// What left this machine, behind all of its packet filters.
    package var sent: Set<Exchange> = []
    /// What arrived, before any of its packet filters.
    package var returned: Set<Exchange> = []
    /// Whether the socket could be made.
    package var isOpen = false
}

/// Records the traffic with some hosts on all interfaces; sends nothing.
///
/// A packet socket receives what is sent behind the output filters, and what arrives before the input filters, so that it
/// shows whether it is this machine that drops packets. It needs CAP_NET_RAW.
package struct PacketWitness: Probe {
    private let hosts: [IPAddress]
    private let limit: Duration
    package private(set) var result = WitnessResult()

    /// At most sixteen hosts count.
    package init(_ hosts: [IPAddress], limit: Duration) {
        self.hosts = Array(hosts.prefix(16))
        self.limit = limit
    }

    package mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        switch event {
        case .started: return [.open(.capture(CaptureProgram(hosts).code)), .timeout(after: limit)]
        case .opened:
            result.isOpen = true
            return []
        case .received(let packet, _):
            record(packet)
            return []
        case .failed(_, _, .open), .timedOut: return [.finish]
        case .failed, .fault, .fired: return []
        }
    }

    private mutating func record(_ packet: ReceivedPacket) {
        let header = CapturedHeader(packet.bytes.span)
        guard let header else { return }
        let host = packet.isOutgoing ? header.destination : header.source
        guard hosts.contains(host) else { return }
        if header.transport == 1 {
            guard packet.isOutgoing ? header.isEchoRequest : header.isEchoReply else { return }
        }
        let port = packet.isOutgoing ? header.destinationPort : header.sourcePort
        let exchange = WitnessResult.Exchange(host, header.transport, port: header.transport == 1 ? 0 : port)
        if packet.isOutgoing { result.sent.insert(exchange) } else { result.returned.insert(exchange) }
    }
}

/// The beginning of an IPv4 or IPv6 packet with its ports, or the type of its ICMP message.
struct CapturedHeader {
    let source: IPAddress
    let destination: IPAddress
    /// As in ``WitnessResult/Exchange``.
    let transport: UInt8
    private(set) var sourcePort: UInt16 = 0
    private(set) var destinationPort: UInt16 = 0
    private(set) var isEchoRequest = false
    private(set) var isEchoReply = false

    /// Reads a packet; any bytes are allowed.
    init?(_ bytes: Span<UInt8>) {
        guard bytes.count >= 20 else { return nil }
        let start: Int
        let number: UInt8
        switch bytes[0] >> 4 {
        case 4:
            start = Int(bytes[0] & 0xF) * 4
            number = bytes[9]
            guard let source = IPAddress(bytes: bytes.extracting(12..<16)),
                let destination = IPAddress(bytes: bytes.extracting(16..<20))
            else { return nil }
            (self.source, self.destination) = (source, destination)
        case 6:
            guard bytes.count >= 40, let source = IPAddress(bytes: bytes.extracting(8..<24)),
                let destination = IPAddress(bytes: bytes.extracting(24..<40))
            else { return nil }
            (start, number) = (40, bytes[6])
            (self.source, self.destination) = (source, destination)
        default: return nil
        }
        transport = number == 58 ? 1 : number
        guard start >= 20, bytes.count >= start + 4 else { return nil }
        switch transport {
        case 6, 17:
            sourcePort = UInt16(bytes[start]) << 8 | UInt16(bytes[start + 1])
            destinationPort = UInt16(bytes[start + 2]) << 8 | UInt16(bytes[start + 3])
        case 1:
            isEchoRequest = bytes[start] == (number == 1 ? 8 : 128)
            isEchoReply = bytes[start] == (number == 1 ? 0 : 129)
        default: return nil
        }
    }
}

/// A classic BPF program that passes packets from or to some hosts, in the form of `nwp_attach_filter`.
struct CaptureProgram {
    private(set) var code: [UInt64] = []

    private static let (loadByte, loadWord, shiftRight, jumpIfEqual, end) = (0x30, 0x20, 0x74, 0x15, 0x06)
    /// How much of a packet is passed.
    private static let length = 128

    init(_ hosts: [IPAddress]) {
        let ipv4 = Self.comparisons(hosts.filter { $0.family == .ipv4 }, offsets: [12, 16])
        let ipv6 = Self.comparisons(hosts.filter { $0.family == .ipv6 }, offsets: [8, 24])
        // The version is in the upper half of the first byte.
        code = [Self.make(Self.loadByte, 0), Self.make(Self.shiftRight, 4)]
        code.append(Self.make(Self.jumpIfEqual, 4, otherwise: ipv4.count))
        code += ipv4
        code.append(Self.make(Self.jumpIfEqual, 6, then: 1))
        code.append(Self.make(Self.end, 0))
        code += ipv6
    }

    /// Ends with what to do where no host fits.
    private static func comparisons(_ hosts: [IPAddress], offsets: [Int]) -> [UInt64] {
        var code: [UInt64] = []
        for host in hosts {
            let bytes = host.bytes
            for offset in offsets {
                let words = stride(from: 0, to: bytes.count, by: 4).map { start in
                    bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
                }
                for (index, word) in words.enumerated() {
                    code.append(make(loadWord, offset + 4 * index))
                    code.append(make(jumpIfEqual, word, otherwise: 2 * (words.count - index) - 1))
                }
                code.append(make(end, length))
            }
        }
        return code + [make(end, 0)]
    }

    private static func make(_ operation: Int, _ operand: Int, then: Int = 0, otherwise: Int = 0) -> UInt64 {
        UInt64(operation) << 48 | UInt64(then) << 40 | UInt64(otherwise) << 32 | UInt64(operand)
    }
}
