// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

int nwp_unshare_network(void) { return unshare(CLONE_NEWNET) < 0 ? -errno : 0; }

int nwp_enter_network(int descriptor) { return setns(descriptor, CLONE_NEWNET) < 0 ? -errno : 0; }

int nwp_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) < 0 ? -errno : 0; }

pid_t nwp_thread_id(void) { return gettid(); }

const char *nwp_errno_name(int code) {
    const char *name = strerrorname_np(code);
    return name ? name : "";
}

const char *nwp_errno_text(int code) {
    const char *text = strerrordesc_np(code);
    return text ? text : "";
}

bool nwp_is_procfs(int descriptor) {
    struct statfs system;
    return fstatfs(descriptor, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

bool nwp_is_mount_point(const char *path) {
    struct statx found;
    return statx(AT_FDCWD, path, 0, 0, &found) == 0 && found.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}
