// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_flow.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

static void read_address(struct nwp_end *end, const struct sockaddr_storage *storage) {
    memset(end, 0, sizeof *end);
    if (storage->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)storage;
        memcpy(end->bytes, &v4->sin_addr, 4);
        end->length = 4;
        end->port = ntohs(v4->sin_port);
    } else if (storage->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)storage;
        end->port = ntohs(v6->sin6_port);
        if (memcmp(&v6->sin6_addr, mapped, 12) == 0) {
            memcpy(end->bytes, v6->sin6_addr.s6_addr + 12, 4);
            end->length = 4;
        } else {
            memcpy(end->bytes, &v6->sin6_addr, 16);
            end->length = 16;
            end->scope = v6->sin6_scope_id;
        }
    }
}

static int family_of(int descriptor) {
    int family = AF_UNSPEC;
    socklen_t size = sizeof family;
    return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &size) < 0 ? AF_UNSPEC : family;
}

static socklen_t write_address(struct sockaddr_storage *storage, const struct nwp_end *end, int family) {
    memset(storage, 0, sizeof *storage);
    if (end->length == 4 && family == AF_INET) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)storage;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(end->port);
        memcpy(&v4->sin_addr, end->bytes, 4);
        return sizeof *v4;
    }
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)storage;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(end->port);
    if (end->length == 4) {
        memcpy(v6->sin6_addr.s6_addr, mapped, 12);
        memcpy(v6->sin6_addr.s6_addr + 12, end->bytes, 4);
    } else {
        memcpy(&v6->sin6_addr, end->bytes, 16);
        v6->sin6_scope_id = end->scope;
    }
    return sizeof *v6;
}

static int unix_address(struct sockaddr_un *address, const char *path) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) return -ENAMETOOLONG;
    strcpy(address->sun_path, path);
    return 0;
}

static int result(int code) { return code < 0 ? -errno : code; }

int nwp_flow_open(int length, int is_stream) {
    int family = length == 4 ? AF_INET : length == 16 ? AF_INET6 : AF_UNIX;
    int type = is_stream ? SOCK_STREAM : SOCK_DGRAM;
    return result(socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

int nwp_flow_bind(int descriptor, const struct nwp_end *end) {
    struct sockaddr_storage storage;
    socklen_t size = write_address(&storage, end, family_of(descriptor));
    return result(bind(descriptor, (struct sockaddr *)&storage, size));
}

int nwp_flow_bind_path(int descriptor, const char *path) {
    struct sockaddr_un address;
    int code = unix_address(&address, path);
    return code < 0 ? code : result(bind(descriptor, (struct sockaddr *)&address, sizeof address));
}

int nwp_flow_connect(int descriptor, const struct nwp_end *end) {
    struct sockaddr_storage storage;
    socklen_t size = write_address(&storage, end, end->length == 4 ? AF_INET : AF_INET6);
    int code = result(connect(descriptor, (struct sockaddr *)&storage, size));
    if (code != -EINPROGRESS) return code;
    // The handshake with a peer on this machine is over by now, and the kernel reports it at a second call.
    code = result(connect(descriptor, (struct sockaddr *)&storage, size));
    return code == -EALREADY ? -EINPROGRESS : code;
}

int nwp_flow_connect_path(int descriptor, const char *path) {
    struct sockaddr_un address;
    int code = unix_address(&address, path);
    return code < 0 ? code : result(connect(descriptor, (struct sockaddr *)&address, sizeof address));
}

int nwp_flow_accept(int descriptor, struct nwp_end *peer) {
    struct sockaddr_storage storage = {0};
    int accepted;
    do {
        socklen_t size = sizeof storage;
        accepted = accept4(descriptor, (struct sockaddr *)&storage, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (accepted < 0 && (errno == EINTR || errno == ECONNABORTED));
    read_address(peer, &storage);
    return result(accepted);
}

int nwp_flow_end(int descriptor, int is_peer, struct nwp_end *end) {
    struct sockaddr_storage storage = {0};
    socklen_t size = sizeof storage;
    int code = is_peer ? getpeername(descriptor, (struct sockaddr *)&storage, &size)
                       : getsockname(descriptor, (struct sockaddr *)&storage, &size);
    read_address(end, &storage);
    return result(code);
}

int nwp_flow_option(int descriptor, int level, int option, int value) {
    return result(setsockopt(descriptor, level, option, &value, sizeof value));
}

int nwp_flow_value(int descriptor, int level, int option) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(descriptor, level, option, &value, &size) < 0 ? -errno : value;
}

int64_t nwp_flow_namespace(int descriptor) {
    uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    return getsockopt(descriptor, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) < 0 ? -errno : (int64_t)cookie;
}

int nwp_flow_device(int descriptor, const char *name) {
    return result(setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name)));
}

void nwp_flow_abort(int descriptor) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

long nwp_flow_read(int descriptor, void *buffer, size_t capacity) {
    ssize_t count;
    do {
        count = recv(descriptor, buffer, capacity, MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}

static void read_control(struct msghdr *message, struct nwp_flow_datagram *datagram) {
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        const void *data = CMSG_DATA(header);
        if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;
            memcpy(&info, data, sizeof info);
            memcpy(datagram->destination.bytes, &info.ipi_addr, 4);
            datagram->destination.length = 4;
            datagram->interface = (uint32_t)info.ipi_ifindex;
        } else if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
            struct in6_pktinfo info;
            memcpy(&info, data, sizeof info);
            int is_mapped = memcmp(&info.ipi6_addr, mapped, 12) == 0;
            memcpy(datagram->destination.bytes, info.ipi6_addr.s6_addr + (is_mapped ? 12 : 0), is_mapped ? 4 : 16);
            datagram->destination.length = is_mapped ? 4 : 16;
            datagram->interface = info.ipi6_ifindex;
        } else if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_TOS) {
            datagram->traffic_class = *(const uint8_t *)data;
        } else if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_TCLASS) {
            int value;
            memcpy(&value, data, sizeof value);
            datagram->traffic_class = value;
        } else if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec time;
            memcpy(&time, data, sizeof time);
            datagram->nanoseconds = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
        }
    }
}

long nwp_flow_receive(int descriptor, void *buffer, size_t capacity, struct nwp_flow_datagram *datagram) {
    struct sockaddr_storage storage = {0};
    union {
        struct cmsghdr header;
        char bytes[256];
    } control;
    struct iovec part = {.iov_base = buffer, .iov_len = capacity};
    ssize_t count;
    struct msghdr message;
    do {
        message = (struct msghdr){.msg_name = &storage, .msg_namelen = sizeof storage, .msg_iov = &part,
                                  .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        count = recvmsg(descriptor, &message, MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return -errno;
    memset(datagram, 0, sizeof *datagram);
    datagram->traffic_class = -1;
    datagram->truncated = (message.msg_flags & MSG_TRUNC) != 0;
    read_address(&datagram->source, &storage);
    read_control(&message, datagram);
    return count;
}

long nwp_flow_send(int descriptor, const void *bytes, size_t count, const struct nwp_end *to, const struct nwp_end *from) {
    struct sockaddr_storage storage;
    int family = family_of(descriptor);
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
    } control;
    memset(&control, 0, sizeof control);
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
    struct msghdr message = {.msg_name = &storage, .msg_namelen = write_address(&storage, to, family), .msg_iov = &part,
                             .msg_iovlen = 1};
    if (from->length) {
        message.msg_control = &control;
        struct cmsghdr *header = &control.header;
        if (family == AF_INET) {
            struct in_pktinfo info = {0};
            memcpy(&info.ipi_spec_dst, from->bytes, 4);
            message.msg_controllen = CMSG_SPACE(sizeof info);
            *header = (struct cmsghdr){CMSG_LEN(sizeof info), IPPROTO_IP, IP_PKTINFO};
            memcpy(CMSG_DATA(header), &info, sizeof info);
        } else {
            struct sockaddr_storage source;
            write_address(&source, from, AF_INET6);
            struct in6_pktinfo info = {.ipi6_addr = ((struct sockaddr_in6 *)&source)->sin6_addr};
            message.msg_controllen = CMSG_SPACE(sizeof info);
            *header = (struct cmsghdr){CMSG_LEN(sizeof info), IPPROTO_IPV6, IPV6_PKTINFO};
            memcpy(CMSG_DATA(header), &info, sizeof info);
        }
    }
    ssize_t sent;
    do {
        sent = sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

int nwp_flow_queued(int descriptor, int is_output) {
    int count = 0;
    return ioctl(descriptor, is_output ? SIOCOUTQ : SIOCINQ, &count) < 0 ? -errno : count;
}

int nwp_flow_tcp_state(int descriptor, struct nwp_tcp_state *state) {
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) < 0) return -errno;
    *state = (struct nwp_tcp_state){.bytes_sent = info.tcpi_bytes_sent,
                                    .bytes_retransmitted = info.tcpi_bytes_retrans,
                                    .bytes_received = info.tcpi_bytes_received,
                                    .round_trip = info.tcpi_rtt,
                                    .round_trip_variance = info.tcpi_rttvar,
                                    .shortest_round_trip = info.tcpi_min_rtt,
                                    .segments_received = info.tcpi_segs_in,
                                    .segments_sent = info.tcpi_segs_out,
                                    .out_of_order = info.tcpi_rcv_ooopack,
                                    .received_segment_size = info.tcpi_rcv_mss};
    return 0;
}
