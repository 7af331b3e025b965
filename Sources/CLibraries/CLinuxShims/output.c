// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_output.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/filter.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

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

static socklen_t make_loopback(target_t *target, int family) {
    const uint8_t address4[4] = {127, 0, 0, 1}, address6[16] = {[15] = 1};
    return make_target(target, family == AF_INET ? address4 : address6, family == AF_INET ? 4 : 16, 0, 0);
}

static int make_socket(int family, int protocol, int is_raw) {
    int type = is_raw ? SOCK_RAW : SOCK_DGRAM;
    int descriptor = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
    if (descriptor < 0 || !is_raw) return descriptor;
    // A raw socket receives all packets of its protocol, which nobody reads here.
    struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {.len = 1, .filter = &drop};
    setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
    return descriptor;
}

// The MTU of an interface; 0 when it is not there.
static int mtu_of(int descriptor, uint32_t interface) {
    struct ifreq request = {.ifr_ifindex = (int)interface};
    if (ioctl(descriptor, SIOCGIFNAME, &request) || ioctl(descriptor, SIOCGIFMTU, &request)) return 0;
    return request.ifr_mtu;
}

enum { oversize = 65000 };

// Whether what is sent is too large for an interface, or, without one, for all but the loopback interface.
static int is_too_large(int descriptor, uint32_t interface) {
    if (interface) {
        int mtu = mtu_of(descriptor, interface);
        return mtu > 0 && mtu <= oversize;
    }
    struct if_nameindex *all = if_nameindex();
    int result = all != NULL;
    for (struct if_nameindex *each = all; each && each->if_index; each++) {
        struct ifreq request = {0};
        strncpy(request.ifr_name, each->if_name, sizeof request.ifr_name - 1);
        int is_loopback = !ioctl(descriptor, SIOCGIFFLAGS, &request) && request.ifr_flags & IFF_LOOPBACK;
        if (!is_loopback && mtu_of(descriptor, each->if_index) > oversize) result = 0;
    }
    if (all) if_freenameindex(all);
    return result;
}

// What is sent: more than fits the MTU of any interface but the loopback interface, and nothing that can be compressed.
//
// From a raw socket it begins with the header of a first TCP segment or of a UDP datagram, whose checksum is wrong: no receiver
// accepts it or answers, and filters at the output hook ignore it. A source port of its own each time has no entry in
// the table of connections yet.
static uint8_t oversized[oversize];

static void fill_oversized(void) {
    uint32_t state = 2463534242u;
    for (size_t i = 0; i + 4 <= sizeof oversized; i += 4) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        memcpy(oversized + i, &state, 4);
    }
}

static uint32_t add(uint32_t sum, const void *bytes, size_t length) {
    uint16_t word;
    for (size_t i = 0; i + 2 <= length; i += 2) {
        memcpy(&word, (const uint8_t *)bytes + i, 2);
        sum += ntohs(word);
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    return sum;
}

// Writes a header from the socket's own address to the target; gives its length, 0 when there is none.
static size_t write_header(uint8_t *bytes, int descriptor, int protocol, const target_t *target, uint16_t port) {
    target_t own;
    socklen_t size = sizeof own;
    if (getsockname(descriptor, &own.any, &size)) return 0;
    uint8_t source[2] = {0x03, 0x03};
    if (getrandom(source, sizeof source, GRND_NONBLOCK) < 0) source[1] = 0x05;
    size_t length = protocol == IPPROTO_TCP ? 20 : 8;
    uint16_t whole = (uint16_t)(length + oversize);
    uint8_t header[20] = {source[0] | 0xC0, source[1], (uint8_t)(port >> 8), (uint8_t)port};
    if (protocol == IPPROTO_TCP) header[12] = 5 << 4, header[13] = 0x02, header[14] = 0xFF, header[15] = 0xFF;
    else header[4] = (uint8_t)(whole >> 8), header[5] = (uint8_t)whole;
    uint32_t sum = (uint32_t)protocol + whole;
    int is4 = own.any.sa_family == AF_INET;
    sum = add(sum, is4 ? (const void *)&own.in.sin_addr : (const void *)&own.in6.sin6_addr, is4 ? 4 : 16);
    sum = add(sum, is4 ? (const void *)&target->in.sin_addr : (const void *)&target->in6.sin6_addr, is4 ? 4 : 16);
    sum = add(add(sum, header, length), oversized, sizeof oversized);
    // Right but for one bit; of UDP 0 would be none, which 0xFFFF stands for.
    uint16_t wrong = (uint16_t)~sum ^ 0x0100;
    if (wrong == 0 || wrong == 0xFFFF) wrong ^= 0x0200;
    memcpy(header + (protocol == IPPROTO_TCP ? 16 : 6), (uint8_t[2]){(uint8_t)(wrong >> 8), (uint8_t)wrong}, 2);
    memcpy(bytes, header, length);
    return length;
}

// Connects a socket to nothing, which unbinds it too. Returns 0, or -1.
static int leave_peer(int descriptor, int interface) {
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    if (connect(descriptor, &none, sizeof none)) return -1;
    return setsockopt(descriptor, SOL_SOCKET, SO_BINDTOIFINDEX, &interface, sizeof interface);
}

// Sends a packet that is larger than the MTU and must not be fragmented: after all hooks the kernel drops it (EMSGSIZE).
//
// It is queued (MSG_MORE) while the socket may fragment, else it would be refused before the hooks; MSG_PROBE lets a queued
// packet go without another check of its size. IP_PMTUDISC_PROBE compares with the MTU of the interface, whatever the
// route has. Before the packet goes the socket is connected to another address, or to none where it is bound: the kernel would
// hold its own ICMP error for one about the path to the first, and of IPv6 for a confirmation of the neighbour
// (__ip6_rt_update_pmtu), so that a router that is gone stays reachable.
static int send_oversized(int descriptor, int protocol, const target_t *target, socklen_t length, uint16_t port, int is_raw,
                          int bound) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    enum { msg_probe = 0x10 };
    int family = target->any.sa_family, level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
    int option = family == AF_INET ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER;
    int fragments = family == AF_INET ? IP_PMTUDISC_WANT : IPV6_PMTUDISC_WANT;
    int never = family == AF_INET ? IP_PMTUDISC_PROBE : IPV6_PMTUDISC_PROBE;
    pthread_once(&once, fill_oversized);
    uint8_t header[20];
    size_t header_length = is_raw ? write_header(header, descriptor, protocol, target, port) : 0;
    if (is_raw && !header_length) return NWP_OUTPUT_UNKNOWN;
    struct iovec parts[2] = {{.iov_base = header, .iov_len = header_length},
                             {.iov_base = oversized, .iov_len = sizeof oversized}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    target_t loopback;
    socklen_t size = make_loopback(&loopback, family);
    if (setsockopt(descriptor, level, option, &fragments, sizeof fragments) ||
        sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_MORE) < 0 ||
        setsockopt(descriptor, level, option, &never, sizeof never) ||
        (bound ? leave_peer(descriptor, bound) : connect(descriptor, &loopback.any, size)))
        // What is queued is dropped with the socket.
        return NWP_OUTPUT_UNKNOWN;
    if (sendto(descriptor, "", 0, MSG_DONTWAIT | msg_probe, &target->any, length) >= 0) return NWP_OUTPUT_RELEASED;
    if (errno == EMSGSIZE) return NWP_OUTPUT_OPEN;
    if (errno == EPERM) return NWP_OUTPUT_FILTER;
    // Another error comes from the route of a marked packet, which without the bound interface may be another one.
    int is_refused = errno == EINVAL || errno == EACCES || errno == EHOSTUNREACH || errno == ENETUNREACH;
    return is_refused && !bound ? NWP_OUTPUT_FILTER : NWP_OUTPUT_UNKNOWN;
}

int nwp_test_output(int protocol, const uint8_t *address, int length, uint16_t port, uint32_t interface, int sends) {
    int family = length == 4 ? AF_INET : AF_INET6, index = (int)interface, is_raw = protocol == IPPROTO_TCP || !interface;
    int descriptor = make_socket(family, protocol, is_raw);
    if (descriptor < 0) return NWP_OUTPUT_UNKNOWN;
    target_t target;
    // IPv6 uses the port of a raw socket as its protocol.
    socklen_t size = make_target(&target, address, length, is_raw ? 0 : port, interface);
    int verdict = NWP_OUTPUT_UNKNOWN;
    // The interface keeps a rule that changes mark or destination from leading the packet to another one, such as the
    // loopback interface, whose MTU is larger.
    if (!interface || !setsockopt(descriptor, SOL_SOCKET, SO_BINDTOIFINDEX, &index, sizeof index)) {
        if (connect(descriptor, &target.any, size)) verdict = errno == EPERM ? NWP_OUTPUT_POLICY : NWP_OUTPUT_UNKNOWN;
        else if (sends && is_too_large(descriptor, interface))
            verdict = send_oversized(descriptor, protocol, &target, size, port, is_raw, index);
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
    int descriptor = make_socket(family, IPPROTO_UDP, 0);
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

// Reads a datagram of one byte: which parts of its header are as they were sent; a negative errno when none arrives.
static int kept_parts(int descriptor, int sent) {
    // It may be received on another processor.
    struct pollfd wait = {.fd = descriptor, .events = POLLIN};
    if (poll(&wait, 1, 20) <= 0) return -EAGAIN;
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {.iov_base = &byte, .iov_len = sizeof byte};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t count = recvmsg(descriptor, &message, MSG_DONTWAIT);
    if (count < 0) return -errno;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_len < CMSG_LEN(sizeof(int))) return -ENOMSG;
    int limit;
    memcpy(&limit, CMSG_DATA(header), sizeof limit);
    return (limit == sent ? NWP_KEEPS_HOP_LIMIT : 0) | (count == 1 ? NWP_KEEPS_DONT_FRAGMENT : 0);
}

// Cuts the payload off from IPv4 datagrams that may be fragmented.
static int mark_fragmentable(int descriptor) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, SKF_NET_OFF + 6),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x4000, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0xFFFF),
        BPF_STMT(BPF_RET | BPF_K, 8),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

int nwp_kept_header(int family) {
    int type = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    // Two sockets: what rewrites the source does not keep the datagram from arriving.
    int receiver = socket(family, type, 0), sender = socket(family, type, 0), one = 1, result;
    int is4 = family == AF_INET, level = is4 ? IPPROTO_IP : IPPROTO_IPV6, whole = IP_PMTUDISC_DO;
    target_t target;
    socklen_t size = make_loopback(&target, family);
    if (receiver < 0 || sender < 0 || bind(receiver, &target.any, size) || getsockname(receiver, &target.any, &size) ||
        (is4 && (mark_fragmentable(receiver) || setsockopt(sender, level, IP_MTU_DISCOVER, &whole, sizeof whole))) ||
        setsockopt(receiver, level, is4 ? IP_RECVTTL : IPV6_RECVHOPLIMIT, &one, sizeof one) ||
        setsockopt(sender, level, is4 ? IP_TTL : IPV6_UNICAST_HOPS, &one, sizeof one) ||
        sendto(sender, "", 1, MSG_DONTWAIT, &target.any, size) < 0)
        // What refuses this one refuses, and shows, what is tried next.
        result = errno == EPERM ? NWP_KEEPS_HOP_LIMIT | NWP_KEEPS_DONT_FRAGMENT : -errno;
    else
        result = kept_parts(receiver, one);
    if (receiver >= 0) close(receiver);
    if (sender >= 0) close(sender);
    return result;
}
