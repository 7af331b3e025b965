// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims

/// An empty UDP datagram to the discard port (RFC 863), which makes the kernel resolve the neighbour's address.
public enum DiscardDatagram {
    /// Sends one to `address` by the interface of that index; needs no privilege and never blocks.
    /// - Throws: The kernel's error, such as `ENETUNREACH`.
    public static func send(to address: IPAddress, index: Int) throws(Errno) {
        let bytes = address.bytes
        guard let interface = UInt32(exactly: index) else { throw .invalid }
        _ = try Errno.check(unsafe nwp_send_discard(bytes, Int32(bytes.count), interface))
    }
}
