// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
public import PathModel

/// Follows Wi-Fi interfaces through nl80211 (rules S11, S39).
///
/// Confined to the loop's thread. A kernel without nl80211 shows as absent; should the family appear later, the
/// kernel says so and the provider begins.
public final class WirelessProvider {
    /// What is known, by interface index.
    public var interfaces: [Int: WirelessFacts] { table.interfaces }
    /// What clients counted, by interface index, as of the last sample.
    public var counters: [Int: RadioCounters] { table.counters }
    public private(set) var health = ProviderHealth()
    /// Something changed; called on the loop's thread.
    public var onChange: () -> Void = {}

    /// Whether a stream is open, for which signals are sampled more often.
    public var isSampling = false {
        didSet { if isSampling != oldValue { sample() } }
    }

    private let loop: EventLoop
    private let intervals: Intervals
    private let familyName: String
    private var events: GenericEndpoint?
    private var requests: GenericEndpoint?
    private var family: UInt16?
    private var table = WirelessTable()
    private var sampler: EventLoop.Timer?
    private var isPumping = false
    /// How often a client was read again that waits for its access point, since the last event.
    private var repetitions = 0
    private lazy var debouncer = Debouncer(loop: loop, quiet: .milliseconds(50)) { [weak self] in self?.refresh() }

    /// How often a client that waits is read again.
    private static let mostRepetitions = 10

    /// The time between two samples of the signal; without an association there are none.
    public struct Intervals: Sendable {
        /// While a stream is open.
        public var open: Duration
        public var idle: Duration

        public init(open: Duration = .seconds(10), idle: Duration = .seconds(60)) {
            self.open = open
            self.idle = idle
        }
    }

    /// Prepares to query the kernel.
    public convenience init(loop: EventLoop, intervals: Intervals = Intervals()) {
        self.init(loop: loop, intervals: intervals, familyName: "nl80211")
    }

    init(loop: EventLoop, intervals: Intervals, familyName: String) {
        self.loop = loop
        self.intervals = intervals
        self.familyName = familyName
    }

    /// Queries the interfaces and their access points, which are in ``interfaces`` when this returns, and follows them.
    public func start() {
        guard events == nil else { return }
        do throws(ProviderError) {
            events = try open(onLoss: { [weak self] code in self?.loseEvents(code) }) { [weak self] message in
                self?.handleEvent(message)
            }
            requests = try open(onLoss: { [weak self] code in self?.lose(code) }) { [weak self] message in
                self?.handleAnswer(message)
            }
            _ = events?.socket.join("notify", of: "nlctrl")
            find()
        } catch {
            stop()
            health.fail(error, at: loop.clock.boot)
        }
    }

    public func stop() {
        debouncer.cancel()
        if let sampler { loop.cancel(sampler) }
        sampler = nil
        events?.close()
        requests?.close()
        events = nil
        requests = nil
        table.forgetQuestions()
    }

    public func refresh() {
        guard family != nil else { return }
        table.enqueue(.interfaces)
        // It samples, too: the next sample is due that much later.
        if let sampler { loop.cancel(sampler) }
        sampler = nil
        sendNext()
    }

    /// The interface was set down, which ends what is known of a refusal.
    public func setDown(_ index: Int) {
        if table.setDown(index) { onChange() }
    }

    /// Queries the access points again shortly, such as after the state of an interface changed.
    public func refreshSoon() {
        if family != nil { debouncer.trigger() }
    }

    /// Sends what is to be requested, one request after the other.
    private func sendNext() {
        guard let family, let requests, !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while let request = table.next() {
            do throws(ProviderError) {
                table.sent(try requests.socket.send(request.question(family: family)))
            } catch {
                table.forgetQuestions()
                health.fail(error, at: loop.clock.boot)
                return onChange()
            }
            // The kernel has answered within the call; what does not fit into one reading comes through the loop.
            requests.read()
        }
        scheduleSample()
    }

    private func open(
        onLoss: @escaping (Errno) -> Void,
        _ handler: @escaping (GenericMessage) -> Void
    ) throws(ProviderError) -> GenericEndpoint {
        try GenericEndpoint(loop: loop, onLoss: onLoss, onMessage: handler)
    }

    /// Resolves the family and joins its groups.
    private func find() {
        guard let events, let number = events.socket.family(familyName) else { return }
        family = number
        _ = events.socket.join("config", of: familyName)
        _ = events.socket.join("mlme", of: familyName)
        health.succeed()
        refresh()
    }

    /// An overrun of events; a dump goes on.
    private func loseEvents(_ code: Errno) {
        health.lastError = .system(call: "recv", code: code)
        debouncer.trigger()
    }

    /// An overrun: the end of a dump was lost.
    private func lose(_ code: Errno) {
        health.lastError = .system(call: "recv", code: code)
        table.forgetQuestions()
        debouncer.trigger()
    }

    /// An event: any of nl80211 may change an interface; one of the controller may add or remove the family.
    private func handleEvent(_ message: GenericMessage) {
        if message.type == family {
            let event = WirelessMessage.event(message)
            // NL80211_CMD_NEW_STATION and _DEL_STATION of an access point's or a mesh's own stations, and NOTIFY_CQM.
            let isStation = event.flatMap { table.interfaces[$0.index]?.isStation } ?? true
            if message.command == 64 || [19, 20].contains(message.command) && !isStation { return }
            if let event, table.apply(event, at: loop.clock.boot) { onChange() }
            repetitions = 0
            return debouncer.trigger()
        }
        guard message.familyName == familyName else { return }
        // CTRL_CMD_NEWFAMILY and CTRL_CMD_DELFAMILY.
        if message.command == 1 && family == nil { find() }
        if message.command == 2 {
            family = nil
            table.removeAll()
            health.state = .absent
            onChange()
        }
    }

    /// An answer: of the interface dump, or of a sample.
    private func handleAnswer(_ message: GenericMessage) {
        let outcome = table.receive(message, at: loop.clock.boot)
        if outcome.isChanged { onChange() }
        guard outcome.isFinished else { return }
        if let refusal = outcome.refusal {
            health.fail(.system(call: familyName, code: refusal), at: loop.clock.boot)
            onChange()
        } else {
            health.succeed()
        }
        sendNext()
    }

    private func sample() {
        if let sampler { loop.cancel(sampler) }
        sampler = nil
        for request in table.stations { table.enqueue(request) }
        sendNext()
    }

    private func scheduleSample() {
        guard table.isAssociated else {
            if let sampler { loop.cancel(sampler) }
            sampler = nil
            return
        }
        guard sampler == nil else { return }
        var interval = isSampling ? intervals.open : intervals.idle
        // Not every driver announces the authorization.
        if table.isWaiting, repetitions < Self.mostRepetitions {
            repetitions += 1
            interval = .seconds(1)
        }
        sampler = loop.schedule(after: interval) { [weak self] in self?.sample() }
    }

    // MARK: - Once

    /// Queries the interfaces and their access points once, for a command; empty without nl80211.
    public static func current() -> [Int: WirelessFacts] {
        guard var socket = try? GenericSocket(), let family = socket.family("nl80211") else { return [:] }
        var table = WirelessTable()
        table.enqueue(.interfaces)
        while let request = table.next() {
            guard let number = try? socket.send(request.question(family: family)) else { break }
            table.sent(number)
            var isFinished = false
            while !isFinished {
                guard let bytes = try? socket.receive() else { return table.interfaces }
                for message in GenericMessage.parse(bytes) where table.receive(message, at: .zero).isFinished {
                    isFinished = true
                }
            }
        }
        return table.interfaces
    }
}
