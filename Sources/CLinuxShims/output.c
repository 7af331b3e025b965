// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_output.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
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

// A chain that marks packets has them routed again, which may be refused, too.
static int is_refused(long result) { return result < 0 && (errno == EPERM || errno == EACCES); }

static int refuses_group(int family, uint16_t port, uint32_t interface) {
    int descriptor = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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
        socklen_t size = family == AF_INET ? make_target(&group, all_hosts4, 4, port, interface)
                                           : make_target(&group, experiments6, 16, port, interface);
        refused = is_refused(sendto(descriptor, "", 0, MSG_DONTWAIT, &group.any, size));
    }
    close(descriptor);
    return refused;
}

static int refuses_address(int descriptor, int family) {
    int one = 1;
    int failed = family == AF_INET ? setsockopt(descriptor, IPPROTO_IP, IP_TTL, &one, sizeof one)
                                   : setsockopt(descriptor, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &one, sizeof one);
    return !failed && is_refused(send(descriptor, "", 0, MSG_DONTWAIT));
}

int nwp_test_output(const uint8_t *address, int length, uint16_t port, uint32_t interface, int confirms) {
    int family = length == 4 ? AF_INET : AF_INET6;
    int descriptor = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return NWP_OUTPUT_OPEN;
    target_t target;
    socklen_t size = make_target(&target, address, length, port, interface);
    int connected = connect(descriptor, &target.any, size);
    int verdict = NWP_OUTPUT_OPEN;
    if (connected < 0 && errno == EPERM) verdict = NWP_OUTPUT_REFUSED;
    else if (connected == 0 && refuses_group(family, port, interface)) {
        verdict = confirms && refuses_address(descriptor, family) ? NWP_OUTPUT_REFUSED : NWP_OUTPUT_DOUBTFUL;
    }
    close(descriptor);
    return verdict;
}
