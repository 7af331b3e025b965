// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// How many descriptors the process may have open, getrlimit(2).
public enum DescriptorLimit {
    /// The limit in force; `Int.max` where there is none.
    public static var current: Int {
        var limit = rlimit()
        // RLIMIT_NOFILE, whose type differs between C libraries.
        guard unsafe getrlimit(__rlimit_resource_t(7), &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_cur)
    }
}
