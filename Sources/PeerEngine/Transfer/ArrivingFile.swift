// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO
internal import Synchronization

/// A file for what arrives, which only this user can read; it goes with this value unless it is kept.
///
/// Where the file system allows it has no name before it is whole, so nothing stays of a program that ends meanwhile.
/// Several threads use it, one after another.
final class ArrivingFile: Sendable {
    let descriptor: Int32
    private let path: String
    private let hasName: Mutex<Bool>
    /// O_TMPFILE, a macro that is not imported.
    private static let unnamed = 0o20_000_000 | O_DIRECTORY

    /// Makes one in a directory.
    static func make(in directory: String) throws(Errno) -> ArrivingFile {
        if let file = try? ArrivingFile(unnamedIn: directory) { return file }
        return try ArrivingFile(namedIn: directory)
    }

    private init(unnamedIn directory: String) throws(Errno) {
        path = Self.path(in: directory)
        descriptor = unsafe Glibc.open(directory, O_WRONLY | Self.unnamed | O_CLOEXEC, 0o600)
        hasName = Mutex(false)
        guard descriptor >= 0 else { throw Errno.current }
    }

    /// Makes one where every file has a name.
    init(namedIn directory: String) throws(Errno) {
        path = Self.path(in: directory)
        descriptor = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        hasName = Mutex(descriptor >= 0)
        guard descriptor >= 0 else { throw Errno.current }
    }

    deinit {
        if descriptor >= 0 { Glibc.close(descriptor) }
        if hasName.withLock({ $0 }) { unsafe unlink(path) }
    }

    /// A name that nobody knows.
    private static func path(in directory: String) -> String { "\(directory)/resource-\(SessionID().text)" }

    /// Gives it its name.
    func name() throws(Errno) {
        try hasName.withLock { hasName throws(Errno) in
            guard !hasName else { return }
            let source = "/proc/self/fd/\(descriptor)"
            guard unsafe linkat(AT_FDCWD, source, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 else { throw Errno.current }
            hasName = true
        }
    }

    /// Leaves it to whoever has its path.
    func keep() -> String {
        hasName.withLock { $0 = false }
        return path
    }
}
