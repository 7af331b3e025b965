// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Configuration
internal import EventLog
internal import Glibc
internal import LinuxIO

/// Makes the directories the service needs, and refuses those that somebody else prepared.
///
/// In `/tmp` and its like anybody can make the directory first and would own what lies in it, so one that belongs to
/// somebody else is refused there.
struct RuntimeDirectories {
    var user: uid_t = geteuid()

    /// Prepares the state directory and those of all unix sockets, and looks at the log's, which the log makes itself.
    func prepare(_ configuration: Configuration) throws(ServiceError) {
        try prepare(configuration.stateDirectory, mode: 0o750)
        guard unsafe access(configuration.stateDirectory, W_OK | X_OK) == 0 else {
            throw .directory(path: configuration.stateDirectory, reason: .current)
        }
        try prepareSockets(of: configuration)
        try inspectLog(configuration.log.file)
    }

    /// Prepares the directories of all unix sockets.
    func prepareSockets(of configuration: Configuration) throws(ServiceError) {
        for case .unix(let path) in configuration.listen where path.hasPrefix("/") {
            // Root's socket is for everybody's eyes; its own mode and the peer's credentials protect it.
            try prepare(FilePath.directory(of: path), mode: user == 0 ? 0o755 : 0o700)
        }
    }

    /// Refuses a log that somebody else could lead elsewhere.
    func inspectLog(_ file: String) throws(ServiceError) {
        guard file != EventLog.standardOutput else { return }
        let directory = FilePath.directory(of: file)
        try inspectAncestors(of: directory)
        var status = stat()
        guard unsafe stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return }
        try inspect(directory)
        let isClosed = (status.st_uid == 0 || status.st_uid == user) && status.st_mode & 0o022 == 0
        guard !isClosed, unsafe lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return }
        throw .linkedLog(path: file)
    }

    private func prepare(_ path: String, mode: mode_t) throws(ServiceError) {
        try inspectAncestors(of: path)
        do throws(Errno) {
            if try make(path, mode: mode) { return }
        } catch {
            throw .directory(path: path, reason: error)
        }
        try inspect(path)
    }

    /// - Returns: Whether it was made now.
    private func make(_ path: String, mode: mode_t) throws(Errno) -> Bool {
        var code = unsafe mkdir(path, mode)
        if code != 0, Errno.current == .noEntry, path != "/" {
            _ = try make(FilePath.directory(of: path), mode: mode)
            code = unsafe mkdir(path, mode)
        }
        guard code == 0 else {
            let reason = Errno.current
            guard reason == .exists else { throw reason }
            return false
        }
        // mkdir(2) applies the umask, which could make root's directory unreachable for readers.
        guard unsafe chmod(path, mode) == 0 else { throw .current }
        return true
    }

    private func inspect(_ path: String) throws(ServiceError) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw .directory(path: path, reason: .current) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .directory(path: path, reason: Errno(ENOTDIR)) }
        guard path != FilePath.directory(of: path), Self.isShared(FilePath.directory(of: path)) else { return }
        // Without following a link: its owner decides where it leads.
        guard unsafe lstat(path, &status) == 0 else { throw .directory(path: path, reason: .current) }
        guard status.st_uid == user else { throw .foreignDirectory(path: path, owner: status.st_uid) }
        // The fallback of StandardPaths is the user's alone; a directory that somebody named stays as it is.
        guard path == "/tmp/nwpath-\(user)", status.st_mode & 0o077 != 0 else { return }
        guard unsafe chmod(path, 0o700) == 0 else { throw .directory(path: path, reason: .current) }
    }

    /// Refuses what lies further down in somebody else's directory of a shared place.
    private func inspectAncestors(of path: String) throws(ServiceError) {
        let directory = FilePath.directory(of: path)
        guard directory != path, directory != ".", directory != "/" else { return }
        try inspectAncestors(of: directory)
        var status = stat()
        guard Self.isShared(FilePath.directory(of: directory)), unsafe lstat(directory, &status) == 0,
            status.st_uid != user, status.st_uid != 0
        else { return }
        throw .foreignDirectory(path: directory, owner: status.st_uid)
    }

    /// Whether everybody may make something in a directory, and nobody take away what is another's.
    private static func isShared(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return false }
        return status.st_mode & S_ISVTX != 0 && status.st_mode & S_IWOTH != 0
    }
}
