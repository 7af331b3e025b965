// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nwp_netlink.h"

int nwp_capture_open(const uint64_t *program, int count) {
    // Without a protocol it receives nothing until it is bound, and by then the program is attached.
    int descriptor = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    int code = nwp_attach_filter(descriptor, program, count);
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    if (code == 0 && bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0) code = -errno;
    if (code == 0) return descriptor;
    close(descriptor);
    return code;
}

long nwp_capture_receive(int descriptor, void *buffer, size_t capacity, struct nwp_capture_origin *origin) {
    struct sockaddr_ll address = {0};
    socklen_t size = sizeof address;
    ssize_t length;
    do {
        length = recvfrom(descriptor, buffer, capacity, MSG_DONTWAIT, (struct sockaddr *)&address, &size);
    } while (length < 0 && errno == EINTR);
    if (length < 0) return -errno;
    origin->interface = (uint32_t)address.sll_ifindex;
    origin->is_outgoing = address.sll_pkttype == PACKET_OUTGOING;
    // Reading resets it. What is dropped is dropped while others wait, of which one is read later.
    struct tpacket_stats statistics = {0};
    size = sizeof statistics;
    origin->has_gap = getsockopt(descriptor, SOL_PACKET, PACKET_STATISTICS, &statistics, &size) || statistics.tp_drops;
    return origin->is_outgoing || address.sll_pkttype == PACKET_HOST || origin->has_gap ? length : 0;
}
