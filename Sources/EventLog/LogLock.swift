// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// The right to write one log: an exclusive flock(2) on a file beside it.
///
/// The lock has a file of its own, because the log's file changes with every rotation. It stays when the daemon ends, so
/// that nobody wonders about one that comes and goes; only a start that was refused removes its own again.
struct LogLock: ~Copyable {
    private let path: String
    private let descriptor: FileDescriptor
    private let isNew: Bool

    /// Acquires the lock.
    ///
    /// - Throws: ``EventLogError/locked(file:holder:)`` when another process has it.
    init(for log: String, in directory: borrowing TrustedDirectory) throws(EventLogError) {
        let path = log + ".lock"
        let name = FilePath.name(of: path)
        let isNew: Bool
        let descriptor: FileDescriptor
        do throws(FileRefusal) {
            isNew = try directory.inspect(name, for: .state) == nil
            descriptor = try directory.open(name, O_RDWR, making: 0o640, for: .state)
        } catch {
            throw EventLogError(error, operation: "open the lock", file: path)
        }
        guard flock(descriptor.rawValue, LOCK_EX | LOCK_NB) == 0 else {
            let reason = Errno.current
            guard reason == .again else { throw .failed(operation: "lock", file: path, reason: reason) }
            throw .locked(file: log, holder: Self.holder(descriptor))
        }
        // One that a refused start has removed meanwhile locks nothing.
        guard let own = try? FileStatus(of: descriptor), let named = try? FileStatus(path: path),
            own.isSameFile(as: named)
        else { throw .locked(file: log, holder: nil) }
        // Who holds it is only a courtesy to the reader of an error message: a full disk must not matter.
        try? descriptor.truncate(to: 0)
        _ = try? descriptor.write(Array("\(getpid())\n".utf8).span)
        self.path = path
        self.isNew = isNew
        self.descriptor = descriptor
    }

    deinit {
        // Closing alone would leave the lock to a child that was just forked and has not yet executed its program.
        flock(descriptor.rawValue, LOCK_UN)
    }

    /// Removes the file when this start made it; for a start that is refused.
    borrowing func giveUp() {
        if isNew { unsafe unlink(path) }
    }

    private static func holder(_ descriptor: borrowing FileDescriptor) -> Int32? {
        guard let bytes = try? descriptor.read(at: 0, upTo: 16) else { return nil }
        return Int32(String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self))
    }
}
