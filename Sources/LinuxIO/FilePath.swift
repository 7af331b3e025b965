// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Paths by their letters, and what is in a directory.
public enum FilePath {
    /// The directory part of a path, `/` for a name at the root and `.` for a bare name.
    public static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The last component of a path.
    public static func name(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }

    /// The path of a name in a directory.
    static func path(of name: String, in directory: String) -> String {
        directory.isEmpty || directory == "."
            ? name : directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
    }

    /// What a symbolic link contains, readlink(2); `nil` where it cannot be read.
    public static func target(ofLink path: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let start = unsafe buffer.bindMemory(to: CChar.self).baseAddress else { return -1 }
            return unsafe readlink(path, start, buffer.count)
        }
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }

    /// The names in a directory, readdir(3), in no order, at most `limit` of them.
    /// - Throws: The errno of opendir(3).
    public static func names(in directory: String, limit: Int = .max) throws(Errno) -> [String] {
        guard let stream = unsafe opendir(directory) else { throw .current }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while names.count < limit, let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }
}
