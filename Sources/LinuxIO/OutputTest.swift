// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims

/// Whether something behind the forwarding table lets packets of this process out.
public enum OutputVerdict: Hashable, Sendable {
    /// Nothing is known to be in the way.
    case open
    /// A packet filter or an IPsec policy refuses them (`EPERM`).
    case refused
    /// A filter refuses a multicast group, and not the packets in question, as far as that was tried.
    case doubtful
    /// It cannot be tried: connections need `CAP_NET_RAW`.
    case unknown
}

/// Tries whether packets may leave; never blocks.
///
/// Datagrams need no privilege, connections `CAP_NET_RAW`.
public enum OutputTest {
    /// Tries packets of a protocol (17 UDP, or 6 TCP) to an address and a port by an interface.
    ///
    /// Nothing leaves the machine, unless a filter refuses multicast and `confirms` is true: then one packet, which the first
    /// router drops.
    public static func verdict(
        of number: UInt8,
        to destination: IPAddress,
        port: UInt16,
        by index: Int,
        confirms: Bool
    ) -> OutputVerdict {
        let bytes = destination.bytes
        let interface = UInt32(clamping: index)
        let confirms: Int32 = confirms ? 1 : 0
        switch unsafe nwp_test_output(Int32(number), bytes, Int32(bytes.count), port, interface, confirms) {
        case Int32(NWP_OUTPUT_REFUSED): return .refused
        case Int32(NWP_OUTPUT_DOUBTFUL): return .doubtful
        case Int32(NWP_OUTPUT_UNKNOWN): return .unknown
        default: return .open
        }
    }
}
