// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_LOCAL_SERVER_H
#define NWP_LOCAL_SERVER_H

#include <stdint.h>

/// Sends a question to port 53 of an address of this machine, which has `length` 4 or 16, by a UDP socket that never blocks.
/// Returns the connected socket, whose owner is the caller, or a negative errno.
int nwp_ask_local_server(const uint8_t *address, int length, const uint8_t *question, int size);

#endif
