// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// Changes the default route, waits until a line tells of it, and prints how long that took.
#include "netlink.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>

static struct batch batch;
static char text[1 << 17];
static size_t held;

// True once a complete line holds both words; lines that were looked at are dropped.
static int line_tells(const char *event, const char *gateway_text) {
    int told = 0;
    char *line = text, *end;
    while ((end = memchr(line, '\n', held - (size_t)(line - text))) != NULL) {
        *end = 0;
        if (strstr(line, event) != NULL && strstr(line, gateway_text) != NULL) told = 1;
        line = end + 1;
    }
    held -= (size_t)(line - text);
    memmove(text, line, held);
    if (held == sizeof text) held = 0; // a line longer than any of ours
    return told;
}

// Reads until a line tells; the time it was seen, or 0 after `limit_ms`.
static long long await_line(int source, int notice, const char *event, const char *gateway_text, long limit_ms) {
    long long end = now_ns() + limit_ms * 1000000LL;
    char notices[4096];
    for (;;) {
        if (notice < 0) {
            struct pollfd wanted = {.fd = source, .events = POLLIN};
            long long left = (end - now_ns()) / 1000000 + 1;
            if (left <= 0 || poll(&wanted, 1, (int)left) == 0) return 0;
        }
        ssize_t got = read(source, text + held, sizeof text - held);
        if (got < 0 && errno != EINTR) err(1, "read");
        if (got > 0) {
            long long seen = now_ns();
            held += (size_t)got;
            if (line_tells(event, gateway_text)) return seen;
        } else if (got == 0) {
            if (notice < 0) errx(1, "the listener closed its output");
            struct pollfd wanted = {.fd = notice, .events = POLLIN};
            long long left = (end - now_ns()) / 1000000 + 1;
            if (left <= 0 || poll(&wanted, 1, (int)left) == 0) return 0;
            if (read(notice, notices, sizeof notices) < 0) err(1, "inotify");
        }
    }
}

int main(int count, char **words) {
    if (count != 6 && count != 7) {
        fprintf(stderr, "usage: latency CHANGES GAP-US LIMIT-MS UPLINK EVENT [FILE]   (without FILE: reads stdin)\n");
        return 2;
    }
    long changes = number(words[1], 1, 10000), gap = number(words[2], 0, 10000000);
    long limit = number(words[3], 1, 60000);
    unsigned uplink = device_index(words[4]);
    int source = STDIN_FILENO, notice = -1;
    if (count == 7) {
        source = open(words[6], O_RDONLY | O_CLOEXEC);
        notice = inotify_init1(IN_CLOEXEC);
        if (source < 0 || notice < 0 || inotify_add_watch(notice, words[6], IN_MODIFY) < 0) err(1, "%s", words[6]);
        if (lseek(source, 0, SEEK_END) < 0) err(1, "%s", words[6]);
    }
    batch_open(&batch);
    srandom(1);
    for (long change = 0; change < changes; change++) {
        char via[INET_ADDRSTRLEN];
        struct in_addr address = gateway(change, via);
        // A pause of half to one and a half gaps keeps the changes from falling into step with a timer.
        sleep_until_ns(now_ns() + gap * 500 + random() % (gap + 1) * 1000);
        batch_default(&batch, uplink, address);
        long long before = now_ns();
        batch_hand_over(&batch);
        long long after = now_ns();
        if (batch_result(&batch) != 0) errx(1, "default route via %s refused", via);
        long long seen = await_line(source, notice, words[5], via, limit);
        printf("%lld %lld\n", after - before, seen == 0 ? -1 : seen - before);
    }
    return 0;
}
