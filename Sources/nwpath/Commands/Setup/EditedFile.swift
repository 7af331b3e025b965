// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// A configuration file that is read, edited, and replaced as a whole unless somebody else may have prepared it.
struct EditedFile {
    struct Contents: Equatable {
        let bytes: [UInt8]
        let mode: UInt32
        let owner: UInt32
        let group: UInt32
    }

    let path: String
    private static let largest = 1 << 20

    /// Reads it.
    /// - Returns: `nil` when there is none.
    func read() throws(CommandFailure) -> Contents? {
        do {
            let file = try TrustedDirectory.open(path: path, O_RDONLY, for: .state)
            var status = stat()
            guard unsafe fstat(file.rawValue, &status) == 0 else { throw Errno.current }
            let bytes = try file.readAll(upTo: Self.largest)
            return Contents(bytes: bytes, mode: status.st_mode & 0o7777, owner: status.st_uid, group: status.st_gid)
        } catch let refusal as FileRefusal {
            switch refusal.cause {
            case .failed(.noEntry): return nil
            case .failed(Errno(ELOOP)):
                throw CommandFailure("\(path): a symbolic link; name the file itself", .negative)
            default: throw CommandFailure("\(refusal)", .negative)
            }
        } catch {
            throw CommandFailure("\(path): cannot be read: \(error)", .negative)
        }
    }

    /// Replaces the contents of the file, with the permissions and the owner that it has.
    ///
    /// - Parameters:
    ///   - bytes: The new contents.
    ///   - old: What it was when the edit began; `nil` for a new file.
    /// - Throws: Why it is as it was: it was edited meanwhile, or cannot be written.
    func write(_ bytes: [UInt8], over old: Contents?) throws(CommandFailure) {
        guard try read() == old else {
            throw CommandFailure("\(path): was changed by another program; nothing was written", .negative)
        }
        let isRoot = geteuid() == 0
        do {
            let folder = FilePath.directory(of: path)
            let directory = try TrustedDirectory(folder, making: isRoot ? 0o755 : 0o700, isExact: true)
            let mode = old?.mode ?? (isRoot ? 0o644 : 0o600)
            let name = FilePath.name(of: path)
            let replacement = try directory.replacement(of: name, mode: mode, isForOthers: true)
            if let old { try replacement.setOwner(old.owner, group: old.group, mode: mode) }
            try replacement.write(bytes.span)
            try replacement.synchronize()
            try replacement.commit()
        } catch let refusal as FileRefusal {
            throw CommandFailure("\(refusal)", .negative)
        } catch {
            throw CommandFailure("\(path): cannot be written: \(error)", .negative)
        }
    }
}
