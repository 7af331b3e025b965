// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import Addressing

/// What a packet socket saw of the traffic with some hosts, while it was open.
package struct WitnessResult: Hashable, Sendable {
    /// One flow of TCP or UDP, as packets of it pass an interface.
    package struct Flow: Hashable, Sendable {
        package var host: IPAddress
        /// IPPROTO_TCP (6) or IPPROTO_UDP (17).
        package var transport: UInt8
        /// The host's port.
        package var port: UInt16
        /// This machine's port.
        package var ownPort: UInt16
        /// The index of the interface.
        package var interface: Int
    }

    /// What left this machine, behind all of its packet filters.
    package var sent: Set<Flow> = []
    /// What arrived for this machine, before any of its packet filters.
    package var returned: Set<Flow> = []
    /// Whether the socket was open all the time, and nothing is missing.
    package var isComplete = false
}

/// Records the flows with some hosts on all interfaces; sends nothing.
///
/// A packet socket receives what is sent behind the output filters, and what arrives before the input filters, so that it
/// shows whether it is this machine that drops packets. A flow that becomes another one before it leaves is recorded as that.
/// It needs CAP_NET_RAW.
package struct PacketWitness: Probe {
    /// How many hosts are recorded at most.
    package static let mostHosts = 16
    /// Whoever else uses these hosts; more is not recorded.
    static let mostFlows = 1024

    private let hosts: [IPAddress]
    private let limit: Duration
    package private(set) var result = WitnessResult()

    /// The first hosts count.
    package init(_ hosts: [IPAddress], limit: Duration) {
        self.hosts = Array(hosts.prefix(Self.mostHosts))
        self.limit = limit
    }

    package mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        switch event {
        case .started: return [.open(.capture(CaptureProgram(hosts).code)), .timeout(after: limit)]
        case .opened:
            result.isComplete = true
            return []
        case .received(let packet, _):
            if packet.hasGap { result.isComplete = false }
            record(packet)
            return []
        case .timedOut(let isDelayed):
            if isDelayed { result.isComplete = false }
            return [.finish]
        case .failed:
            result.isComplete = false
            return [.finish]
        case .fault, .fired: return []
        }
    }

    private mutating func record(_ packet: ReceivedPacket) {
        guard let header = CapturedHeader(packet.bytes.span) else { return }
        let flow = WitnessResult.Flow(
            host: packet.isOutgoing ? header.destination : header.source,
            transport: header.transport,
            port: packet.isOutgoing ? header.destinationPort : header.sourcePort,
            ownPort: packet.isOutgoing ? header.sourcePort : header.destinationPort,
            interface: packet.interface
        )
        guard hosts.contains(flow.host) else { return }
        guard result.sent.count + result.returned.count < Self.mostFlows else {
            result.isComplete = false
            return
        }
        if packet.isOutgoing { result.sent.insert(flow) } else { result.returned.insert(flow) }
    }
}

/// The beginning of an IPv4 or IPv6 packet of TCP or UDP.
struct CapturedHeader {
    let source: IPAddress
    let destination: IPAddress
    /// As in ``WitnessResult/Flow``.
    let transport: UInt8
    let sourcePort: UInt16
    let destinationPort: UInt16

    /// Reads a packet; any bytes are allowed.
    /// - Returns: `nil` for other protocols, and for all fragments but the first.
    init?(_ bytes: Span<UInt8>) {
        guard bytes.count >= 20 else { return nil }
        let start: Int
        switch bytes[0] >> 4 {
        case 4:
            start = Int(bytes[0] & 0xF) * 4
            transport = bytes[9]
            guard bytes[6] & 0x1F == 0, bytes[7] == 0, let source = IPAddress(bytes: bytes.extracting(12..<16)),
                let destination = IPAddress(bytes: bytes.extracting(16..<20))
            else { return nil }
            (self.source, self.destination) = (source, destination)
        case 6:
            guard bytes.count >= 40, let source = IPAddress(bytes: bytes.extracting(8..<24)),
                let destination = IPAddress(bytes: bytes.extracting(24..<40))
            else { return nil }
            (start, transport) = (40, bytes[6])
            (self.source, self.destination) = (source, destination)
        default: return nil
        }
        guard transport == 6 || transport == 17, start >= 20, bytes.count >= start + 4 else { return nil }
        sourcePort = UInt16(bytes[start]) << 8 | UInt16(bytes[start + 1])
        destinationPort = UInt16(bytes[start + 2]) << 8 | UInt16(bytes[start + 3])
    }
}

/// A classic BPF program that passes packets from or to some hosts, in the form of `nwp_attach_filter`.
struct CaptureProgram {
    private(set) var code: [UInt64] = []

    private static let (loadByte, loadWord, shiftRight, jumpIfEqual, end) = (0x30, 0x20, 0x74, 0x15, 0x06)
    /// How much of a packet is passed.
    static let length = 128

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
