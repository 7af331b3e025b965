// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_user.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

// The C library's setresuid(2) would change every thread.
int nwp_become_user(uid_t user) { return syscall(SYS_setresuid, user, user, user) < 0 ? -errno : 0; }
