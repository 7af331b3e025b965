// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// The question who has an address on a link, and how its answers are known: ARP (RFC 826) or neighbour discovery
/// (RFC 4861 sections 4.3 and 4.4).
struct NeighborMessage: Equatable {
    let target: IPAddress
    let sender: HardwareAddress
    /// The asker's own IPv4 address; unspecified to find out whether anybody has the target, without telling caches
    /// anything (RFC 5227 section 2.1.1).
    let source: UInt32

    var request: [UInt8] {
        switch target {
        case .v4:
            let head: [UInt8] = [0, 1, 8, 0, 6, 4, 0, 1]
            return head + sender.bytes + IPAddress.v4(source).bytes + [UInt8](repeating: 0, count: 6) + target.bytes
        case .v6: return [135, 0, 0, 0, 0, 0, 0, 0] + target.bytes + [1, 1] + sender.bytes
        }
    }

    /// Where a request goes: the solicited-node group of an IPv6 address (RFC 4291 section 2.7.1); `nil` is everybody
    /// on the link.
    var group: IPAddress? {
        guard case .v6(let bits) = target else { return nil }
        return .v6(0xFF02_0000_0000_0000_0000_0001_FF00_0000 | bits & 0xFF_FFFF)
    }

    /// Who says that the target is its own; `nil` when a datagram says nothing of the sort.
    ///
    /// ARP requests and announcements of the target's owner count as well as replies. Advertisements must come from the
    /// link itself, with hop limit 255.
    func owner(in datagram: Span<UInt8>, hopLimit: Int?) -> HardwareAddress? {
        switch target {
        case .v4: ownerInARP(datagram)
        case .v6: hopLimit == 255 ? ownerInAdvertisement(datagram) : nil
        }
    }

    private func ownerInARP(_ datagram: Span<UInt8>) -> HardwareAddress? {
        guard datagram.count >= 28 else { return nil }
        let head: [UInt8] = [0, 1, 8, 0, 6, 4, 0]
        guard head.indices.allSatisfy({ datagram[$0] == head[$0] }), (1...2).contains(datagram[7]) else { return nil }
        guard Self.bytes(datagram, 14..<18) == target.bytes else { return nil }
        return other(HardwareAddress(Self.bytes(datagram, 8..<14)))
    }

    private func ownerInAdvertisement(_ datagram: Span<UInt8>) -> HardwareAddress? {
        guard datagram.count >= 24, datagram[0] == 136, datagram[1] == 0 else { return nil }
        guard Self.bytes(datagram, 8..<24) == target.bytes else { return nil }
        var offset = 24
        while offset + 2 <= datagram.count {
            let length = Int(datagram[offset + 1]) * 8
            guard length > 0, offset + length <= datagram.count else { return nil }
            if datagram[offset] == 2 && length == 8 {
                return other(HardwareAddress(Self.bytes(datagram, (offset + 2)..<(offset + 8))))
            }
            offset += length
        }
        return nil
    }

    /// What a packet socket shows of our own requests is no answer.
    private func other(_ address: HardwareAddress?) -> HardwareAddress? { address == sender ? nil : address }

    private static func bytes(_ span: Span<UInt8>, _ range: Range<Int>) -> [UInt8] { range.map { span[$0] } }
}
