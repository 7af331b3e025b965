// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// What a router says of a link (RFC 4861 section 4.2), as far as it tells one network from another.
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

    /// The question to all routers of a link (section 4.1).
    static func solicitation(from sender: HardwareAddress) -> [UInt8] {
        [133, 0, 0, 0, 0, 0, 0, 0, 1, 1] + sender.bytes
    }

    /// All routers of a link, ff02::2.
    static let group = IPAddress.v6(0xFF02_0000_0000_0000_0000_0000_0000_0002)
}
