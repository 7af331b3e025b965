// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Foundation
internal import Glibc

/// Addresses in the form of the C library, as data.
enum SocketAddress {
    /// A `sockaddr_in` of 16 bytes or a `sockaddr_in6` of 28, ip(7) and ipv6(7).
    /// - Parameters:
    ///   - address: The address.
    ///   - port: The port.
    ///   - scope: The index of the interface, which link-local addresses need.
    /// - Returns: The bytes of the structure.
    static func data(_ address: IPAddress, port: UInt16, scope: Int) -> Data {
        var data = Data()
        switch address {
        case .v4:
            append(UInt16(AF_INET), to: &data)
            append(port.bigEndian, to: &data)
            data.append(contentsOf: address.bytes)
            data.append(Data(count: 8))
        case .v6:
            append(UInt16(AF_INET6), to: &data)
            append(port.bigEndian, to: &data)
            append(UInt32(0), to: &data)
            data.append(contentsOf: address.bytes)
            append(address.isLinkLocal ? UInt32(truncatingIfNeeded: scope) : 0, to: &data)
        }
        return data
    }

    private static func append(_ number: some FixedWidthInteger, to data: inout Data) {
        unsafe withUnsafeBytes(of: number) { unsafe data.append(contentsOf: $0) }
    }
}
