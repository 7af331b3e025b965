// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import EventLog
internal import LinuxIO
internal import OrderedJSON

/// Keeps the changes of all statuses in memory, so that history is answered without reading the log.
///
/// The log of earlier runs is read once after the start, in pieces between which the loop serves everything else.
/// Bounded: the newest ``capacity`` marks are kept.
final class HistoryIndex {
    static let capacity = 4096
    /// How many lines are looked at in one go; well under a millisecond.
    private static let piece = 256

    /// Whether the log of earlier runs has been read.
    private(set) var isComplete = true
    private let loop: EventLoop
    private var past = MarkList()
    private var present = MarkList()
    private var walk: LogWalk?
    private var end: EventPosition?
    private var timer: EventLoop.Timer?

    init(loop: EventLoop) {
        self.loop = loop
    }

    /// Begins to read the records up to `end`, which earlier runs wrote.
    func read(log path: String, upTo end: EventPosition?) {
        guard let end, let reader = try? LogReader(path: path) else { return }
        walk = LogWalk(reader)
        self.end = end
        isComplete = false
        advance()
    }

    /// Takes an event of this run.
    func take(_ event: Event) {
        present.take(at: event.time, name: event.name.rawValue) { OutageMark(event) }
    }

    func history(monitor: String, since: WallTime, until: WallTime) -> OutageHistory {
        var history = OutageHistory(monitor: monitor, since: since, until: until)
        for mark in past.marks { history.take(mark) }
        // What earlier runs said last is where an outage without an end ended.
        if let last = past.lastHeard { history.take(.alive(last)) }
        for mark in present.marks { history.take(mark) }
        return history
    }

    func stop() {
        if let timer { loop.cancel(timer) }
        timer = nil
        walk = nil
    }

    private func advance() {
        timer = nil
        guard let walk, let end else { return }
        let hasMore = try? walk.advance(lines: Self.piece) { header, line in
            guard header.position.stream != end.stream || header.sequence <= end.sequence else { return false }
            past.take(at: header.time, name: header.event) {
                (try? JSONValue(parsing: line)).flatMap { OutageMark($0) }
            }
            return true
        }
        guard hasMore ?? false else {
            // The files are closed and their buffers freed.
            self.walk = nil
            isComplete = true
            return
        }
        timer = loop.schedule(after: .zero) { [weak self] in self?.advance() }
    }
}

/// Marks in the order of the log, the newest only.
struct MarkList {
    private(set) var marks: [OutageMark] = []
    /// The time of the last record, whatever it was.
    private(set) var lastHeard: WallTime?

    /// Takes a record; `read` is called only for those that matter.
    mutating func take(at time: WallTime?, name: String, read: () -> OutageMark?) {
        defer { lastHeard = time ?? lastHeard }
        guard name.hasPrefix("path.") || name.hasPrefix("daemon.") else { return }
        guard let mark = read() else { return }
        switch mark {
        case .alive: return
        case .started(let time, _): marks.append(.started(time, lastHeard: lastHeard))
        default: marks.append(mark)
        }
        if marks.count > HistoryIndex.capacity { marks.removeFirst(HistoryIndex.capacity / 4) }
    }
}
