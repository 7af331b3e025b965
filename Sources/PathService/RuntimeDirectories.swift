// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Configuration
internal import Glibc
internal import LinuxIO

/// Makes the directories the service needs, and refuses those that somebody else prepared, as ``FileTrust`` says.
struct RuntimeDirectories {
    var user: uid_t = geteuid()

    /// Prepares the state directory and those of all unix sockets; the log makes its own.
    func prepare(_ configuration: Configuration) throws(ServiceError) {
        let path = configuration.stateDirectory
        let directory = try prepare(path, mode: 0o750)
        do throws(Errno) {
            try directory.checkWritable()
        } catch {
            throw .directory(path: path, reason: error)
        }
        try prepareSockets(of: configuration)
    }

    /// Prepares the directories of all unix sockets.
    func prepareSockets(of configuration: Configuration) throws(ServiceError) {
        for case .unix(let path) in configuration.listen where path.hasPrefix("/") {
            // Root's socket is for everybody's eyes; its own mode and the peer's credentials protect it.
            _ = try prepare(FilePath.directory(of: path), mode: user == 0 ? 0o755 : 0o700)
        }
    }

    private func prepare(_ path: String, mode: mode_t) throws(ServiceError) -> TrustedDirectory {
        var trust = FileTrust.current
        trust.user = user
        let directory: TrustedDirectory
        do throws(FileRefusal) {
            directory = try TrustedDirectory(path, making: mode, isExact: true, trust: trust)
        } catch {
            guard case .failed(let reason) = error.cause else { throw .refused(error) }
            throw .directory(path: path, reason: reason)
        }
        // The fallback of StandardPaths is the user's alone; a directory that somebody named stays as it is.
        guard path == "/tmp/nwpath-\(user)", directory.mode & 0o077 != 0 else { return directory }
        do throws(Errno) {
            try directory.setMode(0o700)
        } catch {
            throw .directory(path: path, reason: error)
        }
        return directory
    }
}
