// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_LOCAL_SERVER_H
#define NWP_LOCAL_SERVER_H

#include <stdint.h>

/// Sends a query to UDP port 53 of an address of this machine, which has `length` 4 or 16; or, with `stream`, starts a
/// connection to TCP port 53, and sends nothing. The socket never blocks. An address that is not this machine's is refused
/// with EADDRNOTAVAIL, unless it is one of loopback.
/// Returns the socket, whose owner is the caller, or a negative errno.
int nwp_query_local_server(const uint8_t *address, int length, int stream, const uint8_t *query, int size);

/// Returns 1 once the connection of a socket is established, 0 while it is not, or a negative errno.
int nwp_is_connected(int descriptor);

/// Returns 1 when a router reported that the time to live of a packet of the socket was over; reads all errors.
int nwp_exceeded_time(int descriptor);

#endif
