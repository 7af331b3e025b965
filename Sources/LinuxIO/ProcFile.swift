// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Texts of the kernel's file systems `/proc` and `/sys` (proc(5)), and small ones of `/etc`, which are read whole.
public enum ProcFile {
    /// The text of a file, at most 4 MiB of it; `nil` when it cannot be opened.
    public static func text(_ path: String) -> String? {
        guard let file = try? FileDescriptor(opening: path, flags: O_RDONLY) else { return nil }
        var bytes: [UInt8] = []
        while bytes.count < 4 << 20, let part = try? file.read(upTo: 16_384), !part.isEmpty { bytes += part }
        return String(decoding: bytes, as: UTF8.self)
    }
}
