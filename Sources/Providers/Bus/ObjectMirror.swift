// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// Keeps a copy of what a service on the bus says, however the service behaves (rule S51).
///
/// The copy outlives a hang for as long as it lasts, and a restart for ``ServiceTiming/grace``; it is marked stale meanwhile.
final class ObjectMirror {
    /// Where the properties come from.
    enum Source: Equatable {
        /// `GetManagedObjects` at a path; the check between queries one property.
        case objects(manager: String, checkPath: String, checkInterface: String, checkProperty: String)
        /// `GetAll` of one interface of one object.
        case properties(path: String, interface: String)
    }

    private(set) var objects: BusObjects
    private(set) var health = ProviderHealth()
    /// The copy or the health changed.
    var onChange: () -> Void = {}
    /// A signal arrived that is none of the mirror's.
    var onSignal: (BusSignal) -> Void = { _ in }

    let service: BusService
    private let loop: EventLoop
    private let source: Source
    private let timing: ServiceTiming
    private var timer: EventLoop.Timer?
    private var graceTimer: EventLoop.Timer?
    private var pause: Duration
    /// Counts questions, so that a late answer to an earlier one is dropped.
    private var question = 0
    private var isQuerying = false
    private var isDirty = false

    init(
        connection: BusConnection,
        name: String,
        source: Source,
        interfaces: Set<String>,
        rules: [String] = [],
        timing: ServiceTiming = ServiceTiming()
    ) {
        loop = connection.loop
        self.source = source
        self.timing = timing
        pause = timing.retry
        objects = BusObjects(interfaces: interfaces)
        var all = interfaces.sorted().map {
            "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',arg0='\($0)'"
        }
        if case .objects(let manager, _, _, _) = source {
            all.append("interface='org.freedesktop.DBus.ObjectManager',path='\(manager)'")
        }
        service = BusService(connection: connection, name: name, rules: all + rules)
        service.onAppear = { [weak self] in self?.appear() }
        service.onVanish = { [weak self] error in self?.vanish(error) }
        service.onSignal = { [weak self] signal in self?.receive(signal) }
        service.onError = { [weak self] error in self?.note(error) }
    }

    func start() { service.start() }

    func stop() {
        question += 1
        isQuerying = false
        cancelTimers()
    }

    func reload() {
        guard service.owner != nil else { return }
        // One question at a time: a burst of reasons costs one more.
        guard !isQuerying else { return isDirty = true }
        query(isCheck: false)
    }

    private func query(isCheck: Bool) {
        schedule(nil)
        question += 1
        isQuerying = true
        let sent = question
        let finish: (Result<[BusValue], ProviderError>) -> Void = { [weak self] result in
            guard let self, question == sent else { return }
            isQuerying = false
            answered(result, isCheck: isCheck)
        }
        switch source {
        case .objects(_, let path, let interface, let property) where isCheck:
            service.call(path, "org.freedesktop.DBus.Properties", "Get", [interface, property], completion: finish)
        case .objects(let manager, _, _, _):
            service.call(manager, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", completion: finish)
        case .properties(let path, let interface):
            service.call(path, "org.freedesktop.DBus.Properties", "GetAll", [interface], completion: finish)
        }
    }

    private func answered(_ result: Result<[BusValue], ProviderError>, isCheck: Bool) {
        do throws(ProviderError) {
            let before = (objects, health)
            let values = try result.get()
            switch source {
            case .objects: if !isCheck { try objects.replace(with: values) }
            case .properties(let path, let interface): try objects.replace(path, interface, with: values)
            }
            pause = timing.retry
            health.succeed()
            schedule(timing.check)
            if before != (objects, health) { onChange() }
            if isDirty {
                isDirty = false
                reload()
            }
        } catch {
            isDirty = false
            fail(error)
        }
    }

    private func fail(_ error: ProviderError) {
        note(error)
        schedule(pause)
        pause = min(pause * 2, timing.check)
    }

    private func note(_ error: ProviderError) {
        let before = health
        health.fail(error, at: loop.clock.boot)
        if health != before { onChange() }
    }

    private func appear() {
        if let graceTimer { loop.cancel(graceTimer) }
        graceTimer = nil
        reload()
    }

    private func vanish(_ error: ProviderError) {
        question += 1
        isQuerying = false
        isDirty = false
        pause = timing.retry
        cancelTimers()
        graceTimer = loop.schedule(after: timing.grace) { [weak self] in self?.forget() }
        note(error)
    }

    private func forget() {
        graceTimer = nil
        objects.removeAll()
        health.state = .absent
        onChange()
    }

    private func receive(_ signal: BusSignal) {
        // What changes during the query is in the answer, or comes after it.
        switch objects.apply(signal) {
        case .reload: reload()
        case .changed: if health.state == .active { onChange() }
        case .unchanged: onSignal(signal)
        }
    }

    private func schedule(_ delay: Duration?) {
        if let timer { loop.cancel(timer) }
        timer = delay.map { delay in
            loop.schedule(after: delay) { [weak self] in
                guard let self else { return }
                timer = nil
                // Signals may be missing from the time of a hang: only a full answer ends it.
                query(isCheck: health.state == .active)
            }
        }
    }

    private func cancelTimers() {
        schedule(nil)
        if let graceTimer { loop.cancel(graceTimer) }
        graceTimer = nil
    }
}
