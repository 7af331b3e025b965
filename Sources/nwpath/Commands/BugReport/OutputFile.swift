// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import Spelling

enum OutputFile {
    /// Writes a file whole or not at all.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - content: What it is to hold.
    ///   - mode: Its permissions, whatever the umask is: what others are to read may be written by a timer whose umask
    ///     is for secrets.
    /// - Throws: A failure that names the file; nothing is left behind.
    static func write(_ path: String, _ content: [UInt8], mode: UInt32 = 0o644) throws(CommandFailure) {
        do throws(Errno) {
            try FileReplacement.write(content, to: path, mode: mode, isForOthers: true)
        } catch {
            throw CommandFailure("cannot write \(PrintableText.quote(path)): \(error)", .negative)
        }
    }
}
