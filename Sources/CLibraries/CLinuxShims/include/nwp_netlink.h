// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_NETLINK_H
#define NWP_NETLINK_H

#include <stddef.h>
#include <stdint.h>

/// Who sent a datagram, and to whom.
struct nwp_netlink_origin {
    /// The sender's port; 0 is the kernel.
    uint32_t port;
    /// The multicast group as a bit mask; 0 for a reply.
    uint32_t groups;
    /// Not 0 when the datagram was longer than the buffer.
    uint32_t truncated;
};

/// recvmsg(2) of one netlink datagram, repeated over EINTR. Returns its length, or a negative errno.
long nwp_netlink_receive(int descriptor, void *buffer, size_t capacity, int nonblocking,
                         struct nwp_netlink_origin *origin);
/// setsockopt(2) at SOL_NETLINK with an int. Returns 0 or a negative errno.
int nwp_netlink_option(int descriptor, int option, int value);
/// Requests a receive buffer of `bytes`: SO_RCVBUFFORCE, else SO_RCVBUF. Returns the size in force as the kernel
/// counts it (twice the requested room), or a negative errno.
int nwp_receive_buffer(int descriptor, int bytes);
/// Sets SO_RCVTIMEO. Returns 0 or a negative errno.
int nwp_receive_timeout(int descriptor, int64_t nanoseconds);
/// Attaches a classic BPF program of `count` instructions, each one code << 48 | jt << 40 | jf << 32 | k.
/// Returns 0 or a negative errno.
int nwp_attach_filter(int descriptor, const uint64_t *program, int count);

#endif
