// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims
internal import Glibc

/// Whether something behind the forwarding table lets packets of this process out.
public enum OutputVerdict: Hashable, Sendable {
    /// Nothing is known to be in the way.
    case open
    /// An IPsec policy blocks them (`EPERM` of connect(2)).
    case blocked
    /// A packet filter refuses them, or the way of marked packets does.
    case filtered
    /// A filter refuses a multicast group, and not the packets in question, as far as that was tried.
    case doubtful
    /// It cannot be tried: connections need `CAP_NET_RAW`.
    case unknown
}

/// What may leave the machine when packets are tried: with a TTL of 1, which ends at the first router.
public enum OutputEffort: Int32, Hashable, Sendable {
    /// Nothing is sent at all: only an IPsec policy is found, by connect(2).
    case unsent = 0
    case nothing = 1
    /// One packet where a filter refuses multicast: to decide whether it refuses others, too.
    case whereInDoubt = 2
    /// One packet, which meets chains behind the output hook, and marks that lead elsewhere.
    case packet = 3
}

/// Tries whether packets may leave; never blocks.
///
/// Rules that change the TTL let out what should stay: see ``keepsHopLimit(_:)``.
/// Datagrams need no privilege, connections `CAP_NET_RAW`.
public enum OutputTest {
    /// Tries packets of a protocol (17 UDP, or 6 TCP) to an address and a port by an interface.
    public static func verdict(
        of number: UInt8,
        to destination: IPAddress,
        port: UInt16,
        by index: Int,
        effort: OutputEffort
    ) -> OutputVerdict {
        let bytes = destination.bytes
        let interface = UInt32(clamping: index)
        let count = Int32(bytes.count)
        switch unsafe nwp_test_output(Int32(number), bytes, count, port, interface, effort.rawValue) {
        case Int32(NWP_OUTPUT_POLICY): return .blocked
        case Int32(NWP_OUTPUT_FILTER): return .filtered
        case Int32(NWP_OUTPUT_DOUBTFUL): return .doubtful
        case Int32(NWP_OUTPUT_UNKNOWN): return .unknown
        default: return .open
        }
    }

    /// Why an empty datagram with a TTL of 1 is refused behind the forwarding table, as a tunnel refuses it.
    /// - Returns: A positive errno; 0 when the datagram was accepted.
    public static func tunnelRefusal(of destination: IPAddress) -> Int32 {
        let bytes = destination.bytes
        return unsafe nwp_test_tunnel(bytes, Int32(bytes.count))
    }

    /// Whether a socket of this network namespace has a UDP port; `false` where that cannot be found out.
    public static func isBound(port: UInt16) -> Bool {
        let number = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard port > 0, number >= 0 else { return false }
        defer { close(number) }
        var own = sockaddr_in()
        own.sin_family = sa_family_t(AF_INET)
        own.sin_port = port.bigEndian
        let code = unsafe withUnsafePointer(to: &own) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return code < 0 && errno == EADDRINUSE
    }

    /// Whether packets of a family keep the TTL or hop limit that they are given, as far as a datagram by the loopback
    /// interface shows; `false` where none arrives.
    public static func keepsHopLimit(_ family: AddressFamily) -> Bool {
        nwp_keeps_hop_limit(family == .ipv4 ? AF_INET : AF_INET6) == 1
    }
}
