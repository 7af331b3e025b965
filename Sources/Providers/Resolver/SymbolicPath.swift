// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// Where a path leads, link by link.
struct SymbolicPath: Equatable {
    /// The path itself, every link target on the way, and the last name, which need not exist.
    private(set) var steps: [String]

    /// The last name on the way.
    var target: String { steps[steps.count - 1] }

    /// Follows the links of `path`, at most 16 of them.
    ///
    /// Source: readlink(2).
    init(following path: String) {
        steps = [Self.normalize(path)]
        while steps.count <= 16, let next = Self.readLink(target) {
            let joined = next.hasPrefix("/") ? next : FilePath.directory(of: target) + "/" + next
            steps.append(Self.normalize(joined))
        }
    }

    /// Resolves `.` and `..` by the letters, for comparing and showing.
    static func normalize(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/") where part != "." {
            if part == "..", let last = parts.last, last != ".." { parts.removeLast() } else { parts.append(part) }
        }
        let text = parts.joined(separator: "/")
        return path.hasPrefix("/") ? "/" + text : text
    }

    private static func readLink(_ path: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let start = unsafe buffer.bindMemory(to: CChar.self).baseAddress else { return -1 }
            return unsafe readlink(path, start, buffer.count)
        }
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }
}
