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

    /// Opens a socket in the network namespace of the calling thread.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``, without `CAP_NET_ADMIN` with `EPERM`.
    public init(_ rules: OutputRules) throws(NetlinkError) {
        let isFilters = rules == .filters
        let socket = try NetlinkSocket(family: isFilters ? NETLINK_NETFILTER : NETLINK_XFRM, capacity: 4096)
        if isFilters {
            // Each transaction ends with one NFT_MSG_NEWGEN, whose type stands at offset 4 of `struct nlmsghdr`.
            let type = UInt64((10 << 8 | 15 as UInt16).bigEndian)
            let program: [UInt64] = [
                UInt64(BPF_LD | BPF_H | BPF_ABS) << 48 | 4, UInt64(BPF_JMP | BPF_JEQ | BPF_K) << 48 | 1 << 32 | type,
                UInt64(BPF_RET | BPF_K) << 48 | 0xFFFF_FFFF, UInt64(BPF_RET | BPF_K) << 48,
            ]
            let filtered = unsafe nwp_attach_filter(socket.descriptor, program, Int32(program.count))
            guard filtered >= 0 else { throw .noSocket(step: "SO_ATTACH_FILTER", code: -filtered) }
        }
        // NFNLGRP_NFTABLES of linux/netfilter/nfnetlink.h and XFRMNLGRP_POLICY of linux/xfrm.h.
        let code = nwp_netlink_option(socket.descriptor, NETLINK_ADD_MEMBERSHIP, isFilters ? 7 : 4)
        guard code >= 0 else { throw .noSocket(step: "NETLINK_ADD_MEMBERSHIP", code: -code) }
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
