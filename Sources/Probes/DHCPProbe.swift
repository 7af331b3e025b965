// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import LinuxIO

/// What was found out about the DHCP servers of a link.
public enum DHCPResult: Hashable, Sendable {
    /// The offers, one a server.
    case offers([LeaseOffer])
    /// The query could not be sent; the text says why.
    case failed(detail: String)
    /// This process lacks a capability; the text says what would allow it.
    case notAssessed(advice: String)
}

/// Queries the DHCP servers of a link for offers, twice, and collects them; nothing is leased.
///
/// It broadcasts two DHCPDISCOVER messages of 300 bytes.
package struct DHCPProbe: LinkProbe {
    private let message: DHCPMessage
    private var offers: [LeaseOffer] = []
    package var query: LinkQuery
    package private(set) var result = DHCPResult.offers([])

    /// - Parameters:
    ///   - interface: The index of the link's interface.
    ///   - sender: The interface's hardware address.
    ///   - limit: How long answers are collected; some servers test an address for three seconds before they offer it.
    package init(on interface: Int, from sender: HardwareAddress, limit: Duration) {
        message = DHCPMessage(transaction: .random(in: .min ... .max), sender: sender)
        query = LinkQuery(.dhcp, on: interface, message.packet, limit: limit)
    }

    package mutating func receive(_ packet: ReceivedPacket, after elapsed: Duration) -> Int {
        guard let offer = message.offer(in: packet.bytes.span), offers.count < Self.most,
            !offers.contains(where: { $0.server == offer.server })
        else { return 0 }
        offers.append(offer)
        return packet.bytes.count
    }

    package mutating func end(_ end: LinkProbeEnd) {
        switch end {
        case .delayed where offers.isEmpty: result = .failed(detail: SchedulingDelay.text)
        case .complete, .delayed: result = .offers(offers)
        case .failed(let error): result = .failed(detail: error.description)
        case .notPermitted:
            let advice = "querying DHCP servers needs CAP_NET_RAW: \(Capability.advice("cap_net_raw"))"
            result = .notAssessed(advice: advice)
        }
    }
}

/// What a DHCP server offers (RFC 2131 section 4.3.1), as far as it distinguishes servers.
public struct LeaseOffer: Hashable, Sendable {
    /// The server identifier (option 54).
    public var server: IPAddress
    /// The first router (option 3).
    public var router: IPAddress?
    /// The mask of the network (option 1).
    package var mask: IPAddress?
    /// The name servers (option 6).
    package var nameServers: [IPAddress] = []
    /// What it says of a captive portal (option 114, RFC 8910 section 2.1).
    public var portal: PortalNotice?
    /// Whether hosts that work without IPv4 should not use it (option 108, RFC 8925).
    package var prefersIPv6Only = false
}

/// The query for DHCP servers, and their offers (RFC 2131, RFC 2132).
///
/// Answers are broadcast, so that an interface without an address receives them. Nothing is ever accepted: an offer
/// without a request for it leases nothing.
struct DHCPMessage: Equatable {
    /// The bytes before the options, from the operation code to the magic cookie.
    private static let head = 240
    private static let cookie: [UInt8] = [99, 130, 83, 99]

    /// Distinguishes our query from others; nobody can guess it.
    let transaction: UInt32
    /// The hardware address that an address would be for.
    let sender: HardwareAddress

    private var number: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: transaction >> UInt32(24 - 8 * $0)) } }

    /// The message: DHCPDISCOVER with the broadcast flag.
    var discover: [UInt8] {
        var bytes: [UInt8] = [1, 1, 6, 0] + number + [0, 0, 0x80, 0]
        bytes += [UInt8](repeating: 0, count: 16) + sender.bytes
        bytes += [UInt8](repeating: 0, count: Self.head - 4 - bytes.count) + Self.cookie
        // Message type 1; mask, router, name servers, server identifier, IPv6-only and captive portal are wanted.
        bytes += [53, 1, 1, 55, 6, 1, 3, 6, 54, 108, 114, 255]
        // Some servers drop what is shorter than a BOOTP message.
        return bytes + [UInt8](repeating: 0, count: 300 - bytes.count)
    }

    /// The message as an IPv4 packet from nobody to everybody.
    var packet: [UInt8] {
        let message = discover
        let length = message.count + 28
        var header: [UInt8] = [0x45, 0, UInt8(length >> 8), UInt8(length & 0xFF), 0, 0, 0, 0, 64, 17, 0, 0]
        header += [0, 0, 0, 0, 255, 255, 255, 255]
        let sum = EchoMessage.checksum(header.span)
        (header[10], header[11]) = (UInt8(sum >> 8), UInt8(sum & 0xFF))
        let datagram = message.count + 8
        // From port 68 to 67; a checksum of zero is none (RFC 768).
        return header + [0, 68, 0, 67, UInt8(datagram >> 8), UInt8(datagram & 0xFF), 0, 0] + message
    }

    /// Reads an IPv4 packet; any bytes are allowed.
    /// - Returns: `nil` unless it is an offer that answers the query.
    func offer(in packet: Span<UInt8>) -> LeaseOffer? {
        guard packet.count >= 20, packet[0] >> 4 == 4 else { return nil }
        let start = Int(packet[0] & 0xF) * 4
        guard start >= 20, packet[9] == 17, packet.count >= start + 8 + Self.head else { return nil }
        let base = start + 8
        func holds(_ bytes: [UInt8], _ offset: Int) -> Bool {
            bytes.indices.allSatisfy { packet[base + offset + $0] == bytes[$0] }
        }
        guard packet[start + 2] == 0, packet[start + 3] == 68, packet[base] == 2, holds(number, 4),
            holds(sender.bytes, 28), holds(Self.cookie, 236)
        else { return nil }
        return Self.offer(in: packet, from: base + Self.head)
    }

    private static func offer(in packet: Span<UInt8>, from start: Int) -> LeaseOffer? {
        var offset = start
        var type: UInt8?
        var server: IPAddress?
        var router: IPAddress?
        var mask: IPAddress?
        var nameServers: [IPAddress] = []
        var portal: PortalNotice?
        var prefersIPv6Only = false
        while offset < packet.count, packet[offset] != 255 {
            guard packet[offset] != 0 else {
                offset += 1
                continue
            }
            guard offset + 1 < packet.count else { break }
            let (code, length) = (packet[offset], Int(packet[offset + 1]))
            guard offset + 2 + length <= packet.count else { return nil }
            if code == 53 && length == 1 { type = packet[offset + 2] }
            if code == 54 && length == 4 { server = address(packet, offset + 2) }
            if code == 1 && length == 4 { mask = address(packet, offset + 2) }
            if code == 6 {
                nameServers += (0..<length / 4).compactMap { address(packet, offset + 2 + 4 * $0) }
            }
            if code == 3 && length >= 4 { router = address(packet, offset + 2) }
            if code == 108 && length == 4 { prefersIPv6Only = true }
            if code == 114 && length > 0 { portal = PortalNotice((0..<length).map { packet[offset + 2 + $0] }) }
            offset += 2 + length
        }
        guard type == 2, let server else { return nil }
        return LeaseOffer(
            server: server,
            router: router,
            mask: mask,
            nameServers: nameServers,
            portal: portal,
            prefersIPv6Only: prefersIPv6Only
        )
    }

    /// An address; `nil` for one that nobody has.
    private static func address(_ packet: Span<UInt8>, _ offset: Int) -> IPAddress? {
        let bytes = (0..<4).map { packet[offset + $0] }
        guard let address = IPAddress(bytes: bytes.span), !address.isUnspecified, !address.isMulticast else {
            return nil
        }
        return address
    }
}
