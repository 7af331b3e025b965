// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_MEMORY_H
#define NWP_MEMORY_H

/// Unmaps, with madvise(2) MADV_DONTNEED, the pages of the program and its libraries that were only ever read; the
/// kernel maps a page again from its cache when it is used. Returns 0 or the first negative errno.
int nwp_release_text(void);

#endif
