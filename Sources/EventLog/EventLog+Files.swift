// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import LinuxIO

// MARK: - Which file is written

extension EventLog {
    /// What the next file is called until it has the log's name.
    static var newSuffix: String { ".new" }

    func adopt(_ file: LogFile) {
        if let old = self.file?.removeUnsaved() { unsaved.append(old) }
        self.file = file
        let age = file.firstTime.map { clock.wall - $0 } ?? .zero
        // A calendar that was stepped back gives a negative age.
        begun = clock.boot - max(.zero, age)
        seen = max(status.lastRecord?.sequence ?? 0, status.outage?.lost.last?.upperBound ?? 0)
        device = directoryDevice
        status.size = file.size
        status.repairedBytes += file.repairedBytes
    }

    /// Checks, at times, whether the file is still the one that the path names, and rotates it when it is due.
    func checkFile() {
        guard !isStandardOutput else { return }
        let now = clock.boot
        let isDue = now >= nextRotation && opening == nil && isRotationDue(now)
        if now >= nextCheck || isDue {
            nextCheck = now + options.checkInterval
            checkIdentity()
        }
        guard isDue, opening == nil, isRotationDue(now) else { return }
        do throws(Errno) {
            try rotate()
        } catch {
            // The present file goes on; try again a little later.
            status.errors += 1
            nextRotation = now + options.checkInterval
        }
    }

    /// A file without a record is never rotated, whatever its age.
    private func isRotationDue(_ now: Duration) -> Bool {
        guard let file, file.size > 0 else { return false }
        return options.rotation.isDue(size: file.size, age: now - begun)
    }

    private func checkIdentity() {
        guard let file else { return reopen(because: .replaced) }
        guard let found = try? FileStatus(path: path), found.isSameFile(as: file.status) else {
            return reopen(because: .replaced)
        }
        seen = status.lastRecord?.sequence ?? 0
        guard found.size < file.size else { return }
        file.noteSize(found.size)
        status.reopenings += 1
        opening = .truncated
    }

    /// Opens what the path names now, unless it is the file already open.
    func reopen(because reason: LogOpened.Reason) {
        if let file, let found = try? FileStatus(path: path), found.isSameFile(as: file.status) { return }
        let hidden = hidden
        do throws(EventLogError) {
            adopt(try LogFile(path: path, in: Self.makeDirectory(of: path)))
            opening = reason
            status.reopenings += 1
            if let hidden { lose(hidden) }
        } catch {
            // The old file goes on while it has a name; without one its lines would be lost unseen.
            if file?.isLinked == true {
                status.errors += 1
            } else {
                file = nil
                fail(error.errorName)
                if let hidden { lose(hidden) }
            }
        }
    }
}

extension EventLog {
    /// Opens the directory of a log; it is made with mode 0750, and those above it too.
    static func makeDirectory(of path: String) throws(EventLogError) -> TrustedDirectory {
        do throws(FileRefusal) {
            return try TrustedDirectory(FilePath.directory(of: path), making: 0o750)
        } catch {
            throw EventLogError(error, operation: "make the directory", file: FilePath.directory(of: path))
        }
    }

    /// The file system of the log's directory, or of the nearest one above that exists.
    private var directoryDevice: UInt64? {
        var directory = FilePath.directory(of: path)
        while true {
            if let found = try? FileStatus(path: directory) { return found.device }
            let above = FilePath.directory(of: directory)
            if above == directory { return nil }
            directory = above
        }
    }

    /// What was written since the file was last seen, and is in no file any more.
    ///
    /// Somebody removed it, or a mount hides it; one that was renamed is where somebody put it.
    private var hidden: ClosedRange<UInt64>? {
        guard let file, let last = status.lastRecord?.sequence, seen < last else { return nil }
        return !file.isLinked || directoryDevice != device ? seen + 1...last : nil
    }

    private func lose(_ hidden: ClosedRange<UInt64>) {
        if status.outage == nil { status.outage = LogStatus.Outage(since: clock.boot, error: Errno.noEntry.name) }
        status.lose(hidden)
        seen = hidden.upperBound
    }
}

// MARK: - Rotation

extension EventLog {
    /// Renames the file to `.1` after the others moved up, and begins a new one.
    private func rotate() throws(Errno) {
        let name = FilePath.name(of: path)
        let new = name + Self.newSuffix
        let directory: TrustedDirectory
        do throws(EventLogError) { directory = try Self.makeDirectory(of: path) } catch { throw error.reason }
        try directory.remove(new)
        let file: LogFile
        do throws(EventLogError) {
            file = try LogFile(path: path + Self.newSuffix, in: directory, isNew: true)
        } catch {
            throw error.reason
        }
        do throws(Errno) {
            try makeRoom(in: directory)
            if options.rotation.keep > 0 { try directory.rename(name, to: name + ".1") }
            try directory.rename(new, to: name)
        } catch {
            try? directory.remove(new)
            throw error
        }
        adopt(file)
        opening = .rotated
        status.rotations += 1
    }

    /// Moves `.1` to `.2` and so on, compressed or not, and removes those over the limit.
    private func makeRoom(in directory: borrowing TrustedDirectory) throws(Errno) {
        let name = FilePath.name(of: path)
        for old in try LogSegment.numbered(beside: path).sorted(by: { $0.number > $1.number }) {
            if old.number >= options.rotation.keep {
                try directory.remove(old.path(of: name))
            } else {
                try directory.rename(old.path(of: name), to: old.next.path(of: name))
            }
        }
    }
}

extension EventLogError {
    var reason: Errno {
        switch self {
        case .failed(_, _, let reason): reason
        case .locked: .again
        case .foreign, .damaged: .invalid
        case .refused(let refusal): refusal.cause.reason
        }
    }

    var errorName: String {
        if case .foreign = self { "foreign file" } else { reason.name }
    }
}
