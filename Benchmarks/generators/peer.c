// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
//
// peer serve                            prints three ports of 127.0.0.1: one takes, one echoes, one gives
// peer sends|receives PORT MEGABYTES    64 KiB at a time: seconds
// peer setup|waits|latency PORT COUNT   one after another: microseconds each
//
// The other end of connections in Benchmarks/Connections, and the same work with blocking sockets beside it. Who takes
// answers one byte once all is there. Serving ends with standard input.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum kind { TAKES, ECHOES, GIVES, KINDS, LISTENS = 4, INPUT = 8 };
static uint8_t block[1 << 18];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static struct sockaddr_in loopback(int port) {
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

// ---- Serving

static void watch(int loop, int descriptor, int kind, uint32_t events) {
    struct epoll_event wanted = {.events = events, .data.u64 = (uint64_t)kind << 32 | (uint32_t)descriptor};
    if (epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &wanted) < 0) err(1, "epoll_ctl");
}

/// Goes on with a connection; 0 when it is over.
static int serve_one(int descriptor, enum kind kind) {
    if (kind == GIVES) {
        ssize_t sent;
        while ((sent = send(descriptor, block, sizeof block, MSG_NOSIGNAL)) > 0) continue;
        return errno == EAGAIN;
    }
    ssize_t count = recv(descriptor, block, sizeof block, 0);
    if (count < 0) return errno == EAGAIN;
    if (count == 0 && kind == TAKES) (void)!send(descriptor, "!", 1, MSG_NOSIGNAL);
    // Messages are small and the client waits for each: the buffer of the socket is never full.
    if (count > 0 && kind == ECHOES && send(descriptor, block, (size_t)count, MSG_NOSIGNAL) != count) return 0;
    return count > 0;
}

static void serve(void) {
    int loop = epoll_create1(EPOLL_CLOEXEC);
    if (loop < 0) err(1, "epoll_create1");
    for (int kind = 0; kind < KINDS; kind++) {
        struct sockaddr_in address = loopback(0);
        socklen_t size = sizeof address;
        int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 4096) < 0
            || getsockname(listener, (struct sockaddr *)&address, &size) < 0)
            err(1, "listen");
        watch(loop, listener, kind | LISTENS, EPOLLIN);
        printf("%d%c", ntohs(address.sin_port), kind + 1 < KINDS ? ' ' : '\n');
    }
    fflush(stdout);
    watch(loop, STDIN_FILENO, INPUT, EPOLLIN);
    for (;;) {
        struct epoll_event events[256];
        int count = epoll_wait(loop, events, 256, -1);
        for (int i = 0; i < count; i++) {
            int kind = (int)(events[i].data.u64 >> 32), descriptor = (int)(uint32_t)events[i].data.u64;
            if (kind == INPUT) return;
            if (!(kind & LISTENS)) {
                if (!serve_one(descriptor, kind)) close(descriptor);
                continue;
            }
            int one = 1, client;
            while ((client = accept4(descriptor, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                watch(loop, client, kind & ~LISTENS, (kind & ~LISTENS) == GIVES ? EPOLLOUT : EPOLLIN);
            }
        }
    }
}

// ---- The same work with blocking sockets

static int connected(int port) {
    struct sockaddr_in address = loopback(port);
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0) err(1, "connect");
    return descriptor;
}

static void send_all(int descriptor, size_t length) {
    for (size_t sent = 0; sent < length;) {
        ssize_t count = send(descriptor, block + sent, length - sent, 0);
        if (count < 0) err(1, "send");
        sent += (size_t)count;
    }
}

static void receive_all(int descriptor, size_t length) {
    for (size_t got = 0; got < length;) {
        ssize_t count = recv(descriptor, block, length - got < 65536 ? length - got : 65536, 0);
        if (count <= 0) err(1, "recv");
        got += (size_t)count;
    }
}

/// A connection asked for by one thread and made by another one.
static struct order {
    sem_t wanted, made;
    int port, amount, descriptor;
} order;

static void *make_connections(void *unused) {
    for (int i = 0; i < order.amount; i++) {
        while (sem_wait(&order.wanted) < 0) continue;
        order.descriptor = connected(order.port);
        sem_post(&order.made);
    }
    return unused;
}

static void wait_for_connections(int port, int amount) {
    order.port = port;
    order.amount = amount;
    pthread_t thread;
    if (sem_init(&order.wanted, 0, 0) < 0 || sem_init(&order.made, 0, 0) < 0
        || pthread_create(&thread, NULL, make_connections, NULL) != 0)
        err(1, "thread");
    for (int i = 0; i < amount; i++) {
        sem_post(&order.wanted);
        while (sem_wait(&order.made) < 0) continue;
        close(order.descriptor);
    }
    pthread_join(thread, NULL);
}

int main(int count, char **words) {
    if (count == 2 && !strcmp(words[1], "serve")) {
        serve();
        return 0;
    }
    int port = count == 4 ? atoi(words[2]) : 0, amount = count == 4 ? atoi(words[3]) : 0;
    if (port < 1 || amount < 1) errx(2, "usage: peer serve | peer sends|receives|setup|waits|latency PORT COUNT");
    int is_single = !strcmp(words[1], "setup"), is_waiting = !strcmp(words[1], "waits"), one = 1;
    int descriptor = is_single || is_waiting ? -1 : connected(port);
    double begin = now(), scale = 1;
    if (!strcmp(words[1], "sends")) {
        for (int i = 0; i < amount * 16; i++) send_all(descriptor, 65536);
        shutdown(descriptor, SHUT_WR);
        receive_all(descriptor, 1);
    } else if (!strcmp(words[1], "receives")) {
        receive_all(descriptor, (size_t)amount << 20);
    } else if (is_single) {
        for (int i = 0; i < amount; i++) close(connected(port));
        scale = 1e6 / amount;
    } else if (is_waiting) {
        wait_for_connections(port, amount);
        scale = 1e6 / amount;
    } else if (!strcmp(words[1], "latency")) {
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        for (int i = 0; i < amount; i++) {
            send_all(descriptor, 64);
            receive_all(descriptor, 64);
        }
        scale = 1e6 / amount;
    } else {
        errx(2, "peer: '%s' is not an action", words[1]);
    }
    printf("%.9g\n", (now() - begin) * scale);
    return 0;
}
