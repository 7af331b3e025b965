// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// linux/if.h comes first: it and net/if.h define the same names, and only the kernel's set is complete.
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <netlink/cache.h>
#include <netlink/netlink.h>
#include <netlink/object.h>
#include <netlink/socket.h>
#include <netlink/route/link.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/tc.h>
