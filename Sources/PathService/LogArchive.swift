// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import EventLog
internal import LinuxIO
internal import StatusServer
internal import Synchronization

/// The event log for readers of old events: one pass over its files, on the worker's thread.
final class LogArchive: EventArchive {
    private let worker: Worker
    private let cursor: SharedCursor
    private var ticket: Worker.Ticket?
    private var completion: ((Result<ArchivePage, any Error>) -> Void)?

    /// Prepares to read the log at `path` from `start`; nothing is opened yet.
    init(
        path: String,
        stream: StreamID,
        from start: LogCursor.Start,
        worker: Worker,
        where isWanted: @escaping @Sendable (String) -> Bool
    ) {
        self.worker = worker
        cursor = SharedCursor(path: path, stream: stream, from: start, where: isWanted)
    }

    deinit { ticket?.cancel() }

    func read(limit: Int, bytes: Int, completion: @escaping (Result<ArchivePage, any Error>) -> Void) {
        self.completion = completion
        do {
            let job = { @Sendable [cursor] in PageJob(cursor: cursor, limit: limit, mostBytes: bytes) }
            ticket = try worker.start(job) { [weak self] result in
                guard let self, let completion = self.completion else { return }
                self.completion = nil
                completion(result)
            }
        } catch {
            self.completion = nil
            completion(.failure(Self.busy))
        }
    }

    func close() {
        ticket?.cancel()
        ticket = nil
        completion = nil
    }

    private static var busy: Problem {
        Problem(.notReady, status: 503, detail: "Too many readers of old events at once; try again soon.")
    }
}

/// A cursor that is used by one job after another.
private final class SharedCursor: Sendable {
    private let cursor: Mutex<LogCursor>
    private let isWanted: @Sendable (String) -> Bool

    init(
        path: String,
        stream: StreamID,
        from start: LogCursor.Start,
        where isWanted: @escaping @Sendable (String) -> Bool
    ) {
        cursor = Mutex(LogCursor(path: path, stream: stream, from: start))
        self.isWanted = isWanted
    }

    /// One step, whether the log lacks what was asked for, and where it begins.
    func advance(lines: Int, limit: Int) throws -> (step: LogCursor.Step, isCut: Bool, oldest: UInt64?) {
        try cursor.withLock { cursor in
            let step = try cursor.advance(lines: lines, limit: limit, where: isWanted)
            return (step, cursor.isCut, cursor.oldest)
        }
    }
}

private struct PageJob: Worker.Job {
    /// How many lines are looked at before others have their turn.
    private static let piece = 512

    let cursor: SharedCursor
    let limit: Int
    let mostBytes: Int
    private var events: [EventRecord] = []
    private var bytes = 0

    init(cursor: SharedCursor, limit: Int, mostBytes: Int) {
        self.cursor = cursor
        self.limit = limit
        self.mostBytes = mostBytes
    }

    mutating func advance() throws -> ArchivePage? {
        // A page that is nearly full takes few lines, which may be long.
        let room = min(limit - events.count, 64)
        let (step, isCut, oldest) = try cursor.advance(lines: Self.piece, limit: room)
        if isCut { return ArchivePage(events: [], last: step.last, isAtEnd: true, isCut: true, oldest: oldest) }
        events += step.records
        bytes += step.records.reduce(0) { $0 + $1.line.count }
        guard step.isAtEnd || events.count >= limit || bytes >= mostBytes else { return nil }
        return ArchivePage(events: events, last: step.last, isAtEnd: step.isAtEnd)
    }
}
