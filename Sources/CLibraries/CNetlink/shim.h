// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// linux/if.h comes first: it and net/if.h define the same names, and only the kernel's set is complete.
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/fib_rules.h>
#include <linux/filter.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
