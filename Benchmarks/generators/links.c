// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// Makes veth pairs in bulk, flaps a link, and runs container-like create, attach, delete cycles.
#include "netlink.h"

#include <fcntl.h>
#include <linux/veth.h>
#include <sched.h>

#define GROUP 77 // of every link made in bulk, so that one request can delete them

static struct batch batch, inside;

static void set_up(unsigned index, int up) {
    struct ifinfomsg body = {.ifi_index = (int)index, .ifi_flags = up ? IFF_UP : 0, .ifi_change = IFF_UP};
    batch_begin(&batch, RTM_NEWLINK, 0, &body, sizeof body);
}

static void set_up_by_name(struct batch *where, const char *name) {
    struct ifinfomsg body = {.ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    batch_begin(where, RTM_NEWLINK, 0, &body, sizeof body);
    batch_attribute(where, IFLA_IFNAME, name, strlen(name) + 1);
    batch_flush(where, "up");
}

static void make_pair(const char *name, const char *peer, unsigned peer_namespace) {
    struct ifinfomsg body = {0};
    unsigned group = GROUP;
    batch_begin(&batch, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof body);
    batch_attribute(&batch, IFLA_IFNAME, name, strlen(name) + 1);
    batch_attribute(&batch, IFLA_GROUP, &group, sizeof group);
    struct rtattr *info = batch_attribute(&batch, IFLA_LINKINFO, NULL, 0);
    batch_attribute(&batch, IFLA_INFO_KIND, "veth", 4);
    struct rtattr *data = batch_attribute(&batch, IFLA_INFO_DATA, NULL, 0);
    struct rtattr *other = batch_attribute(&batch, VETH_INFO_PEER, &body, sizeof body);
    batch_attribute(&batch, IFLA_IFNAME, peer, strlen(peer) + 1);
    batch_attribute(&batch, IFLA_GROUP, &group, sizeof group);
    if (peer_namespace != 0) batch_attribute(&batch, IFLA_NET_NS_PID, &peer_namespace, sizeof peer_namespace);
    batch_end_nest(&batch, other);
    batch_end_nest(&batch, data);
    batch_end_nest(&batch, info);
    batch_flush(&batch, "veth pair");
}

static void make(long pairs) {
    char name[IFNAMSIZ], peer[IFNAMSIZ];
    for (long done = 0; done < pairs; done++) {
        snprintf(name, sizeof name, "n%ua", (unsigned)done);
        snprintf(peer, sizeof peer, "n%ub", (unsigned)done);
        make_pair(name, peer, 0);
        set_up_by_name(&batch, name);
        set_up_by_name(&batch, peer);
    }
}

// One flap is a down and an up; `rate` flaps a second, 0 for full speed.
static void flap(unsigned index, long count, long rate) {
    long long start = now_ns();
    for (long done = 0; done < count; done++) {
        for (int up = 0; up <= 1; up++) {
            set_up(index, up);
            batch_flush(&batch, "flap");
        }
        if (rate > 0) sleep_until_ns(start + (done + 1) * 1000000000LL / rate);
    }
}

// Opens a netlink socket that works in the namespace of another process.
static void open_inside(struct batch *where, unsigned process) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/ns/net", process);
    int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), there = open(path, O_RDONLY | O_CLOEXEC);
    if (home < 0 || there < 0 || setns(there, CLONE_NEWNET) < 0) err(1, "%s", path);
    batch_open(where);
    if (setns(home, CLONE_NEWNET) < 0) err(1, "setns");
    close(home);
    close(there);
}

// What a container engine does: a pair, one end into the namespace, the other onto the bridge, both up; later gone.
static void containers(long count, unsigned bridge, unsigned peer_namespace) {
    char name[IFNAMSIZ];
    open_inside(&inside, peer_namespace);
    for (long done = 0; done < count; done++) {
        snprintf(name, sizeof name, "veth%u", (unsigned)done);
        make_pair(name, "eth0", peer_namespace);
        struct ifinfomsg body = {.ifi_index = (int)device_index(name)};
        batch_begin(&batch, RTM_NEWLINK, 0, &body, sizeof body);
        batch_attribute(&batch, IFLA_MASTER, &bridge, sizeof bridge);
        batch_flush(&batch, "attach");
        set_up(device_index(name), 1);
        batch_flush(&batch, "up");
        set_up_by_name(&inside, "eth0");
        batch_begin(&batch, RTM_DELLINK, 0, &body, sizeof body);
        batch_flush(&batch, "delete");
    }
}

int main(int count, char **words) {
    if (count == 3 && strcmp(words[1], "make") == 0) {
        batch_open(&batch);
        make(number(words[2], 0, 100000));
        return 0;
    }
    if (count == 5 && strcmp(words[1], "flap") == 0) {
        batch_open(&batch);
        flap(device_index(words[2]), number(words[3], 0, 1000000), number(words[4], 0, 100000));
        return 0;
    }
    if (count == 5 && strcmp(words[1], "containers") == 0) {
        batch_open(&batch);
        containers(number(words[2], 0, 100000), device_index(words[3]), (unsigned)number(words[4], 1, 1 << 22));
        return 0;
    }
    fprintf(stderr, "usage: links make PAIRS\n       links flap DEVICE FLAPS RATE\n"
                    "       links containers CYCLES BRIDGE PEER-PID\n");
    return 2;
}
