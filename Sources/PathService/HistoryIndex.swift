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
    private let loop: EventLoop
    private let retryInterval: Duration
    private var retryTimer: EventLoop.Timer?
    private var past = MarkList(capacity: capacity)
    private var present = MarkList(capacity: capacity)
    /// The relation of the two clocks at the last event of this run.
    private var calendar: CalendarStep?
    private var source: (log: String, outages: String?, end: EventPosition)?
    private var ticket: Worker.Ticket?

    /// Prepares to read; what cannot be read is read again after `retryInterval`.
    init(
        loop: EventLoop,
        worker: Worker? = nil,
        clock: any TimeSource = KernelClock(),
        retryInterval: Duration = .seconds(10)
    ) {
        self.loop = loop
        self.worker = worker ?? Worker(loop: loop)
        self.clock = clock
        self.retryInterval = retryInterval
    }

    /// Begins to read the records up to `end`, which earlier runs wrote; records of another stream are all theirs.
    func read(log path: String, outages: String? = nil, upTo end: EventPosition?) {
        guard let end else { return }
        source = (path, outages, end)
        read()
    }

    private func read() {
        guard let (path, outages, end) = source else { return }
        do {
            ticket = try worker.start({ PastMarks(path: path, outages: outages, end: end) }) { [weak self] in
                self?.take($0)
            }
            reading = .underWay
        } catch {
            fail("cannot create a thread")
        }
    }

    private func fail(_ reason: String) {
        reading = .failed(reason: reason)
        retryTimer = loop.schedule(after: retryInterval) { [weak self] in
            self?.retryTimer = nil
            self?.read()
        }
    }

    private func take(_ result: Result<MarkList, any Error>) {
        switch result {
        case .success(let marks):
            past = marks
            reading = .complete
        case .failure(let error): fail("\(error)")
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
        // The next event records it.
        var calendar = calendar
        if let step = calendar?.observe(wall: clock.wall, boot: clock.boot) {
            history.take(.stepped(by: step, at: clock.wall))
        }
        return history
    }

    func stop() {
        ticket?.cancel()
        if let retryTimer { loop.cancel(retryTimer) }
        retryTimer = nil
    }

    /// By how much the calendar was stepped since the last record.
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
