// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/icmp.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef ICMP_FILTER
#define ICMP_FILTER 1
#endif

static int set(int descriptor, int level, int option, int value) {
    return setsockopt(descriptor, level, option, &value, sizeof value) < 0 ? -errno : 0;
}

int nwp_probe_apply(int descriptor, const struct nwp_probe_route *route, int *step) {
    *step = 1;
    size_t length = strnlen(route->interface, sizeof route->interface - 1);
    if (length && setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, route->interface, (socklen_t)length) < 0)
        return -errno;
    *step = 2;
    if (route->mark && setsockopt(descriptor, SOL_SOCKET, SO_MARK, &route->mark, sizeof route->mark) < 0) return -errno;
    *step = 3;
    if (route->user != UINT32_MAX && fchown(descriptor, route->user, (gid_t)-1) < 0) return -errno;
    return 0;
}

int nwp_probe_socket(int family, int type, int protocol, const struct nwp_probe_route *route, int *step) {
    *step = 0;
    int descriptor = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
    if (descriptor < 0) return -errno;
    int code = nwp_probe_apply(descriptor, route, step);
    if (code == 0 && type != SOCK_STREAM) code = set(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, 1);
    if (code == 0) return descriptor;
    close(descriptor);
    return code;
}

int nwp_probe_connect(int descriptor, const uint8_t *address, size_t length, uint32_t scope, uint16_t port) {
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = scope};
    if (length == 4) memcpy(&in.sin_addr, address, 4);
    else memcpy(&in6.sin6_addr, address, 16);
    const void *target = length == 4 ? (const void *)&in : (const void *)&in6;
    socklen_t size = length == 4 ? sizeof in : sizeof in6;
    int code;
    do {
        code = connect(descriptor, target, size);
    } while (code < 0 && errno == EINTR);
    return code < 0 ? -errno : 0;
}

int nwp_probe_connected(int descriptor) {
    struct sockaddr_in6 peer;
    socklen_t size = sizeof peer;
    return !getpeername(descriptor, (struct sockaddr *)&peer, &size);
}

uint16_t nwp_probe_port(int descriptor) {
    struct sockaddr_in6 own = {0};
    socklen_t size = sizeof own;
    // The port of `struct sockaddr_in` is where it is in `struct sockaddr_in6`.
    return getsockname(descriptor, (struct sockaddr *)&own, &size) ? 0 : ntohs(own.sin6_port);
}

int nwp_probe_bind(int descriptor, const uint8_t *address, size_t length) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    if (length == 4) memcpy(&in.sin_addr, address, 4);
    else memcpy(&in6.sin6_addr, address, 16);
    const void *source = length == 4 ? (const void *)&in : (const void *)&in6;
    return bind(descriptor, source, length == 4 ? sizeof in : sizeof in6) < 0 ? -errno : 0;
}

int nwp_probe_error(int descriptor) {
    int code = 0;
    socklen_t size = sizeof code;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) < 0) return -errno;
    return -code;
}

int nwp_probe_prepare_icmp(int descriptor, int family, int is_raw) {
    int code;
    if (family == AF_INET) {
        if (is_raw) {
            struct icmp_filter filter = {.data = ~(1u << ICMP_ECHOREPLY)};
            if (setsockopt(descriptor, SOL_RAW, ICMP_FILTER, &filter, sizeof filter) < 0) return -errno;
        }
        code = set(descriptor, IPPROTO_IP, IP_RECVTTL, 1);
        return code < 0 ? code : set(descriptor, IPPROTO_IP, IP_RECVERR, 1);
    }
    if (is_raw) {
        struct icmp6_filter filter;
        ICMP6_FILTER_SETBLOCKALL(&filter);
        ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &filter);
        if (setsockopt(descriptor, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter) < 0) return -errno;
    }
    code = set(descriptor, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
    return code < 0 ? code : set(descriptor, IPPROTO_IPV6, IPV6_RECVERR, 1);
}

/// How long ago a time was; 0 when the clock seems to have been set since.
static int64_t age(const struct timespec *then) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t result = (int64_t)(now.tv_sec - then->tv_sec) * 1000000000 + now.tv_nsec - then->tv_nsec;
    return result > 0 && result < 10 * INT64_C(1000000000) ? result : 0;
}

long nwp_probe_receive(int descriptor, void *buffer, size_t capacity, struct nwp_probe_metadata *metadata) {
    union {
        char bytes[CMSG_SPACE(sizeof(int)) * 4 + CMSG_SPACE(sizeof(struct timespec))];
        struct cmsghdr header;
    } control;
    struct iovec part = {.iov_base = buffer, .iov_len = capacity};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t length;
    *metadata = (struct nwp_probe_metadata){.hop_limit = -1};
    do {
        length = recvmsg(descriptor, &message, MSG_DONTWAIT);
    } while (length < 0 && errno == EINTR);
    if (length < 0) return -errno;
    for (struct cmsghdr *entry = CMSG_FIRSTHDR(&message); entry; entry = CMSG_NXTHDR(&message, entry)) {
        int is_limit = (entry->cmsg_level == IPPROTO_IP && entry->cmsg_type == IP_TTL) ||
                       (entry->cmsg_level == IPPROTO_IPV6 && entry->cmsg_type == IPV6_HOPLIMIT);
        if (is_limit && entry->cmsg_len >= CMSG_LEN(sizeof(int)))
            memcpy(&metadata->hop_limit, CMSG_DATA(entry), sizeof(int));
        struct timespec stamp;
        if (entry->cmsg_level == SOL_SOCKET && entry->cmsg_type == SCM_TIMESTAMPNS &&
            entry->cmsg_len >= CMSG_LEN(sizeof stamp)) {
            memcpy(&stamp, CMSG_DATA(entry), sizeof stamp);
            metadata->age = age(&stamp);
        }
    }
    return length;
}

int nwp_probe_receive_errors(int descriptor, int family) {
    if (family == AF_INET) return set(descriptor, IPPROTO_IP, IP_RECVERR, 1);
    return set(descriptor, IPPROTO_IPV6, IPV6_RECVERR, 1);
}

int nwp_probe_keep_whole(int descriptor, int family) {
    if (family == AF_INET) return set(descriptor, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    return set(descriptor, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
}

int nwp_probe_limit_hops(int descriptor, int family, int hops) {
    if (family == AF_INET) return set(descriptor, IPPROTO_IP, IP_TTL, hops);
    return set(descriptor, IPPROTO_IPV6, IPV6_UNICAST_HOPS, hops);
}

int nwp_probe_next_fault(int descriptor, struct nwp_probe_fault *fault) {
    union {
        char bytes[512];
        struct cmsghdr header;
    } control;
    memset(fault, 0, sizeof *fault);
    struct iovec part = {.iov_base = fault->quote, .iov_len = sizeof fault->quote};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t length;
    do {
        length = recvmsg(descriptor, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
    } while (length < 0 && errno == EINTR);
    if (length < 0) return 0;
    fault->quoted = (uint32_t)length;
    for (struct cmsghdr *entry = CMSG_FIRSTHDR(&message); entry; entry = CMSG_NXTHDR(&message, entry)) {
        struct timespec stamp;
        if (entry->cmsg_level == SOL_SOCKET && entry->cmsg_type == SCM_TIMESTAMPNS &&
            entry->cmsg_len >= CMSG_LEN(sizeof stamp)) {
            memcpy(&stamp, CMSG_DATA(entry), sizeof stamp);
            fault->age = age(&stamp);
        }
        int is_error = (entry->cmsg_level == IPPROTO_IP && entry->cmsg_type == IP_RECVERR) ||
                       (entry->cmsg_level == IPPROTO_IPV6 && entry->cmsg_type == IPV6_RECVERR);
        if (!is_error || entry->cmsg_len < CMSG_LEN(sizeof(struct sock_extended_err))) continue;
        struct sock_extended_err error;
        memcpy(&error, CMSG_DATA(entry), sizeof error);
        fault->code = (int32_t)error.ee_errno;
        fault->is_icmp = error.ee_origin == SO_EE_ORIGIN_ICMP || error.ee_origin == SO_EE_ORIGIN_ICMP6;
        fault->type = error.ee_type;
        fault->subtype = error.ee_code;
        fault->info = error.ee_info;
        const char *offender = (const char *)CMSG_DATA(entry) + sizeof error;
        size_t rest = entry->cmsg_len - CMSG_LEN(sizeof error);
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        if (error.ee_origin == SO_EE_ORIGIN_ICMP && rest >= sizeof in) {
            memcpy(&in, offender, sizeof in);
            memcpy(fault->speaker, &in.sin_addr, 4);
            fault->length = 4;
        } else if (error.ee_origin == SO_EE_ORIGIN_ICMP6 && rest >= sizeof in6) {
            memcpy(&in6, offender, sizeof in6);
            memcpy(fault->speaker, &in6.sin6_addr, 16);
            fault->length = 16;
        }
    }
    return 1;
}
