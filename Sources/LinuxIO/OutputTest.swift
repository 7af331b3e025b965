// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims
internal import Glibc

/// Whether something behind the forwarding table lets packets of this process out.
public enum OutputVerdict: Hashable, Sendable {
    /// No obstacle is known.
    case open
    /// An IPsec policy blocks them (`EPERM` of connect(2)).
    case blocked
    /// A packet filter refuses them, or the route of packets that it marks does.
    case filtered
    /// A rule let go what was tried, which is not to be tried again.
    case released
    /// It cannot be tried: connections need `CAP_NET_RAW`.
    case unknown
}

/// Tries whether packets may leave, with packets that do not; never blocks.
///
/// They are too large for the interface, so that the kernel drops them behind all rules. Rules that clear DF or send copies let
/// them out: see ``keptHeader(_:)``. Datagrams need no privilege, connections `CAP_NET_RAW`.
public enum OutputTest {
    /// Tries packets of a protocol (17 UDP, or 6 TCP) to an address and a port by an interface.
    ///
    /// A packet meets the rules only when it `sends` one; without it an IPsec policy alone is found, by connect(2). Without an
    /// interface it goes where a mark leads that a rule sets, which needs `CAP_NET_RAW`.
    public static func verdict(
        of number: UInt8,
        to destination: IPAddress,
        port: UInt16,
        by index: Int?,
        sends: Bool
    ) -> OutputVerdict {
        let bytes = destination.bytes
        let interface = UInt32(clamping: index ?? 0)
        let count = Int32(bytes.count)
        switch unsafe nwp_test_output(Int32(number), bytes, count, port, interface, sends ? 1 : 0) {
        case Int32(NWP_OUTPUT_POLICY): return .blocked
        case Int32(NWP_OUTPUT_FILTER): return .filtered
        case Int32(NWP_OUTPUT_RELEASED): return .released
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

    /// What rules leave as it is in packets of a family, as far as a datagram by the loopback interface shows; nothing where
    /// none arrives.
    public static func keptHeader(_ family: AddressFamily) -> KeptHeader {
        let kept = nwp_kept_header(family == .ipv4 ? AF_INET : AF_INET6)
        return kept < 0 ? [] : KeptHeader(rawValue: kept)
    }
}

/// Parts of the header of a packet that rules leave as they are.
public struct KeptHeader: OptionSet, Hashable, Sendable {
    public let rawValue: Int32

    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The TTL or hop limit.
    public static let hopLimit = KeptHeader(rawValue: Int32(NWP_KEEPS_HOP_LIMIT))
    /// That it must not be fragmented.
    public static let dontFragment = KeptHeader(rawValue: Int32(NWP_KEEPS_DONT_FRAGMENT))
}
