// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_RESOLVE_H
#define NWP_RESOLVE_H

#include <stdint.h>

/// A name that is being looked up by getaddrinfo(3) on a thread of its own.
struct nwp_resolution;

/// One address a name has, in network order.
struct nwp_resolved {
    uint8_t bytes[16];
    /// 4 or 16.
    int32_t length;
    uint32_t scope;
};

/// Starts to resolve a name; `family` is AF_INET, AF_INET6, or 0 for both. At most 16 look-ups run at a time.
/// Returns a descriptor that becomes readable when it is done, which belongs to the resolution, or a negative errno
/// (-EAGAIN: too many already run).
int nwp_resolve_start(const char *host, int family, struct nwp_resolution **resolution);
/// What was found, in the order of preference. Returns how many entries were filled, or a negative number that
/// `nwp_resolve_text` explains. Call it once the descriptor is readable.
int nwp_resolve_result(struct nwp_resolution *resolution, struct nwp_resolved *entries, int capacity);
/// The words of gai_strerror(3) for a negative result.
const char *nwp_resolve_text(int result);
/// Gives up a resolution, finished or not, and its descriptor; the thread ends by itself.
void nwp_resolve_release(struct nwp_resolution *resolution);

#endif
