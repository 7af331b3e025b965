// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_discard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int nwp_send_discard(const uint8_t *address, int length, uint32_t interface) {
    int family = length == 4 ? AF_INET : AF_INET6;
    int descriptor = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    // Routes decide where the kernel does not let us choose the interface.
    if (family == AF_INET) {
        uint32_t index = htonl(interface);
        setsockopt(descriptor, IPPROTO_IP, IP_UNICAST_IF, &index, sizeof index);
    }
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(9), .sin6_scope_id = interface};
    if (family == AF_INET) memcpy(&in.sin_addr, address, 4);
    else memcpy(&in6.sin6_addr, address, 16);
    const void *target = family == AF_INET ? (const void *)&in : (const void *)&in6;
    socklen_t size = family == AF_INET ? sizeof in : sizeof in6;
    long sent = sendto(descriptor, "", 0, MSG_DONTWAIT, target, size);
    int code = sent < 0 ? -errno : 0;
    close(descriptor);
    return code;
}
