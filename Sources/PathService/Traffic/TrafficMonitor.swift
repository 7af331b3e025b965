// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Documents
internal import EventHub
internal import Glibc
internal import LinuxIO
internal import Metrics
internal import Netlink
internal import PathEngine
internal import PathModel
internal import Traffic

/// Reads the TCP connections of this machine as often as ``TrafficSampling`` says, and publishes what they show.
///
/// Nothing is sent. A reading receives one datagram of the kernel in an iteration of the loop, so that path events are never held up.
/// Confined to the daemon's loop.
final class TrafficMonitor {
    let loop: EventLoop
    private let hub: EventHub
    let engine: PathEngine
    private let recorder: NetlinkRecorder?
    private var counters: TCPCounterFile?
    private var connections: Source<ConnectionReader>?
    private var ends: Source<ConnectionEndReader>?
    private var sampling = TrafficSampling()
    private(set) var tracker = TrafficTracker()
    private(set) var history = TrafficHistory()
    private var isEnabled = false
    private var timer: EventLoop.Timer?
    private var pause: EventLoop.Timer?
    private var sampled: Duration?
    /// Until when nobody is accused: this process hardly ran, and its peers may not have either.
    private var doubtful = Duration.zero
    private var cost = Duration.zero
    private var lastReport = TrafficReport()
    private var lastStanding: [TrafficStanding] = []
    private var families: [AddressFamily] = []
    private var failure: NetlinkError?
    /// How often the document changed, for its tags.
    private(set) var revision: UInt64 = 0
    /// Called after each reading.
    var onReading: () -> Void = {}
    /// Called with what is published.
    var onChange: (TrafficChange) -> Void = { _ in }

    /// A socket with its registration; the socket is closed after it was unregistered.
    private struct Source<Reader> {
        let reader: Reader
        let registration: EventLoop.Registration
    }

    init(_ engine: PathEngine, loop: EventLoop, hub: EventHub, recorder: NetlinkRecorder?) {
        self.engine = engine
        self.loop = loop
        self.hub = hub
        self.recorder = recorder
    }

    /// What is known now; while a reading is under way, what the one before found.
    var report: TrafficReport {
        guard failure == nil else { return TrafficReport() }
        return families.isEmpty ? tracker.report(at: loop.clock.awake) : lastReport
    }

    /// The same of what stands.
    var standing: [TrafficStanding] {
        families.isEmpty ? tracker.standing(at: loop.clock.awake) : lastStanding
    }

    private var problem: String? { failure.map { "TCP connections cannot be read: \($0)" } }

    var samplingState: TrafficDocument.Sampling {
        TrafficDocument.Sampling(
            isEnabled: isEnabled,
            sampled: sampled,
            interval: sampling.routineInterval,
            isLimited: sampling.isLimited,
            problem: problem
        )
    }

    /// Begins or ends to read connections, as the configuration says.
    func apply(isEnabled new: Bool) {
        guard new != isEnabled else { return }
        isEnabled = new
        revision += 1
        guard new else {
            publish(tracker.abandoned(at: loop.clock.awake))
            return close()
        }
        open()
        tick()
    }

    /// The machine goes on after it was suspended.
    func resume() { tracker.resume(at: loop.clock.awake) }

    /// Receives what the kernel reported of its routes.
    func receive(_ batch: EventBatch) {
        if batch.concernsConnections { tracker.routesChanged(at: loop.clock.awake) }
    }

    /// Everything may have changed.
    func invalidateRoutes() { tracker.routesChanged(at: loop.clock.awake) }

    /// Reads the counters if they are due; called in every iteration of the loop.
    func tick() {
        guard isEnabled, families.isEmpty, connections != nil, sampling.isDue(loop.clock.awake) else { return }
        readCounters()
    }

    // MARK: - Readings

    private func open() {
        do {
            counters = try TCPCounterFile()
            let reader = try ConnectionReader(recorder)
            let registration = try register(reader.descriptor) { [unowned self] in readConnections() }
            connections = Source(reader: reader, registration: registration)
            let ending = try ConnectionEndReader(recorder)
            ends = Source(
                reader: ending,
                registration: try register(ending.descriptor) { [unowned self] in readEnds() }
            )
            failure = nil
        } catch {
            close()
            failure = error
        }
    }

    private func register(
        _ descriptor: Int32,
        _ handler: @escaping () -> Void
    ) throws(NetlinkError) -> EventLoop.Registration {
        do {
            return try loop.register(descriptor, for: .readable) { _ in handler() }
        } catch {
            throw .noSocket(step: "epoll_ctl", code: error.rawValue)
        }
    }

    private func close() {
        for registration in [connections?.registration, ends?.registration].compactMap(\.self) {
            loop.unregister(registration)
        }
        (connections, ends, families) = (nil, nil, [])
        counters = nil
        for timer in [timer, pause].compactMap(\.self) { loop.cancel(timer) }
        (timer, pause) = (nil, nil)
        (tracker, sampling, sampled, failure) = (TrafficTracker(), TrafficSampling(), nil, nil)
    }

    private func readCounters() {
        let now = loop.clock.awake
        guard let counters = counters?.read() else { return schedule() }
        guard !sampling.gate(counters, at: now) else { return beginReading() }
        if tracker.refresh(at: now) {
            revision += 1
            onReading()
        }
        schedule()
    }

    private func schedule() {
        if let timer { loop.cancel(timer) }
        timer = sampling.next(isTransient: tracker.isTransient).map { next in
            loop.schedule(after: max(.zero, next - loop.clock.awake)) { [unowned self] in
                timer = nil
                let now = loop.clock.awake
                if now - next >= .seconds(1) { doubtful = now + .seconds(1) }
                if families.isEmpty { readCounters() }
            }
        }
    }

    private func beginReading() {
        cost = .zero
        families = AddressFamily.allCases
        tracker.begin()
        requestNext()
    }

    /// Requests the next family, or ends the reading.
    private func requestNext() {
        while let family = families.first {
            do {
                try connections?.reader.request(family)
                return
            } catch {
                skip(family, error)
            }
        }
        endReading()
    }

    private func skip(_ family: AddressFamily, _ error: NetlinkError) {
        // A kernel without IPv6 has no connections of it.
        if family == .ipv4 { failure = error }
        families.removeAll { $0 == family }
    }

    private func readConnections() {
        guard let family = families.first, let reader = connections?.reader else { return }
        let (started, now) = (ProcessorTime.ofThread, loop.clock.awake)
        do {
            let progress = try reader.read { [unowned self] in
                tracker.add($0, at: now, route: engine.table.path(in: engine.core.state))
            }
            cost += ProcessorTime.ofThread - started
            guard progress == .done else { return }
            if family == .ipv4 { failure = nil }
            families.removeFirst()
        } catch {
            skip(family, error)
        }
        requestNext()
    }

    private func endReading() {
        let started = ProcessorTime.ofThread
        let now = loop.clock.awake
        // What could not be read does not end, and says nothing new.
        let changes = tracker.end(at: now, isDoubtful: now < doubtful || failure != nil)
        let report = tracker.report(at: now)
        (lastReport, lastStanding) = (report, tracker.standing(at: now))
        if failure == nil {
            history.record(report, isStalled: tracker.isStalled, at: now)
            sampled = now
        }
        revision += 1
        cost += ProcessorTime.ofThread - started
        sampling.read(
            TrafficSampling.Result(
                connections: report.total.connections,
                isSuspicious: tracker.isSuspicious,
                isStalled: tracker.isStalled,
                isTroubled: tracker.isTroubled,
                cost: cost
            ),
            at: now
        )
        publish(changes)
        onReading()
        schedule()
    }

    private func publish(_ changes: [TrafficChange]) {
        for change in changes {
            hub.publish(TrafficChanged(change))
            onChange(change)
        }
    }

    /// Reads connections that ended, a bounded number at a time: what is too much is lost.
    private func readEnds() {
        guard let ends else { return }
        let now = loop.clock.awake
        let most = 64
        let count = ends.reader.read(upTo: most) { [unowned self] in
            tracker.end($0, at: now, route: engine.table.path(in: engine.core.state))
        }
        if count > 0 { sampling.connectionEnded() }
        guard count == most, pause == nil else { return }
        try? loop.change(ends.registration, to: [])
        pause = loop.schedule(after: .milliseconds(100)) { [unowned self] in
            pause = nil
            if let registration = self.ends?.registration { try? loop.change(registration, to: .readable) }
        }
    }
}

extension TrafficMonitor: DaemonPart {
    var problems: [ProblemDocument] {
        problem.map { [ProblemDocument(part: "traffic", message: $0)] } ?? []
    }

    func register(in registry: MetricRegistry) {
        registry.add { [unowned self] writer in TrafficMetrics.write(report, to: &writer) }
    }

    func stop() { close() }
}

/// Owns the socket of a dump; a class, since closures of the loop share it.
private final class ConnectionReader {
    private var socket: ConnectionSocket

    init(_ recorder: NetlinkRecorder?) throws(NetlinkError) { socket = try ConnectionSocket(recorder: recorder) }

    var descriptor: Int32 { socket.descriptor }

    func request(_ family: AddressFamily) throws(NetlinkError) { try socket.request(family) }

    func read(_ each: (TCPConnection) -> Void) throws(NetlinkError) -> ConnectionSocket.Progress {
        try socket.read(each)
    }
}

private final class ConnectionEndReader {
    private var socket: ConnectionEndSocket

    init(_ recorder: NetlinkRecorder?) throws(NetlinkError) { socket = try ConnectionEndSocket(recorder: recorder) }

    var descriptor: Int32 { socket.descriptor }

    func read(upTo limit: Int, _ each: (TCPConnection) -> Void) -> Int { socket.read(upTo: limit, each) }
}

/// The processor time of the calling thread (`CLOCK_THREAD_CPUTIME_ID`).
private enum ProcessorTime {
    static var ofThread: Duration {
        var time = timespec()
        guard unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else { return .zero }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
