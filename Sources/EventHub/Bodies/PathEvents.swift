// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Documents
internal import LinuxIO
public import OrderedJSON
public import PathModel

/// `path.snapshot`: what a path is when the service starts.
public struct PathSnapshot: EventBody, MemberDeclaring {
    let monitor: String
    let path: PathDocument
    let sentence: String

    /// Describes a path at the start, with the sentence that says it in words.
    public init(monitor: String, path: PathDocument, sentence: String) {
        self.monitor = monitor
        self.path = path
        self.sentence = sentence
    }

    public var name: EventName { .pathSnapshot }
    public var severity: Severity { path.status == .satisfied ? .info : .warning }
    public var message: String { sentence }
    public var status: MonitorStatus? {
        MonitorStatus(monitor: monitor, status: path.status, reason: path.unsatisfiedReason)
    }

    public static let members = Members<Self>.object()
        .member("monitor") { $0.monitor }
        .member("path") { $0.path }
}

/// `path.changed`: a path is not what it was.
public struct PathChanged: EventBody, MemberDeclaring {
    /// The path before, and how long it was so.
    public struct Previous: MemberDeclaring, Sendable {
        let path: PathDocument
        let durationSeconds: Double

        public init(_ path: Path, duration: Duration) {
            self.path = PathDocument(path)
            durationSeconds = Rounded.seconds(duration)
        }

        public static let members = Members<Self>(PathDocument.form.extended) { $0.path }
            .member("duration_seconds", as: .seconds) { $0.durationSeconds }
    }

    let monitor: String
    let changed: [String]
    let path: PathDocument
    let previous: Previous
    let cause: EventCause
    let evaluationMicroseconds: Int64
    let sentence: String

    /// Describes a change.
    ///
    /// - Parameters:
    ///   - monitor: The monitor whose path it is.
    ///   - changed: The names of the members of `path` that differ.
    ///   - path: The new path.
    ///   - previous: The old one.
    ///   - cause: What led to it.
    ///   - evaluation: The duration of the evaluation.
    ///   - sentence: The change in words.
    public init(
        monitor: String,
        changed: [String],
        path: PathDocument,
        previous: Previous,
        cause: EventCause,
        evaluation: Duration,
        sentence: String
    ) {
        self.monitor = monitor
        self.changed = changed
        self.path = path
        self.previous = previous
        self.cause = cause
        evaluationMicroseconds = evaluation.nanoseconds / 1000
        self.sentence = sentence
    }

    public var name: EventName { .pathChanged }
    public var severity: Severity {
        if path.status != .satisfied { return previous.path.status == .satisfied ? .error : .warning }
        return path.isExpensive || !path.warnings.isEmpty ? .warning : .info
    }
    public var message: String { sentence }

    public var status: MonitorStatus? {
        MonitorStatus(monitor: monitor, status: path.status, reason: path.unsatisfiedReason)
    }

    public static let members = Members<Self>.object()
        .member("monitor") { $0.monitor }
        .member("changed", "The members of `path` that differ.") { $0.changed }
        .member("path") { $0.path }
        .member("previous", "The path as it was, and for how long.") { $0.previous }
        .added("cause") { $0.cause }
        .added("evaluation_seconds", as: .seconds, "How long it took to find out.") {
            Double($0.evaluationMicroseconds) / 1e6
        }
}

/// `path.flapping`: a path changes too often, or is stable again; every change is still published.
public struct PathFlapping: EventBody, MemberDeclaring {
    let monitor: String
    let hasStarted: Bool
    let changes: Int
    let windowSeconds: Int

    /// Describes the beginning or the end of flapping.
    ///
    /// - Parameters:
    ///   - monitor: The monitor whose path it is.
    ///   - hasStarted: Whether it begins; otherwise it ends.
    ///   - changes: How many changes there were: within the window at the beginning, since then at the end.
    ///   - window: The window in which changes are counted.
    public init(monitor: String, hasStarted: Bool, changes: Int, window: Duration) {
        self.monitor = monitor
        self.hasStarted = hasStarted
        self.changes = changes
        windowSeconds = Int(window.components.seconds)
    }

    public var name: EventName { .pathFlapping }
    public var severity: Severity { hasStarted ? .warning : .info }
    public var message: String {
        guard hasStarted else {
            return "Path \(monitor) is stable again after \(changes) more changes"
        }
        return "Path \(monitor) changed \(changes) times in \(windowSeconds) s"
    }

    public static let members = Members<Self>.object()
        .member("monitor") { $0.monitor }
        .member(
            "flapping",
            of: .object()
                .member("state", as: .words("started", "ended")) { $0.hasStarted ? "started" : "ended" }
                .added("changes", "Within the window at the beginning, since then at the end.") { $0.changes }
                .added("window_seconds", as: .seconds, "The window in which changes are counted.") { $0.windowSeconds }
        )
}
