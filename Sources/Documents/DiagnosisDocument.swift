// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Diagnosis
public import OrderedJSON

/// `nwpath diagnose --json` and `/api/v1/diagnosis`: what is wrong, what that hides, and how each layer is.
public struct DiagnosisDocument: JSONObjectWritable, Equatable, Sendable {
    public let schema = DocumentSchema.name(of: "diagnosis")
    /// Root causes, worst first.
    public var verdicts: [VerdictDocument]
    public var info: [VerdictDocument]
    public var masked: [MaskedDocument]
    public var ladder: [RungDocument]
    public var severity: String?
    /// `nobody`, `me`, `link_or_gateway`, `shared`, `destination` or `unknown`.
    public var blame: String
    public var path: DiagnosedPath
    /// Where the targets came from: `file`, `configuration` or `public defaults`; `none` when they were not asked.
    public var targets: String
    /// The destination that was asked for; left out without one.
    public var destination: DestinationDocument?
    /// What a load test found; left out without one.
    public var load: LoadDocument?
    public var complete: Bool
    public var time: String?
    public var durationSeconds: Double
    public var bytes: Int
    public var sentBytes: Int
    public var receivedBytes: Int

    public func write(to object: inout JSONObjectWriter) {
        object.write("schema", schema)
        object.write("verdicts", verdicts)
        object.write("info", info)
        object.write("masked", masked)
        object.write("ladder", ladder)
        object.write("severity", severity)
        object.write("blame", blame)
        object.write("path", path)
        object.write("targets", targets)
        object.writeIfPresent("destination", destination)
        object.writeIfPresent("load", load)
        object.write("complete", complete)
        object.write("time", time)
        object.write("duration_seconds", durationSeconds)
        object.write("bytes", bytes)
        object.write("sent_bytes", sentBytes)
        object.write("received_bytes", receivedBytes)
    }

    public struct Effort: Equatable, Sendable {
        /// When it began, RFC 3339.
        public var time: String
        public var duration: Duration
        /// The bytes that were sent.
        public var sent: Int
        /// The bytes that came back.
        public var received: Int
        /// Whether everything ended in time.
        public var isComplete: Bool

        public init(time: String, duration: Duration, sent: Int, received: Int, isComplete: Bool) {
            self.time = time
            self.duration = duration
            self.sent = sent
            self.received = received
            self.isComplete = isComplete
        }
    }

    public static let idle = DiagnosisDocument()

    private init() {
        (verdicts, info, masked, ladder) = ([], [], [], [])
        (blame, path, targets, complete) = (Blame.nobody.rawValue, DiagnosedPath(Evidence()), "none", false)
        (durationSeconds, bytes, sentBytes, receivedBytes) = (0, 0, 0, 0)
    }

    /// Shows a diagnosis.
    /// - Parameters:
    ///   - diagnosis: What is wrong.
    ///   - path: The way that was examined.
    ///   - targets: Where the targets came from.
    ///   - destination: The destination that was asked for.
    ///   - load: What a load test found.
    ///   - effort: What it took; `nil` when nothing was examined.
    ///   - since: When a verdict was first seen, RFC 3339.
    public init(
        _ diagnosis: Diagnosis,
        path: DiagnosedPath,
        targets: String,
        destination: DestinationDocument? = nil,
        load: LoadDocument? = nil,
        effort: Effort?,
        since: (Verdict) -> String
    ) {
        verdicts = diagnosis.verdicts.map { VerdictDocument($0, since: since($0)) }
        info = diagnosis.notes.map { VerdictDocument($0, since: since($0)) }
        masked = diagnosis.masked.map(MaskedDocument.init)
        ladder = diagnosis.ladder.map(RungDocument.init)
        blame = diagnosis.blame.rawValue
        self.path = path
        self.targets = targets
        self.destination = destination
        self.load = load
        complete = effort?.isComplete ?? false
        time = effort?.time
        durationSeconds = Microseconds.round(effort?.duration ?? .zero)
        (sentBytes, receivedBytes) = (effort?.sent ?? 0, effort?.received ?? 0)
        bytes = sentBytes + receivedBytes
        severity = diagnosis.severity?.rawValue
    }
}

/// `/api/v1/diagnosis`: what an examination found, and how far the one is that runs.
public struct DiagnosisStateDocument: JSONObjectWritable, Equatable, Sendable {
    public struct Running: JSONObjectWritable, Equatable, Sendable {
        public var started: String
        public var layers: [String]

        public func write(to object: inout JSONObjectWriter) {
            object.write("started", started)
            object.write("layers", layers)
        }

        public init(started: String, layers: [Layer]) {
            self.started = started
            self.layers = layers.map(\.rawValue)
        }

        /// Takes that every question of a layer was answered.
        public mutating func finish(_ layer: Layer) { layers.removeAll { $0 == layer.rawValue } }
    }

    public var diagnosis: DiagnosisDocument
    public var running: Running?

    public init(_ diagnosis: DiagnosisDocument, running: Running?) {
        self.diagnosis = diagnosis
        self.running = running
    }

    public func write(to object: inout JSONObjectWriter) {
        diagnosis.write(to: &object)
        object.write("running", running)
    }
}

public struct DiagnosedPath: JSONObjectWritable, Equatable, Sendable {
    public var interfaces: [InterfaceReference]
    public var gateways: [String]
    public var nameServers: [String]

    public func write(to object: inout JSONObjectWriter) {
        object.write("interfaces", interfaces)
        object.write("gateways", gateways)
        object.write("name_servers", nameServers)
    }

    public init(_ evidence: Evidence) {
        interfaces = evidence.links.map { InterfaceReference(named: $0.interface) }
        gateways = evidence.gateways.map { "\($0.address)" }
        nameServers = (evidence.dns.value ?? []).map { "\($0.address)" }
    }
}

public struct VerdictDocument: JSONObjectWritable, Equatable, Sendable {
    public var code: String
    public var layer: String
    /// `broken`, `degraded`, `warning` or `info`.
    public var severity: String
    /// `certain`, `likely` or `possible`.
    public var confidence: String
    /// `ipv4`, `ipv6`, or `null` for both or neither.
    public var family: String?
    public var subject: String?
    /// What is wrong, one sentence.
    public var message: String
    public var hint: String
    public var evidence: EvidenceFacts
    public var since: String

    public func write(to object: inout JSONObjectWriter) {
        object.write("code", code)
        object.write("layer", layer)
        object.write("severity", severity)
        object.write("confidence", confidence)
        object.write("family", family)
        object.write("subject", subject)
        object.write("message", message)
        object.write("hint", hint)
        object.write("evidence", evidence)
        object.write("since", since)
    }

    public init(_ verdict: Verdict, since: String) {
        code = verdict.code.rawValue
        layer = verdict.code.layer.rawValue
        severity = verdict.severity.rawValue
        confidence = verdict.confidence.rawValue
        (message, hint) = (verdict.say, verdict.action)
        evidence = EvidenceFacts(facts: verdict.evidence)
        self.since = since
        family = verdict.family?.rawValue
        subject = verdict.subject
    }
}

/// Measured values under their names, in the order in which they convince.
public struct EvidenceFacts: JSONObjectWritable, Equatable, Sendable {
    let facts: [Verdict.Fact]

    /// Writes an object; numbers stay numbers.
    public func write(to object: inout JSONObjectWriter) {
        for fact in facts {
            if let number = Int64(fact.value) {
                object.write(key: fact.name, .integer(number))
            } else if let number = Double(fact.value), number.isFinite {
                object.write(key: fact.name, .double(number))
            } else {
                object.write(key: fact.name, .string(fact.value))
            }
        }
    }
}

public struct MaskedDocument: JSONObjectWritable, Equatable, Sendable {
    public var code: String
    public var layer: String
    public var message: String
    public var cause: String

    public func write(to object: inout JSONObjectWriter) {
        object.write("code", code)
        object.write("layer", layer)
        object.write("message", message)
        object.write("cause", cause)
    }

    public init(_ masked: Diagnosis.Masked) {
        code = masked.verdict.code.rawValue
        layer = masked.verdict.code.layer.rawValue
        message = masked.verdict.say
        cause = masked.cause.rawValue
    }
}

public struct RungDocument: JSONObjectWritable, Equatable, Sendable {
    public var layer: String
    /// `ok`, `faulty` or `not_assessed`.
    public var state: String
    public var codes: [String]
    public var message: String?
    public var evidence: EvidenceFacts

    public func write(to object: inout JSONObjectWriter) {
        object.write("layer", layer)
        object.write("state", state)
        object.write("codes", codes)
        object.write("message", message)
        object.write("evidence", evidence)
    }

    public init(_ rung: Diagnosis.Rung) {
        layer = rung.layer.rawValue
        evidence = EvidenceFacts(facts: rung.figures)
        switch rung.state {
        case .sound: (state, codes) = ("ok", [])
        case .faulty(let found): (state, codes) = ("faulty", found.map(\.rawValue))
        case .hidden(let cause):
            (state, codes) = ("not_assessed", [])
            message = "hidden by \(cause.rawValue)"
        case .notAssessed(let reason):
            (state, codes) = ("not_assessed", [])
            message = reason
        }
    }
}

// MARK: - Forms

extension VerdictDocument {
    public static var form: Form {
        .named("Verdict", "A fault: a code for machines, a sentence for people, and what to do.")
            .member("code", .text, "The fault, such as `gateway.unresolved`.")
            .member("layer", .oneOf(Layer.self))
            .member("severity", .oneOf(Severity.self))
            .member("confidence", .oneOf(Confidence.self))
            .member("family", .family.orNull, "`null` for both or neither.")
            .member("subject", .text.orNull, "The interface, address or name it is about.")
            .member("message", .text, "One sentence for people.")
            .member("hint", .text, "What to do about it.")
            .member("evidence", EvidenceFacts.form, "Measured values by name.")
            .member("since", .time, "When it was first seen.")
    }
}

extension EvidenceFacts {
    static var form: Form { .map(of: .either(.number, .text)) }
}

extension DiagnosisDocument {
    public static var form: Form {
        .document("Diagnosis", "What is wrong, what that hides, and how each layer is.")
            .member("verdicts", .list(of: VerdictDocument.form), "Faults that stand, worst first.")
            .member("info", .list(of: VerdictDocument.form), "What is worth knowing and is no fault.")
            .member("masked", .list(of: MaskedDocument.form), "What follows from one of the verdicts.")
            .member(
                "ladder",
                .list(of: RungDocument.form),
                "Every layer, from the cable up; empty before the first round."
            )
            .member("severity", .oneOf(Severity.self).orNull, "The worst severity; `null` without verdicts.")
            .member("blame", .oneOf(Blame.self))
            .member("path", DiagnosedPath.form)
            .member(
                "targets",
                .words("file", "configuration", "public defaults", "local", "none"),
                "Where the targets came from; `local`: gateways and name servers only; `none`: none were tested."
            )
            .optional("destination", DestinationDocument.form, "Of `nwpath diagnose` with a destination.")
            .optional("load", LoadDocument.form, "Of `nwpath diagnose` with a load test.")
            .member("complete", .truth, "Whether everything ended in time.")
            .member("time", .time.orNull, "When the last round began; `null` before the first.")
            .member("duration_seconds", .seconds, "How long it took.")
            .member("bytes", .count, "Those sent and received, without the headers of IP, TCP and UDP.")
            .member("sent_bytes", .count)
            .member("received_bytes", .count)
    }
}

extension DiagnosisStateDocument {
    public static var form: Form {
        DiagnosisDocument.form.member(
            "running",
            Running.form.orNull,
            "The examination that runs; `null` when none does."
        )
    }
}

extension DiagnosisStateDocument.Running {
    static var form: Form {
        .object()
            .member("started", .time, "When it began.")
            .member(
                "layers",
                .list(of: .oneOf(Layer.self)),
                "The layers that are still being tested, from the cable up."
            )
    }
}

extension DiagnosedPath {
    static var form: Form {
        .object()
            .member(
                "interfaces",
                .list(of: InterfaceReference.form),
                "Those that could carry traffic, the preferred first."
            )
            .member("gateways", .list(of: .text), "The routers of the routes to the targets.")
            .member("name_servers", .list(of: .text), "The name servers of the system.")
    }
}

extension MaskedDocument {
    static var form: Form {
        .object()
            .member("code", .text)
            .member("layer", .oneOf(Layer.self))
            .member("message", .text, "One sentence for people.")
            .member("cause", .text, "The code of the verdict that explains it.")
    }
}

extension RungDocument {
    static var form: Form {
        .object()
            .member("layer", .oneOf(Layer.self))
            .member("state", .words("ok", "faulty", "not_assessed"))
            .member("codes", .list(of: .text))
            .member("message", .text.orNull, "Why it was not assessed; `null` when it was.")
            .member("evidence", EvidenceFacts.form, "Measured values by name, where no problem was found.")
    }
}
