// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import Probes

/// Keeps the history of each configured probe, and saves them in a file of the state directory.
///
/// Confined to the loop. A history that cannot be read or written stops nothing; see ``StateFileWriter``. Without probes
/// nothing is read, planned or written.
final class ProbeHistoryStore {
    static let fileName = "probes.jsonl"
    /// The least time between two writings.
    static let interval = Duration.seconds(600)
    /// How long a calendar that is behind the file is regarded as not set yet.
    static let calendarTimeout = Duration.seconds(3600)

    /// Why the file could not be read or written the last time; `nil` when all is well.
    private(set) var problem: String?
    private var records: [ProbeKey: ProbeRecord] = [:]
    private var hasChanges = false
    /// The configured probes.
    private var keys: Set<ProbeKey> = []
    /// When the file was first read, as time since boot; `nil` while there are no probes.
    private var opened: Duration?
    /// What the calendar must reach before the file is read and written; `nil` when it need not.
    ///
    /// A machine without a battery may start with a calendar that is not set yet, when all of the file is in the future.
    private var awaited: WallTime?
    private let loop: EventLoop
    private let clock: any TimeSource
    private let file: StateFile
    private let limit: Int
    private lazy var writer = StateFileWriter(
        file,
        loop: loop,
        clock: clock,
        interval: Self.interval,
        contents: { [unowned self] in pieces() },
        onEnd: { [unowned self] error in handle(error) }
    )
    /// Whether what is written was too long for the file.
    private var isCut = false

    init(loop: EventLoop, clock: any TimeSource, directory: String, limit: Int = ProbeHistoryFormat.longestFile) {
        self.loop = loop
        self.clock = clock
        self.limit = limit
        file = StateFile(path: directory + "/" + Self.fileName)
    }

    /// Keeps the histories of these probes and forgets those of others; the first time, reads what an earlier run left.
    func expect(_ definitions: [ProbeDefinition]) {
        keys = Set(definitions.map(ProbeKey.init))
        guard !keys.isEmpty else { return forget() }
        if opened == nil { open() }
        records = records.filter { keys.contains($0.key) }
    }

    /// Records the result of a run.
    func record(_ result: ProbeResult, of definition: ProbeDefinition) {
        let key = ProbeKey(definition)
        guard result.isAssessed, keys.contains(key) else { return }
        if let awaited, clock.wall >= awaited || isCalendarOverdue { open() }
        records[key, default: ProbeRecord()].append(result, at: clock.wall)
        hasChanges = true
        schedule()
    }

    /// What is kept of a probe.
    func record(of definition: ProbeDefinition) -> ProbeRecord { records[ProbeKey(definition)] ?? ProbeRecord() }

    /// Writes what is not yet written, at once.
    func close() {
        writer.cancel()
        if hasChanges, awaited == nil { writer.writeNow() }
    }

    private func forget() {
        guard opened != nil else { return }
        (opened, awaited, hasChanges, records, problem) = (nil, nil, false, [:], nil)
        writer.cancel()
        file.remove()
    }

    private func open() {
        (opened, awaited) = (opened ?? clock.boot, nil)
        do throws(FileRefusal.Cause) {
            let now = clock.wall
            guard let bytes = try file.read(upTo: limit) else { return }
            guard let reading = ProbeHistoryFormat.read(bytes, at: now, where: keys.contains) else {
                problem = file.setAside(because: "was not a history of probes")
                return
            }
            if let time = reading.time, time > now, !isCalendarOverdue {
                awaited = time
            } else {
                restore(reading.records, at: now)
            }
        } catch {
            problem = "\(file.path) cannot be read (\(error)); probes have no history of earlier runs"
        }
    }

    private var isCalendarOverdue: Bool { clock.boot - (opened ?? clock.boot) >= Self.calendarTimeout }

    private func restore(_ earlier: [ProbeKey: ProbeRecord], at now: WallTime) {
        records.merge(earlier) { current, earlier in
            var record = earlier
            for tier in ProbeTier.allCases { record.restore(current[tier], to: tier, at: now) }
            return record
        }
    }

    // MARK: - Writing

    private func schedule() {
        if hasChanges, awaited == nil { writer.schedule() }
    }

    /// What there is to write: a header, then the longest cells of all probes, and the shortest last.
    private func pieces() -> StateFileWriter.Pieces {
        (hasChanges, isCut) = (false, false)
        let records = records.sorted { $0.key < $1.key }
        var header: [UInt8]? = ProbeHistoryFormat.header(at: clock.wall)
        var lists = ProbeTier.allCases.reversed().flatMap { tier in
            records.map { (key: $0.key, tier: tier, cells: $0.value[tier][...]) }
        }[...]
        var room = limit - (header?.count ?? 0)
        return { [unowned self] in
            if let first = header.take() { return first }
            while let list = lists.first {
                guard !list.cells.isEmpty else {
                    lists.removeFirst()
                    continue
                }
                let cells = list.cells.prefix(ProbeHistoryFormat.cellsInLine)
                lists[lists.startIndex].cells.removeFirst(cells.count)
                let line = ProbeHistoryFormat.line(list.key, list.tier, cells)
                if line.count <= room {
                    room -= line.count
                    return line
                }
                isCut = true
            }
            return nil
        }
    }

    /// Handles the end of a write; one that failed is tried again with the next change.
    private func handle(_ error: FileRefusal.Cause?) {
        if let error {
            hasChanges = true
            problem = "\(file.path) cannot be written (\(error)); what probes find out now is lost at the end"
        } else {
            let full = "\(file.path) is full (\(limit >> 20) MiB); some of what probes found is lost at the end"
            problem = isCut ? full : nil
            schedule()
        }
    }
}
