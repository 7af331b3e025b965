// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// Where a path leads, link by link, at every level of its directories.
struct SymbolicPath: Equatable {
    /// The path itself, and what it becomes with each link replaced by its target; the last one need not exist.
    private(set) var steps: [String]
    /// Every name that is looked up for it, with the directory that it is in: a change of one may change the target.
    private(set) var components: [String] = []
    /// The last name that was looked up.
    private(set) var target: String

    /// How many links the kernel follows (`MAXSYMLINKS`).
    private static let limit = 40

    /// Follows the links of `path` as path_resolution(7) says.
    ///
    /// Source: readlink(2).
    init(following path: String) {
        steps = [Self.normalize(path)]
        target = path.hasPrefix("/") ? "/" : ""
        var left = Array(Self.parts(of: path).reversed())
        while let part = left.popLast() {
            guard part != ".." else {
                target = Self.normalize(target.isEmpty ? ".." : target == "/" ? "/" : target + "/..")
                continue
            }
            let name = target.isEmpty ? part : target == "/" ? "/" + part : target + "/" + part
            if !components.contains(name) { components.append(name) }
            guard let next = Self.readLink(name) else {
                target = name
                continue
            }
            if steps.count > Self.limit {
                target = name
                return
            }
            if next.hasPrefix("/") { target = "/" }
            left += Self.parts(of: next).reversed()
            let rest = left.reversed().joined(separator: "/")
            steps.append(Self.normalize(target.isEmpty ? rest : target + "/" + rest))
        }
    }

    private static func parts(of path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.map(String.init)
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
