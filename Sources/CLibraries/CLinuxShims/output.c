// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_output.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// A TTL of 0 keeps at home what goes to a group that the host is in, as all hosts are in this one (RFC 1112); others leave.
static const uint8_t all_hosts4[4] = {224, 0, 0, 1};
// Of interface-local scope, which never leaves (RFC 4291 section 2.7), for experiments (RFC 4727).
static const uint8_t experiments6[16] = {0xFF, 0x01, [14] = 0x01, 0x14};

typedef union {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
} target_t;

static socklen_t make_target(target_t *target, const uint8_t *address, int length, uint16_t port, uint32_t interface) {
    memset(target, 0, sizeof *target);
    if (length == 4) {
        target->in.sin_family = AF_INET;
        target->in.sin_port = htons(port);
        memcpy(&target->in.sin_addr, address, 4);
        return sizeof target->in;
    }
    target->in6.sin6_family = AF_INET6;
    target->in6.sin6_port = htons(port);
    memcpy(&target->in6.sin6_addr, address, 16);
    if (IN6_IS_ADDR_LINKLOCAL(&target->in6.sin6_addr) || IN6_IS_ADDR_MULTICAST(&target->in6.sin6_addr))
        target->in6.sin6_scope_id = interface;
    return sizeof target->in6;
}

// What is sent: an empty UDP datagram, or of TCP the first segment of a connection, by a raw socket.
//
// Its checksum of 0 keeps a receiver from answering; filters at the output hook do not look at it.
static const uint8_t tcp_source_port[2] = {0xF0, 0x03};
typedef struct {
    uint8_t bytes[20];
    size_t size;
} payload_t;

static payload_t make_payload(int protocol, uint16_t port) {
    payload_t payload = {.size = 0};
    if (protocol != IPPROTO_TCP) return payload;
    uint8_t header[20] = {
        [0] = tcp_source_port[0], tcp_source_port[1], (uint8_t)(port >> 8), (uint8_t)port,
        [12] = 5 << 4, [13] = 0x02, [14] = 0xFF, 0xFF,
    };
    memcpy(payload.bytes, header, sizeof header);
    payload.size = sizeof header;
    return payload;
}

static int make_socket(int family, int protocol) {
    int type = protocol == IPPROTO_TCP ? SOCK_RAW : SOCK_DGRAM;
    int descriptor = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
    if (descriptor < 0 || type != SOCK_RAW) return descriptor;
    // A raw socket hears all that comes in of its protocol, which nobody reads here.
    struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {.len = 1, .filter = &drop};
    setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
    return descriptor;
}

static int refuses_group(int family, int protocol, uint16_t port, uint32_t interface) {
    int descriptor = make_socket(family, protocol);
    if (descriptor < 0) return 0;
    int none = 0, index = (int)interface;
    struct ip_mreqn by = {.imr_ifindex = index};
    int failed = family == AF_INET
        ? setsockopt(descriptor, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by) |
          setsockopt(descriptor, IPPROTO_IP, IP_MULTICAST_TTL, &none, sizeof none) |
          setsockopt(descriptor, IPPROTO_IP, IP_MULTICAST_LOOP, &none, sizeof none)
        : setsockopt(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index, sizeof index) |
          setsockopt(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &none, sizeof none) |
          setsockopt(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &none, sizeof none);
    int refused = 0;
    // Without the TTL of 0 it would leave.
    if (!failed) {
        target_t group;
        // IPv6 takes the port of a raw socket for its protocol.
        uint16_t to = protocol == IPPROTO_TCP ? 0 : port;
        socklen_t size = family == AF_INET ? make_target(&group, all_hosts4, 4, to, interface)
                                           : make_target(&group, experiments6, 16, to, interface);
        payload_t payload = make_payload(protocol, port);
        long sent = sendto(descriptor, payload.bytes, payload.size, MSG_DONTWAIT, &group.any, size);
        // A chain that marks packets has them routed again, which may be refused, too.
        refused = sent < 0 && (errno == EPERM || errno == EACCES);
    }
    close(descriptor);
    return refused;
}

static int refuses_address(int descriptor, int family, payload_t payload) {
    int one = 1;
    if (family == AF_INET ? setsockopt(descriptor, IPPROTO_IP, IP_TTL, &one, sizeof one)
                          : setsockopt(descriptor, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &one, sizeof one))
        return 0;
    if (send(descriptor, payload.bytes, payload.size, MSG_DONTWAIT) >= 0) return 0;
    // The way of a marked packet may fail as any other.
    return errno == EPERM || errno == EACCES || errno == EINVAL || errno == EHOSTUNREACH || errno == ENETUNREACH;
}

int nwp_test_output(int protocol, const uint8_t *address, int length, uint16_t port, uint32_t interface, int effort) {
    int family = length == 4 ? AF_INET : AF_INET6;
    int descriptor = make_socket(family, protocol);
    if (descriptor < 0) return NWP_OUTPUT_UNKNOWN;
    target_t target;
    socklen_t size = make_target(&target, address, length, protocol == IPPROTO_TCP ? 0 : port, interface);
    int connected = connect(descriptor, &target.any, size);
    int verdict = NWP_OUTPUT_OPEN;
    if (connected < 0 && errno == EPERM) verdict = NWP_OUTPUT_POLICY;
    else if (effort == NWP_OUTPUT_CONNECTS) verdict = NWP_OUTPUT_UNKNOWN;
    else if (connected == 0 && (effort == NWP_OUTPUT_SENDS || refuses_group(family, protocol, port, interface))) {
        int refused = effort != NWP_OUTPUT_STAYS && refuses_address(descriptor, family, make_payload(protocol, port));
        verdict = refused ? NWP_OUTPUT_FILTER : effort == NWP_OUTPUT_SENDS ? NWP_OUTPUT_OPEN : NWP_OUTPUT_DOUBTFUL;
    }
    close(descriptor);
    return verdict;
}

// The errno of an ICMP error "destination unreachable" that this machine itself sent to a connected socket; 0 without one.
//
// A tunnel that drops a packet makes one that is queued before send(2) returns. What a router sends, such as that the TTL was
// exceeded, shows that the packet left.
static int own_icmp_error(int descriptor, int family) {
    union {
        char bytes[256];
        struct cmsghdr header;
    } control;
    struct msghdr message = {.msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    if (recvmsg(descriptor, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return 0;
    target_t own, offender;
    socklen_t size = sizeof own;
    if (getsockname(descriptor, &own.any, &size)) return 0;
    for (struct cmsghdr *each = CMSG_FIRSTHDR(&message); each; each = CMSG_NXTHDR(&message, each)) {
        struct sock_extended_err error;
        if (each->cmsg_len < CMSG_LEN(sizeof error + sizeof(struct sockaddr_in))) continue;
        memcpy(&error, CMSG_DATA(each), sizeof error);
        size_t left = each->cmsg_len - CMSG_LEN(sizeof error);
        memset(&offender, 0, sizeof offender);
        memcpy(&offender, (char *)CMSG_DATA(each) + sizeof error, left < sizeof offender ? left : sizeof offender);
        int is4 = error.ee_origin == SO_EE_ORIGIN_ICMP && error.ee_type == 3 && family == AF_INET;
        int is6 = error.ee_origin == SO_EE_ORIGIN_ICMP6 && error.ee_type == 1 && family == AF_INET6;
        if (is4 && offender.in.sin_addr.s_addr == own.in.sin_addr.s_addr) return (int)error.ee_errno;
        if (is6 && IN6_ARE_ADDR_EQUAL(&offender.in6.sin6_addr, &own.in6.sin6_addr)) return (int)error.ee_errno;
    }
    return 0;
}

int nwp_test_tunnel(const uint8_t *address, int length) {
    int family = length == 4 ? AF_INET : AF_INET6, one = 1, result = 0;
    int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
    int descriptor = make_socket(family, IPPROTO_UDP);
    if (descriptor < 0) return 0;
    target_t target;
    socklen_t size = make_target(&target, address, length, 443, 0);
    if (!setsockopt(descriptor, level, family == AF_INET ? IP_TTL : IPV6_UNICAST_HOPS, &one, sizeof one) &&
        !setsockopt(descriptor, level, family == AF_INET ? IP_RECVERR : IPV6_RECVERR, &one, sizeof one) &&
        !connect(descriptor, &target.any, size)) {
        if (send(descriptor, "", 0, MSG_DONTWAIT) < 0) result = errno;
        else result = own_icmp_error(descriptor, family);
    }
    close(descriptor);
    return result;
}

static int received_hop_limit(int descriptor) {
    // The datagram may be received on another processor.
    struct pollfd wait = {.fd = descriptor, .events = POLLIN};
    if (poll(&wait, 1, 20) <= 0) return -EAGAIN;
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {.iov_base = &byte, .iov_len = sizeof byte};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    if (recvmsg(descriptor, &message, MSG_DONTWAIT) < 0) return -errno;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_len < CMSG_LEN(sizeof(int))) return -ENOMSG;
    int limit;
    memcpy(&limit, CMSG_DATA(header), sizeof limit);
    return limit;
}

int nwp_keeps_hop_limit(int family) {
    int type = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    // Two sockets: what rewrites the source does not keep the datagram from arriving.
    int receiver = socket(family, type, 0), sender = socket(family, type, 0), one = 1, result;
    int is4 = family == AF_INET, level = is4 ? IPPROTO_IP : IPPROTO_IPV6;
    const uint8_t loopback4[4] = {127, 0, 0, 1}, loopback6[16] = {[15] = 1};
    target_t target;
    socklen_t size = make_target(&target, is4 ? loopback4 : loopback6, is4 ? 4 : 16, 0, 0);
    if (receiver < 0 || sender < 0 || bind(receiver, &target.any, size) || getsockname(receiver, &target.any, &size) ||
        setsockopt(receiver, level, is4 ? IP_RECVTTL : IPV6_RECVHOPLIMIT, &one, sizeof one) ||
        setsockopt(sender, level, is4 ? IP_TTL : IPV6_UNICAST_HOPS, &one, sizeof one) ||
        sendto(sender, "", 1, MSG_DONTWAIT, &target.any, size) < 0)
        // What refuses this one refuses, and shows, what is tried next.
        result = errno == EPERM ? 1 : -errno;
    else {
        int limit = received_hop_limit(receiver);
        result = limit < 0 ? limit : limit == one;
    }
    if (receiver >= 0) close(receiver);
    if (sender >= 0) close(sender);
    return result;
}
