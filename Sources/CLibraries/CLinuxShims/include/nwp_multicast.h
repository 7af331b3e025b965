// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_MULTICAST_H
#define NWP_MULTICAST_H

#include <stddef.h>
#include <stdint.h>

/// What `nwp_multicast_receive` reports about a datagram.
struct nwp_datagram {
    /// The sender's address in network order; the first 4 bytes count for IPv4.
    uint8_t source[16];
    /// The destination's address, likewise; zero when the kernel did not say.
    uint8_t destination[16];
    /// The sender's port in host order.
    uint16_t port;
    uint16_t reserved;
    /// The interface it arrived on; 0 when the kernel did not say.
    uint32_t interface;
    /// IP TTL or hop limit; -1 when the kernel did not say.
    int32_t hop_limit;
    /// SO_RXQ_OVFL: datagrams this socket has lost so far.
    uint32_t dropped;
    /// 1 when the buffer was too small (MSG_TRUNC).
    int32_t truncated;
};

/// A non-blocking UDP socket of `family` (AF_INET or AF_INET6) that shares the port (SO_REUSEADDR), is confined to
/// interface `index` for multicast, sends with TTL or hop limit 255, loops its packets back to this host, reports the
/// control data of `nwp_datagram` and is bound to the mDNS group and port 5353. Returns a descriptor, or a negative
/// errno.
int nwp_multicast_open(int family, uint32_t index);
/// Joins the mDNS group on interface `index`. Returns 0 or a negative errno.
int nwp_multicast_join(int descriptor, int family, uint32_t index);
/// Requests a receive buffer of `bytes`, past the limit of the system when privileged. Returns 0 or a negative errno.
int nwp_multicast_buffer(int descriptor, int bytes);
/// Sends to the mDNS group on interface `index`. Returns the bytes sent, or a negative errno.
int nwp_multicast_send(int descriptor, int family, uint32_t index, const void *bytes, size_t count);
/// Sends to one host on interface `index`: `address` has 4 or 16 bytes in network order, `port` is in host order.
/// Returns the bytes sent, or a negative errno.
int nwp_multicast_send_to(int descriptor, int family, uint32_t index, const uint8_t *address, uint16_t port,
                          const void *bytes, size_t count);
/// A non-blocking UDP socket of `family` bound to the wildcard and port 5353, which it shares (SO_REUSEADDR); it is in
/// no group and reports the control data of `nwp_datagram`. Returns a descriptor, or a negative errno.
int nwp_multicast_open_unicast(int family);
/// Receives one datagram. Returns its length in the buffer, or a negative errno.
int nwp_multicast_receive(int descriptor, void *buffer, size_t capacity, struct nwp_datagram *datagram);

#endif
