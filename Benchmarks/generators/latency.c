// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// Changes the default route, waits until every listener's line tells of it, and prints how long each took.
#include "netlink.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>

#define MOST_LISTENERS 4

// Where a program tells what it heard: a descriptor that this one inherited, or a file, which inotify watches.
struct listener {
    const char *event;
    int source, notice;
    long long seen;
    size_t held;
    char text[1 << 17];
};

static struct batch batch;
static struct listener listeners[MOST_LISTENERS];
static int count_of_listeners;

static void listener_open(struct listener *listener, const char *event, const char *source) {
    listener->event = event;
    listener->notice = -1;
    if (strspn(source, "0123456789") == strlen(source)) {
        listener->source = (int)number(source, 0, 1 << 20);
        return;
    }
    listener->source = open(source, O_RDONLY | O_CLOEXEC);
    listener->notice = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (listener->source < 0 || listener->notice < 0 || inotify_add_watch(listener->notice, source, IN_MODIFY) < 0)
        err(1, "%s", source);
}

// True once a complete line holds both words; lines that were looked at are dropped.
static int line_tells(struct listener *listener, const char *gateway_text) {
    int told = 0;
    char *text = listener->text, *line = text, *end;
    while ((end = memchr(line, '\n', listener->held - (size_t)(line - text))) != NULL) {
        *end = 0;
        if (strstr(line, listener->event) != NULL && strstr(line, gateway_text) != NULL) told = 1;
        line = end + 1;
    }
    listener->held -= (size_t)(line - text);
    memmove(text, line, listener->held);
    if (listener->held == sizeof listener->text) listener->held = 0; // a line longer than any of ours
    return told;
}

// Reads what a listener told, once poll(2) says that there is something; notes when it told of this gateway.
static void listener_read(struct listener *listener, const char *gateway_text) {
    char notices[4096];
    if (listener->notice >= 0 && read(listener->notice, notices, sizeof notices) < 0 && errno != EAGAIN)
        err(1, "inotify");
    do {
        ssize_t got = read(listener->source, listener->text + listener->held, sizeof listener->text - listener->held);
        if (got < 0) err(1, "read");
        if (got == 0) {
            if (listener->notice < 0) errx(1, "a listener closed its output");
            return;
        }
        long long now = now_ns();
        listener->held += (size_t)got;
        if (line_tells(listener, gateway_text) && listener->seen == 0) listener->seen = now;
    } while (listener->notice >= 0);
}

// Reads until all have told of the gateway, or the time is over; without a gateway what there is at this moment.
static void listen_until(long long end, const char *gateway_text) {
    for (;;) {
        struct pollfd wanted[MOST_LISTENERS];
        int waiting = 0;
        for (int i = 0; i < count_of_listeners; i++) {
            struct listener *listener = &listeners[i];
            int descriptor = listener->notice < 0 ? listener->source : listener->notice;
            wanted[i] = (struct pollfd){.fd = listener->seen != 0 ? -1 : descriptor, .events = POLLIN};
            waiting += listener->seen == 0;
        }
        long long left = (end - now_ns() + 999999) / 1000000;
        if (waiting == 0 || poll(wanted, (nfds_t)count_of_listeners, left < 0 ? 0 : (int)left) == 0) return;
        for (int i = 0; i < count_of_listeners; i++)
            if (wanted[i].revents != 0) listener_read(&listeners[i], gateway_text);
    }
}

int main(int count, char **words) {
    if (count < 7 || count % 2 == 0 || count > 5 + 2 * MOST_LISTENERS) {
        fprintf(stderr, "usage: latency CHANGES GAP-US LIMIT-MS UPLINK (EVENT DESCRIPTOR|FILE)...\n");
        return 2;
    }
    long changes = number(words[1], 1, 10000), gap = number(words[2], 0, 10000000);
    long limit = number(words[3], 1, 60000);
    unsigned uplink = device_index(words[4]);
    for (int i = 5; i < count; i += 2) listener_open(&listeners[count_of_listeners++], words[i], words[i + 1]);
    batch_open(&batch);
    srandom(1);
    for (long change = 0; change < changes; change++) {
        char via[INET_ADDRSTRLEN];
        struct in_addr address = gateway(change, via);
        // What follows the line of the last change is read now: later it would keep the processor from the listeners.
        sleep_until_ns(now_ns() + 1000000);
        for (int i = 0; i < count_of_listeners; i++) listeners[i].seen = 0;
        listen_until(0, "\n");
        // A pause of half to one and a half gaps keeps the changes from falling into step with a timer.
        sleep_until_ns(now_ns() + gap * 500 + random() % (gap + 1) * 1000);
        batch_default(&batch, uplink, address);
        long long before = now_ns();
        batch_hand_over(&batch);
        long long after = now_ns();
        if (batch_result(&batch) != 0) errx(1, "default route via %s refused", via);
        listen_until(before + limit * 1000000LL, via);
        printf("%lld", after - before);
        for (int i = 0; i < count_of_listeners; i++)
            printf(" %lld", listeners[i].seen == 0 ? -1 : listeners[i].seen - before);
        printf("\n");
    }
    return 0;
}
