// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import Glibc

/// Opens one directory of a path after another, and checks each before it goes on from there.
struct PathResolution: ~Copyable {
    private struct Component {
        let name: String
        /// Whether it stands in the target of a link: nothing is made there.
        let isOfLink: Bool
    }

    /// As many links as the kernel follows, path_resolution(7).
    static let mostLinks = 40
    /// `O_PATH`, a macro that is not imported.
    static let pathOnly: Int32 = 0o10_000_000

    let trust: FileTrust
    /// The directory that was reached.
    private var directory: OpenEntry
    /// The path of that directory, for people.
    private var shown: String
    /// What is still to be resolved, the next last.
    private var rest: [Component]
    private var links: Int

    /// Stands at the root, or in the directory `start` for a relative path.
    init(
        _ path: String,
        from start: Int32,
        trust: FileTrust,
        links: Int,
        shown: String = ""
    ) throws(FileRefusal.Cause) {
        self.trust = trust
        self.links = links
        self.shown = path.hasPrefix("/") ? "/" : shown
        rest = Self.components(path, isOfLink: false)
        do throws(Errno) {
            directory = try Self.openPath(path.hasPrefix("/") ? "/" : ".", in: start)
        } catch {
            throw .failed(error)
        }
    }

    var isDone: Bool { rest.isEmpty }

    /// The path of what is resolved next, for people.
    var next: String { FilePath.path(of: rest.last?.name ?? ".", in: shown) }

    consuming func end() -> OpenEntry { directory }

    /// Goes on to the next directory, or to where a link leads; what is refused stays ``next``.
    /// - Parameters:
    ///   - mode: The permissions with which a missing directory is made; `nil` makes none.
    ///   - isExact: Whether it gets them whatever the umask is.
    /// - Throws: Why the resolution ends there.
    mutating func step(making mode: UInt32?, isExact: Bool) throws(FileRefusal.Cause) {
        guard let component = rest.last else { return }
        let found: OpenEntry
        do throws(Errno) {
            found = try openEntry(component, making: mode, isExact: isExact)
        } catch {
            throw .failed(error)
        }
        let facts = found.facts
        if component.name != "..", let cause = trust.refusal(entering: facts, in: directory.facts) { throw cause }
        if facts.kind == .directory {
            shown = next
            directory = found
            rest.removeLast()
        } else {
            do throws(Errno) {
                guard facts.kind == .link else { throw Errno(ENOTDIR) }
                try follow(found, component.name)
            } catch {
                throw .failed(error)
            }
        }
    }

    private mutating func follow(_ link: borrowing OpenEntry, _ name: String) throws(Errno) {
        links -= 1
        guard links >= 0 else { throw Errno(ELOOP) }
        if link.isOfProcesses {
            let number = directory.descriptor.rawValue
            let flags = Self.pathOnly | O_DIRECTORY
            shown = next
            directory = try OpenEntry(FileDescriptor(opening: name, in: number, flags: flags))
            rest.removeLast()
            return
        }
        let target = try link.target()
        if target.hasPrefix("/") {
            directory = try Self.openPath("/", in: AT_FDCWD)
            shown = "/"
        }
        rest.removeLast()
        rest += Self.components(target, isOfLink: true)
    }

    /// Opens a directory or a link; a missing directory is made where that is wanted.
    private func openEntry(_ component: Component, making mode: UInt32?, isExact: Bool) throws(Errno) -> OpenEntry {
        do throws(Errno) {
            // As a directory first: only that mounts what automount(8) is to mount there.
            return try Self.openPath(component.name, in: directory.descriptor.rawValue, O_DIRECTORY)
        } catch {
            if error == Errno(ENOTDIR) || error == Errno(ELOOP) {
                return try Self.openPath(component.name, in: directory.descriptor.rawValue)
            }
            guard error == .noEntry, let mode, !component.isOfLink else { throw error }
            let isMade = unsafe mkdirat(directory.descriptor.rawValue, component.name, mode) == 0
            guard isMade || Errno.current == .exists else { throw .current }
            let made = try Self.openPath(component.name, in: directory.descriptor.rawValue)
            // mkdir(2) applies the umask, which could make root's directory unreachable for readers.
            if isMade, isExact {
                let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
                try FileDescriptor(opening: ".", in: made.descriptor.rawValue, flags: flags).setMode(mode)
            }
            return made
        }
    }

    private static func components(_ path: String, isOfLink: Bool) -> [Component] {
        path.split(separator: "/").reversed().filter { $0 != "." }
            .map { Component(name: String($0), isOfLink: isOfLink) }
    }

    /// Finds out what a name stands for, and opens nothing, `O_PATH`.
    static func openPath(_ name: String, in directory: Int32, _ flags: Int32 = 0) throws(Errno) -> OpenEntry {
        try OpenEntry(FileDescriptor(opening: name, in: directory, flags: pathOnly | O_NOFOLLOW | flags))
    }
}

extension FileTrust.Facts {
    /// Those of what a path names, without following a link at its end.
    public init(path: String) throws(Errno) { self = try PathResolution.openPath(path, in: AT_FDCWD).facts }
}

/// An open file, directory or link, and what fstat(2) says of it.
struct OpenEntry: ~Copyable {
    let descriptor: FileDescriptor
    let facts: FileTrust.Facts

    init(_ descriptor: consuming FileDescriptor) throws(Errno) {
        var status = stat()
        guard unsafe fstat(descriptor.rawValue, &status) == 0 else { throw .current }
        let kind: FileTrust.Facts.Kind =
            switch status.st_mode & S_IFMT {
            case S_IFDIR: .directory
            case S_IFLNK: .link
            case S_IFREG: .regular
            default: .other
            }
        facts = .init(kind, owner: status.st_uid, mode: status.st_mode & 0o7777, links: UInt64(status.st_nlink))
        self.descriptor = descriptor
    }

    /// Whether it is in procfs, where only the kernel makes links and knows where they lead (`/proc/PID/root`).
    var isOfProcesses: Bool { nwp_is_procfs(descriptor.rawValue) }

    /// Where a link leads, readlinkat(2).
    func target() throws(Errno) -> String {
        var failure: Errno? = .noEntry
        let bytes = unsafe [CChar](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
            count = 0
            guard let first = buffer.baseAddress else { return }
            count = max(0, unsafe readlinkat(descriptor.rawValue, "", first, buffer.count))
            failure = count > 0 ? nil : .current
        }
        if let failure { throw failure }
        return String(decoding: bytes.lazy.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    consuming func end() -> FileDescriptor { descriptor }
}
