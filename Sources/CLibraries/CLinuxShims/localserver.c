// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_local_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/icmpv6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
} target_t;

// Binds the socket to the address that it sends to: the kernel refuses that for one of another machine.
//
// Packets from 127.0.0.1 and ::1 are for loopback only. No router forwards the packets, whatever redirects are there.
static int confine(int descriptor, const target_t *target, socklen_t size) {
    int one = 1, failed;
    target_t own = *target;
    if (own.any.sa_family == AF_INET) {
        own.in.sin_port = 0;
        if (ntohl(own.in.sin_addr.s_addr) >> 24 == 127)
            own.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        failed = setsockopt(descriptor, IPPROTO_IP, IP_TTL, &one, sizeof one);
        // Some sandboxes have no error queue: a redirect to another machine is silent then.
        setsockopt(descriptor, IPPROTO_IP, IP_RECVERR, &one, sizeof one);
    } else {
        own.in6.sin6_port = 0;
        failed = setsockopt(descriptor, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &one, sizeof one);
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_RECVERR, &one, sizeof one);
    }
    if (failed || setsockopt(descriptor, SOL_SOCKET, SO_DONTROUTE, &one, sizeof one)) return -1;
    return bind(descriptor, &own.any, size);
}

int nwp_query_local_server(const uint8_t *address, int length, int stream, const uint8_t *query, int size) {
    int type = stream ? SOCK_STREAM : SOCK_DGRAM;
    target_t target;
    memset(&target, 0, sizeof target);
    socklen_t target_size = length == 4 ? sizeof target.in : sizeof target.in6;
    if (length == 4) {
        target.in.sin_family = AF_INET;
        target.in.sin_port = htons(53);
        memcpy(&target.in.sin_addr, address, 4);
    } else {
        target.in6.sin6_family = AF_INET6;
        target.in6.sin6_port = htons(53);
        memcpy(&target.in6.sin6_addr, address, 16);
    }
    int descriptor = socket(target.any.sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    int code = confine(descriptor, &target, target_size);
    if (!code) code = connect(descriptor, &target.any, target_size);
    if (code < 0 && stream && errno == EINPROGRESS) code = 0;
    if (!code && !stream && send(descriptor, query, (size_t)size, 0) < 0) code = -1;
    if (!code) return descriptor;
    code = -errno;
    close(descriptor);
    return code;
}

int nwp_is_connected(int descriptor) {
    struct pollfd entry = {.fd = descriptor, .events = POLLOUT};
    if (poll(&entry, 1, 0) <= 0) return 0;
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size)) return -errno;
    return error ? -error : 1;
}

int nwp_exceeded_time(int descriptor) {
    int exceeded = 0;
    for (;;) {
        char control[512];
        struct msghdr message = {.msg_control = control, .msg_controllen = sizeof control};
        if (recvmsg(descriptor, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return exceeded;
        for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
            int is_error = (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_RECVERR) ||
                           (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_RECVERR);
            struct sock_extended_err error;
            if (!is_error || part->cmsg_len < CMSG_LEN(sizeof error)) continue;
            memcpy(&error, CMSG_DATA(part), sizeof error);
            if ((error.ee_origin == SO_EE_ORIGIN_ICMP && error.ee_type == ICMP_TIME_EXCEEDED) ||
                (error.ee_origin == SO_EE_ORIGIN_ICMP6 && error.ee_type == ICMPV6_TIME_EXCEED))
                exceeded = 1;
        }
    }
}
