// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// A file of the state directory that is read and replaced as a whole.
struct StateFile {
    let path: String

    private static let mode: UInt32 = 0o640

    /// Opens the file, unless somebody else may have prepared it.
    func open(
        _ access: Int32,
        making mode: UInt32? = nil,
        isNew: Bool = false
    ) throws(FileRefusal.Cause) -> FileDescriptor {
        do throws(FileRefusal) {
            return try TrustedDirectory(FilePath.directory(of: path))
                .open(FilePath.name(of: path), access, making: mode, isNew: isNew, for: .state)
        } catch {
            throw error.cause
        }
    }

    /// The contents; a file that is longer than `limit`, or none, counts as empty.
    /// - Returns: `nil` when there is no file.
    func read(upTo limit: Int) throws(FileRefusal.Cause) -> [UInt8]? {
        let file: FileDescriptor
        do throws(FileRefusal.Cause) {
            file = try open(O_RDONLY)
        } catch {
            if error == .failed(.noEntry) { return nil }
            // Whoever put a pipe there does not make us wait.
            if error == .notRegular || error == .failed(Errno(EISDIR)) { return [] }
            throw error
        }
        do throws(Errno) {
            let bytes = try file.readAll(upTo: limit)
            return bytes.count <= limit ? bytes : []
        } catch {
            throw .failed(error)
        }
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
    func begin() throws(FileRefusal.Cause) -> FileReplacement {
        let directory: TrustedDirectory
        do throws(FileRefusal) {
            directory = try TrustedDirectory(FilePath.directory(of: path))
        } catch {
            throw error.cause
        }
        do throws(Errno) {
            return try directory.replacement(of: FilePath.name(of: path), mode: Self.mode)
        } catch {
            throw .failed(error)
        }
    }

    func replace(with bytes: [UInt8]) throws(FileRefusal.Cause) {
        let replacement = try begin()
        do throws(Errno) {
            try replacement.write(bytes.span)
            try replacement.commit()
        } catch {
            throw .failed(error)
        }
    }
}
