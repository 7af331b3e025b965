// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetlink

extension InterfaceAddress {
    /// Reads `struct ifaddrmsg` and its IFA_* attributes.
    /// - Returns: `nil` when the bytes are not a whole description of an IPv4 or IPv6 address.
    init?(decoding body: Span<UInt8>) {
        guard body.count >= 8, let family = AddressFamily(kernel: body[0]) else { return nil }
        var local: IPAddress?
        var other: IPAddress?
        var flags = UInt32(body[2])
        var lifetimes = [UInt32.max, UInt32.max, 0, 0]
        var attributes = AttributeReader(body, from: 8)
        while attributes.advance() {
            switch attributes.kind {
            case IFA_LOCAL: local = attributes.address
            case IFA_ADDRESS: other = attributes.address
            case IFA_FLAGS: flags = attributes.word
            case IFA_CACHEINFO: lifetimes = (0..<4).map { attributes.payload.host32(at: 4 * $0) }
            default: break
            }
        }
        guard !attributes.isMalformed, let address = local ?? other, address.family == family else { return nil }
        self.init(
            index: body.index(at: 4),
            address: address,
            peer: other == address ? nil : other,
            prefixLength: Int(body[1]),
            scope: body[3],
            flags: AddressFlags(rawValue: flags),
            created: lifetimes[2],
            updated: lifetimes[3],
            validSeconds: lifetimes[1] == .max ? nil : lifetimes[1],
            preferredSeconds: lifetimes[0] == .max ? nil : lifetimes[0]
        )
    }
}

extension AddressFamily {
    /// Reads AF_INET or AF_INET6.
    init?(kernel number: UInt8) {
        switch number {
        case 2: self = .ipv4
        case 10: self = .ipv6
        default: return nil
        }
    }

    /// AF_INET or AF_INET6.
    var kernelNumber: UInt8 { self == .ipv4 ? 2 : 10 }
}
