// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

#ifndef NWPATH_CFUZZER_H
#define NWPATH_CFUZZER_H

#include <stddef.h>
#include <stdint.h>

// libFuzzer's driver: reads the options, then calls `one` for ever. From the toolchain's libclang_rt.fuzzer.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*one)(const uint8_t *data, size_t size));

// A file in memory (memfd_create), which glibc shows to GNU sources only; -1 when there is none.
int fuzz_memory_file(void);

#endif
