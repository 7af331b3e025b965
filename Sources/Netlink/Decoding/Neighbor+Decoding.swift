// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetlink

extension Neighbor {
    /// Reads `struct ndmsg` and its NDA_* attributes.
    /// - Returns: `nil` when the bytes are not a whole description of an ARP or ND entry.
    init?(decoding body: Span<UInt8>) {
        guard body.count >= 12, AddressFamily(kernel: body[0]) != nil else { return nil }
        var address: IPAddress?
        var hardwareAddress: [UInt8] = []
        var confirmed: Duration?
        var isExternallyValidated = false
        var attributes = AttributeReader(body, from: 12)
        while attributes.advance() {
            switch attributes.kind {
            case NDA_DST: address = attributes.address
            case NDA_LLADDR: hardwareAddress = attributes.payload.array
            case NDA_FLAGS_EXT: isExternallyValidated = attributes.word & Self.externallyValidated != 0
            case NDA_CACHEINFO where attributes.payload.count >= 16:
                // struct nda_cacheinfo, in units of USER_HZ (100 a second).
                confirmed = .milliseconds(10) * Int(attributes.payload.host32(at: 0))
            default: break
            }
        }
        guard !attributes.isMalformed, let address else { return nil }
        self.init(
            index: body.index(at: 4),
            address: address,
            state: NeighborState(rawValue: body.host16(at: 8)) ?? .none,
            hardwareAddress: hardwareAddress,
            isRouter: body[10] & UInt8(NTF_ROUTER) != 0,
            confirmed: confirmed
        )
        self.isExternallyValidated = isExternallyValidated
    }
}

extension Neighbor {
    /// `NTF_EXT_EXT_VALIDATED` of Linux 6.18.
    private static let externallyValidated: UInt32 = 1 << 2

    /// Whether another program administers the entry, as routing daemons do: whether it has a flag such as
    /// `NTF_EXT_LEARNED`, or an extended one such as `NTF_EXT_MANAGED`.
    ///
    /// `NTF_ROUTER` comes from the neighbour itself, `NTF_OFFLOADED` from the driver, and a request does not clear it.
    static func isAdministered(_ body: Span<UInt8>) -> Bool {
        guard body.count >= 12 else { return false }
        if body[10] & ~UInt8(NTF_ROUTER | NTF_OFFLOADED) != 0 { return true }
        var attributes = AttributeReader(body, from: 12)
        while attributes.advance() {
            guard attributes.kind == NDA_FLAGS_EXT, attributes.payload.count >= 4 else { continue }
            return attributes.payload.host32(at: 0) != 0
        }
        return false
    }
}

extension BridgeEntry {
    /// `AF_BRIDGE`.
    static let family: UInt8 = 7

    /// Reads `struct ndmsg` and its NDA_* attributes.
    /// - Returns: `nil` when the bytes are not a whole description of an entry of a bridge.
    init?(decoding body: Span<UInt8>) {
        guard body.count >= 12, body[0] == Self.family else { return nil }
        self.init(bridge: 0, port: body.index(at: 4), hardwareAddress: [])
        var attributes = AttributeReader(body, from: 12)
        while attributes.advance() {
            switch attributes.kind {
            case NDA_LLADDR: hardwareAddress = attributes.payload.array
            case NDA_MASTER: bridge = attributes.index
            default: break
            }
        }
        guard !attributes.isMalformed, bridge > 0, port > 0, !hardwareAddress.isEmpty else { return nil }
    }
}
