// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_resolve.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { most_running = 16, most_addresses = 16 };

struct nwp_resolution {
    atomic_int owners;
    /// Set before the descriptor is ready: what is below is the thread's until then, the caller's from then on.
    atomic_bool is_done;
    int descriptor;
    int family;
    int code;
    int count;
    struct nwp_resolved found[most_addresses];
    char host[256];
};

static atomic_int running;

void nwp_resolve_release(struct nwp_resolution *resolution) {
    if (atomic_fetch_sub(&resolution->owners, 1) > 1) return;
    close(resolution->descriptor);
    free(resolution);
}

static void keep(struct nwp_resolution *resolution, const struct addrinfo *entry) {
    if (resolution->count == most_addresses) return;
    struct nwp_resolved *found = &resolution->found[resolution->count];
    if (entry->ai_family == AF_INET) {
        memcpy(found->bytes, &((const struct sockaddr_in *)entry->ai_addr)->sin_addr, 4);
        found->length = 4;
    } else if (entry->ai_family == AF_INET6) {
        memcpy(found->bytes, &((const struct sockaddr_in6 *)entry->ai_addr)->sin6_addr, 16);
        found->length = 16;
        found->scope = ((const struct sockaddr_in6 *)entry->ai_addr)->sin6_scope_id;
    } else {
        return;
    }
    resolution->count++;
}

static void *look_up(void *context) {
    struct nwp_resolution *resolution = context;
    struct addrinfo hints = {.ai_family = resolution->family, .ai_socktype = SOCK_STREAM}, *list = 0;
    resolution->code = getaddrinfo(resolution->host, 0, &hints, &list);
    for (struct addrinfo *entry = list; entry && !resolution->code; entry = entry->ai_next) keep(resolution, entry);
    if (list) freeaddrinfo(list);
    atomic_store(&resolution->is_done, true);
    eventfd_write(resolution->descriptor, 1);
    nwp_resolve_release(resolution);
    atomic_fetch_sub(&running, 1);
    return 0;
}

/// Starts a detached thread that blocks all signals: those belong to the loop.
static int start(struct nwp_resolution *resolution) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 512 * 1024);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&thread, &attributes, look_up, resolution);
    pthread_sigmask(SIG_SETMASK, &before, 0);
    pthread_attr_destroy(&attributes);
    return code;
}

int nwp_resolve_start(const char *host, int family, struct nwp_resolution **result) {
    if (strlen(host) >= sizeof((struct nwp_resolution *)0)->host) return -EINVAL;
    if (atomic_fetch_add(&running, 1) >= most_running) {
        atomic_fetch_sub(&running, 1);
        return -EAGAIN;
    }
    struct nwp_resolution *resolution = calloc(1, sizeof *resolution);
    int code = resolution ? 0 : ENOMEM;
    if (resolution) {
        atomic_init(&resolution->owners, 2);
        resolution->family = family;
        strcpy(resolution->host, host);
        resolution->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        code = resolution->descriptor < 0 ? errno : start(resolution);
    }
    if (code == 0) {
        *result = resolution;
        return resolution->descriptor;
    }
    atomic_fetch_sub(&running, 1);
    if (resolution && resolution->descriptor >= 0) close(resolution->descriptor);
    free(resolution);
    return -code;
}

int nwp_resolve_result(struct nwp_resolution *resolution, struct nwp_resolved *entries, int capacity) {
    if (!atomic_load(&resolution->is_done)) return EAI_INPROGRESS;
    if (resolution->code) return resolution->code < 0 ? resolution->code : -resolution->code;
    int count = resolution->count < capacity ? resolution->count : capacity;
    memcpy(entries, resolution->found, (size_t)count * sizeof *entries);
    return count;
}

const char *nwp_resolve_text(int result) { return gai_strerror(result); }
