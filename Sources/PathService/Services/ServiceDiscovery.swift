// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Configuration
internal import Documents
internal import EventHub
internal import LinuxIO
internal import Metrics
internal import MulticastDNS
internal import PathEngine
internal import PathModel

/// The services of the neighbourhood: the census of them, what is remembered, and what this machine offers itself.
///
/// Confined to the daemon's loop.
final class ServiceDiscovery {
    let census: ServiceCensus
    private let engine: MulticastEngine
    private let keeper: ServiceHistoryKeeper
    private let advertiser: ServiceAdvertiser
    private let counters = ServiceCounters()
    private let hub: EventHub
    private var publisher: ServicePublisher
    private let loop: EventLoop
    private var timer: EventLoop.Timer?
    /// The last change of links: the interfaces and the cause of what follows.
    private var linkChange: (interfaces: Set<String>, cause: EventCause)?
    /// How often services changed, published or not.
    private(set) var revision = 0
    private var onChange: () -> Void = {}
    private let settings: ConfigurationKeeper
    private var configuration: Configuration { settings.current }

    init(_ settings: ConfigurationKeeper, hub: EventHub, loop: EventLoop, clock: any TimeSource, hostName: String) {
        self.settings = settings
        self.hub = hub
        self.loop = loop
        let configuration = settings.current
        let directory = configuration.stateDirectory
        engine = MulticastEngine(loop: loop, clock: clock)
        census = ServiceCensus(engine, settings: configuration.censusSettings)
        let keeper = ServiceHistoryKeeper(loop: loop, clock: clock, directory: directory)
        self.keeper = keeper
        advertiser = ServiceAdvertiser(engine, hostName: hostName, directory: directory)
        publisher = ServicePublisher(hub: hub, clock: clock) { service in keeper.history.firstSeen(service) }
    }

    /// What is remembered of services, those that are gone included.
    var history: ServiceHistory { keeper.history }

    /// Starts the census, and offers what the configuration names.
    ///
    /// - Parameters:
    ///   - interfaces: Where.
    ///   - onChange: Called when services changed whose event is published later.
    func start(on interfaces: [MulticastInterface], onChange: @escaping () -> Void) {
        self.onChange = onChange
        expectConfiguredTypes()
        keeper.open()
        publisher.expect(history.expected)
        engine.setInterfaces(interfaces)
        census.start { [unowned self] event in take(event) }
        engine.start { [unowned self] notice in take(notice) }
        advertiser.open()
        advertiser.offer(configuration.mdns.advertised)
    }

    /// Takes what the configuration says from now on.
    func takeSettings() {
        expectConfiguredTypes()
        census.setWellKnownTypes(configuration.censusSettings.wellKnownTypes)
        advertiser.offer(configuration.mdns.advertised)
    }

    private func expectConfiguredTypes() {
        for watched in configuration.mdns.watched { counters.expect(watched.type) }
    }

    /// Records the interfaces that an update changed: their services come and go for the same cause.
    func record(_ update: EngineUpdate, cause: EventCause) {
        let interfaces = update.changes.compactMap(\.interfaceName)
        if !interfaces.isEmpty { linkChange = (Set(interfaces), cause) }
    }

    private func cause(of group: ServiceGroup) -> EventCause {
        if let linkChange, linkChange.interfaces.contains(group.interface) { return linkChange.cause }
        return EventCause(kind: (group.isOfEarlierRun ? CauseKind.initial : .link).rawValue)
    }

    func setInterfaces(_ interfaces: [MulticastInterface]) { engine.setInterfaces(interfaces) }

    /// Goes on under the machine's new name.
    func take(hostName name: String) { advertiser.take(hostName: name) }

    /// The machine woke up.
    func resume() { engine.resume() }

    private func take(_ event: ServiceEvent) {
        counters.count(event)
        keeper.take(event, services: census.services)
        publisher.publish(event, cause: cause)
        schedule()
        revision += 1
        // What waits for its group is no event yet.
        if publisher.isHolding { onChange() }
    }

    /// Publishes later what has to wait, once for all that does.
    private func schedule() {
        guard timer == nil, let deadline = publisher.nextDeadline else { return }
        timer = loop.schedule(at: deadline) { [unowned self] in
            timer = nil
            publisher.publishDue(cause: cause)
            schedule()
        }
    }

    private func take(_ notice: MulticastEngine.Notice) {
        switch notice {
        case .nameConflict(let conflict):
            counters.nameConflicts.increment()
            advertiser.noteConflict()
            hub.publish(NameConflictFound(conflict))
        case .occupiedPort(let port, let isTaken): hub.publish(MulticastPortChanged(port, isTaken: isTaken))
        }
    }

    private func collect(_ writer: inout MetricWriter) {
        let services = census.services
        for (type, count) in counters.tally(services.lazy.map(\.type)) {
            writer.write(Family.services, Double(count), type)
        }
        writer.write(Family.serviceTypes, Double(census.serviceTypes.count))
        writer.declare(Family.watched)
        for watched in configuration.mdns.watched {
            writer.write(Family.watched, services.contains(where: watched.includes), watched.type, watched.name ?? "")
        }
        writer.write(Family.censusTime, census.lastCompleted?.secondsSince1970 ?? 0)
        writer.write(Family.censusInterval, configuration.mdns.censusInterval.seconds)
        let taken = engine.occupiedPorts.map(\.family)
        for family in AddressFamily.allCases {
            writer.write(Family.portAvailable, !taken.contains(family), family.rawValue)
        }
        for (key, count) in engine.counters.sorted(by: {
            ($0.key.interface, $0.key.family) < ($1.key.interface, $1.key.family)
        }) {
            let labels = [key.interface, key.family.rawValue]
            writer.write(Family.packetsReceived, Double(count.received), labels: labels)
            writer.write(Family.packetsSent, Double(count.sent), labels: labels)
            writer.write(Family.packetsMalformed, Double(count.malformed), labels: labels)
            writer.write(Family.packetFaults, Double(count.wrongPort), labels: labels + ["wrong_port"])
            writer.write(Family.packetFaults, Double(count.wrongHopLimit), labels: labels + ["hop_limit"])
        }
    }
}

extension ServiceDiscovery: DaemonPart {
    var problems: [ProblemDocument] {
        let messages =
            [keeper.problem, advertiser.problem].compactMap(\.self) + engine.occupiedPorts.map(\.explanation)
        return messages.map { ProblemDocument(part: "services", message: $0) }
    }

    func register(in registry: MetricRegistry) {
        registry.add { [unowned self] in collect(&$0) }
        counters.register(in: registry)
    }

    func stop() {
        if let timer { loop.cancel(timer) }
        timer = nil
        keeper.close(services: census.services)
        engine.stop()
        census.stop()
    }
}

extension ModelChange {
    /// The interface that it is about as a link.
    fileprivate var interfaceName: String? {
        switch self {
        case .interfaceAdded(let view), .interfaceRemoved(let view), .interfaceChanged(let view, _, _): view.name
        default: nil
        }
    }
}

private enum Family {
    static let services = MetricFamily.gauge("mdns_services", "Resolved services.", ["service_type"])
    static let serviceTypes = MetricFamily.gauge("mdns_service_types", "Service types that have a service.")
    static let watched = MetricFamily.gauge(
        "mdns_watched_service_up",
        "Whether a watched service is present.",
        ["service_type", "service_name"]
    )
    static let censusTime = MetricFamily.gauge(
        "mdns_census_last_success_timestamp_seconds",
        "When a census was last completed; 0 never."
    )
    static let censusInterval = MetricFamily.gauge("mdns_census_interval_seconds", "How often a census is taken.")
    static let packetsReceived = MetricFamily.counter(
        "mdns_packets_received",
        "mDNS packets received.",
        ["device", "family"]
    )
    static let packetsSent = MetricFamily.counter("mdns_packets_sent", "mDNS packets sent.", ["device", "family"])
    static let portAvailable = MetricFamily.gauge(
        "mdns_port_available",
        "0 while another program uses UDP port 5353 exclusively.",
        ["family"]
    )
    static let packetsMalformed = MetricFamily.counter(
        "mdns_packets_malformed",
        "mDNS packets refused.",
        ["device", "family"]
    )
    static let packetFaults = MetricFamily.counter(
        "mdns_noncompliant_responses",
        "mDNS responses that break a rule.",
        ["device", "family", "fault"]
    )
}
