// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import EventLog
internal import LinuxIO
internal import OrderedJSON

/// Keeps the changes of all statuses in memory, so that history is answered without reading the log.
///
/// The log of earlier runs is read once after the start, beside the loop.
/// Bounded: the newest ``capacity`` marks are kept.
final class HistoryIndex {
    static let capacity = 4096

    /// What became of the log of earlier runs.
    enum Reading: Equatable {
        case complete, underWay
        case failed(reason: String)
    }

    private(set) var reading = Reading.complete
    private let worker: Worker
    private let clock: any TimeSource
    private var past = MarkList(capacity: capacity)
    private var present = MarkList(capacity: capacity)
    /// The relation of the two clocks at the last event of this run.
    private var calendar: CalendarStep?
    private var source: (log: String, outages: String?, end: EventPosition)?
    private var ticket: Worker.Ticket?

    init(worker: Worker, clock: any TimeSource = KernelClock()) {
        self.worker = worker
        self.clock = clock
    }

    /// Begins to read the records up to `end`, which earlier runs wrote; records of another stream are all theirs.
    func read(log path: String, outages: String? = nil, upTo end: EventPosition?) {
        guard let end else { return }
        source = (path, outages, end)
        read()
    }

    /// Begins again to read what could not be read.
    func retry() {
        if case .failed = reading { read() }
    }

    private func read() {
        guard let (path, outages, end) = source else { return }
        do {
            ticket = try worker.start({ PastMarks(path: path, outages: outages, end: end) }) { [weak self] in
                self?.take($0)
            }
            reading = .underWay
        } catch {
            reading = .failed(reason: "cannot create a thread")
        }
    }

    private func take(_ result: Result<MarkList, any Error>) {
        switch result {
        case .success(let marks):
            past = marks
            reading = .complete
        case .failure(let error): reading = .failed(reason: "\(error)")
        }
    }

    /// Takes an event of this run, in the call in which it is published.
    func take(_ event: Event) {
        if let step = step() { present.append(.stepped(by: step, at: event.time)) }
        switch event.name {
        // The log may be opened late, when its disk is there. The clocks themselves tell of a step, at any log level.
        case .logOpened, .clockJumped: return
        default: present.take(at: event.time, name: event.name.rawValue) { OutageMark(event) }
        }
    }

    /// Takes that this run watched nothing for so long, until now.
    func skip(_ duration: Duration) {
        if let step = step() { present.append(.stepped(by: step, at: clock.wall)) }
        present.append(.unwatched(for: duration, at: clock.wall))
    }

    func history(
        monitor: String,
        since: WallTime,
        until: WallTime,
        state: OutageHistory.State = .path,
        step: Duration? = nil
    ) -> OutageHistory {
        var history = OutageHistory(monitor: monitor, since: since, until: until, state: state, step: step)
        for mark in past.marks { history.take(mark) }
        var marks = present.marks[...]
        // What earlier runs said last is where an outage without an end ended.
        if case .started? = marks.first {
            history.take(marks.removeFirst().hearing(past.lastHeard))
        } else if let last = past.lastHeard {
            history.take(.stopped(last))
        }
        for mark in marks { history.take(mark) }
        if let jump = self.step() {
            present.append(.stepped(by: jump, at: clock.wall))
            history.take(.stepped(by: jump, at: clock.wall))
        }
        return history
    }

    func stop() { ticket?.cancel() }

    /// By how much the calendar was stepped since this was asked last.
    private func step() -> Duration? {
        let (wall, boot) = (clock.wall, clock.boot)
        guard calendar != nil else {
            calendar = CalendarStep(wall: wall, boot: boot)
            return nil
        }
        return calendar?.observe(wall: wall, boot: boot)
    }
}

/// Reads the marks of earlier runs from the log.
private struct PastMarks: Worker.Job {
    /// How many lines are looked at before others have their turn.
    private static let piece = 512

    let path: String
    let outages: String?
    let end: EventPosition
    private var reader: OutageReader?
    private var marks = MarkList(capacity: HistoryIndex.capacity)

    init(path: String, outages: String?, end: EventPosition) {
        self.path = path
        self.outages = outages
        self.end = end
    }

    mutating func advance() throws -> MarkList? {
        let reader = try self.reader ?? OutageReader(log: path, outages: outages)
        self.reader = reader
        do {
            let hasMore = try reader.advance(lines: Self.piece) { header, line in
                guard header.position.stream != end.stream || header.sequence <= end.sequence else { return false }
                marks.take(at: header.time, name: header.event) {
                    (try? JSONValue(parsing: line)).flatMap { OutageMark($0) }
                }
                return true
            }
            return hasMore ? nil : marks
        } catch .damaged {
            // What follows in that file is not known; the next one goes on.
            if let last = marks.lastHeard { marks.append(.stopped(last)) }
            return nil
        }
    }
}
