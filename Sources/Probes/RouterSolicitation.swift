// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import LinuxIO

public enum RouterResult: Hashable, Sendable {
    /// The last advertisement of each router.
    case advertisements([RouterAdvertisement])
    /// The query could not be sent; the text says why.
    case failed(detail: String)
    /// This process lacks a capability; the text says what would allow it.
    case notAssessed(advice: String)
}

/// Solicits the routers of a link, twice, and collects their advertisements.
///
/// It sends two router solicitations of 16 bytes; routers answer as they answer any host.
package struct RouterSolicitation: LinkProbe {
    private var routers: [RouterAdvertisement] = []
    package var query: LinkQuery
    package private(set) var result = RouterResult.advertisements([])

    /// - Parameters:
    ///   - interface: The index of the link's interface.
    ///   - sender: The interface's hardware address.
    ///   - limit: How long answers are collected.
    package init(on interface: Int, from sender: HardwareAddress, limit: Duration = .milliseconds(1500)) {
        let message = RouterAdvertisement.solicitation(from: sender)
        query = LinkQuery(.routerDiscovery, on: interface, message, limit: limit)
    }

    package mutating func receive(_ packet: ReceivedPacket, after elapsed: Duration) -> Int {
        guard let address = IPAddress(bytes: packet.source.span),
            let router = RouterAdvertisement(packet.bytes.span, from: address, hopLimit: packet.hopLimit ?? -1)
        else { return 0 }
        // A router's later advertisement replaces its earlier one.
        if let index = routers.firstIndex(where: { $0.source == router.source }) {
            routers[index] = router
        } else if routers.count < Self.most {
            routers.append(router)
        }
        return packet.bytes.count
    }

    package mutating func end(_ end: LinkProbeEnd) {
        switch end {
        case .delayed where routers.isEmpty: result = .failed(detail: SchedulingDelay.text)
        case .complete, .delayed: result = .advertisements(routers)
        case .failed(let error): result = .failed(detail: error.description)
        case .notPermitted:
            let advice = "soliciting routers needs CAP_NET_RAW: \(Capability.advice("cap_net_raw"))"
            result = .notAssessed(advice: advice)
        }
    }
}

/// What a router announces of a link (RFC 4861 section 4.2), as far as it distinguishes networks.
public struct RouterAdvertisement: Hashable, Sendable {
    /// Its link-local address.
    public var source: IPAddress
    /// How long it may be used as a default router; zero when it does not want to be one.
    public var lifetime: Duration
    /// The prefixes whose addresses may be used.
    public var prefixes: Set<IPPrefix>
    /// What it says of a captive portal (option 37, RFC 8910 section 2.3).
    public var portal: PortalNotice?

    /// Reads a message; any bytes are allowed.
    /// - Returns: `nil` unless it is an advertisement that comes from the link itself, from a link-local address and
    ///   with hop limit 255.
    init?(_ message: Span<UInt8>, from source: IPAddress, hopLimit: Int) {
        guard message.count >= 16, message[0] == 134, message[1] == 0, hopLimit == 255, source.family == .ipv6,
            source.isLinkLocal
        else { return nil }
        self.source = source
        lifetime = .seconds(Int(message[6]) << 8 | Int(message[7]))
        prefixes = []
        var offset = 16
        while offset + 2 <= message.count {
            let length = Int(message[offset + 1]) * 8
            guard length > 0, offset + length <= message.count else { return nil }
            if message[offset] == 3 && length == 32, let prefix = Self.prefix(message, offset) {
                prefixes.insert(prefix)
            }
            if message[offset] == 37 { portal = PortalNotice((2..<length).map { message[offset + $0] }) }
            offset += length
        }
        guard offset == message.count else { return nil }
    }

    /// A prefix information option (section 4.6.2); `nil` for one that is withdrawn or says nothing.
    private static func prefix(_ message: Span<UInt8>, _ offset: Int) -> IPPrefix? {
        let isWithdrawn = (4..<8).allSatisfy { message[offset + $0] == 0 }
        let bytes = (16..<32).map { message[offset + $0] }
        guard !isWithdrawn, message[offset + 2] <= 128, let address = IPAddress(bytes: bytes.span),
            !address.isLinkLocal, !address.isMulticast
        else { return nil }
        return IPPrefix(address, length: Int(message[offset + 2]))
    }

    /// The query for all routers of a link (section 4.1).
    static func solicitation(from sender: HardwareAddress) -> [UInt8] {
        [133, 0, 0, 0, 0, 0, 0, 0, 1, 1] + sender.bytes
    }

    /// All routers of a link, ff02::2.
    static let group = IPAddress.v6(0xFF02_0000_0000_0000_0000_0000_0000_0002)
}
