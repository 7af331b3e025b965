// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import Testing

@testable import Probes

/// The machines of scripted tests.
enum Machine {
    static let v4 = IPAddress.v4(0xC000_0202)
    static let v6 = IPAddress.v6(0x2001_0DB8_0000_0000_0000_0000_0000_0002)
    static let router = IPAddress.v4(0xC000_0201)
    static let own: [UInt8] = [2, 0, 0, 0, 0, 1]

    static func server(_ port: UInt16) -> SocketAddress { SocketAddress(ScopedAddress(v4), port: port) }

    static func ownAddress() throws -> HardwareAddress { try #require(HardwareAddress(own)) }
}

/// What machines make of a packet that they receive: their answer.
enum Answers {
    typealias Answer = @Sendable (inout ReceivedPacket) -> Void

    /// The same bytes.
    static let same: Answer = { _ in }

    /// The reply to an echo request.
    static let echo: Answer = { $0.bytes[0] = $0.bytes[0] == 8 ? 0 : 129 }

    /// The same as a raw IPv4 socket shows it.
    static let rawEcho: Answer = { packet in
        echo(&packet)
        packet.bytes = [0x45] + [UInt8](repeating: 0, count: 19) + packet.bytes
    }

    /// An answer with one bit changed.
    static func flipped(_ offset: Int, _ answer: @escaping Answer) -> Answer {
        { packet in
            answer(&packet)
            packet.bytes[offset] ^= 1
        }
    }

    /// An answer that the kernel had for a time before it was read.
    static func aged(_ age: Duration, _ answer: @escaping Answer) -> Answer {
        { packet in
            answer(&packet)
            packet.age = age
        }
    }

    // MARK: - Names

    /// A name server's answer to a datagram.
    static func dns(code: UInt8 = 0, _ addresses: [UInt32] = [], isZone: Bool = false) -> Answer {
        { $0.bytes = message($0.bytes, code: code, addresses, isZone: isZone) }
    }

    /// The same over a connection.
    static func framedDNS(code: UInt8 = 0, _ addresses: [UInt32] = []) -> Answer {
        { $0.bytes = LengthPrefixed.frame(message(Array($0.bytes.dropFirst(2)), code: code, addresses)) }
    }

    /// The answer to a query; one of a zone's own server has the start of the zone (SOA).
    static func message(
        _ query: [UInt8],
        code: UInt8 = 0,
        _ addresses: [UInt32] = [],
        isZone: Bool = false
    ) -> [UInt8] {
        var bytes = query
        bytes[2...3] = [0x81, 0x80 | code]
        (bytes[7], bytes[9]) = (UInt8(addresses.count), isZone ? 1 : 0)
        for address in addresses {
            bytes += [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4] + IPAddress.v4(address).bytes
        }
        if isZone { bytes += [0xC0, 12, 0, 6, 0, 1, 0, 0, 0, 60, 0, 22] + [UInt8](repeating: 0, count: 22) }
        return bytes
    }

    /// A multicast DNS answer with names that point somewhere.
    static func multicastDNS(_ names: [String], from source: IPAddress? = nil) -> Answer {
        { packet in
            let id = UInt16(packet.bytes[0]) << 8 | UInt16(packet.bytes[1])
            var encoder = MessageEncoder(id: id, flags: Message.Flags(rawValue: 0x8400))
            for name in names.compactMap({ DomainName($0) }) {
                _ = encoder.append(ResourceRecord(name, .ptr, .pointer(DomainName()), timeToLive: 10))
            }
            packet.bytes = encoder.finish()
            packet.source = source?.bytes ?? []
        }
    }

    // MARK: - Time

    /// A time server's answer, which it gives so long after the start of the test; its clock is `ahead` of the own one.
    static func time(at elapsed: Duration, ahead: Duration = .zero, stratum: UInt8 = 2) -> Answer {
        { packet in
            let stamp = NTPQuery.timestamp(ScriptedNetwork.wall + (elapsed + ahead).nanoseconds)
            let bytes = (0..<8).map { UInt8(truncatingIfNeeded: stamp >> UInt64(56 - 8 * $0)) }
            let cookie = packet.bytes[40..<48]
            packet.bytes = [0x24, stratum] + [UInt8](repeating: 0, count: 22) + cookie + bytes + bytes
        }
    }

    // MARK: - Links

    /// An ARP reply of a host that has the address.
    static func arp(_ owner: [UInt8]) -> Answer {
        { packet in
            let request = packet.bytes
            packet.bytes = [0, 1, 8, 0, 6, 4, 0, 2] + owner + request[24..<28] + request[8..<18]
        }
    }

    /// A neighbour advertisement of a host that has the address.
    static func advertisement(_ owner: [UInt8], hopLimit: Int = 255) -> Answer {
        { packet in
            packet.bytes = [136, 0, 0, 0, 0x60, 0, 0, 0] + packet.bytes[8..<24] + [2, 1] + owner
            packet.hopLimit = hopLimit
        }
    }

    /// The link-local address of a router.
    static func linkLocal(_ number: UInt8) -> IPAddress { .v6(0xFE80 << 112 | UInt128(number)) }

    /// The advertisement of a router.
    static func router(_ number: UInt8, lifetime: UInt8 = 9, hopLimit: Int = 255) -> Answer {
        { packet in
            packet.bytes = [134, 0, 0, 0, 64, 0, 0, lifetime] + [UInt8](repeating: 0, count: 8)
            packet.hopLimit = hopLimit
            packet.source = linkLocal(number).bytes
        }
    }

    /// A DHCP server's offer, which names itself as the router.
    static func offer(_ server: UInt32) -> Answer {
        { packet in
            packet.bytes.removeLast(60)
            packet.bytes[22...23] = [0, 68]
            packet.bytes[28] = 2
            let address = IPAddress.v4(server).bytes
            packet.bytes += [53, 1, 2, 54, 4] + address + [3, 4] + address + [255]
        }
    }
}
