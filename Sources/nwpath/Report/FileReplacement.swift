// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CommandLineKit
internal import Glibc
internal import LinuxIO
internal import Spelling

/// Writes files whole or not at all.
enum FileReplacement {
    /// Writes a new file beside the old one and renames it over that; rename(2).
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - content: What it is to hold.
    ///   - mode: Its permissions.
    /// - Throws: A failure that names the file; nothing is left behind.
    static func write(_ path: String, _ content: [UInt8], mode: UInt32 = 0o644) throws(CommandFailure) {
        let new = path + ".new"
        do throws(Errno) {
            // What is left of an earlier try, or laid out by somebody else, is not written to.
            unsafe unlink(new)
            let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
            let descriptor = try FileDescriptor(opening: new, flags: flags, mode: mode)
            try descriptor.writeAll(content.span)
            try descriptor.close()
            guard unsafe rename(new, path) == 0 else { throw .current }
        } catch {
            unsafe unlink(new)
            throw CommandFailure("cannot write \(PrintableText.quote(path)): \(error)", .negative)
        }
    }
}
