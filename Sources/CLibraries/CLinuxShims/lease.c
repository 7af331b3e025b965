// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_lease.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int nwp_lease_open(uint32_t index) {
    // UDP, no later fragment, port 68: everything else is ignored.
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9),        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 6),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 6),        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1FFF, 4, 0),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),       BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 68, 0, 1), BPF_STMT(BPF_RET | BPF_K, 0xFFFF),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_ifindex = (int)index};
    int descriptor = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    // The filter comes first: what arrives before it would pass.
    if (setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0 ||
        bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0) {
        int failure = errno;
        close(descriptor);
        return -failure;
    }
    return descriptor;
}

long nwp_lease_broadcast(int descriptor, uint32_t index, const void *bytes, size_t count) {
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_ifindex = (int)index, .sll_halen = 6};
    memset(address.sll_addr, 0xFF, 6);
    long sent = sendto(descriptor, bytes, count, MSG_DONTWAIT, (struct sockaddr *)&address, sizeof address);
    return sent < 0 ? -errno : sent;
}
