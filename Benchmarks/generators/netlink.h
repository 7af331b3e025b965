// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// The little of rtnetlink the load generators need: many requests in one sendmsg, every refusal is fatal.
#ifndef NWPATH_BENCH_NETLINK_H
#define NWPATH_BENCH_NETLINK_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LONGEST_RUN 900 // seconds, then SIGALRM ends the generator

struct batch {
    int fd;
    unsigned sequence;
    size_t used;
    struct nlmsghdr *last;
    _Alignas(NLMSG_ALIGNTO) char bytes[1 << 15];
};

static inline void batch_open(struct batch *batch) {
    alarm(LONGEST_RUN);
    batch->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (batch->fd < 0) err(1, "netlink socket");
}

// Starts a request; the caller keeps a batch far below its size (a request here is at most 200 bytes).
static inline void batch_begin(struct batch *batch, int type, int flags, const void *body, size_t size) {
    struct nlmsghdr *message = (struct nlmsghdr *)(batch->bytes + batch->used);
    if (batch->used + 512 > sizeof batch->bytes) errx(1, "batch is full");
    memset(message, 0, 512);
    message->nlmsg_type = (unsigned short)type;
    message->nlmsg_flags = (unsigned short)(NLM_F_REQUEST | flags);
    message->nlmsg_seq = ++batch->sequence;
    message->nlmsg_len = (unsigned)NLMSG_LENGTH(size);
    memcpy(NLMSG_DATA(message), body, size);
    batch->last = message;
    batch->used += NLMSG_ALIGN(message->nlmsg_len);
}

static inline struct rtattr *batch_attribute(struct batch *batch, int type, const void *data, size_t size) {
    struct rtattr *attribute = (struct rtattr *)(batch->bytes + batch->used);
    attribute->rta_type = (unsigned short)type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(size);
    if (size > 0) memcpy(RTA_DATA(attribute), data, size);
    batch->used += RTA_ALIGN(attribute->rta_len);
    batch->last->nlmsg_len = (unsigned)(batch->bytes + batch->used - (char *)batch->last);
    return attribute;
}

static inline void batch_end_nest(struct batch *batch, struct rtattr *nest) {
    nest->rta_len = (unsigned short)(batch->bytes + batch->used - (char *)nest);
}

// Hands the batch to the kernel, which carries it out before sendmsg returns.
static inline void batch_hand_over(struct batch *batch) {
    if (batch->used == 0) return;
    batch->last->nlmsg_flags |= NLM_F_ACK;
    if (send(batch->fd, batch->bytes, batch->used, 0) != (ssize_t)batch->used) err(1, "send");
    batch->used = 0;
}

// Reads the answers up to the acknowledgement of the last request; 0 or the negative errno of a refusal.
static inline int batch_result(struct batch *batch) {
    _Alignas(NLMSG_ALIGNTO) char answer[1 << 15];
    int refused = 0;
    for (;;) {
        ssize_t got = recv(batch->fd, answer, sizeof answer, 0);
        if (got < 0) err(1, "recv");
        for (struct nlmsghdr *message = (struct nlmsghdr *)answer; NLMSG_OK(message, got);
             message = NLMSG_NEXT(message, got)) {
            if (message->nlmsg_type != NLMSG_ERROR) continue;
            int code = ((struct nlmsgerr *)NLMSG_DATA(message))->error;
            if (code != 0) refused = code;
            if (message->nlmsg_seq == batch->sequence) return refused;
        }
    }
}

static inline void batch_flush(struct batch *batch, const char *what) {
    if (batch->used == 0) return;
    batch_hand_over(batch);
    int code = batch_result(batch);
    if (code != 0) errx(1, "%s: %s", what, strerror(-code));
}

static inline long long now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static inline void sleep_until_ns(long long when) {
    struct timespec time = {.tv_sec = when / 1000000000LL, .tv_nsec = when % 1000000000LL};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {
    }
}

static inline unsigned device_index(const char *name) {
    unsigned index = if_nametoindex(name);
    if (index == 0) err(1, "device %s", name);
    return index;
}

static inline long number(const char *text, long least, long most) {
    char *end;
    long value = strtol(text, &end, 10);
    if (*end != 0 || value < least || value > most) errx(2, "'%s' is not a number from %ld to %ld", text, least, most);
    return value;
}

// The gateway of default-route change `change`: always 10.1.NNN.NNN, so that none is a prefix of another.
static inline struct in_addr gateway(long change, char text[INET_ADDRSTRLEN]) {
    struct in_addr address;
    snprintf(text, INET_ADDRSTRLEN, "10.1.%ld.%ld", 100 + change / 100 % 100, 100 + change % 100);
    inet_pton(AF_INET, text, &address);
    return address;
}

// Replaces the IPv4 default route (metric 100) of a device.
static inline void batch_default(struct batch *batch, unsigned device, struct in_addr via) {
    struct rtmsg body = {.rtm_family = AF_INET, .rtm_table = RT_TABLE_MAIN, .rtm_protocol = RTPROT_STATIC,
                         .rtm_scope = RT_SCOPE_UNIVERSE, .rtm_type = RTN_UNICAST};
    unsigned metric = 100;
    batch_begin(batch, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &body, sizeof body);
    batch_attribute(batch, RTA_GATEWAY, &via, sizeof via);
    batch_attribute(batch, RTA_OIF, &device, sizeof device);
    batch_attribute(batch, RTA_PRIORITY, &metric, sizeof metric);
}

#endif
