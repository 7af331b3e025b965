// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_LEASE_H
#define NWP_LEASE_H

#include <stddef.h>
#include <stdint.h>

/// A non-blocking packet socket on interface `index` that receives IPv4 packets for UDP port 68 only, headers included
/// (packet(7)). Needs CAP_NET_RAW. Returns a descriptor, or a negative errno.
int nwp_lease_open(uint32_t index);
/// Sends an IPv4 packet, headers included, to everybody on the link. Returns the bytes sent, or a negative errno.
long nwp_lease_broadcast(int descriptor, uint32_t index, const void *bytes, size_t count);

#endif
