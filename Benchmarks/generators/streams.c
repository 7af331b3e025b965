// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// Holds event streams open, and prints for each change of the path when the first and the last of them knew.
#include "netlink.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

static const char event[] = "\"event\":\"path.changed\"";

struct client {
    int descriptor;
    int open;
    long told;        // changes it was told of
    size_t matched;   // how much of `event` the bytes so far end with
    long payload;     // bytes left of the frame in hand
    int head;         // bytes held of a frame's head
    uint8_t bytes[4];
};

static struct client *clients;
static int web_socket, loop;
static long changes, count;

struct change {
    long clients;
    long long first, last;
};
static struct change *seen;

static long long wall_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void request(struct client *client, int port) {
    char text[512];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    client->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->descriptor < 0 || connect(client->descriptor, (struct sockaddr *)&address, sizeof address) < 0)
        err(1, "connect");
    int length = web_socket
        ? snprintf(text, sizeof text, "GET /api/v1/events/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                   "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        : snprintf(text, sizeof text, "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n"
                   "Accept: text/event-stream\r\n\r\n");
    if (write(client->descriptor, text, (size_t)length) != length) err(1, "write");
    struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = client};
    if (epoll_ctl(loop, EPOLL_CTL_ADD, client->descriptor, &wanted) < 0) err(1, "epoll_ctl");
}

// Walks over the heads of frames, so that pings are found and answered; payloads are looked at by `look`.
static void walk(struct client *client, const uint8_t *bytes, size_t length) {
    static const uint8_t pong[6] = {0x8A, 0x80};
    while (length > 0) {
        if (client->payload > 0) {
            size_t part = (long)length < client->payload ? length : (size_t)client->payload;
            client->payload -= (long)part;
            bytes += part, length -= part;
            continue;
        }
        client->bytes[client->head++] = *bytes++;
        length--;
        if (client->head < 2) continue;
        int size = client->bytes[1] & 0x7F;
        if (size == 127) errx(1, "a frame of more than 64 KiB");
        if (size == 126 && client->head < 4) continue;
        client->payload = size == 126 ? client->bytes[2] << 8 | client->bytes[3] : size;
        client->head = 0;
        if (client->bytes[0] == 0x89 && write(client->descriptor, pong, sizeof pong) < 0) err(1, "pong");
        if (client->bytes[0] == 0x88) errx(1, "the service closed a stream");
    }
}

static void look(struct client *client, const char *bytes, size_t length, long long now) {
    for (size_t index = 0; index < length; index++) {
        client->matched = bytes[index] == event[client->matched] ? client->matched + 1 : bytes[index] == event[0];
        if (client->matched < sizeof event - 1) continue;
        client->matched = 0;
        if (client->told == changes) continue;
        struct change *change = &seen[client->told++];
        if (change->clients++ == 0) change->first = now;
        change->last = now;
        if (change->clients == count) {
            printf("%lld %lld\n", change->first, change->last);
            fflush(stdout);
        }
    }
}

static void take(struct client *client, long *open) {
    static char bytes[65536];
    ssize_t length = recv(client->descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
    long long now = wall_ns();
    if (length < 0 && errno == EAGAIN) return;
    if (length <= 0) errx(1, "a stream ended: %s", length < 0 ? strerror(errno) : "closed");
    char *start = bytes;
    if (!client->open) {
        // The head of the answer comes in one piece: it is far smaller than a segment.
        const char *good = web_socket ? "HTTP/1.1 101 " : "HTTP/1.1 200 ";
        start = memmem(bytes, (size_t)length, "\r\n\r\n", 4);
        if (strncmp(bytes, good, strlen(good)) != 0 || start == NULL) errx(1, "refused: %.60s", bytes);
        start += 4;
        client->open = 1;
        ++*open;
    }
    size_t rest = (size_t)(bytes + length - start);
    if (web_socket) walk(client, (uint8_t *)start, rest);
    look(client, start, rest, now);
}

int main(int words_count, char **words) {
    if (words_count != 5 || (strcmp(words[1], "sse") != 0 && strcmp(words[1], "ws") != 0)) {
        fprintf(stderr, "usage: streams sse|ws CLIENTS PORT CHANGES   (ends after the changes, or with its input)\n");
        return 2;
    }
    web_socket = strcmp(words[1], "ws") == 0;
    count = number(words[2], 1, 100000);
    changes = number(words[4], 0, 100000);
    clients = calloc((size_t)count, sizeof *clients);
    seen = calloc((size_t)changes + 1, sizeof *seen);
    loop = epoll_create1(EPOLL_CLOEXEC);
    if (!clients || !seen || loop < 0) err(1, "streams");
    long asked = 0, open = 0;
    struct epoll_event ready[256], input = {.events = EPOLLIN, .data.ptr = NULL};
    if (epoll_ctl(loop, EPOLL_CTL_ADD, STDIN_FILENO, &input) < 0) err(1, "standard input");
    while (changes == 0 || seen[changes - 1].clients < count) {
        // A few at a time, so that the service's queue of connections never overflows.
        while (asked < count && asked - open < 64) request(&clients[asked++], (int)number(words[3], 1, 65535));
        int many = epoll_wait(loop, ready, 256, -1);
        if (many < 0 && errno != EINTR) err(1, "epoll_wait");
        long before = open;
        for (int index = 0; index < many; index++) {
            if (ready[index].data.ptr == NULL) return 0;
            take(ready[index].data.ptr, &open);
        }
        if (open == count && before < count) {
            puts("open");
            fflush(stdout);
        }
    }
    return 0;
}
