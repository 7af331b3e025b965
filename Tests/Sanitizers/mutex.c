// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
//
// Tells the thread sanitizer of what it cannot see: under contention Swift's Mutex is taken and left within its library,
// by instructions that were not built for the sanitizer, or by the kernel (futex(2), FUTEX_LOCK_PI). Tests/run preloads
// this for programs built with --sanitize=thread; in all others the sanitizer's two functions are not there.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// _MutexHandle._lockSlow(UInt32), _tryLockSlow() -> Bool and _unlockSlow() of the module Synchronization.
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

extern void __tsan_acquire(void *) __attribute__((weak));
extern void __tsan_release(void *) __attribute__((weak));

static SWIFT void (*original_lock)(uint32_t, SELF);
static SWIFT bool (*original_try)(SELF);
static SWIFT void (*original_unlock)(SELF);

__attribute__((constructor)) static void find(void) {
    original_lock = (SWIFT void (*)(uint32_t, SELF))dlsym(RTLD_NEXT, LOCK);
    original_try = (SWIFT bool (*)(SELF))dlsym(RTLD_NEXT, TRY);
    original_unlock = (SWIFT void (*)(SELF))dlsym(RTLD_NEXT, UNLOCK);
}

SWIFT void mutex_lock(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void mutex_lock(uint32_t thread, SELF) {
    original_lock(thread, self);
    if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT bool mutex_try(SELF) __asm__(TRY);
SWIFT bool mutex_try(SELF) {
    bool has_locked = original_try(self);
    if (has_locked && __tsan_acquire) __tsan_acquire(self);
    return has_locked;
}

SWIFT void mutex_unlock(SELF) __asm__(UNLOCK);
SWIFT void mutex_unlock(SELF) {
    if (__tsan_release) __tsan_release(self);
    original_unlock(self);
}
