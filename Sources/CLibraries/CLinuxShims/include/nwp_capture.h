// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_CAPTURE_H
#define NWP_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

/// A non-blocking packet socket that shows what a classic BPF program passes of all that is sent and received, by every
/// interface, without link-layer headers (packet(7)). The program has the form of `nwp_attach_filter`. Needs CAP_NET_RAW.
/// Returns a descriptor, or a negative errno.
int nwp_capture_open(const uint64_t *program, int count);

/// What the kernel says of a packet beside its bytes.
struct nwp_capture_origin {
    /// The interface that it passed.
    uint32_t interface;
    /// Whether this machine sent it.
    int is_outgoing;
    /// Whether packets before it were dropped because too many waited.
    int has_gap;
};
/// Receives the beginning of one packet without waiting. Returns its length, 0 for one that is for other machines, or a
/// negative errno.
long nwp_capture_receive(int descriptor, void *buffer, size_t capacity, struct nwp_capture_origin *origin);

#endif
