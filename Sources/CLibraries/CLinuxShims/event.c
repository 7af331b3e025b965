// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_event.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int result(int value) { return value < 0 ? -errno : value; }

int nwp_epoll_create(void) { return result(epoll_create1(EPOLL_CLOEXEC)); }

int nwp_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data.u64 = token};
    return result(epoll_ctl(epoll, operation, descriptor, &event));
}

int nwp_epoll_wait(int epoll, struct nwp_ready *ready, int capacity) {
    struct epoll_event events[64];
    int limit = capacity < 64 ? capacity : 64;
    int count;
    do {
        count = epoll_wait(epoll, events, limit, -1);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return -errno;
    for (int i = 0; i < count; i++) {
        ready[i].token = events[i].data.u64;
        ready[i].events = events[i].events;
        ready[i].reserved = 0;
    }
    return count;
}

int nwp_eventfd(void) { return result(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

int nwp_eventfd_signal(int descriptor) { return result(eventfd_write(descriptor, 1)); }

int nwp_timerfd(int clock) { return result(timerfd_create(clock, TFD_CLOEXEC | TFD_NONBLOCK)); }

int nwp_timerfd_arm(int timer, int64_t nanoseconds, int cancel_on_set) {
    struct itimerspec time = {
        .it_value = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000},
    };
    int flags = TFD_TIMER_ABSTIME | (cancel_on_set ? TFD_TIMER_CANCEL_ON_SET : 0);
    return result(timerfd_settime(timer, flags, &time, 0));
}

int nwp_signalfd(const int *signals, int count) {
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < count; i++) sigaddset(&set, signals[i]);
    int code = pthread_sigmask(SIG_BLOCK, &set, 0);
    if (code != 0) return -code;
    return result(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

int nwp_signalfd_read(int descriptor) {
    struct signalfd_siginfo info;
    ssize_t count = read(descriptor, &info, sizeof info);
    if (count < 0) return errno == EAGAIN ? 0 : -errno;
    return count == sizeof info ? (int)info.ssi_signo : 0;
}

int nwp_inotify(void) { return result(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)); }
