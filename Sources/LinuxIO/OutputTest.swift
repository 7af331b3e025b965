// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims

/// Whether something behind the forwarding table lets datagrams of this process out.
public enum OutputVerdict: Hashable, Sendable {
    /// Nothing is known to be in the way.
    case open
    /// A packet filter or an IPsec policy refuses them (`EPERM`).
    case refused
    /// A filter refuses a multicast group, and not the datagrams in question, as far as that was tried.
    case doubtful
}

/// Tries whether UDP datagrams may leave; needs no privilege, and never blocks.
public enum OutputTest {
    /// Tries datagrams to an address and a port by an interface.
    ///
    /// Nothing leaves the machine, unless a filter refuses multicast and `confirms` is true: then one empty datagram,
    /// which the first router drops.
    public static func verdict(
        to destination: IPAddress,
        port: UInt16,
        by index: Int,
        confirms: Bool
    ) -> OutputVerdict {
        let bytes = destination.bytes
        let interface = UInt32(clamping: index)
        switch unsafe nwp_test_output(bytes, Int32(bytes.count), port, interface, confirms ? 1 : 0) {
        case Int32(NWP_OUTPUT_REFUSED): return .refused
        case Int32(NWP_OUTPUT_DOUBTFUL): return .doubtful
        default: return .open
        }
    }
}
