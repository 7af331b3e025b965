// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_DISCARD_H
#define NWP_DISCARD_H

#include <stdint.h>

/// Sends one empty UDP datagram to the discard port (RFC 863) of an address of 4 or 16 bytes, out of one interface;
/// never blocks. Returns 0 or a negative errno.
int nwp_send_discard(const uint8_t *address, int length, uint32_t interface);

#endif
