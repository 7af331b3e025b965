// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims

/// The source address that the kernel gives a connected UDP socket; connect(2) of one sends no packet.
public enum ConnectedSource {
    /// Connects a socket to `destination`, bound to the interface of that index if there is one, and closes it.
    /// - Throws: The kernel's error, such as `ENETUNREACH`, or `EPERM` for what an IPsec policy blocks.
    public static func find(for destination: IPAddress, port: UInt16, by index: Int?) throws(Errno) -> IPAddress {
        let bytes = destination.bytes
        guard let interface = UInt32(exactly: index ?? 0) else { throw .invalid }
        var source = [UInt8](repeating: 0, count: bytes.count)
        _ = try Errno.check(
            unsafe nwp_connected_source(bytes, Int32(bytes.count), port, interface, &source)
        )
        guard let address = IPAddress(bytes: source.span) else { throw .invalid }
        return address
    }
}
