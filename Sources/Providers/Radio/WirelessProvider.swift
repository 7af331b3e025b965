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
    public private(set) var health = ProviderHealth()
    /// Something changed; called on the loop's thread.
    public var onChange: () -> Void = {}

    /// Whether signals are sampled: only while somebody wants them.
    public var isSampling = false {
        didSet { if isSampling != oldValue { sample() } }
    }

    private let loop: EventLoop
    private let interval: Duration
    private let familyName: String
    private var events: GenericEndpoint?
    private var requests: GenericEndpoint?
    private var family: UInt16?
    private var table = WirelessTable()
    private var sampler: EventLoop.Timer?
    private lazy var debouncer = Debouncer(loop: loop, quiet: .milliseconds(50)) { [weak self] in self?.refresh() }

    /// Prepares to ask the kernel; `interval` is the time between two samples of the signal.
    public convenience init(loop: EventLoop, interval: Duration = .seconds(10)) {
        self.init(loop: loop, interval: interval, familyName: "nl80211")
    }

    init(loop: EventLoop, interval: Duration, familyName: String) {
        self.loop = loop
        self.interval = interval
        self.familyName = familyName
    }

    /// Asks for the interfaces and follows their changes.
    public func start() {
        guard events == nil else { return }
        do throws(ProviderError) {
            events = try open { [weak self] message in self?.hear(message) }
            requests = try open { [weak self] message in self?.take(message) }
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
        table.ask(.interfaces)
        sendNext()
    }

    private func sendNext() {
        guard let family, let requests, let request = table.next() else { return }
        do throws(ProviderError) {
            table.sent(try requests.socket.send(request.question(family: family)))
        } catch {
            table.forgetQuestions()
            health.fail(error, at: loop.clock.boot)
            onChange()
        }
    }

    private func open(_ handler: @escaping (GenericMessage) -> Void) throws(ProviderError) -> GenericEndpoint {
        try GenericEndpoint(loop: loop, onLoss: { [weak self] code in self?.lose(code) }, onMessage: handler)
    }

    /// Looks for the family and joins its groups.
    private func find() {
        guard let events, let number = events.socket.family(familyName) else { return }
        family = number
        _ = events.socket.join("config", of: familyName)
        _ = events.socket.join("mlme", of: familyName)
        health.succeed()
        refresh()
    }

    /// An overrun: events were lost, or the end of a dump.
    private func lose(_ code: Errno) {
        health.lastError = .system(call: "recv", code: code)
        table.forgetQuestions()
        debouncer.trigger()
    }

    /// An event: any of nl80211 may change an interface; one of the controller may bring or take the family.
    private func hear(_ message: GenericMessage) {
        if message.type == family { return debouncer.trigger() }
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
    private func take(_ message: GenericMessage) {
        let outcome = table.receive(message)
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
        guard isSampling else { return }
        for request in table.stations { table.ask(request) }
        sendNext()
        sampler = loop.schedule(after: interval) { [weak self] in self?.sample() }
    }
}
