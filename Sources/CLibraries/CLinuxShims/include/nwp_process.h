// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_PROCESS_H
#define NWP_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/// Moves the calling thread into a new network namespace: unshare(2) with CLONE_NEWNET. Returns 0 or a negative errno.
int nwp_unshare_network(void);
/// Moves the calling thread into the network namespace behind `descriptor`: setns(2). Returns 0 or a negative errno.
int nwp_enter_network(int descriptor);
/// pipe2(2) with O_CLOEXEC into `ends`. Returns 0 or a negative errno.
int nwp_pipe(int ends[2]);
/// The calling thread's kernel id: gettid(2).
pid_t nwp_thread_id(void);
/// The symbolic name of an errno, such as "ENOBUFS"; "" when it has none.
const char *nwp_errno_name(int code);
/// The English text of an errno, such as "No buffer space available"; "" when it has none.
const char *nwp_errno_text(int code);
/// Whether an open file, directory or link is in procfs.
bool nwp_is_procfs(int descriptor);
/// Whether a file or directory is mounted over its name, also from the same file system: statx(2), Linux 5.8 and later.
bool nwp_is_mount_point(const char *path);

#endif
