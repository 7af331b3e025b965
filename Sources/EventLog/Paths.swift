// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

enum Paths {
    /// Makes a directory and those above it, with mode 0750; one that exists is left as it is.
    static func makeDirectory(_ path: String) throws(Errno) {
        guard unsafe mkdir(path, 0o750) != 0 else { return }
        let reason = Errno.current
        if reason == .exists { return }
        guard reason == .noEntry, FilePath.directory(of: path) != path else { throw reason }
        try makeDirectory(FilePath.directory(of: path))
        guard unsafe mkdir(path, 0o750) == 0 || Errno.current == .exists else { throw .current }
    }

    static func rename(_ old: String, to new: String) throws(Errno) {
        guard unsafe Glibc.rename(old, new) == 0 else { throw .current }
    }

    /// Removes a file; one that is not there is no error.
    static func remove(_ path: String) throws(Errno) {
        guard unsafe unlink(path) == 0 || Errno.current == .noEntry else { throw .current }
    }
}
