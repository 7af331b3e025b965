// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire
public import LinuxIO

/// Finds the services on all given interfaces by multicast DNS, and follows them.
///
/// Confined to the thread of its loop. It needs no other daemon, and shares port 5353 with one that is there. The
/// service types are asked for once per interval; between two censuses it listens, and refreshes what it reported.
public final class ServiceCensus {
    /// Called on the loop's thread for everything that happens, in order.
    public var onEvent: (ServiceEvent) -> Void = { _ in }
    /// What was counted per interface and family since the start; interfaces that left stay.
    public private(set) var counters: [MulticastCounters.Key: MulticastCounters] = [:]
    /// When the last census was completed, on the calendar.
    public private(set) var lastCompleted: WallTime?
    /// The types that have a service, sorted, such as `_ipp._tcp`.
    public var serviceTypes: [String] { reportedTypes.sorted() }
    /// The resolved services, sorted by type, name and interface.
    public var services: [Service] {
        links.values.flatMap(\.directory.services).sorted {
            ($0.type, $0.name, $0.interface, $0.instance) < ($1.type, $1.name, $1.interface, $1.instance)
        }
    }

    private let loop: EventLoop
    private let clock: any TimeSource
    private let settings: CensusSettings
    private var random: RandomSource
    private var interfaces: [Int: MulticastInterface] = [:]
    private var links: [Int: CensusLink] = [:]
    private var reportedTypes: Set<String> = []
    private var isStarted = false
    private var run: CensusRun?
    private var tally = CensusSummary(empty: ())
    private var nextCensus: Duration?
    private var timer: (handle: EventLoop.Timer, deadline: Duration)?
    private var isPumping = false
    private var hasLostServices = false

    /// Makes a census that does nothing before ``start()``.
    public init(
        loop: EventLoop,
        clock: any TimeSource,
        settings: CensusSettings = CensusSettings(),
        random: RandomSource = RandomSource()
    ) {
        self.loop = loop
        self.clock = clock
        self.settings = settings
        self.random = random
    }

    /// Whether a census is under way.
    public var isRunning: Bool { run != nil }

    /// Sets the interfaces to look on: those that are up, can multicast and are wanted.
    ///
    /// Call it after every change of links or addresses; the same again does nothing. An interface that is left out
    /// counts as down, and a changed set of addresses makes its family join the group anew.
    public func setInterfaces(_ interfaces: [MulticastInterface]) {
        let wanted = Dictionary(interfaces.map { ($0.index, $0) }) { $1 }
        guard wanted != self.interfaces else { return }
        self.interfaces = wanted
        guard isStarted else { return }
        applyInterfaces()
        pump()
    }

    /// Opens the sockets and begins the first census.
    public func start() {
        guard !isStarted else { return }
        isStarted = true
        applyInterfaces()
        if run == nil { beginCensus(at: clock.boot) }
        pump()
    }

    /// Closes the sockets and forgets everything, without a word: what was found is not gone.
    public func stop() {
        isStarted = false
        run = nil
        nextCensus = nil
        for link in links.values { link.closeAll() }
        links = [:]
        reportedTypes = []
        if let timer { loop.cancel(timer.handle) }
        timer = nil
    }

    /// Begins a census now, unless one is under way.
    public func runCensus() {
        guard isStarted, run == nil else { return }
        beginCensus(at: clock.boot)
        pump()
    }

    // MARK: - Interfaces

    private func applyInterfaces() {
        let now = clock.boot
        for index in links.keys.sorted() where interfaces[index] == nil {
            guard let link = links.removeValue(forKey: index) else { continue }
            link.closeAll()
            for family in AddressFamily.allCases { link.directory.close(family, at: now) }
            publish(link.directory.takeEvents())
        }
        var hasNews = false
        for interface in interfaces.values.sorted(by: { $0.index < $1.index }) {
            let link = links[interface.index] ?? makeLink(interface)
            links[interface.index] = link
            link.directory.rename(to: interface.name, at: now)
            for family in AddressFamily.allCases where apply(interface, family, to: link, at: now) { hasNews = true }
        }
        // What is new on the wire is asked now, not with the next census.
        guard hasNews, isStarted else { return }
        if run == nil { beginCensus(at: now) } else { run?.news(at: now) }
    }

    /// Brings one family of a link in line.
    /// - Returns: Whether a socket was opened.
    private func apply(
        _ interface: MulticastInterface,
        _ family: AddressFamily,
        to link: CensusLink,
        at now: Duration
    ) -> Bool {
        let addresses = interface.addresses(of: family)
        guard !addresses.isEmpty else {
            link.close(family)
            link.directory.close(family, at: now)
            return false
        }
        guard !link.isOpen(family, with: addresses) else { return false }
        let key = MulticastCounters.Key(interface: interface.name, family: family)
        do throws(Errno) {
            try link.open(family, addresses: addresses) { [unowned self, unowned link] in receive(on: link, family) }
        } catch {
            counters[key, default: .init()].socketFailures += 1
            counters[key, default: .init()].lastError = error
            return false
        }
        link.directory.open(family, mtu: interface.mtu, at: now)
        return true
    }

    private func makeLink(_ interface: MulticastInterface) -> CensusLink {
        let directory = LinkDirectory(
            index: interface.index,
            name: interface.name,
            settings: settings,
            random: RandomSource(seed: random.next())
        )
        let link = CensusLink(loop: loop, directory: directory)
        if run != nil { link.directory.beginCensus(at: clock.boot) }
        return link
    }

    // MARK: - Packets

    private func receive(on link: CensusLink, _ family: AddressFamily) {
        let now = clock.boot
        let key = MulticastCounters.Key(interface: link.directory.name, family: family)
        var counted = counters[key, default: .init()]
        link.receive(family, at: now, counters: &counted)
        counters[key] = counted
        pump()
    }

    /// Carries out what is due, on every link, and arms the timer for the rest.
    private func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        let now = clock.boot
        for link in links.values.sorted(by: { $0.directory.index < $1.directory.index }) {
            guard isStarted else { return }
            link.directory.advance(to: now)
            send(link, at: now)
            if let news = link.directory.lastNews { run?.news(at: news) }
            publish(link.directory.takeEvents())
        }
        guard isStarted else { return }
        publishLostTypes()
        stepCensus(at: now)
        guard isStarted else { return }
        arm()
    }

    private func send(_ link: CensusLink, at now: Duration) {
        for (family, packets) in link.directory.packets(at: now) {
            let key = MulticastCounters.Key(interface: link.directory.name, family: family)
            var counted = counters[key, default: .init()]
            link.send(packets, family, counters: &counted)
            counters[key] = counted
        }
    }

    private func arm() {
        let deadlines = links.values.map(\.directory.nextDeadline) + [nextCensus, runDeadline]
        let next = deadlines.compactMap(\.self).min()
        guard next != timer?.deadline else { return }
        if let timer { loop.cancel(timer.handle) }
        timer = next.map { deadline in
            let handle = loop.schedule(at: deadline) { [unowned self] in
                timer = nil
                if let nextCensus, nextCensus <= clock.boot, run == nil { beginCensus(at: clock.boot) }
                pump()
            }
            return (handle, deadline)
        }
    }

    // MARK: - The census

    private var isResolving: Bool { links.values.contains { $0.directory.isResolving } }

    private var runDeadline: Duration? {
        guard var run, case .wait(let until) = run.step(at: clock.boot, isResolving: isResolving) else {
            return run == nil ? nil : clock.boot
        }
        return until
    }

    private func beginCensus(at now: Duration) {
        run = CensusRun(at: now)
        nextCensus = now + max(settings.interval, .seconds(10))
        tally = CensusSummary(empty: ())
        // Sockets that could not be opened, or that failed, get another chance.
        for interface in interfaces.values {
            guard let link = links[interface.index] else { continue }
            for family in AddressFamily.allCases { _ = apply(interface, family, to: link, at: now) }
        }
        for link in links.values { link.directory.beginCensus(at: now) }
    }

    private func stepCensus(at now: Duration) {
        while let step = run?.step(at: now, isResolving: isResolving) {
            switch step {
            case .wait: return
            case .provisional: onEvent(.censusProvisional(summary(at: now)))
            case .complete:
                let summary = summary(at: now)
                run = nil
                lastCompleted = clock.wall
                for link in links.values { link.directory.endCensus() }
                onEvent(.censusCompleted(summary))
            }
        }
    }

    private func summary(at now: Duration) -> CensusSummary {
        var summary = tally
        summary.duration = now - (run?.started ?? now)
        summary.types = reportedTypes.count
        summary.services = links.values.reduce(0) { $0 + $1.directory.services.count }
        summary.unresolved = links.values.reduce(0) { $0 + $1.directory.unresolvedCount }
        summary.interfaces = links.values.map(\.directory.name).sorted()
        return summary
    }

    // MARK: - Reports

    private func publish(_ events: [ServiceEvent]) {
        for event in events {
            switch event {
            case .added(let service):
                tally.added += 1
                if reportedTypes.insert(service.type).inserted { onEvent(.typeAdded(service.type)) }
            case .changed: tally.changed += 1
            case .removed:
                tally.removed += 1
                hasLostServices = true
            default: break
            }
            onEvent(event)
        }
    }

    private func publishLostTypes() {
        guard hasLostServices else { return }
        hasLostServices = false
        let present = Set(links.values.flatMap(\.directory.services).map(\.type))
        for type in reportedTypes.subtracting(present).sorted() {
            reportedTypes.remove(type)
            onEvent(.typeRemoved(type))
        }
    }
}
