// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// An open directory that nobody but trusted users could have prepared, and the opener of the files in it.
///
/// The path to it is resolved with `O_NOFOLLOW`, each directory and link on it is checked by ``FileTrust``, and files are
/// opened relative to its descriptor. So nothing can be exchanged between a check and what follows from it, and no file is
/// read, cut or written before fstat(2) has said whose it is.
public struct TrustedDirectory: ~Copyable {
    /// The path by which it was named.
    public let path: String
    private let trust: FileTrust
    private let entry: OpenEntry

    /// How often a name may change its file while it is opened.
    private static let mostAttempts = 8

    /// Opens the directory at `path`.
    ///
    /// - Parameters:
    ///   - path: The directory.
    ///   - mode: The permissions with which missing directories are made; `nil` makes none.
    ///   - isExact: Whether those made get them whatever the umask is.
    ///   - trust: Who is trusted.
    /// - Throws: ``FileRefusal`` with the first thing on the path that is refused, or with an error of `path`.
    public init(
        _ path: String,
        making mode: UInt32? = nil,
        isExact: Bool = false,
        trust: FileTrust = .current
    ) throws(FileRefusal) {
        let resolution: PathResolution
        do throws(FileRefusal.Cause) {
            resolution = try PathResolution(path, from: AT_FDCWD, trust: trust, links: PathResolution.mostLinks)
        } catch {
            throw FileRefusal(path: path, cause: error)
        }
        try self.init(consume resolution, path: path, making: mode, isExact: isExact)
    }

    private init(
        _ resolution: consuming PathResolution,
        path: String,
        making mode: UInt32? = nil,
        isExact: Bool = false
    ) throws(FileRefusal) {
        while !resolution.isDone {
            do throws(FileRefusal.Cause) {
                try resolution.step(making: mode, isExact: isExact)
            } catch {
                // An error of a system call is one of the whole path; what is refused is named itself.
                if case .failed = error { throw FileRefusal(path: path, cause: error) }
                throw FileRefusal(path: resolution.next, cause: error)
            }
        }
        self.path = path
        trust = resolution.trust
        entry = resolution.end()
    }

    /// Opens a file by its whole path, whose directory must be there.
    public static func open(
        path: String,
        _ access: Int32,
        making mode: UInt32? = nil,
        for purpose: FileTrust.Purpose
    ) throws(FileRefusal) -> FileDescriptor {
        try TrustedDirectory(FilePath.directory(of: path))
            .open(FilePath.name(of: path), access, making: mode, for: purpose)
    }

    private var number: Int32 { entry.descriptor.rawValue }

    /// The permissions of the directory.
    public var mode: UInt32 { entry.facts.mode }

    /// Whether files can be made in it, faccessat(2).
    public borrowing func checkWritable() throws(Errno) {
        guard unsafe faccessat(number, ".", W_OK | X_OK, 0) == 0 else { throw .current }
    }

    /// Sets its permissions.
    public borrowing func setMode(_ mode: UInt32) throws(Errno) {
        try FileDescriptor(opening: ".", in: number, flags: O_RDONLY | O_DIRECTORY).setMode(mode)
    }

    /// Begins to replace a file of it, which is not opened.
    public consuming func replacement(
        of name: String,
        mode: UInt32,
        isForOthers: Bool = false
    ) throws(Errno) -> FileReplacement {
        try FileReplacement(of: name, in: entry.end(), mode: mode, isForOthers: isForOthers)
    }
}

// MARK: - Files

extension TrustedDirectory {
    /// Checks the file of a name without opening it.
    /// - Returns: What it is; `nil` when there is none.
    @discardableResult
    public borrowing func inspect(
        _ name: String,
        for purpose: FileTrust.Purpose
    ) throws(FileRefusal) -> FileTrust.Facts? {
        do throws(FileRefusal.Cause) {
            return try facts(of: name, for: purpose)
        } catch {
            throw FileRefusal(path: FilePath.path(of: name, in: path), cause: error)
        }
    }

    /// Opens the file of a name, and checks it before the caller sees it.
    ///
    /// A symbolic link is followed where only trusted users could have made it.
    /// - Parameters:
    ///   - name: A name in this directory.
    ///   - access: The flags of open(2) but `O_CREAT`, `O_EXCL` and `O_TRUNC`; `O_NOFOLLOW` and `O_NONBLOCK` are added.
    ///   - mode: The permissions of a file that is made when there is none; `nil` makes none.
    ///   - isNew: Whether there must be none.
    ///   - purpose: What it is for.
    /// - Returns: The open file, checked by fstat(2).
    /// - Throws: ``FileRefusal`` with the file or, behind a link, the directory that is refused.
    public borrowing func open(
        _ name: String,
        _ access: Int32,
        making mode: UInt32? = nil,
        isNew: Bool = false,
        for purpose: FileTrust.Purpose
    ) throws(FileRefusal) -> FileDescriptor {
        try open(name, access, making: mode, isNew: isNew, for: purpose, links: PathResolution.mostLinks)
    }

    private borrowing func open(
        _ name: String,
        _ access: Int32,
        making mode: UInt32?,
        isNew: Bool,
        for purpose: FileTrust.Purpose,
        links: Int
    ) throws(FileRefusal) -> FileDescriptor {
        var reason = Errno.again
        for _ in 0..<Self.mostAttempts {
            do throws(FileRefusal.Cause) {
                let found = try isNew ? nil : facts(of: name, for: purpose)
                if found?.kind != .link {
                    return try openFile(name, access, making: mode, isNew: found == nil, for: purpose)
                }
            } catch {
                // What was checked may be exchanged before it is opened: it is checked again.
                guard case .failed(let error) = error, !isNew,
                    [.exists, Errno(ELOOP)].contains(error) || error == .noEntry && mode != nil
                else { throw FileRefusal(path: FilePath.path(of: name, in: path), cause: error) }
                reason = error
                continue
            }
            return try follow(name, access, making: mode, for: purpose, links: links)
        }
        throw FileRefusal(path: FilePath.path(of: name, in: path), cause: .failed(reason))
    }

    /// Opens or makes a file that is no link, or is one that only the kernel can make.
    private borrowing func openFile(
        _ name: String,
        _ access: Int32,
        making mode: UInt32?,
        isNew: Bool,
        for purpose: FileTrust.Purpose,
        isLink: Bool = false
    ) throws(FileRefusal.Cause) -> FileDescriptor {
        if isNew, mode == nil { throw .failed(.noEntry) }
        let flags = access | O_NONBLOCK | O_NOCTTY | (isNew ? O_CREAT | O_EXCL : 0) | (isLink ? 0 : O_NOFOLLOW)
        let file: OpenEntry
        do throws(Errno) {
            file = try OpenEntry(FileDescriptor(opening: name, in: number, flags: flags, mode: mode ?? 0))
        } catch {
            throw .failed(error)
        }
        if isNew { return file.end() }
        let facts = file.facts
        if let cause = trust.refusal(opening: facts, in: entry.facts, for: purpose) { throw cause }
        let descriptor = file.end()
        if facts.kind == .other { try? descriptor.setBlocking() }
        return descriptor
    }

    private borrowing func facts(
        of name: String,
        for purpose: FileTrust.Purpose
    ) throws(FileRefusal.Cause)
        -> FileTrust.Facts?
    {
        let found: FileTrust.Facts
        do throws(Errno) {
            found = try PathResolution.openPath(name, in: number).facts
        } catch {
            if error == .noEntry { return nil }
            throw .failed(error)
        }
        if let cause = trust.refusal(opening: found, in: entry.facts, for: purpose) { throw cause }
        return found
    }

    private borrowing func follow(
        _ name: String,
        _ access: Int32,
        making mode: UInt32?,
        for purpose: FileTrust.Purpose,
        links: Int
    ) throws(FileRefusal) -> FileDescriptor {
        let own = FilePath.path(of: name, in: path)
        var target: String?
        do throws(Errno) {
            guard links > 0 else { throw Errno(ELOOP) }
            let link = try PathResolution.openPath(name, in: number)
            target = try link.isOfProcesses ? nil : link.target()
        } catch {
            throw FileRefusal(path: own, cause: .failed(error))
        }
        guard let target else {
            do throws(FileRefusal.Cause) {
                return try openFile(name, access, making: nil, isNew: false, for: purpose, isLink: true)
            } catch {
                throw FileRefusal(path: own, cause: error)
            }
        }
        let resolution: PathResolution
        do throws(FileRefusal.Cause) {
            let directory = FilePath.directory(of: target)
            resolution = try PathResolution(directory, from: number, trust: trust, links: links - 1, shown: path)
        } catch {
            throw FileRefusal(path: own, cause: error)
        }
        let shown = target.hasPrefix("/") ? target : FilePath.path(of: target, in: path)
        return try TrustedDirectory(consume resolution, path: FilePath.directory(of: shown))
            .open(FilePath.name(of: target), access, making: mode, isNew: false, for: purpose, links: links - 1)
    }
}

// MARK: - Names

extension TrustedDirectory {
    /// Gives a file another name in the same directory, renameat(2).
    public borrowing func rename(_ name: String, to other: String) throws(Errno) {
        guard unsafe renameat(number, name, number, other) == 0 else { throw .current }
    }

    /// Removes a file, unlinkat(2); one that is not there is no error.
    public borrowing func remove(_ name: String) throws(Errno) {
        guard unsafe unlinkat(number, name, 0) == 0 || Errno.current == .noEntry else { throw .current }
    }
}
