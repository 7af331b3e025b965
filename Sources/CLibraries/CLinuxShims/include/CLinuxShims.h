// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// What Swift cannot see of the C library and the kernel: macros, variadic calls and types that Swift imports as
// unsafe. Every name starts with nwp_; there is no logic here.
#ifndef NWP_LINUX_SHIMS_H
#define NWP_LINUX_SHIMS_H

#include "nwp_capture.h"
#include "nwp_discard.h"
#include "nwp_event.h"
#include "nwp_lease.h"
#include "nwp_load.h"
#include "nwp_local_server.h"
#include "nwp_memory.h"
#include "nwp_neighbor.h"
#include "nwp_netlink.h"
#include "nwp_multicast.h"
#include "nwp_output.h"
#include "nwp_probe.h"
#include "nwp_process.h"
#include "nwp_resolve.h"
#include "nwp_source.h"
#include "nwp_stream.h"
#include "nwp_user.h"

#endif
