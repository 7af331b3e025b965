// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims

/// The program's own code and constants in memory.
public enum ProgramText {
    /// Unmaps what was only needed to start: page by page, what is used again is mapped again.
    ///
    /// The kernel maps files in pieces of 64 KiB and more, so that nearly all of a program counts as resident once it
    /// has started. Contents are not lost, and nothing is read from the disk unless memory is short.
    ///
    /// Source: madvise(2), `MADV_DONTNEED`, for every segment that cannot be written (dl_iterate_phdr(3)).
    /// - Throws: The kernel's error; everything works as before then.
    public static func release() throws(Errno) {
        _ = try Errno.check(nwp_release_text())
    }
}
