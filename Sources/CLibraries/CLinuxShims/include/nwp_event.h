// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_EVENT_H
#define NWP_EVENT_H

#include <stdint.h>
#include <sys/epoll.h>

/// What `nwp_epoll_wait` reports: which registration, and with which EPOLL* bits.
struct nwp_ready {
    uint64_t token;
    uint32_t events;
    uint32_t reserved;
};

/// epoll_create1(2) with EPOLL_CLOEXEC. Returns a descriptor, or a negative errno.
int nwp_epoll_create(void);
/// epoll_ctl(2); `operation` is EPOLL_CTL_ADD, EPOLL_CTL_MOD or EPOLL_CTL_DEL. Returns 0 or a negative errno.
int nwp_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token);
/// epoll_wait(2) without a timeout, repeated over EINTR. Returns how many entries it filled, or a negative errno.
int nwp_epoll_wait(int epoll, struct nwp_ready *ready, int capacity);
/// eventfd(2), non-blocking. Returns a descriptor, or a negative errno.
int nwp_eventfd(void);
/// Adds one to an eventfd, which makes it readable. Returns 0 or a negative errno.
int nwp_eventfd_signal(int descriptor);
/// timerfd_create(2) on `clock`, non-blocking. Returns a descriptor, or a negative errno.
int nwp_timerfd(int clock);
/// Arms `timer` for an absolute time in nanoseconds; 0 disarms it. `cancel_on_set` requests ECANCELED when the
/// clock is stepped. Returns 0 or a negative errno.
int nwp_timerfd_arm(int timer, int64_t nanoseconds, int cancel_on_set);
/// Blocks `count` signals for the calling thread and its children, and opens a signalfd(2) for them.
int nwp_signalfd(const int *signals, int count);
/// Reads one signal number from a signalfd; 0 when none is pending, or a negative errno.
int nwp_signalfd_read(int descriptor);
/// inotify_init1(2), non-blocking. Returns a descriptor, or a negative errno.
int nwp_inotify(void);

#endif
