// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import LinuxIO
import OrderedJSON
import StatusServer

/// Something that is no problem document.
struct Breakdown: Error {}

/// A daemon of a few values.
final class FakeProvider: StatusProviding {
    var documents: [StatusDocument: Snapshot] = [
        .status: Snapshot(Array("{\"path\":\n{\"status\":\"satisfied\"}}\n".utf8), tag: "7f3a.1"),
        .paths: Snapshot(Array("{\"paths\":[]}\n".utf8), tag: "p1"),
        .path(monitor: "default"): Snapshot(Array("{\"name\":\"default\"}\n".utf8), tag: "d1"),
        .interfaces: Snapshot(Array("{\"interfaces\":[]}\n".utf8), tag: "i1"),
        .interface(name: "eth0"): Snapshot(Array("{\"name\":\"eth0\"}\n".utf8), tag: "e1"),
        .gateways: Snapshot(Array("{\"gateways\":[]}\n".utf8), tag: "g1"),
        .dns: Snapshot(Array("{\"dns\":{}}\n".utf8), tag: "n1"),
        .services(type: nil, name: nil, interface: nil): Snapshot(Array("{\"services\":[]}\n".utf8), tag: "s1"),
        .services(type: "_ipp._tcp", name: nil, interface: "eth0"): Snapshot(Array("{\"few\":1}\n".utf8), tag: "s2"),
        .serviceHistory(type: nil, name: "x*", interface: nil): Snapshot(Array("{\"past\":1}\n".utf8), tag: "s4"),
        .scrapeTargets(type: "_a._tcp", name: nil, interface: nil, family: nil): Snapshot(
            Array("[]\n".utf8),
            tag: "s5"
        ),
        .scrapeTargets(type: "_a._tcp,_b._UDP", name: "n", interface: "eth0", family: "ipv6"):
            Snapshot(Array("[1]\n".utf8), tag: "s6"),
        .diagnosis: Snapshot(Array("{\"verdicts\":[]}\n".utf8), tag: "v1"),
        .probes: Snapshot(Array("{\"probes\":[]}\n".utf8), tag: "b1"),
        .probe(name: "web"): Snapshot(Array("{\"name\":\"web\"}\n".utf8), tag: "b2"),
        .serviceTypes: Snapshot(Array("{\"types\":[]}\n".utf8), tag: "t1"),
        .service(type: "_ipp._tcp", name: "Büro/1"): Snapshot(Array("{\"name\":\"Büro/1\"}\n".utf8), tag: "s3"),
        .configuration: Snapshot(Array("{\"listen\":[]}\n".utf8), tag: "c1"),
        .configurationSchema: Snapshot(Array("{\"$schema\":\"y\"}\n".utf8), tag: "j2"),
        .eventSchema: Snapshot(Array("{\"$schema\":\"x\"}\n".utf8), tag: "j1"),
    ]
    /// The state of the default monitor; that of its path while `nil`.
    var headline: BadgeState?
    var satisfied: [String: Bool] = ["default": true, "wired": false]
    var health = Readiness.ready
    var readiness = Readiness.ready
    var forms: [Form] { [.named("Status", "A few values.").member("path", .object())] }
    var log: [EventRecord] = []
    var oldest: UInt64 = 1
    /// Where memory begins; what is older is in the archive, whose reads are done when the test says so.
    var memoryBegins: UInt64 = 0
    private(set) var archives = 0
    private(set) var reads: [() -> Void] = []
    var failure: (any Error)?
    var logFailure: (any Error)?
    var reloads = 0
    var probeStarts: [String: RunStart] = ["web": .started, "busy": .tooSoon(.milliseconds(1400))]
    var diagnosisStart = RunStart.started
    private(set) var histories: [HistoryRequest] = []
    private(set) var failures: [String] = []

    var position: EventPosition { place(log.last?.sequence ?? 0) }
    fileprivate var lastSequence: UInt64 { position.sequence }

    private func place(_ sequence: UInt64) -> EventPosition {
        StreamID("7f3a").map { EventPosition(stream: $0, sequence: sequence) } ?? EventHub(.init(host: "")).position
    }

    func snapshot(of document: StatusDocument) throws -> Snapshot? {
        if let failure { throw failure }
        return documents[document]
    }

    func notice(_ body: some EventBody) -> EventRecord {
        EventHub(EventHub.Options(host: "edge"), after: position).notice(body).record
    }

    func isSatisfied(monitor: String) -> Bool? { satisfied[monitor] }

    func badge(of monitor: String) -> BadgeState? {
        if monitor == "default", let headline { return headline }
        return satisfied[monitor].map { $0 ? BadgeState("online", .good) : BadgeState("unsatisfied", .bad) }
    }

    func events(after sequence: UInt64, limit: Int) throws -> EventReplay {
        if let logFailure { throw logFailure }
        guard sequence + 1 >= oldest else { return .tooOld(oldest: oldest) }
        if sequence + 1 < memoryBegins { return .archived(oldest: memoryBegins) }
        return .events(Array(log.drop { $0.sequence <= sequence }.prefix(limit)))
    }

    func sequence(olderThan age: Duration) -> UInt64? {
        guard age >= .seconds(3600) else { return lastSequence }
        return memoryBegins > oldest ? nil : oldest - 1
    }

    func archive(from place: EventPlace, where isWanted: @escaping @Sendable (String) -> Bool) -> any EventArchive {
        archives += 1
        return FakeArchive(self, place, isWanted)
    }

    fileprivate func enqueue(_ read: @escaping () -> Void) { reads.append(read) }

    /// Does what was asked of archives, and what is asked while that is taken.
    func read() {
        while !reads.isEmpty { reads.removeFirst()() }
    }

    func history(_ request: HistoryRequest) -> [UInt8] {
        histories.append(request)
        let subject = if case .path(let monitor) = request.subject { monitor ?? "" } else { "(headline)" }
        let seconds = (request.until - request.since).components.seconds
        return Array("{\"seconds\":\(seconds),\"monitor\":\"\(subject)\"}\n".utf8)
    }

    /// Keeps minutes for an hour and some, and hours before.
    func leastProbeStep(since: WallTime) -> Duration {
        since >= KernelClock().wall - .seconds(4000) ? .seconds(60) : .seconds(3600)
    }

    func probeHistory(_ name: String, since: WallTime, until: WallTime, step: Duration) throws -> [UInt8]? {
        if let failure { throw failure }
        guard probeStarts[name] != nil else { return nil }
        let steps = step.components.seconds
        return Array("{\"steps\":\((until - since).components.seconds / steps),\"of\":\(steps)}\n".utf8)
    }

    func reload() throws -> [UInt8] {
        if let failure { throw failure }
        reloads += 1
        return Array("{\"changed\":[]}\n".utf8)
    }

    func startProbe(_ name: String) throws -> RunStart? {
        if let failure { throw failure }
        return probeStarts[name]
    }

    func startDiagnosis() throws -> RunStart {
        if let failure { throw failure }
        return diagnosisStart
    }

    func internalError(_ error: any Error, instance: String) { failures.append(instance) }

    /// Appends an event to the log.
    @discardableResult
    func add(_ name: String = "path.changed", padding: Int = 0) -> EventRecord {
        let sequence = lastSequence + 1
        let pad = String(repeating: "x", count: padding)
        let line = "{\"seq\":\(sequence),\"event\":\"\(name)\",\"pad\":\"\(pad)\"}\n"
        let event = EventRecord(position: place(sequence), name: name, line: Array(line.utf8))
        log.append(event)
        return event
    }
}

/// The events of a ``FakeProvider``, as its log has them at the time of each read.
private final class FakeArchive: EventArchive {
    private let provider: FakeProvider
    private let isWanted: (String) -> Bool
    private let asked: UInt64
    private var last: UInt64
    private var isClosed = false

    init(_ provider: FakeProvider, _ place: EventPlace, _ isWanted: @escaping (String) -> Bool) {
        self.provider = provider
        self.isWanted = isWanted
        asked = if case .after(let sequence) = place { sequence } else { provider.oldest - 1 }
        last = asked
    }

    func read(limit: Int, bytes: Int, completion: @escaping (Result<ArchivePage, any Error>) -> Void) {
        provider.enqueue { [self] in
            guard !isClosed else { return }
            if let failure = provider.logFailure { return completion(.failure(failure)) }
            guard asked + 1 >= provider.oldest else {
                let page = ArchivePage(events: [], last: last, isAtEnd: true, isCut: true, oldest: provider.oldest)
                return completion(.success(page))
            }
            var found: [EventRecord] = []
            for event in provider.log where event.sequence > last && found.count < limit {
                last = event.sequence
                if isWanted(event.name) { found.append(event) }
            }
            completion(.success(ArchivePage(events: found, last: last, isAtEnd: last == provider.lastSequence)))
        }
    }

    func close() { isClosed = true }
}
