// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_multicast.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29
#endif

static socklen_t group(int family, uint32_t index, struct sockaddr_storage *storage) {
    memset(storage, 0, sizeof *storage);
    if (family == AF_INET) {
        struct sockaddr_in *address = (struct sockaddr_in *)storage;
        address->sin_family = AF_INET;
        address->sin_port = htons(5353);
        address->sin_addr.s_addr = htonl(0xE00000FB);
        return sizeof *address;
    }
    struct sockaddr_in6 *address = (struct sockaddr_in6 *)storage;
    address->sin6_family = AF_INET6;
    address->sin6_port = htons(5353);
    address->sin6_scope_id = index;
    inet_pton(AF_INET6, "ff02::fb", &address->sin6_addr);
    return sizeof *address;
}

static int set(int descriptor, int level, int option, int value) {
    return setsockopt(descriptor, level, option, &value, sizeof value);
}

static int configure(int descriptor, int family, uint32_t index) {
    if (set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1) < 0) return -1;
    (void)set(descriptor, SOL_SOCKET, SO_RXQ_OVFL, 1);
    if (family == AF_INET) {
        struct ip_mreqn request = {.imr_ifindex = (int)index};
        return setsockopt(descriptor, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof request) < 0
                       || set(descriptor, IPPROTO_IP, IP_MULTICAST_TTL, 255) < 0
                       || set(descriptor, IPPROTO_IP, IP_MULTICAST_LOOP, 1) < 0
                       || set(descriptor, IPPROTO_IP, IP_MULTICAST_ALL, 0) < 0
                       || set(descriptor, IPPROTO_IP, IP_PKTINFO, 1) < 0
                       || set(descriptor, IPPROTO_IP, IP_RECVTTL, 1) < 0
                   ? -1
                   : 0;
    }
    // Kernels before 4.20 lack IPV6_MULTICAST_ALL; the interface in the control data is checked anyway.
    (void)set(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
    return set(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 1) < 0
                   || set(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)index) < 0
                   || set(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 255) < 0
                   || set(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1) < 0
                   || set(descriptor, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) < 0
                   || set(descriptor, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1) < 0
               ? -1
               : 0;
}

int nwp_multicast_open(int family, uint32_t index) {
    int descriptor = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    struct sockaddr_storage storage;
    socklen_t length = group(family, index, &storage);
    if (configure(descriptor, family, index) < 0 || bind(descriptor, (struct sockaddr *)&storage, length) < 0) {
        int code = errno;
        close(descriptor);
        return -code;
    }
    return descriptor;
}

static socklen_t endpoint(int family, uint32_t index, const uint8_t *bytes, uint16_t port,
                          struct sockaddr_storage *storage) {
    memset(storage, 0, sizeof *storage);
    if (family == AF_INET) {
        struct sockaddr_in *address = (struct sockaddr_in *)storage;
        address->sin_family = AF_INET;
        address->sin_port = htons(port);
        if (bytes) memcpy(&address->sin_addr, bytes, 4);
        return sizeof *address;
    }
    struct sockaddr_in6 *address = (struct sockaddr_in6 *)storage;
    address->sin6_family = AF_INET6;
    address->sin6_port = htons(port);
    address->sin6_scope_id = index;
    if (bytes) memcpy(&address->sin6_addr, bytes, 16);
    return sizeof *address;
}

static int bind_wildcard(int family) {
    int descriptor = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    struct sockaddr_storage storage;
    socklen_t length = endpoint(family, 0, NULL, 5353, &storage);
    if (set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1) < 0
        || (family == AF_INET6 && set(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 1) < 0)
        || bind(descriptor, (struct sockaddr *)&storage, length) < 0) {
        int code = errno;
        close(descriptor);
        return -code;
    }
    return descriptor;
}

int nwp_multicast_open_unicast(int family) {
    int descriptor = bind_wildcard(family);
    if (descriptor < 0) return descriptor;
    (void)set(descriptor, SOL_SOCKET, SO_RXQ_OVFL, 1);
    // What is sent to the group is for the sockets that joined it.
    int result = family == AF_INET
                     ? set(descriptor, IPPROTO_IP, IP_MULTICAST_ALL, 0) < 0
                           || set(descriptor, IPPROTO_IP, IP_PKTINFO, 1) < 0
                           || set(descriptor, IPPROTO_IP, IP_RECVTTL, 1) < 0
                     : set(descriptor, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) < 0
                           || set(descriptor, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1) < 0;
    if (family == AF_INET6) (void)set(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
    if (result == 0) return descriptor;
    int code = errno;
    close(descriptor);
    return -code;
}

int nwp_multicast_join(int descriptor, int family, uint32_t index) {
    struct group_req request = {.gr_interface = index};
    struct sockaddr_storage storage;
    socklen_t length = group(family, index, &storage);
    memcpy(&request.gr_group, &storage, length);
    int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
    return setsockopt(descriptor, level, MCAST_JOIN_GROUP, &request, sizeof request) < 0 ? -errno : 0;
}

int nwp_multicast_buffer(int descriptor, int bytes) {
    if (set(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, bytes) == 0) return 0;
    return set(descriptor, SOL_SOCKET, SO_RCVBUF, bytes) < 0 ? -errno : 0;
}

int nwp_multicast_send(int descriptor, int family, uint32_t index, const void *bytes, size_t count) {
    struct sockaddr_storage storage;
    socklen_t length = group(family, index, &storage);
    ssize_t sent;
    do {
        sent = sendto(descriptor, bytes, count, MSG_NOSIGNAL, (struct sockaddr *)&storage, length);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : (int)sent;
}

int nwp_multicast_send_to(int descriptor, int family, uint32_t index, const uint8_t *address, uint16_t port,
                          const void *bytes, size_t count) {
    struct sockaddr_storage storage;
    // The length of an IPv4 header's control data is below that of IPv6.
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in6_pktinfo))] = {0};
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
    struct msghdr message = {
        .msg_name = &storage,
        .msg_namelen = endpoint(family, index, address, port, &storage),
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
    };
    struct cmsghdr *header = (struct cmsghdr *)control;
    if (family == AF_INET) {
        struct in_pktinfo info = {.ipi_ifindex = (int)index};
        header->cmsg_level = IPPROTO_IP;
        header->cmsg_type = IP_PKTINFO;
        header->cmsg_len = CMSG_LEN(sizeof info);
        memcpy(CMSG_DATA(header), &info, sizeof info);
        message.msg_controllen = CMSG_SPACE(sizeof info);
    } else {
        struct in6_pktinfo info = {.ipi6_ifindex = index};
        header->cmsg_level = IPPROTO_IPV6;
        header->cmsg_type = IPV6_PKTINFO;
        header->cmsg_len = CMSG_LEN(sizeof info);
        memcpy(CMSG_DATA(header), &info, sizeof info);
        message.msg_controllen = CMSG_SPACE(sizeof info);
    }
    ssize_t sent;
    do {
        sent = sendmsg(descriptor, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : (int)sent;
}

static void read_control(struct msghdr *message, struct nwp_datagram *datagram) {
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        const void *data = CMSG_DATA(header);
        if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;
            memcpy(&info, data, sizeof info);
            datagram->interface = (uint32_t)info.ipi_ifindex;
            memcpy(datagram->destination, &info.ipi_addr, 4);
        } else if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
            struct in6_pktinfo info;
            memcpy(&info, data, sizeof info);
            datagram->interface = info.ipi6_ifindex;
            memcpy(datagram->destination, &info.ipi6_addr, 16);
        } else if ((header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_TTL)
                   || (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_HOPLIMIT)) {
            memcpy(&datagram->hop_limit, data, sizeof datagram->hop_limit);
        } else if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SO_RXQ_OVFL) {
            memcpy(&datagram->dropped, data, sizeof datagram->dropped);
        }
    }
}

int nwp_multicast_receive(int descriptor, void *buffer, size_t capacity, struct nwp_datagram *datagram) {
    struct sockaddr_storage source;
    _Alignas(struct cmsghdr) char control[256];
    struct iovec part = {.iov_base = buffer, .iov_len = capacity};
    struct msghdr message = {
        .msg_name = &source,
        .msg_namelen = sizeof source,
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof control,
    };
    ssize_t count;
    do {
        count = recvmsg(descriptor, &message, 0);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return -errno;
    memset(datagram, 0, sizeof *datagram);
    datagram->hop_limit = -1;
    datagram->truncated = (message.msg_flags & MSG_TRUNC) != 0;
    if (source.ss_family == AF_INET) {
        const struct sockaddr_in *address = (const struct sockaddr_in *)&source;
        datagram->port = ntohs(address->sin_port);
        memcpy(datagram->source, &address->sin_addr, 4);
    } else if (source.ss_family == AF_INET6) {
        const struct sockaddr_in6 *address = (const struct sockaddr_in6 *)&source;
        datagram->port = ntohs(address->sin6_port);
        memcpy(datagram->source, &address->sin6_addr, 16);
    }
    read_control(&message, datagram);
    return (int)count;
}
