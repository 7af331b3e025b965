// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// A file of the state directory that is read and replaced as a whole.
struct StateFile {
    let path: String

    private static let mode: UInt32 = 0o640

    /// The contents; a file that is longer than `limit`, or none, counts as empty.
    /// - Returns: `nil` when there is no file.
    func read(upTo limit: Int) throws(Errno) -> [UInt8]? {
        let file: FileDescriptor
        do throws(Errno) {
            // Whoever put a pipe or a link there does not make us wait or read elsewhere.
            file = try FileDescriptor(opening: path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        } catch {
            if error == .noEntry { return nil }
            throw error
        }
        var status = stat()
        guard unsafe fstat(file.rawValue, &status) == 0 else { throw .current }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= limit else { return [] }
        return try file.readAll(upTo: limit)
    }

    /// Keeps a file that is not ours under another name instead of writing over it.
    /// - Returns: What became of it, for people.
    func setAside(because what: String) -> String {
        guard unsafe rename(path, path + ".foreign") == 0 else {
            return "\(path) \(what) and cannot be moved away (\(Errno.current))"
        }
        return "\(path) \(what) and is now \(path).foreign"
    }

    /// Removes the file, if there is one.
    func remove() { unsafe unlink(path) }

    /// Begins new contents, which take the old ones' place when they are complete.
    func begin() throws(Errno) -> FileReplacement { try FileReplacement(of: path, mode: Self.mode) }

    func replace(with bytes: [UInt8]) throws(Errno) {
        try FileReplacement.write(bytes, to: path, mode: Self.mode)
    }
}
