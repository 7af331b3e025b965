// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_USER_H
#define NWP_USER_H

#include <sys/types.h>

/// Makes the calling thread alone run as `user`, for good: setresuid(2) as the kernel means it. Returns 0
/// or a negative errno.
int nwp_become_user(uid_t user);

#endif
