// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_LOAD_H
#define NWP_LOAD_H

#include <stdint.h>

/// Lets closing a TCP connection discard what it still has to send (SO_LINGER), instead of sending it first.
/// Returns 0 or a negative errno.
int nwp_load_drop_on_close(int descriptor);
/// How far a TCP connection is (TCP_INFO), in bytes of its streams.
struct nwp_load_flow {
    /// What the other side has confirmed without a gap.
    uint64_t confirmed;
    /// What the other side has, gaps or not; about, for it is reported in segments.
    uint64_t delivered;
    /// What came from the other side, gaps or not, doubles included; about, likewise.
    uint64_t arrived;
};

/// Reads how far a connection is. Returns 0 or a negative errno.
// How many segments the kernel sent again on a TCP connection (tcpi_total_retrans), or a negative errno.
int nwp_tcp_retransmissions(int descriptor);

int nwp_load_progress(int descriptor, struct nwp_load_flow *flow);

#endif
