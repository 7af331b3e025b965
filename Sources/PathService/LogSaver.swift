// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import EventLog
internal import LinuxIO
internal import Metrics

/// Saves what was written to the log to the disk: what clients were told is still known after a power cut.
///
/// One save at a time, on a thread of its own: neither do readers of the log hold it up, nor does a slow disk hold up
/// readers.
final class LogSaver {
    /// How long after an event its record is saved, at the latest but for the time that takes.
    private static let delay = Duration.milliseconds(500)

    private let loop: EventLoop
    private let log: EventLog
    private let save: @Sendable (UnsavedLog) -> Void
    private var timer: EventLoop.Timer?
    private(set) var isSaving = false
    private var isStopped = false

    init(loop: EventLoop, log: EventLog, save: @escaping @Sendable (UnsavedLog) -> Void = { $0.save() }) {
        self.loop = loop
        self.log = log
        self.save = save
    }

    /// Saves soon.
    func schedule() {
        guard timer == nil, !isSaving, !isStopped else { return }
        timer = loop.schedule(after: Self.delay) { [weak self] in self?.start() }
    }

    private func start() {
        timer = nil
        guard let unsaved = log.removeUnsaved() else { return }
        isSaving = true
        do {
            try loop.offload({ [save] in save(unsaved) }) { [weak self] _ in self?.finish() }
        } catch {
            save(unsaved)
            isSaving = false
        }
    }

    private func finish() {
        isSaving = false
        if log.hasUnsaved { schedule() }
    }
}

extension LogSaver: DaemonPart {
    var problems: [ProblemDocument] {
        guard let outage = log.status.outage else { return [] }
        let count = log.status.eventsLost
        let message = "the event log cannot be written (\(outage.error)); \(count) events are not in it"
        return [ProblemDocument(part: "log", message: message)]
    }

    func register(in registry: MetricRegistry) {
        registry.add { [log] writer in
            writer.write(Family.logErrors, Double(log.status.errors))
            writer.write(Family.logLost, Double(log.status.eventsLost))
        }
    }

    func stop() {
        isStopped = true
        if let timer { loop.cancel(timer) }
        timer = nil
    }
}

private enum Family {
    static let logErrors = MetricFamily.counter(
        "event_log_write_errors",
        "Failed writes, rotations and reopenings of the log."
    )
    static let logLost = MetricFamily.counter("event_log_lost_events", "Events that could not be written to the log.")
}
