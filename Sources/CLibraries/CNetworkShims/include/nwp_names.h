// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_NAMES_H
#define NWP_NAMES_H

#include <stdint.h>

/// The port of a service of services(5), of TCP or else of UDP, or -1 when there is none.
int nwp_service_port(const char *name);
/// Names the calling thread, for debuggers and ps(1); 15 bytes at most.
void nwp_thread_name(const char *name);
/// The number of the calling thread's network namespace, namespaces(7); 0 where there is no /proc.
uint64_t nwp_namespace(void);

#endif
