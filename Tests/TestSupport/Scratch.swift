// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO
internal import Synchronization

/// A directory of a test's own, which goes with this value; anybody may enter it.
public final class Scratch: Sendable {
    /// The directory.
    public let path: String

    /// Makes it.
    /// - Throws: The kernel's error number.
    public init() throws {
        var template = Array("/tmp/nwpath-test-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw Errno.current }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard unsafe chmod(path, 0o755) == 0 else { throw Errno.current }
    }

    /// Makes one that goes when the process ends, for what all its tests share.
    /// - Throws: The kernel's error number.
    public static func ofProcess() throws -> Scratch {
        let made = try Scratch()
        let isFirst = untilExit.withLock { kept in
            kept.append(made)
            return kept.count == 1
        }
        if isFirst { atexit { Scratch.untilExit.withLock { $0 = [] } } }
        return made
    }

    private static let untilExit = Mutex<[Scratch]>([])

    deinit { _ = try? Command.run(["rm", "-rf", path]) }

    /// The path of a name in it.
    public func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Whether something of that name is there.
    public func exists(_ name: String) -> Bool { unsafe access(file(name), F_OK) == 0 }

    /// Writes in place, as `echo >file` does.
    /// - Returns: The path.
    /// - Throws: The kernel's error number.
    @discardableResult public func write(_ text: String, to name: String) throws -> String {
        let descriptor = try FileDescriptor(opening: file(name), flags: O_WRONLY | O_CREAT | O_TRUNC)
        try descriptor.writeAll(Array(text.utf8).span)
        return file(name)
    }

    /// A whole file as text.
    /// - Throws: The kernel's error number.
    public func text(_ name: String) throws -> String {
        let descriptor = try FileDescriptor(opening: file(name), flags: O_RDONLY)
        var bytes: [UInt8] = []
        while case let chunk = try descriptor.read(upTo: 65_536), !chunk.isEmpty { bytes += chunk }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text of a file that may not be there yet; empty then.
    public func read(_ name: String) -> String { (try? text(name)) ?? "" }
}
