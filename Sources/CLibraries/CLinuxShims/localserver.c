// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_local_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int nwp_ask_local_server(const uint8_t *address, int length, const uint8_t *question, int size) {
    int descriptor = socket(length == 4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(53)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(53)};
    if (length == 4) memcpy(&in.sin_addr, address, 4);
    else memcpy(&in6.sin6_addr, address, 16);
    const void *target = length == 4 ? (const void *)&in : (const void *)&in6;
    // No router is asked, whatever the routes say.
    int code = setsockopt(descriptor, SOL_SOCKET, SO_DONTROUTE, &(int){1}, sizeof(int));
    if (!code) code = connect(descriptor, target, length == 4 ? sizeof in : sizeof in6);
    if (!code && send(descriptor, question, (size_t)size, 0) < 0) code = -1;
    if (!code) return descriptor;
    code = -errno;
    close(descriptor);
    return code;
}
