// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_netlink.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

static int result(int value) { return value < 0 ? -errno : value; }

long nwp_netlink_receive(int descriptor, void *buffer, size_t capacity, int nonblocking,
                         struct nwp_netlink_origin *origin) {
    struct sockaddr_nl sender;
    struct iovec part = {.iov_base = buffer, .iov_len = capacity};
    struct msghdr message = {
        .msg_name = &sender, .msg_namelen = sizeof sender, .msg_iov = &part, .msg_iovlen = 1};
    ssize_t length;
    memset(&sender, 0, sizeof sender);
    do {
        length = recvmsg(descriptor, &message, nonblocking ? MSG_DONTWAIT : 0);
    } while (length < 0 && errno == EINTR);
    if (length < 0) return -errno;
    origin->port = sender.nl_pid;
    origin->groups = sender.nl_groups;
    origin->truncated = (message.msg_flags & MSG_TRUNC) != 0;
    return length;
}

int nwp_netlink_option(int descriptor, int option, int value) {
    return result(setsockopt(descriptor, SOL_NETLINK, option, &value, sizeof value));
}

int nwp_receive_buffer(int descriptor, int bytes) {
    socklen_t length = sizeof bytes;
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0 &&
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) < 0)
        return -errno;
    if (getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, &length) < 0) return -errno;
    return bytes;
}

int nwp_receive_timeout(int descriptor, int64_t nanoseconds) {
    struct timeval limit = {.tv_sec = nanoseconds / 1000000000, .tv_usec = nanoseconds / 1000 % 1000000};
    return result(setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
}

int nwp_attach_filter(int descriptor, const uint64_t *program, int count) {
    struct sock_filter code[BPF_MAXINSNS];
    if (count < 1 || count > BPF_MAXINSNS) return -EINVAL;
    for (int i = 0; i < count; i++) {
        code[i].code = program[i] >> 48;
        code[i].jt = program[i] >> 40 & 0xFF;
        code[i].jf = program[i] >> 32 & 0xFF;
        code[i].k = program[i] & 0xFFFFFFFF;
    }
    struct sock_fprog filter = {.len = count, .filter = code};
    return result(setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter));
}
