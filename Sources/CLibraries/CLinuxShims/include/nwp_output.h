// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_OUTPUT_H
#define NWP_OUTPUT_H

#include <stdint.h>

enum {
    NWP_OUTPUT_OPEN = 0,
    /// Refused by an IPsec policy, or by a packet filter.
    NWP_OUTPUT_POLICY = 1,
    NWP_OUTPUT_FILTER = 2,
    NWP_OUTPUT_DOUBTFUL = 3,
    NWP_OUTPUT_UNKNOWN = 4,
};

/// What is sent: nothing, a packet that stays on this machine, if that is refused one that leaves, or one that leaves.
enum { NWP_OUTPUT_CONNECTS = 0, NWP_OUTPUT_STAYS = 1, NWP_OUTPUT_CONFIRMS = 2, NWP_OUTPUT_SENDS = 3 };

/// Finds out whether something behind the forwarding table refuses (EPERM) UDP datagrams (IPPROTO_UDP) or connections
/// (IPPROTO_TCP, which needs CAP_NET_RAW and is unknown without) of this process to an address of 4 or 16 bytes and a port
/// by one interface: an IPsec policy, at connect(2), or a packet filter, which is tried with a packet to a multicast group
/// that does not leave this machine: 224.0.0.1 with a TTL of 0, or ff01::114.
///
/// A filter may refuse the group alone, which is doubtful. What decides is an empty datagram or a SYN without a checksum to
/// the address itself, whose TTL of 1 keeps it from going further than the first router. It meets all that comes after the
/// output hook, too, which packets to the group do not: a mark that leads elsewhere, and IPv4's postrouting.
///
/// A rule that sets the TTL, or changes the destination, makes any of them leave: then only NWP_OUTPUT_CONNECTS sends
/// nothing.
int nwp_test_output(int protocol, const uint8_t *address, int length, uint16_t port, uint32_t interface, int effort);

/// Sends an empty UDP datagram with a TTL of 1 to port 443 of an address of 4 or 16 bytes, and reads what this machine itself
/// reports of it at once: the error of send(2), or an ICMP error from the datagram's own source.
///
/// Gives 0 when the datagram was accepted, else a positive errno: ENOKEY and EDESTADDRREQ of wireguard, EHOSTUNREACH of an xfrm
/// interface without a policy or a state.
int nwp_test_tunnel(const uint8_t *address, int length);

/// Whether a datagram to a socket of this process at 127.0.0.1 or ::1 arrives with the TTL or hop limit that it was given:
/// 1 if so, or if a filter refuses it (EPERM), 0 with another one, a negative errno when it cannot be sent or does not arrive
/// within 20 ms.
int nwp_keeps_hop_limit(int family);

#endif
