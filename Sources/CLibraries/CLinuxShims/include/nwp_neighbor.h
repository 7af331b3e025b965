// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_NEIGHBOR_H
#define NWP_NEIGHBOR_H

#include <stddef.h>
#include <stdint.h>

/// A non-blocking packet socket for ARP on interface `index`, without link-layer headers (packet(7)). Needs CAP_NET_RAW.
/// Returns a descriptor, or a negative errno.
int nwp_arp_open(uint32_t index);
/// Sends an ARP message to everybody on the link. Returns the bytes sent, or a negative errno.
long nwp_arp_broadcast(int descriptor, uint32_t index, const void *bytes, size_t count);
/// A non-blocking raw ICMPv6 socket that sends on interface `index` with hop limit 255 and receives neighbour
/// advertisements only. Needs CAP_NET_RAW. Returns a descriptor, or a negative errno.
int nwp_neighbor_open(uint32_t index);
/// The same, for router advertisements that arrive on interface `index`.
int nwp_router_open(uint32_t index);
/// Receives one message without waiting, with its hop limit (-1 when the kernel did not say) and its source. Returns its
/// length, or a negative errno.
long nwp_router_receive(int descriptor, void *buffer, size_t capacity, int *hop_limit, uint8_t source[16]);
/// Sends an ICMPv6 message to an address on interface `index`; the kernel fills in the checksum. Returns the bytes
/// sent, or a negative errno.
long nwp_neighbor_send(int descriptor, uint32_t index, const uint8_t address[16], const void *bytes, size_t count);

#endif
