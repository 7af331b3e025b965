// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_OUTPUT_H
#define NWP_OUTPUT_H

#include <stdint.h>

enum { NWP_OUTPUT_OPEN = 0, NWP_OUTPUT_REFUSED = 1, NWP_OUTPUT_DOUBTFUL = 2, NWP_OUTPUT_UNKNOWN = 3 };

/// Finds out whether something behind the forwarding table refuses (EPERM) UDP datagrams (IPPROTO_UDP) or connections
/// (IPPROTO_TCP, which needs CAP_NET_RAW and is unknown without) of this process to an address of 4 or 16 bytes and a port
/// by one interface: an IPsec policy, at connect(2), or a packet filter, which is tried with a packet to a multicast group
/// that does not leave this machine: 224.0.0.1 with a TTL of 0, or ff01::114.
///
/// A filter may refuse the group alone, which is doubtful. With `confirms`, such a doubt is decided by an empty datagram
/// or a SYN without a checksum to the address itself, whose TTL of 1 keeps it from going further than the first router.
int nwp_test_output(int protocol, const uint8_t *address, int length, uint16_t port, uint32_t interface, int confirms);

#endif
