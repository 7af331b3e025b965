// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import DNSWire
public import LinuxIO

/// Speaks multicast DNS on all given interfaces, for any number of clients.
///
/// Confined to the thread of its loop. Needs no other daemon, and shares port 5353 with one that is there. It queries
/// and refreshes only what a client subscribed to, and two equal subscriptions cause the traffic of one:
/// ``ServiceCensus``, ``ServiceBrowse``, ``InstanceResolve``, ``HostLookup``, ``ReverseLookup`` and ``RecordQuery``
/// are its clients.
public final class MulticastEngine {
    private struct Attachment {
        var subscription: Subscription
        weak var client: (any EngineClient)?
        /// The links that know the subscription, by index.
        var links: Set<Int> = []
    }

    /// What happens to the engine itself.
    public enum Notice {
        /// Another host has a name that is advertised, or that such a service needs.
        case nameConflict(NameConflict)
        /// Another program has port 5353 for itself, or it can be had again.
        case occupiedPort(OccupiedPort, isOccupied: Bool)
    }

    /// How many pairs of interface and family are counted at most; those of interfaces that left make room.
    static let maximumCounters = 256

    /// What was counted per interface and family since the start; interfaces that left stay.
    public private(set) var counters: [MulticastCounters.Key: MulticastCounters] = [:]
    public private(set) var isStarted = false
    var advertiser: Advertiser
    var advertisementHandlers: [AdvertisementID: (AdvertisementEvent) -> Void] = [:]
    let loop: EventLoop
    let clock: any TimeSource
    private let settings: MulticastSettings
    private var random: RandomSource
    private var interfaces: [Int: MulticastInterface] = [:]
    private(set) var links: [Int: MulticastLink] = [:]
    private let unicast: UnicastPort
    private let hostName: HostNameMonitor
    private var attachments: [Int: Attachment] = [:]
    private var lastClient = 0
    private var timer: (handle: EventLoop.Timer, deadline: Duration)?
    /// When to try again to open the sockets that could not be opened.
    private var retryAt: Duration?
    private var ports = OccupiedPorts()
    /// The families whose port was refused since the interfaces were brought in line.
    private var refused: Set<AddressFamily> = []
    private var isPumping = false
    private(set) var onNotice: (Notice) -> Void = { _ in }
    var mustPumpAgain = false

    /// Makes an engine that does nothing before ``start(onNotice:)``.
    public init(
        loop: EventLoop,
        clock: any TimeSource,
        settings: MulticastSettings = MulticastSettings(),
        random: RandomSource = RandomSource()
    ) {
        self.loop = loop
        self.clock = clock
        self.settings = settings
        self.random = random
        unicast = UnicastPort(loop: loop)
        hostName = HostNameMonitor(loop: loop)
        advertiser = Advertiser(hostName: hostName.name)
    }

    /// The families whose port another program has for itself.
    public var occupiedPorts: [OccupiedPort] { AddressFamily.allCases.compactMap { ports.occupied[$0] } }

    deinit {
        if isStarted { stop(goodbye: false) }
    }

    /// Sets the interfaces to speak on: those that are up, can multicast and are wanted.
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

    /// Opens the sockets.
    /// - Parameter onNotice: Called on the loop's thread until ``stop(goodbye:)``.
    public func start(onNotice: @escaping (Notice) -> Void = { _ in }) {
        guard !isStarted else { return }
        isStarted = true
        self.onNotice = onNotice
        hostName.start { [unowned self] name in apply(hostName: name) }
        applyInterfaces()
        pump()
    }

    /// The machine woke up: everything is queried and announced again, as after a link came up (rules P1 and Q9).
    public func resume() {
        let now = clock.boot
        if isStarted { followUnicast() }
        for link in sortedLinks { link.directory.resume(at: now) }
        pump()
    }

    /// Closes the sockets and clears the caches, without events to the clients: what was found is not gone.
    /// - Parameter goodbye: Whether goodbyes are sent first.
    public func stop(goodbye: Bool = true) {
        if goodbye && isStarted { sendGoodbyes(at: clock.boot) }
        isStarted = false
        hostName.stop()
        for link in links.values { link.closeAll() }
        links = [:]
        unicast.closeAll()
        for id in attachments.keys { attachments[id]?.links = [] }
        if let timer { loop.cancel(timer.handle) }
        timer = nil
        retryAt = nil
        onNotice = { _ in }
    }

    /// Has a record confirmed that seems to be wrong, such as one whose service does not answer (rule C7).
    ///
    /// It is queried twice; without an answer it is removed within ten seconds, and reported.
    /// - Parameters:
    ///   - record: The record; its lifetime does not matter.
    ///   - interface: Where, by name; `nil` is everywhere.
    public func reconfirm(_ record: ResourceRecord, on interface: String? = nil) {
        let now = clock.boot
        for link in links.values where interface == nil || link.directory.name == interface {
            link.directory.reconfirm(record, at: now)
        }
        pump()
    }

    /// Has a service confirmed that cannot be reached: its location and its host's addresses (rule C7).
    public func reconfirm(_ service: Service) {
        let now = clock.boot
        if let link = links[service.interfaceIndex] { link.directory.reconfirm(service, at: now) }
        pump()
    }

    // MARK: - Clients

    /// Adds a client, and reports to it what is known already.
    ///
    /// The client is held weakly; it detaches when it goes.
    func attach(_ client: any EngineClient) -> Int {
        lastClient += 1
        let id = lastClient
        attachments[id] = Attachment(subscription: client.subscription, client: client)
        let now = clock.boot
        for link in sortedLinks { attach(id, to: link, at: now) }
        pump()
        return id
    }

    /// A client's census has other settings now.
    func changeCensus(of id: Int) {
        guard let client = attachments[id]?.client else { return }
        attachments[id]?.subscription = client.subscription
        let now = clock.boot
        for link in sortedLinks where attachments[id]?.links.contains(link.index) == true {
            link.directory.change(client.subscription, of: id, at: now)
        }
        pump()
    }

    func detach(_ id: Int) {
        guard let attachment = attachments.removeValue(forKey: id) else { return }
        let now = clock.boot
        for index in attachment.links { links[index]?.directory.remove(id, at: now) }
        pump()
    }

    private func attach(_ id: Int, to link: MulticastLink, at now: Duration) {
        guard let attachment = attachments[id], (attachment.subscription.interface ?? link.name) == link.name,
            attachments[id]?.links.insert(link.index).inserted == true
        else { return }
        link.directory.add(attachment.subscription, of: id, at: now)
        // What others caused is reported to all, this client included; the rest of what is known only to it.
        deliver(link, at: now, besides: id)
        let known = link.directory.snapshot(for: attachment.subscription, at: now)
        if !known.isEmpty { attachment.client?.receive(known, on: link.identity, at: now) }
    }

    /// Hands a link's events to the clients that use it.
    private func deliver(_ link: MulticastLink, at now: Duration, besides: Int? = nil) {
        deliver(link.directory.drainEvents(), of: link, at: now, besides: besides)
    }

    private func deliver(_ events: [DirectoryEvent], of link: MulticastLink, at now: Duration, besides: Int? = nil) {
        guard !events.isEmpty else { return }
        for (id, attachment) in attachments.inKeyOrder
        where id != besides && attachment.links.contains(link.index) {
            attachments[id]?.client?.receive(events, on: link.identity, at: now)
        }
    }

    private func deliverOpening(of opened: Set<Int>, at now: Duration) {
        guard !opened.isEmpty else { return }
        for (id, attachment) in attachments.inKeyOrder
        where !attachment.links.isDisjoint(with: opened) {
            attachments[id]?.client?.linkOpened(at: now)
        }
    }

    // MARK: - Interfaces

    var sortedLinks: [MulticastLink] { links.values.sorted { $0.index < $1.index } }

    private func applyInterfaces() {
        let now = clock.boot
        retryAt = nil
        refused = []
        followUnicast()
        for link in sortedLinks where interfaces[link.index] == nil {
            links[link.index] = nil
            link.closeAll()
            for family in AddressFamily.allCases { link.directory.close(family, at: now) }
            deliver(link, at: now)
            for id in attachments.keys { attachments[id]?.links.remove(link.index) }
        }
        var opened: Set<Int> = []
        for interface in interfaces.values.sorted(by: { $0.index < $1.index }) {
            let link = links[interface.index] ?? makeLink(interface)
            links[interface.index] = link
            let wasDown = link.interface.carrierChanges != interface.carrierChanges
            link.interface = interface
            if link.name != interface.name { rename(link, to: interface.name, at: now) }
            // The change went unseen: everything is queried and announced again (rules P1 and Q9).
            if wasDown {
                link.directory.resume(at: now)
                opened.insert(interface.index)
            }
            for family in AddressFamily.allCases where apply(interface, family, to: link, at: now) {
                opened.insert(interface.index)
            }
            for id in attachments.keys.sorted() { attach(id, to: link, at: now) }
        }
        let changes = ports.update(refused) { PortOwner.holder(family: $0, port: Zone.port) }
        for (port, isOccupied) in changes { onNotice(.occupiedPort(port, isOccupied: isOccupied)) }
        announceLinks(at: now)
        // Query a newly opened link at once, not at the next census.
        deliverOpening(of: opened, at: now)
    }

    private func rename(_ link: MulticastLink, to name: String, at now: Duration) {
        var gone: [DirectoryEvent] = []
        let leaving = attachments.filter {
            $0.value.links.contains(link.index) && ($0.value.subscription.interface ?? name) != name
        }
        link.directory.rename(to: name, at: now) { directory in
            gone = directory.drainEvents()
            for id in leaving.keys { directory.remove(id, at: now) }
        }
        deliver(gone, of: link, at: now)
        for id in leaving.keys { attachments[id]?.links.remove(link.index) }
        deliver(link, at: now)
    }

    /// Brings one family of a link in line.
    /// - Returns: Whether a socket was opened.
    private func apply(
        _ interface: MulticastInterface,
        _ family: AddressFamily,
        to link: MulticastLink,
        at now: Duration
    ) -> Bool {
        let addresses = interface.addresses(of: family)
        guard !addresses.isEmpty else {
            link.close(family)
            link.directory.close(family, at: now)
            return false
        }
        guard !link.isOpen(family, with: addresses) else { return false }
        do throws(Errno) {
            try link.open(family, addresses: addresses) { [unowned self, unowned link] in receive(on: link, family) }
        } catch {
            count(on: link, family) { counters in
                counters.socketFailures += 1
                counters.lastError = error
            }
            if error == .addressInUse { refused.insert(family) }
            retryAt = now + settings.socketRetry
            return false
        }
        link.directory.open(family, mtu: interface.mtu, welcomesUnicast: unicast.isOpen(family), at: now)
        publishAll(on: link, family, at: now)
        return true
    }

    /// Determines which socket gets unicast packets, before answers by unicast are welcomed (rule Q19).
    func followUnicast() {
        for family in AddressFamily.allCases {
            if interfaces.values.contains(where: { !$0.addresses(of: family).isEmpty }) {
                unicast.follow(family) { [unowned self] in receiveUnicast(family) }
            } else {
                unicast.close(family)
            }
            for link in links.values {
                link.directory.zones[family]?.welcomeUnicast(unicast.isOpen(family))
            }
        }
    }

    private func makeLink(_ interface: MulticastInterface) -> MulticastLink {
        let directory = LinkDirectory(
            index: interface.index,
            name: interface.name,
            settings: settings,
            random: RandomSource(seed: random.next())
        )
        return MulticastLink(loop: loop, interface: interface, directory: directory)
    }

    // MARK: - Packets

    private func count(on link: MulticastLink, _ family: AddressFamily, _ body: (inout MulticastCounters) -> Void) {
        let key = MulticastCounters.Key(interface: link.name, family: family)
        if counters[key] == nil && counters.count >= Self.maximumCounters {
            let present = Set(links.values.map(\.name))
            counters = counters.filter { present.contains($0.key.interface) }
        }
        body(&counters[key, default: .init()])
    }

    private func receive(on link: MulticastLink, _ family: AddressFamily) {
        let readLimit = ReadLimit(clock)
        count(on: link, family) { link.receive(family, within: readLimit, counters: &$0) }
        pump()
    }

    private func receiveUnicast(_ family: AddressFamily) {
        let readLimit = ReadLimit(clock)
        unicast.receive(family, within: readLimit) { datagram, buffer in
            guard let link = links[datagram.interface] else { return }
            count(on: link, family) {
                link.handle(datagram, buffer, family, wasMulticast: false, at: readLimit.started, counters: &$0)
            }
        }
        pump()
    }

    /// Carries out what is due, on every link, and arms the timer for the rest.
    func pump() {
        mustPumpAgain = isPumping
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        repeat {
            mustPumpAgain = false
            let now = clock.boot
            if let retryAt, retryAt <= now { applyInterfaces() }
            for link in sortedLinks {
                guard isStarted else { return }
                link.directory.advance(to: now)
                send(link, at: now)
                deliver(link, at: now)
            }
            runAdvertiser(at: now)
            for (_, attachment) in attachments.inKeyOrder { attachment.client?.advance(to: now) }
        } while mustPumpAgain && isStarted
        if isStarted { arm() }
    }

    func send(_ link: MulticastLink, at now: Duration) {
        for (family, packets) in link.directory.packets(at: now) {
            count(on: link, family) { link.send(packets, family, counters: &$0) }
        }
    }

    private func arm() {
        let deadlines = links.values.map(\.directory.nextDeadline) + attachments.values.map { $0.client?.nextDeadline }
        let next = (deadlines + [retryAt]).compactMap(\.self).min()
        guard next != timer?.deadline else { return }
        if let timer { loop.cancel(timer.handle) }
        timer = next.map { deadline in
            let handle = loop.schedule(at: deadline) { [unowned self] in
                timer = nil
                pump()
            }
            return (handle, deadline)
        }
    }
}
