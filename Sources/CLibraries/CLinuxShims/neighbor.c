// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_neighbor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int failed(int descriptor) {
    int code = errno;
    close(descriptor);
    return -code;
}

int nwp_arp_open(uint32_t index) {
    int descriptor = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ARP));
    if (descriptor < 0) return -errno;
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ARP), .sll_ifindex = (int)index};
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0) return failed(descriptor);
    return descriptor;
}

long nwp_arp_broadcast(int descriptor, uint32_t index, const void *bytes, size_t count) {
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ARP), .sll_ifindex = (int)index, .sll_halen = 6};
    memset(address.sll_addr, 0xFF, 6);
    long sent = sendto(descriptor, bytes, count, MSG_DONTWAIT, (struct sockaddr *)&address, sizeof address);
    return sent < 0 ? -errno : sent;
}

/// A raw socket that receives one type of message.
static int open_raw(uint32_t index, int type) {
    int descriptor = socket(AF_INET6, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_ICMPV6);
    if (descriptor < 0) return -errno;
    struct icmp6_filter filter;
    ICMP6_FILTER_SETBLOCKALL(&filter);
    ICMP6_FILTER_SETPASS(type, &filter);
    int hops = 255, interface = (int)index, one = 1;
    if (setsockopt(descriptor, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter) < 0 ||
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &hops, sizeof hops) < 0 ||
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops) < 0 ||
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_IF, &interface, sizeof interface) < 0 ||
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, &one, sizeof one) < 0)
        return failed(descriptor);
    return descriptor;
}

int nwp_neighbor_open(uint32_t index) { return open_raw(index, ND_NEIGHBOR_ADVERT); }

int nwp_router_open(uint32_t index) {
    int descriptor = open_raw(index, ND_ROUTER_ADVERT);
    int interface = (int)index;
    if (descriptor >= 0 && setsockopt(descriptor, SOL_SOCKET, SO_BINDTOIFINDEX, &interface, sizeof interface) < 0)
        return failed(descriptor);
    return descriptor;
}

long nwp_router_receive(int descriptor, void *buffer, size_t capacity, int *hop_limit, uint8_t source[16]) {
    union {
        char bytes[CMSG_SPACE(sizeof(int)) * 4];
        struct cmsghdr header;
    } control;
    struct sockaddr_in6 from = {0};
    struct iovec part = {.iov_base = buffer, .iov_len = capacity};
    struct msghdr message = {.msg_name = &from,
                             .msg_namelen = sizeof from,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t length;
    *hop_limit = -1;
    do {
        length = recvmsg(descriptor, &message, MSG_DONTWAIT);
    } while (length < 0 && errno == EINTR);
    if (length < 0) return -errno;
    memcpy(source, &from.sin6_addr, 16);
    for (struct cmsghdr *entry = CMSG_FIRSTHDR(&message); entry; entry = CMSG_NXTHDR(&message, entry)) {
        int is_limit = entry->cmsg_level == IPPROTO_IPV6 && entry->cmsg_type == IPV6_HOPLIMIT;
        if (is_limit && entry->cmsg_len >= CMSG_LEN(sizeof(int))) memcpy(hop_limit, CMSG_DATA(entry), sizeof(int));
    }
    return length;
}

long nwp_neighbor_send(int descriptor, uint32_t index, const uint8_t address[16], const void *bytes, size_t count) {
    struct sockaddr_in6 target = {.sin6_family = AF_INET6, .sin6_scope_id = index};
    memcpy(&target.sin6_addr, address, 16);
    long sent = sendto(descriptor, bytes, count, MSG_DONTWAIT, (struct sockaddr *)&target, sizeof target);
    return sent < 0 ? -errno : sent;
}
