// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import EventLog
internal import LinuxIO
internal import Metrics

/// What the daemon starts, asks for problems and metrics, and stops.
protocol DaemonPart: AnyObject {
    /// What is wrong with it while the path is still right.
    var problems: [ProblemDocument] { get }

    /// Adds what `/metrics` shows of it.
    func register(in registry: MetricRegistry)

    func stop()
}

extension DaemonPart {
    var problems: [ProblemDocument] { [] }
    func register(in registry: MetricRegistry) {}
    func stop() {}
}

/// The parts that have started, in that order; they stop backwards.
final class DaemonParts {
    private let registry: MetricRegistry
    private var parts: [any DaemonPart] = []

    init(registry: MetricRegistry) { self.registry = registry }

    var problems: [ProblemDocument] { parts.flatMap(\.problems) }

    /// Takes a part that has nothing to do of its own.
    func add(_ part: any DaemonPart) {
        parts.append(part)
        part.register(in: registry)
    }

    /// Starts a part; one whose start fails is stopped with the others.
    func start<Part: DaemonPart, Failure: Error>(
        _ part: Part,
        _ start: (Part) throws(Failure) -> Void
    ) throws(Failure) {
        add(part)
        try start(part)
    }

    func stop() {
        for part in parts.reversed() { part.stop() }
        parts = []
    }
}

extension CalendarMonitor: DaemonPart {}

extension HostNameMonitor: DaemonPart {}

extension HistoryIndex: DaemonPart {}

extension OutageLog: DaemonPart {
    var problems: [ProblemDocument] { problem.map { [ProblemDocument(part: "log", message: $0)] } ?? [] }
}
