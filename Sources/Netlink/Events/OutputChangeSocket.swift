// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import CNetlink
internal import LinuxIO

/// What decides about packets behind the forwarding table.
public enum OutputRules: Hashable, Sendable, CaseIterable {
    /// The packet filters of nf_tables.
    case filters
    /// The IPsec policies.
    case policies
}

/// Owns a socket that receives notice when packet filters or IPsec policies change; needs `CAP_NET_ADMIN`.
///
/// Rules of iptables beside nf_tables (`iptables-legacy`) are not announced by the kernel.
public struct OutputChangeSocket: ~Copyable {
    private var socket: NetlinkSocket

    /// Loads the type of `struct nlmsghdr`.
    private static let loadType = UInt64(BPF_LD | BPF_H | BPF_ABS) << 48 | 4
    private static let (pass, drop) = (UInt64(BPF_RET | BPF_K) << 48 | 0xFFFF_FFFF, UInt64(BPF_RET | BPF_K) << 48)

    /// Skips instructions where what was loaded is a message type, or is not.
    private static func skip(_ count: UInt64, ifType type: UInt16, orElse other: UInt64) -> UInt64 {
        UInt64(BPF_JMP | BPF_JEQ | BPF_K) << 48 | count << 40 | other << 32 | UInt64(type.bigEndian)
    }

    /// Each transaction ends with one NFT_MSG_NEWGEN.
    static let transactions = [loadType, skip(0, ifType: 10 << 8 | 15, orElse: 1), pass, drop]

    /// All but XFRM_MSG_EXPIRE, which is about a state, and an XFRM_MSG_POLEXPIRE whose `hard` (at offset 168 of
    /// `struct xfrm_user_polexpire`) is 0: that policy stays.
    static let policyChanges = [
        loadType, skip(4, ifType: 24, orElse: 0), skip(0, ifType: 27, orElse: 2),
        UInt64(BPF_LD | BPF_B | BPF_ABS) << 48 | 184, skip(1, ifType: 0, orElse: 0), pass, drop,
    ]

    /// Opens a socket in the network namespace of the calling thread.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``, without `CAP_NET_ADMIN` with `EPERM`.
    public init(_ rules: OutputRules) throws(NetlinkError) {
        let isFilters = rules == .filters
        let socket = try NetlinkSocket(family: isFilters ? NETLINK_NETFILTER : NETLINK_XFRM, capacity: 4096)
        let program = isFilters ? Self.transactions : Self.policyChanges
        let filtered = unsafe nwp_attach_filter(socket.descriptor, program, Int32(program.count))
        guard filtered >= 0 else { throw .noSocket(step: "SO_ATTACH_FILTER", code: -filtered) }
        // NFNLGRP_NFTABLES of linux/netfilter/nfnetlink.h; XFRMNLGRP_POLICY and XFRMNLGRP_EXPIRE of linux/xfrm.h.
        for group: Int32 in isFilters ? [7] : [4, 2] {
            let code = nwp_netlink_option(socket.descriptor, NETLINK_ADD_MEMBERSHIP, group)
            guard code >= 0 else { throw .noSocket(step: "NETLINK_ADD_MEMBERSHIP", code: -code) }
        }
        self.socket = socket
    }

    /// The socket's number, for an event loop.
    public var descriptor: Int32 { socket.descriptor }

    /// Reads what was announced, a bounded number of messages at a time.
    /// - Returns: Whether there was anything.
    public mutating func drain() -> Bool {
        for count in 0..<64 {
            if case .nothing(let code) = socket.receive(waiting: false), code != .noBufferSpace { return count > 0 }
        }
        return true
    }
}
