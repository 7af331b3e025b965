// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Documents
internal import LinuxIO
public import OrderedJSON
public import PathModel

/// `path.snapshot`: what a path is when the service starts.
public struct PathSnapshot: EventBody {
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

    public func write(to object: inout JSONObjectWriter) {
        object.write("monitor", monitor)
        object.write("path", path)
    }
}

/// `path.changed`: a path is not what it was.
public struct PathChanged: EventBody {
    /// The path before, and how long it was so.
    public struct Previous: JSONObjectWritable, Sendable {
        let path: PathDocument
        let durationSeconds: Double

        public init(_ path: Path, duration: Duration) {
            self.path = PathDocument(path)
            durationSeconds = Rounded.seconds(duration)
        }

        public func write(to object: inout JSONObjectWriter) {
            path.write(to: &object)
            object.write("duration_seconds", durationSeconds)
        }
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

    /// Writes the members after the envelope.
    public func write(to object: inout JSONObjectWriter) {
        object.write("monitor", monitor)
        object.write("changed", changed)
        object.write("path", path)
        object.write("previous", previous)
        object.write("cause", cause)
        object.write("evaluation_seconds", Double(evaluationMicroseconds) / 1e6)
    }
}

/// `path.flapping`: a path changes too often, or is stable again; every change is still published.
public struct PathFlapping: EventBody {
    struct Flapping: JSONObjectWritable, Sendable {
        let state: String
        let changes: Int
        let windowSeconds: Int

        func write(to object: inout JSONObjectWriter) {
            object.write("state", state)
            object.write("changes", changes)
            object.write("window_seconds", windowSeconds)
        }
    }

    let monitor: String
    let flapping: Flapping

    /// Describes the beginning or the end of flapping.
    ///
    /// - Parameters:
    ///   - monitor: The monitor whose path it is.
    ///   - hasStarted: Whether it begins; otherwise it ends.
    ///   - changes: How many changes there were: within the window at the beginning, since then at the end.
    ///   - window: The window in which changes are counted.
    public init(monitor: String, hasStarted: Bool, changes: Int, window: Duration) {
        self.monitor = monitor
        flapping = Flapping(
            state: hasStarted ? "started" : "ended",
            changes: changes,
            windowSeconds: Int(window.components.seconds)
        )
    }

    public var name: EventName { .pathFlapping }
    public var severity: Severity { flapping.state == "started" ? .warning : .info }
    public var message: String {
        guard flapping.state == "started" else {
            return "Path \(monitor) is stable again after \(flapping.changes) more changes"
        }
        return "Path \(monitor) changed \(flapping.changes) times in \(flapping.windowSeconds) s"
    }

    public func write(to object: inout JSONObjectWriter) {
        object.write("monitor", monitor)
        object.write("flapping", flapping)
    }
}

// MARK: - Forms

extension PathSnapshot {
    public static var form: Form {
        .object()
            .member("monitor", .text)
            .member("path", PathDocument.form)
    }
}

extension PathChanged {
    public static var form: Form {
        .object()
            .member("monitor", .text)
            .member("changed", .list(of: .text), "The members of `path` that differ.")
            .member("path", PathDocument.form)
            .member("previous", Previous.form, "The path as it was, and for how long.")
            .added("cause", EventCause.form)
            .added("evaluation_seconds", .seconds, "How long it took to find out.")
    }
}

extension PathChanged.Previous {
    static var form: Form { PathDocument.form.extended.member("duration_seconds", .seconds) }
}

extension PathFlapping {
    public static var form: Form {
        .object()
            .member("monitor", .text)
            .member("flapping", Flapping.form)
    }
}

extension PathFlapping.Flapping {
    static var form: Form {
        .object()
            .member("state", .words("started", "ended"))
            .added("changes", .count, "Within the window at the beginning, since then at the end.")
            .added("window_seconds", .seconds, "The window in which changes are counted.")
    }
}
