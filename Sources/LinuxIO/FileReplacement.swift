// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A file that replaces another one whole or not at all.
///
/// It is written beside the old one, as `PATH.new`, and renamed by rename(2): a reader and a crash find the old
/// contents or the new ones. A replacement that is given up leaves nothing behind.
public struct FileReplacement: ~Copyable {
    private let name: String
    private let descriptor: FileDescriptor
    private let temporary: TemporaryFile

    /// Begins to replace the file at `path`; what is left there of an earlier try is removed, never written to.
    ///
    /// - Parameters:
    ///   - path: The file, which need not exist.
    ///   - mode: The permissions of the new file.
    ///   - isForOthers: Whether it has them whatever the umask is, because others are to read it; otherwise they are less
    ///     the umask.
    /// - Throws: open(2)'s error, or fchmod(2)'s.
    public init(of path: String, mode: UInt32, isForOthers: Bool = false) throws(Errno) {
        let directory = try FileDescriptor(
            opening: FilePath.directory(of: path),
            flags: PathResolution.pathOnly | O_DIRECTORY
        )
        try self.init(of: FilePath.name(of: path), in: directory, mode: mode, isForOthers: isForOthers)
    }

    /// Begins to replace a file of an open directory.
    init(
        of name: String,
        in directory: consuming FileDescriptor,
        mode: UInt32,
        isForOthers: Bool = false
    ) throws(Errno) {
        let new = name + ".new"
        unsafe unlinkat(directory.rawValue, new, 0)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        let file = try FileDescriptor(opening: new, in: directory.rawValue, flags: flags, mode: mode)
        let temporary = TemporaryFile(name: new, directory: directory)
        if isForOthers { try file.setMode(mode) }
        descriptor = file
        self.temporary = temporary
        self.name = name
    }

    public borrowing func write(_ bytes: Span<UInt8>) throws(Errno) { try descriptor.writeAll(bytes) }

    /// Gives the new file an owner, fchown(2), before it gets its permissions again, which that may clear.
    public borrowing func setOwner(_ user: UInt32, group: UInt32, mode: UInt32) throws(Errno) {
        guard fchown(descriptor.rawValue, user, group) == 0 else { throw .current }
        try descriptor.setMode(mode)
    }

    /// Waits until the contents are on the disk, fsync(2), so that a crash after ``commit()`` does not find it empty.
    public borrowing func synchronize() throws(Errno) {
        guard fsync(descriptor.rawValue) == 0 else { throw .current }
    }

    /// Replaces the old file by the new one.
    /// - Throws: close(2)'s error, with which some disks report a failed write, or rename(2)'s.
    public consuming func commit() throws(Errno) {
        try descriptor.close()
        try temporary.rename(to: name)
    }

    public static func write(
        _ bytes: [UInt8],
        to path: String,
        mode: UInt32,
        isForOthers: Bool = false
    ) throws(Errno) {
        let replacement = try FileReplacement(of: path, mode: mode, isForOthers: isForOthers)
        try replacement.write(bytes.span)
        try replacement.commit()
    }
}

/// A file that is removed unless it gets another name; not private, because optimised code of other modules ends it.
struct TemporaryFile: ~Copyable {
    private let name: String
    private let directory: FileDescriptor
    private var hasOtherName = false

    init(name: String, directory: consuming FileDescriptor) {
        self.name = name
        self.directory = directory
    }

    deinit {
        if !hasOtherName { unsafe unlinkat(directory.rawValue, name, 0) }
    }

    consuming func rename(to other: String) throws(Errno) {
        guard unsafe renameat(directory.rawValue, name, directory.rawValue, other) == 0 else { throw .current }
        hasOtherName = true
    }
}
