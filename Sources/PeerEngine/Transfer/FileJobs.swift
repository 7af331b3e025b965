// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// An open file that several threads use, one after another.
final class SharedFile: Sendable {
    let descriptor: Int32

    init(owning descriptor: Int32) { self.descriptor = descriptor }

    deinit { Glibc.close(descriptor) }
}

/// Work on files, which a loop does not wait for.
enum FileJobs {
    /// Opens a regular file to be read, and finds its size.
    struct Open: Worker.Job {
        let path: String

        mutating func advance() throws -> (file: SharedFile, size: UInt64)? {
            let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else { throw Errno.current }
            let file = SharedFile(owning: descriptor)
            var status = Glibc.stat()
            guard unsafe fstat(descriptor, &status) == 0 else { throw Errno.current }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw Errno(status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL)
            }
            return (file, UInt64(status.st_size))
        }
    }

    /// Reads a piece of a file; less than requested is its end.
    struct Read: Worker.Job {
        let file: SharedFile
        let offset: UInt64
        let count: Int

        mutating func advance() throws -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: count)
            var filled = 0
            while filled < count {
                let result = unsafe bytes.withUnsafeMutableBytes { buffer in
                    let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                    return unsafe pread(file.descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(filled))
                }
                if result < 0 {
                    guard errno == EINTR else { throw Errno.current }
                    continue
                }
                if result == 0 { break }
                filled += result
            }
            return filled == count ? bytes : Array(bytes.prefix(filled))
        }
    }

    /// Makes a file for what arrives, where temporary files are.
    struct Create: Worker.Job {
        mutating func advance() throws -> ArrivingFile? {
            let chosen = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? ""
            return try ArrivingFile.make(in: chosen.hasPrefix("/") ? chosen : "/tmp")
        }
    }

    /// Writes pieces behind one another.
    struct Write: Worker.Job {
        let file: ArrivingFile
        let pieces: [[UInt8]]

        mutating func advance() throws -> Int? {
            var total = 0
            for piece in pieces {
                var offset = 0
                while offset < piece.count {
                    let result = unsafe piece.withUnsafeBytes { buffer in
                        let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[offset...])
                        return unsafe Glibc.write(file.descriptor, rest.baseAddress, rest.count)
                    }
                    if result < 0 {
                        guard errno == EINTR else { throw Errno.current }
                        continue
                    }
                    offset += result
                }
                total += piece.count
            }
            return total
        }
    }
    /// Gives a file that is whole its name.
    struct Name: Worker.Job {
        let file: ArrivingFile

        mutating func advance() throws -> ArrivingFile? {
            try file.name()
            return file
        }
    }
}
