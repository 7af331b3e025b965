// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Owns an open file descriptor and closes it exactly once.
public struct FileDescriptor: ~Copyable, Sendable {
    /// The kernel's number, for calls this type does not wrap.
    ///
    /// It is valid while this value lives.
    public let rawValue: Int32

    /// Owns an open descriptor from now on.
    public init(owning rawValue: Int32) {
        self.rawValue = rawValue
    }

    deinit {
        _ = Glibc.close(rawValue)
    }

    /// Opens a file; `O_CLOEXEC` is always added.
    ///
    /// Source: open(2).
    /// - Throws: The kernel's error number.
    public init(opening path: String, flags: Int32, mode: UInt32 = 0o644) throws(Errno) {
        let descriptor = unsafe Glibc.open(path, flags | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw .current }
        rawValue = descriptor
    }

    /// Opens a file relative to an open directory, or to the current one for `AT_FDCWD`; `O_CLOEXEC` is always added.
    ///
    /// Source: openat(2).
    /// - Throws: The kernel's error number.
    init(opening name: String, in directory: Int32, flags: Int32, mode: UInt32 = 0) throws(Errno) {
        let descriptor = unsafe Glibc.openat(directory, name, flags | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw .current }
        rawValue = descriptor
    }

    /// Closes now and reports what close(2) says, which matters for files on failing disks.
    public consuming func close() throws(Errno) {
        let descriptor = rawValue
        discard self
        guard Glibc.close(descriptor) == 0 else { throw .current }
    }

    /// Gives up ownership: the caller closes the returned number.
    public consuming func release() -> Int32 {
        let descriptor = rawValue
        discard self
        return descriptor
    }

    /// Sets `O_NONBLOCK`.
    public borrowing func setNonBlocking() throws(Errno) {
        let flags = fcntl(rawValue, F_GETFL)
        guard flags >= 0, fcntl(rawValue, F_SETFL, flags | O_NONBLOCK) >= 0 else { throw .current }
    }

    /// Clears `O_NONBLOCK`.
    borrowing func setBlocking() throws(Errno) {
        let flags = fcntl(rawValue, F_GETFL)
        guard flags >= 0, fcntl(rawValue, F_SETFL, flags & ~O_NONBLOCK) >= 0 else { throw .current }
    }

    /// Sets the permissions, fchmod(2).
    borrowing func setMode(_ mode: UInt32) throws(Errno) {
        guard fchmod(rawValue, mode) == 0 else { throw .current }
    }
}

extension FileDescriptor {
    /// Reads to the end of a file, or until there are more than `limit` bytes.
    /// - Throws: The error of read(2).
    public borrowing func readAll(upTo limit: Int) throws(Errno) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            let chunk = try read(upTo: 1 << 16)
            if chunk.isEmpty { break }
            bytes += chunk
        }
        return bytes
    }

    /// Reads at most `count` bytes, repeated over `EINTR`.
    /// - Parameters:
    ///   - count: How many.
    ///   - offset: Where in a file; `nil` where the last reading ended.
    /// - Returns: The bytes; an empty array means end of file.
    /// - Throws: `Errno.again` when a non-blocking descriptor has nothing.
    public borrowing func read(upTo count: Int, at offset: Int? = nil) throws(Errno) -> [UInt8] {
        var failure: Errno?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var received: Int
            repeat {
                received =
                    unsafe offset.map { unsafe pread(rawValue, buffer.baseAddress, count, $0) }
                    ?? Glibc.read(rawValue, buffer.baseAddress, count)
            } while received < 0 && errno == EINTR
            if received < 0 { failure = .current }
            initialized = max(received, 0)
        }
        if let failure { throw failure }
        return bytes
    }

    /// Writes once, repeated over `EINTR`.
    /// - Returns: How many bytes the kernel accepted; less than all is possible.
    public borrowing func write(_ bytes: Span<UInt8>) throws(Errno) -> Int {
        var written: Int
        repeat {
            written = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(rawValue, $0.baseAddress, $0.count) }
        } while written < 0 && errno == EINTR
        guard written >= 0 else { throw .current }
        return written
    }

    /// Writes everything to a blocking descriptor.
    public borrowing func writeAll(_ bytes: Span<UInt8>) throws(Errno) {
        var offset = 0
        while offset < bytes.count {
            offset += try write(bytes.extracting(offset...))
        }
    }
}
