// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_source.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int connect_and_read(int descriptor, const uint8_t *address, int length, uint16_t port, uint32_t interface,
                            uint8_t *source) {
    char name[IF_NAMESIZE];
    if (interface) {
        if (!if_indextoname(interface, name)) return -errno;
        if (setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name)) < 0) return -errno;
    }
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = interface};
    if (length == 4) memcpy(&in.sin_addr, address, 4);
    else memcpy(&in6.sin6_addr, address, 16);
    void *target = length == 4 ? (void *)&in : (void *)&in6;
    socklen_t size = length == 4 ? sizeof in : sizeof in6;
    if (connect(descriptor, target, size) < 0) return -errno;
    if (getsockname(descriptor, target, &size) < 0) return -errno;
    memcpy(source, length == 4 ? (void *)&in.sin_addr : (void *)&in6.sin6_addr, (size_t)length);
    return 0;
}

int nwp_connected_source(const uint8_t *address, int length, uint16_t port, uint32_t interface, uint8_t *source) {
    int descriptor = socket(length == 4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    int code = connect_and_read(descriptor, address, length, port, interface, source);
    close(descriptor);
    return code;
}

