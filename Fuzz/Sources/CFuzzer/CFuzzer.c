// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "CFuzzer.h"

#include <sys/mman.h>

// Read by the address sanitizer before main; ASAN_OPTIONS overrules it. Nothing of it hides a fault: leaks are left to
// the test suite's runs, and the stacks of allocations cost more time than the parsers do.
const char *__asan_default_options(void) {
    return "detect_leaks=0:malloc_context_size=0:quarantine_size_mb=8:detect_stack_use_after_return=0"
           ":handle_abort=1:allocator_may_return_null=0";
}

int fuzz_memory_file(void) { return memfd_create("fuzz", MFD_CLOEXEC); }
