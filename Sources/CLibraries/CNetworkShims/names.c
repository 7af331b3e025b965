// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_names.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

int nwp_service_port(const char *name) {
    struct servent storage, *found = NULL;
    char buffer[2048];
    if (getservbyname_r(name, "tcp", &storage, buffer, sizeof buffer, &found) == 0 && found)
        return ntohs((uint16_t)found->s_port);
    if (getservbyname_r(name, "udp", &storage, buffer, sizeof buffer, &found) == 0 && found)
        return ntohs((uint16_t)found->s_port);
    return -1;
}

void nwp_thread_name(const char *name) { pthread_setname_np(pthread_self(), name); }

uint64_t nwp_namespace(void) {
    // The target, such as `net:[4026531840]`, is cheaper to have than the status of the file.
    char target[32];
    ssize_t length = readlink("/proc/thread-self/ns/net", target, sizeof target - 1);
    if (length < 6) return 0;
    target[length] = 0;
    return strtoull(target + 5, NULL, 10);
}
