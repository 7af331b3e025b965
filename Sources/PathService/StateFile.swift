// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// A file of the state directory that is read and replaced as a whole.
///
/// It is replaced by rename(2), so a reader and a crash find the old one or the new one.
struct StateFile {
    let path: String

    private var temporary: String { path + ".new" }

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
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            let chunk = try file.read(upTo: 1 << 16)
            if chunk.isEmpty { break }
            bytes += chunk
        }
        return bytes
    }

    /// Keeps a file that is not ours under another name instead of writing over it.
    /// - Returns: What became of it, for people.
    func setAside(because what: String) -> String {
        guard unsafe rename(path, path + ".foreign") == 0 else {
            return "\(path) \(what) and cannot be moved away (\(Errno.current))"
        }
        return "\(path) \(what) and is now \(path).foreign"
    }

    /// Opens the file that is to take its place.
    func begin() throws(Errno) -> FileDescriptor {
        unsafe unlink(temporary)
        return try FileDescriptor(
            opening: temporary,
            flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
            mode: 0o640
        )
    }

    /// Puts it in place.
    func commit() throws(Errno) {
        guard unsafe rename(temporary, path) == 0 else { throw .current }
    }

    /// Drops what was begun.
    func abandon() { unsafe unlink(temporary) }

    /// Replaces the contents in one go.
    func replace(with bytes: [UInt8]) throws(Errno) {
        do throws(Errno) {
            try begin().writeAll(bytes.span)
            try commit()
        } catch {
            abandon()
            throw error
        }
    }
}
