// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import Addressing
internal import LinuxIO

public enum NeighborResult: Hashable, Sendable {
    /// The hosts that claim the address, with the time of their first answer: two are in conflict, none is silence.
    case owners([HardwareAddress: Duration])
    /// The query could not be sent; the reason is as for any probe.
    case failed(ProbeReason, detail: String)
    /// This process lacks a capability; the text says what would allow it.
    case notAssessed(advice: String)
}

/// Queries a link for the owner of an address, twice within a second, and collects every answer.
///
/// Also where the kernel has a neighbour entry: that says nothing about now. It sends two ARP requests of 28 bytes, or
/// two neighbour solicitations of 32, and changes no neighbour table: the kernel ignores answers to requests that it did
/// not make, unless `arp_accept` is set.
package struct NeighborProbe: LinkProbe {
    private let message: NeighborMessage
    private var owners: [HardwareAddress: Duration] = [:]
    package var query: LinkQuery
    package private(set) var result = NeighborResult.owners([:])

    /// - Parameters:
    ///   - target: The address whose owner is wanted.
    ///   - interface: The index of the link's interface.
    ///   - sender: The interface's hardware address.
    ///   - source: The interface's IPv4 address; `nil` queries without one, as for an address of its own (RFC 5227).
    ///   - limit: How long answers are collected.
    package init(
        _ target: IPAddress,
        on interface: Int,
        from sender: HardwareAddress,
        source: IPAddress? = nil,
        limit: Duration = .seconds(1)
    ) {
        var bits: UInt32 = 0
        if case .v4(let own)? = source { bits = own }
        message = NeighborMessage(target: target, sender: sender, source: bits)
        let link = message.group.map { LinkProtocol.neighborDiscovery(group: $0) } ?? .arp
        query = LinkQuery(link, on: interface, message.request, limit: limit)
        query.retry = .milliseconds(400)
    }

    package mutating func receive(_ packet: ReceivedPacket, after elapsed: Duration) -> Int {
        guard let owner = message.owner(in: packet.bytes.span, hopLimit: packet.hopLimit), owners.count < Self.most,
            owners[owner] == nil
        else { return 0 }
        owners[owner] = elapsed
        // A reply is as long as its request; what is behind it is padding of the frame.
        return query.bytes.count
    }

    package mutating func end(_ end: LinkProbeEnd) {
        switch end {
        case .delayed where owners.isEmpty: result = .failed(.resources, detail: SchedulingDelay.text)
        case .complete, .delayed: result = .owners(owners)
        case .failed(let error):
            guard case .failure(let reason, let detail) = FailureClassifier.outcome(of: error, at: .use) else { return }
            result = .failed(reason, detail: detail)
        case .notPermitted:
            let advice = "querying neighbours needs CAP_NET_RAW: \(Capability.advice("cap_net_raw"))"
            result = .notAssessed(advice: advice)
        }
    }
}

/// The query for the owner of an address on a link, and its answers: ARP (RFC 826) or neighbour discovery
/// (RFC 4861 sections 4.3 and 4.4).
struct NeighborMessage: Equatable {
    let target: IPAddress
    let sender: HardwareAddress
    /// The sender's own IPv4 address; unspecified to find out whether a host has the target without changing caches
    /// (RFC 5227 section 2.1.1).
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
