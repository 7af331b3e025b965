// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#include "CMicrohttpdShims.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { field_capacity = 16, most_ticks = 16, memory_limit = 16384 };

struct test {
    struct nwp_http_outcome *outcome;
    uintptr_t target;
    size_t target_length;
    int is_over;
};

static void *opened(void *context, int descriptor) {
    (void)descriptor;
    return context;
}

static void closed(void *context, void *connection) {
    struct test *test = context;
    (void)connection;
    test->is_over = 1;
}

static void *target(void *context, void *connection, const char *target) {
    struct test *test = context;
    (void)connection;
    test->target = (uintptr_t)target;
    test->target_length = strlen(target);
    return test;
}

static int request(void *context, void *request, struct MHD_Connection *raw, const char *method, const char *version,
                   const char *body, size_t *size) {
    struct test *test = context;
    struct nwp_http_field fields[field_capacity];
    struct nwp_http_head head;
    (void)request;
    (void)body;
    (void)size;
    nwp_http_read_head(raw, method, test->target, test->target_length, version, fields, field_capacity, &head);
    test->outcome->is_reached = 1;
    test->outcome->fields = head.count;
    test->outcome->hides = head.hidden_in_line != 0;
    for (int index = 0; index < head.count && index < field_capacity; index++)
        if (fields[index].trailing != 2) test->outcome->hides = 1;
    return 0;
}

static void completed(void *context, void *request) {
    (void)context;
    (void)request;
}

static void refused(void *context, unsigned status) {
    struct test *test = context;
    test->outcome->logged = status;
}

static unsigned answer(int descriptor) {
    char text[64] = {0};
    unsigned status = 0;
    if (recv(descriptor, text, sizeof text - 1, MSG_DONTWAIT) <= 0) return 0;
    return sscanf(text, "HTTP/1.%*1u %3u", &status) == 1 ? status : 0;
}

int nwp_http_try(const char *bytes, size_t count, struct nwp_http_outcome *outcome) {
    const struct nwp_http_handlers handlers = {
        .opened = opened, .closed = closed, .target = target,
        .request = request, .completed = completed, .refused = refused,
    };
    struct test test = {outcome, 0, 0, 0};
    int ends[2];
    memset(outcome, 0, sizeof *outcome);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return 0;
    struct nwp_http *http = nwp_http_start(&handlers, &test, 1, memory_limit, 0);
    int is_sent = send(ends[0], bytes, count, MSG_NOSIGNAL) == (ssize_t)count && shutdown(ends[0], SHUT_WR) == 0;
    int is_tried = http && is_sent && nwp_http_add(http, ends[1]);
    // Whoever was given a descriptor has closed it.
    if (!http || !is_sent) close(ends[1]);
    for (int tick = 0; is_tried && tick < most_ticks && !outcome->is_reached && !test.is_over; tick++)
        nwp_http_run(http);
    outcome->answered = answer(ends[0]);
    // Read before the end, which closes every connection.
    outcome->is_refused = !outcome->is_reached && (test.is_over || outcome->answered >= 400);
    if (http) nwp_http_stop(http);
    close(ends[0]);
    return is_tried;
}

const char *nwp_http_version(void) { return MHD_get_version(); }
