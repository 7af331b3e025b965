// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

enum Paths {
    static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The last component of a path.
    static func name(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }

    /// Makes a directory and those above it, with mode 0750; one that exists is left as it is.
    static func makeDirectory(_ path: String) throws(Errno) {
        guard unsafe mkdir(path, 0o750) != 0 else { return }
        let reason = Errno.current
        if reason == .exists { return }
        guard reason == .noEntry, directory(of: path) != path else { throw reason }
        try makeDirectory(directory(of: path))
        guard unsafe mkdir(path, 0o750) == 0 || Errno.current == .exists else { throw .current }
    }

    /// The names in a directory, in no order.
    static func list(_ directory: String) throws(Errno) -> [String] {
        guard let handle = unsafe opendir(directory) else { throw .current }
        defer { unsafe closedir(handle) }
        var names: [String] = []
        while let entry = unsafe readdir(handle) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { raw in
                unsafe String(decoding: raw.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }

    static func rename(_ old: String, to new: String) throws(Errno) {
        guard unsafe Glibc.rename(old, new) == 0 else { throw .current }
    }

    /// Removes a file; one that is not there is no error.
    static func remove(_ path: String) throws(Errno) {
        guard unsafe unlink(path) == 0 || Errno.current == .noEntry else { throw .current }
    }
}
