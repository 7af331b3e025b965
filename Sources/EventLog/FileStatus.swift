// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// What stat(2) says of a file.
struct FileStatus: Equatable {
    let device: UInt64
    let inode: UInt64
    let size: Int64
    let links: UInt64
    let isRegular: Bool
    /// When it was last written, in nanoseconds since 1970.
    let modified: Int64

    /// Queries the file at a path, following symbolic links.
    init(path: String) throws(Errno) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw .current }
        self.init(status)
    }

    init(of descriptor: borrowing FileDescriptor) throws(Errno) {
        var status = stat()
        guard unsafe fstat(descriptor.rawValue, &status) == 0 else { throw .current }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        links = UInt64(status.st_nlink)
        isRegular = status.st_mode & S_IFMT == S_IFREG
        modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    }

    func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }
}

extension FileDescriptor {
    /// Reads at an offset of a regular file, pread(2).
    borrowing func read(at offset: Int64, upTo count: Int) throws(Errno) -> [UInt8] {
        var failure: Errno?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var received: Int
            repeat {
                received = unsafe pread(rawValue, buffer.baseAddress, count, off_t(offset))
            } while received < 0 && errno == EINTR
            if received < 0 { failure = .current }
            initialized = max(received, 0)
        }
        if let failure { throw failure }
        return bytes
    }

    /// Cuts a file, ftruncate(2).
    borrowing func truncate(to size: Int64) throws(Errno) {
        guard ftruncate(rawValue, off_t(size)) == 0 else { throw .current }
    }

    /// Whether a write would be accepted now, poll(2).
    borrowing func isWritable() -> Bool {
        var entry = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&entry, 1, 0) == 1
    }
}
