// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetlink
internal import Glibc
internal import LinuxIO

/// The IPsec policies of this network namespace.
package enum SecurityPolicies {
    /// Counts those for packets that leave.
    /// - Throws: ``NetlinkError``; without `CAP_NET_ADMIN` that it is refused.
    package static func outputCount() throws(NetlinkError) -> Int {
        var socket: NetlinkSocket
        do {
            socket = try NetlinkSocket(family: NETLINK_XFRM, capacity: 4096)
        } catch .noSocket(_, code: EPROTONOSUPPORT) {
            // A kernel without IPsec, or before anything used it.
            return 0
        }
        try socket.limitWaiting(to: .seconds(2))
        var count = 0
        // XFRM_MSG_GETSPDINFO, and the XFRMA_SPD_INFO of linux/xfrm.h with `struct xfrmu_spdinfo`: `outcnt` is the second.
        try socket.exchange(Question(type: 37, flags: 0, body: [0, 0, 0, 0]), sequence: 1) { _, body in
            var attributes = AttributeReader(body, from: 4)
            while attributes.advance() {
                if attributes.kind == 1, attributes.payload.count >= 8 { count = Int(attributes.payload.host32(at: 4)) }
            }
        }
        return count
    }
}
