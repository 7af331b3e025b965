// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Diagnosis
public import OrderedJSON

/// `nwpath diagnose --json` and `/api/v1/diagnosis`: what is wrong, what that hides, and how each layer is.
public struct DiagnosisDocument: MemberDeclaring, Equatable, Sendable {
    public var verdicts: [VerdictDocument]
    public var info: [VerdictDocument]
    public var masked: [MaskedDocument]
    public var ladder: [RungDocument]
    public var severity: String?
    public var faultDomain: FaultDomain?
    public var path: DiagnosedPath
    public var targets: String
    public var destination: DestinationDocument?
    public var load: LoadDocument?
    /// Every test and its result; `nil` where they are left out.
    package var cells: [CellDocument]?
    public var complete: Bool
    public var time: String?
    public var durationSeconds: Double
    public var bytes: Int
    public var sentBytes: Int
    public var receivedBytes: Int

    public static let members = Members<Self>
        .document("Diagnosis", "What is wrong, what that hides, and how each layer is.")
        .member("verdicts", "Faults that stand, worst first.") { $0.verdicts }
        .member("info", "What is worth knowing and is no fault.") { $0.info }
        .member("masked", "What follows from one of the verdicts.") { $0.masked }
        .member("ladder", "Every layer, from the cable up; empty before the first round.") { $0.ladder }
        .member("severity", as: .oneOf(Severity.self), "The worst severity; `null` without verdicts.") { $0.severity }
        .member("fault_domain", as: .oneOf(FaultDomain.self), "Where the worst one lies; `null` without verdicts.") {
            $0.faultDomain?.rawValue
        }
        .member(
            "blame",
            as: .words("nobody", "me", "link_or_gateway", "shared", "destination", "unknown"),
            "The same in older words."
        ) { $0.blame }
        .member("path") { $0.path }
        .member(
            "targets",
            as: .words("file", "configuration", "public defaults", "local", "none"),
            "Where the targets came from; `local`: gateways and name servers only; `none`: none were tested."
        ) { $0.targets }
        .optional("destination", "Of `nwpath diagnose` with a destination.") { $0.destination }
        .optional("load", "Of `nwpath diagnose` with a load test.") { $0.load }
        .optional("cells", "Of `nwpath diagnose`: every test and what became of it.") { $0.cells }
        .member("complete", "Whether everything ended in time.") { $0.complete }
        .member("time", as: .time, "When the last round began; `null` before the first.") { $0.time }
        .member("duration_seconds", as: .seconds, "How long it took.") { $0.durationSeconds }
        .member("bytes", "Those sent and received, without the headers of IP, TCP and UDP.") { $0.bytes }
        .member("sent_bytes") { $0.sentBytes }
        .member("received_bytes") { $0.receivedBytes }

    /// The fault domain in the words of version 0.2.
    private var blame: String {
        switch faultDomain {
        case nil: "nobody"
        case .host: "me"
        case .link, .gateway: "link_or_gateway"
        case .provider: "shared"
        case .remote: "destination"
        case .unknown: "unknown"
        }
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
        (path, targets, complete) = (DiagnosedPath(Evidence()), "none", false)
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
        faultDomain = diagnosis.faultDomain
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
public struct DiagnosisStateDocument: MemberDeclaring, Equatable, Sendable {
    public struct Running: MemberDeclaring, Equatable, Sendable {
        public var started: String
        public var layers: [String]

        public static let members = Members<Self>.object()
            .member("started", as: .time, "When it began.") { $0.started }
            .member("layers", as: .oneOf(Layer.self), "The layers that are still being tested, from the cable up.") {
                $0.layers
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

    public static let members = Members<Self>(DiagnosisDocument.form) { $0.diagnosis }
        .member("running", "The examination that runs; `null` when none does.") { $0.running }
}

public struct DiagnosedPath: MemberDeclaring, Equatable, Sendable {
    public var interfaces: [InterfaceReference]
    public var gateways: [String]
    public var nameServers: [String]

    public static let members = Members<Self>.object()
        .member("interfaces", "Those that could carry traffic, the preferred first.") { $0.interfaces }
        .member("gateways", "The routers of the routes to the targets.") { $0.gateways }
        .member("name_servers", "The name servers of the system.") { $0.nameServers }

    public init(_ evidence: Evidence) {
        interfaces = evidence.links.map { InterfaceReference(named: $0.interface) }
        gateways = evidence.gateways.map { "\($0.address)" }
        nameServers = (evidence.dns.value ?? []).map { "\($0.address)" }
    }
}

public struct VerdictDocument: MemberDeclaring, Equatable, Sendable {
    public var code: String
    public var layer: String
    public var severity: String
    public var confidence: String
    public var family: String?
    public var subject: String?
    public var message: String
    public var hint: String
    public var evidence: EvidenceFacts
    public var since: String

    public static let members = Members<Self>
        .named("Verdict", "A fault: a code for machines, a sentence for people, and what to do.")
        .member("code", "The fault, such as `gateway.unresolved`.") { $0.code }
        .member("layer", as: .oneOf(Layer.self)) { $0.layer }
        .member("severity", as: .oneOf(Severity.self)) { $0.severity }
        .member("confidence", as: .oneOf(Confidence.self)) { $0.confidence }
        .member("family", as: .family, "`null` for both or neither.") { $0.family }
        .member("subject", "The interface, address or name it is about.") { $0.subject }
        .member("message", "One sentence for people.") { $0.message }
        .member("hint", "What to do about it.") { $0.hint }
        .member("evidence", "Measured values by name.") { $0.evidence }
        .member("since", as: .time, "When it was first seen.") { $0.since }

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

    public static func form(_ content: Form?) -> Form { .map(of: .either(.number, .text)) }

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

public struct MaskedDocument: MemberDeclaring, Equatable, Sendable {
    let masked: Diagnosis.Masked

    public static let members = Members<Self>.object()
        .member("code") { $0.masked.verdict.code.rawValue }
        .member("layer", as: .oneOf(Layer.self)) { $0.masked.verdict.code.layer.rawValue }
        .member("message", "One sentence for people.") { $0.masked.verdict.say }
        .member("cause", "The code of the verdict that explains it.") { $0.masked.cause.rawValue }
}

public struct RungDocument: MemberDeclaring, Equatable, Sendable {
    public var layer: String
    public var state: String
    public var codes: [String]
    public var message: String?
    public var evidence: EvidenceFacts

    public static let members = Members<Self>.object()
        .member("layer", as: .oneOf(Layer.self)) { $0.layer }
        .member("state", as: .words("ok", "faulty", "not_assessed")) { $0.state }
        .member("codes") { $0.codes }
        .member("message", "Why it was not assessed; `null` when it was.") { $0.message }
        .member("evidence", "Measured values by name, where no problem was found.") { $0.evidence }

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
