// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_OUTPUT_H
#define NWP_OUTPUT_H

#include <stdint.h>

enum {
    NWP_OUTPUT_OPEN = 0,
    /// Refused by an IPsec policy, or by a packet filter or the route of a packet that it marks.
    NWP_OUTPUT_POLICY = 1,
    NWP_OUTPUT_FILTER = 2,
    /// A rule let the packet go on that was tried, whole or in fragments.
    NWP_OUTPUT_RELEASED = 3,
    NWP_OUTPUT_UNKNOWN = 4,
};

/// Finds out whether something behind the forwarding table refuses UDP datagrams (IPPROTO_UDP) or connections (IPPROTO_TCP,
/// which needs CAP_NET_RAW and is unknown without) of this process to an address of 4 or 16 bytes and a port by one
/// interface: an IPsec policy, at connect(2), and when `sends`, what the hooks output and postrouting do.
///
/// What meets them is a packet to that address that is larger than the MTU of the interface and must not be fragmented: the
/// kernel drops it behind the hooks, whatever its TTL (ip_finish_output, ip6_finish_output). It leaves only where a rule
/// lets IPv4 packets be fragmented (clears DF), or sends copies.
///
/// With an interface of 0 the packet is bound to none, and goes where a mark leads that a rule sets: it is unknown where any
/// interface but the loopback interface has a larger MTU, and without CAP_NET_RAW. By the loopback interface it comes back with a
/// wrong checksum, with which no socket of TCP or UDP accepts it.
int nwp_test_output(int protocol, const uint8_t *address, int length, uint16_t port, uint32_t interface, int sends);

/// Sends an empty UDP datagram with a TTL of 1 to port 443 of an address of 4 or 16 bytes, and reads what this machine itself
/// reports of it at once: the error of send(2), or an ICMP error from the datagram's own source.
///
/// Gives 0 when the datagram was accepted, else a positive errno: ENOKEY and EDESTADDRREQ of wireguard, EHOSTUNREACH of an xfrm
/// interface without a policy or a state.
int nwp_test_tunnel(const uint8_t *address, int length);

enum { NWP_KEEPS_HOP_LIMIT = 1, NWP_KEEPS_DONT_FRAGMENT = 2 };

/// Which parts of a header are kept on delivery to a socket of this process at 127.0.0.1 or ::1: the TTL or hop
/// limit, and that IPv4 must not fragment it. All if a filter refuses it (EPERM); a negative errno when it cannot be sent or
/// does not arrive within 20 ms.
int nwp_kept_header(int family);

#endif
