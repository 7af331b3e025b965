// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import EventLog
internal import LinuxIO
internal import OrderedJSON
internal import PathModel
internal import Probes
internal import StatusServer

/// Answers what the HTTP routes ask: documents from the store, events from memory, and older ones from the log.
final class StatusSource: StatusProviding {
    private let hub: EventHub
    private let store: DocumentStore
    private let clock: any TimeSource
    private let logFile: String?
    private let index: HistoryIndex
    private let worker: Worker
    private let report: @Sendable (String) -> Void
    private var state = State.closed(reason: "the kernel has not been read yet")

    private enum State {
        case closed(reason: String)
        case open(reload: () throws -> [UInt8])
    }

    init(
        hub: EventHub,
        store: DocumentStore,
        clock: any TimeSource,
        logFile: String?,
        index: HistoryIndex,
        worker: Worker,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.hub = hub
        self.store = store
        self.clock = clock
        self.logFile = logFile
        self.index = index
        self.worker = worker
        self.report = report
    }

    /// The service is ready from now on.
    /// - Parameter reload: Reads the configuration again, for `POST /-/reload`.
    func open(reload: @escaping () throws -> [UInt8]) { state = .open(reload: reload) }

    /// The service is not ready any more.
    func close(_ reason: String) { state = .closed(reason: reason) }

    var readiness: Readiness {
        switch state {
        case .open: .ready
        case .closed(let reason): .notReady(reason: reason)
        }
    }

    func reload() throws -> [UInt8] {
        switch state {
        case .open(let reload): try reload()
        case .closed(let reason):
            throw Problem(.notReady, status: 503, detail: "The service is not ready: \(reason).")
        }
    }

    var health: Readiness { .ready }
    var forms: [Form] { DocumentForms.all }
    var position: EventPosition { hub.position }

    func notice(_ body: some EventBody) -> EventRecord { hub.notice(body).record }

    func snapshot(of document: StatusDocument) throws -> Snapshot? { try store.snapshot(of: document) }

    func isSatisfied(monitor: String) throws -> Bool? { store.isSatisfied(monitor) }

    func badge(of monitor: String) throws -> BadgeState? { store.badge(of: monitor) }

    func events(after sequence: UInt64, limit: Int) throws -> EventReplay {
        let replay = hub.events(since: sequence)
        if replay.isComplete { return .events(replay.events.prefix(limit).map(\.record)) }
        guard sequence <= hub.position.sequence else { return .events([]) }
        let oldest = replay.events.first?.sequence ?? hub.position.sequence
        return logFile == nil ? .tooOld(oldest: oldest) : .archived(oldest: oldest)
    }

    func sequence(olderThan age: Duration) -> UInt64? {
        let limit = clock.wall - age
        let recent = hub.events(since: 0).events
        if let last = recent.last(where: { $0.time < limit }) { return last.sequence }
        if logFile == nil || recent.first?.sequence == 1 { return recent.first.map { $0.sequence - 1 } ?? 0 }
        return nil
    }

    func archive(
        from place: EventPlace,
        where isWanted: @escaping @Sendable (String) -> Bool
    ) throws -> any EventArchive {
        guard let logFile else { throw Problem(.sinceTooOld, status: 410, detail: "There is no log to read.") }
        let start: LogCursor.Start =
            switch place {
            case .after(let sequence): .after(sequence)
            case .age(let age): .time(clock.wall - age)
            }
        let stream = hub.position.stream
        return LogArchive(path: logFile, stream: stream, from: start, worker: worker, where: isWanted)
    }

    func history(_ request: HistoryRequest) throws -> [UInt8] {
        let reading = index.reading
        switch reading {
        case .complete: break
        case .underWay: throw Self.unread("is still being read")
        case .failed(let reason): throw Self.unread("could not be read (\(reason)) and is read again")
        }
        let (monitor, state): (String?, OutageHistory.State) =
            switch request.subject {
            case .path(let monitor): (monitor, .path)
            case .headline: (nil, .headline)
            }
        let history = index.history(
            monitor: monitor ?? MonitorPolicy.standardName,
            since: request.since,
            until: request.until,
            state: state,
            step: request.step
        )
        return try OrderedJSONEncoder().encode(history.document(at: request.until)) + [0x0A]
    }

    private static func unread(_ state: String) -> Problem {
        Problem(.notReady, status: 503, detail: "The log of earlier runs \(state); try again soon.")
    }

    func leastProbeStep(since: WallTime) -> Duration { ProbeTier.finest(reachingTo: since, at: clock.wall).step }

    func probeHistory(_ name: String, since: WallTime, until: WallTime, step: Duration) throws -> [UInt8]? {
        try store.probes.history(name, since: since, until: until, step: step).map {
            try OrderedJSONEncoder().encode($0) + [0x0A]
        }
    }

    func startProbe(_ name: String) throws -> RunStart? { store.probes.runNow(name) }

    func startDiagnosis() throws -> RunStart { try store.diagnosis.runNow() }

    func internalError(_ error: any Error, instance: String) { report("error \(instance): \(error)") }
}
