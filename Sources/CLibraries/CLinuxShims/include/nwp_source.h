// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_SOURCE_H
#define NWP_SOURCE_H

#include <stdint.h>

/// Connects a UDP socket, bound to an interface unless that is 0, and reads the source address it gets into `source`,
/// which has the `length` of the destination, 4 or 16 bytes; nothing is sent. Returns 0 or a negative errno.
int nwp_connected_source(const uint8_t *address, int length, uint16_t port, uint32_t interface, uint8_t *source);

#endif
