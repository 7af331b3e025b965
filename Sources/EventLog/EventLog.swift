// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import EventHub
public import LinuxIO

/// The event log: one JSON record a line, appended for ever, bounded by rotation.
///
/// Confined to one event loop. Each record is one write(2) to a file opened with `O_APPEND`, so a process that is
/// killed leaves whole lines. Each file begins with `log.opened`. When the file cannot be written, the service goes
/// on: the log tries again before every event and, when it can, reports by `log.gap` what is missing.
///
/// To start: open the log, make a hub that goes on after ``recovered``, attach the log to it.
public final class EventLog {
    public struct Options: Sendable {
        public var identity: DaemonIdentity
        /// When a new file begins.
        public var rotation = RotationPolicy()
        /// How often the log checks whether its file was removed, replaced or cut.
        public var checkInterval = Duration.seconds(1)

        public init(identity: DaemonIdentity) {
            self.identity = identity
        }
    }

    public static let standardOutput = "-"

    /// The last record that was found at the start; `nil` when the log has no past.
    public let recovered: EventPosition?
    public internal(set) var status: LogStatus

    let path: String
    /// Files that were rotated away before they were saved.
    var unsaved: [SavedFile] = []
    let isStandardOutput: Bool
    let clock: any TimeSource
    var options: Options
    /// The file being written; `nil` when none can be opened.
    var file: LogFile?
    /// The number of the last record that is in a file that was seen at its path, or was lost.
    var seen: UInt64 = 0
    /// The file system that the file's directory was on when the file was opened.
    var device: UInt64?
    /// Why the next record must be `log.opened`; `nil` when the file has one.
    var opening: LogOpened.Reason? = .started
    /// When the file was begun, as time since boot.
    var begun = Duration.zero
    var nextCheck = Duration.zero
    var nextRotation = Duration.zero
    private let lock: LogLock?

    /// Opens the log at `path`, or standard output for `-`; makes its directory, acquires its lock, repairs its end.
    ///
    /// - Throws: ``EventLogError`` when the path cannot be used, is somebody else's, or is written by another daemon.
    public init(path: String, options: Options, clock: any TimeSource = KernelClock()) throws(EventLogError) {
        self.path = path
        self.options = options
        self.clock = clock
        status = LogStatus()
        isStandardOutput = path == Self.standardOutput
        nextCheck = clock.boot + options.checkInterval
        if isStandardOutput {
            lock = nil
            file = try LogFile()
            recovered = nil
            return
        }
        let directory = try Self.makeDirectory(of: path)
        // Nothing is left beside what can be no log.
        do throws(FileRefusal) {
            try directory.inspect(FilePath.name(of: path), for: .log)
        } catch {
            throw EventLogError(error, operation: "open the log", file: path)
        }
        let lock = try LogLock(for: path, in: directory)
        let file: LogFile
        do throws(EventLogError) {
            file = try LogFile(path: path, in: directory)
            if let last = file.tail?.last {
                recovered = last.position
            } else {
                recovered = try LogSegment.lastPosition(beside: path)
            }
        } catch {
            lock.giveUp()
            throw error
        }
        self.lock = consume lock
        try? directory.remove(FilePath.name(of: path) + Self.newSuffix)
        status.lastRecord = recovered
        adopt(file)
    }

    /// Changes how the log is rotated, when the configuration was reloaded.
    public func setRotation(_ rotation: RotationPolicy) {
        options.rotation = rotation
    }

    /// Opens the path anew because somebody renamed the file (SIGUSR1); no event is lost between the two.
    ///
    /// Call ``EventHub/EventHub/prepareJournal()`` afterwards, so that the new file gets its first record at once.
    public func reopen() {
        guard !isStandardOutput else { return }
        reopen(because: .reopened)
    }

    /// Saves what was written to the disk; for the end of the daemon.
    public func synchronize() {
        removeUnsaved()?.save()
    }

    /// Whether something was written that may not be on the disk.
    public var hasUnsaved: Bool { !unsaved.isEmpty || file?.isUnsaved == true }

    /// What was written since the last call, and may not be on the disk; `nil` when there is nothing.
    public func removeUnsaved() -> UnsavedLog? {
        if let file = file?.removeUnsaved() { unsaved.append(file) }
        defer { unsaved = [] }
        return unsaved.isEmpty ? nil : UnsavedLog(files: unsaved)
    }
}

// MARK: - Journal

extension EventLog: EventJournal {
    /// Puts the file in order, and writes the records that must come before the next event.
    public func prepare(for hub: EventHub) {
        checkFile()
        if let reason = opening { writeOpening(reason, to: hub) }
        guard opening == nil else { return }
        while let lost = status.outage?.lost.first {
            guard writeGap(lost, to: hub) else { return }
        }
    }

    /// Writes an event, or counts it as lost.
    public func append(_ event: Event) {
        // prepare(for:) has just tried to end an outage: what comes while it lasts is lost.
        if opening == nil && status.outage == nil && write(event) { return }
        lose(event.sequence)
    }

    private func writeOpening(_ reason: LogOpened.Reason, to hub: EventHub) {
        guard let file else { return }
        let event = hub.draft(
            LogOpened(
                file: isStandardOutput ? "-" : path,
                reason: reason,
                previousSequence: hub.position.sequence > 0 ? hub.position.sequence : nil,
                inode: file.status.inode,
                repairedBytes: Int(file.repairedBytes),
                identity: options.identity
            )
        )
        guard write(event) else { return }
        opening = nil
        if status.outage?.lost.isEmpty == true { status.outage = nil }
        hub.commit(event)
    }

    private func writeGap(_ lost: ClosedRange<UInt64>, to hub: EventHub) -> Bool {
        guard let outage = status.outage else { return false }
        let event = hub.draft(
            LogGap(file: path, lost: lost, error: outage.error, duration: clock.boot - outage.since)
        )
        guard write(event) else { return false }
        status.outage?.lost.removeFirst()
        if status.outage?.lost.isEmpty == true { status.outage = nil }
        hub.commit(event)
        return true
    }

    private func lose(_ sequence: UInt64) {
        if status.outage == nil { fail("EIO") }
        status.lose(sequence...sequence)
    }

    /// Writes a record; an error begins an outage.
    private func write(_ event: Event) -> Bool {
        guard let file else { return false }
        do throws(Errno) {
            try file.append(event.line)
        } catch {
            fail(error.name)
            return false
        }
        status.recordsWritten += 1
        status.lastRecord = event.position
        status.size = file.size
        return true
    }

    /// Counts an error of the file being written, and begins an outage.
    func fail(_ error: String) {
        status.errors += 1
        // Files that were removed to make room occupy it until they are closed.
        unsaved.removeAll { !$0.isLinked }
        guard status.outage == nil else { return }
        status.outage = LogStatus.Outage(since: clock.boot, error: error)
    }
}
