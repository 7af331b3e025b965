// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import Glibc
public import LinuxIO
public import Netlink

/// What is known of some addresses without a query.
public struct LocalServerFacts: Hashable, Sendable {
    /// Those with a socket of this machine at port 53.
    public var listening: Set<IPAddress>
    /// Those that packets do not leave this machine for.
    public var local: Set<IPAddress>
    /// The IPv6 link-local ones that an interface of this machine has, which are not queried.
    public var linkLocal: Set<IPAddress>

    public init(
        listening: Set<IPAddress> = [],
        local: Set<IPAddress> = [],
        linkLocal: Set<IPAddress> = []
    ) {
        self.listening = listening
        self.local = local
        self.linkLocal = linkLocal
    }

    /// Reads them from the kernel.
    public init(of addresses: Set<IPAddress>, over transport: Listener.Transport) {
        let packets: Transport = transport == .tcp ? .dnsOverTCP : .dns
        self.init(
            listening: ListenerSocket.served(addresses, over: transport),
            local: LocalDestinations.among(addresses, as: packets),
            linkLocal: LocalDestinations.linkLocal(among: addresses)
        )
    }
}

/// Follows which name servers on this machine answer (rule S35).
///
/// A socket on port 53 indicates one, and the kernel announces when it is closed. Each address that packets do not leave this
/// machine for is queried as well: one without a socket may be served by a redirect, as Docker's 127.0.0.11 is, and a
/// filter may keep queries from a socket. ``LocalServerSchedule`` decides when that is repeated. Confined to the loop's
/// thread.
public final class LocalServerMonitor {
    /// Which servers answer may have changed.
    public var onChange: () -> Void = {}
    /// The addresses of those followed that are served.
    public private(set) var served: Set<IPAddress> = []

    private let loop: EventLoop
    private let read: (Set<IPAddress>, Listener.Transport) -> LocalServerFacts
    private var addresses: Set<IPAddress> = []
    private var transport = Listener.Transport.udp
    private var facts = LocalServerFacts()
    private var schedule = LocalServerSchedule()
    private var ends: ListenerEndSocket?
    private var endRegistration: EventLoop.Registration?
    private var endTransport = Listener.Transport.udp
    private var timer: EventLoop.Timer?
    private var isNotifying = true
    /// No query waits for its answer.
    private var onIdle: () -> Void = {}
    private var isIdle: Bool { !schedule.servers.values.contains(where: \.isWaiting) }

    /// The timeout of an answer, with a socket and without one: a process may be busy, a redirect needs no time.
    private static let timeouts = (listening: Duration.seconds(3), other: Duration.seconds(1))
    /// The same for the first ones, which the start waits for.
    private static let firstTimeout = Duration.milliseconds(100)

    /// - Parameters:
    ///   - loop: Serves the sockets.
    ///   - read: Reads the sockets and routes of addresses.
    public init(
        loop: EventLoop,
        read: @escaping (Set<IPAddress>, Listener.Transport) -> LocalServerFacts = {
            LocalServerFacts(of: $0, over: $1)
        }
    ) {
        self.loop = loop
        self.read = read
    }

    /// Follows these addresses, among which may be some of other machines, which are never queried; who answers is known
    /// when this returns, but for a slow server.
    public func follow(_ addresses: Set<IPAddress>, over transport: Listener.Transport = .udp) {
        guard addresses != self.addresses || transport != self.transport else { return }
        let isFirst = self.addresses.isEmpty
        if transport != self.transport {
            schedule.servers = schedule.servers.mapValues { LocalServer(hadSocket: $0.hadSocket) }
        }
        self.addresses = addresses
        self.transport = transport
        schedule.restart(isOther: true)
        schedule.servers = schedule.servers.filter { addresses.contains($0.key) }
        // The caller reads `served` now; it need not be notified.
        isNotifying = false
        rescan(waiting: isFirst ? Self.firstTimeout : .zero)
        isNotifying = true
    }

    /// Reads and queries everything again.
    public func refresh() { rescan() }

    /// Ends it.
    public func stop() {
        addresses = []
        schedule.servers = [:]
        facts = LocalServerFacts()
        if let timer { loop.cancel(timer) }
        timer = nil
        registerEnds()
    }

    /// Finds out once, and waits for answers; all are queried at the same time.
    public static func served(
        _ addresses: Set<IPAddress>,
        over transport: Listener.Transport = .udp
    ) -> Set<IPAddress> {
        guard let loop = try? EventLoop() else { return LocalServerFacts(of: addresses, over: transport).listening }
        let servers = LocalServerMonitor(loop: loop)
        servers.follow(addresses, over: transport)
        if !servers.isIdle {
            servers.onIdle = { [unowned loop] in loop.stop() }
            loop.run()
        }
        servers.stop()
        return servers.served
    }

    private func isHere(_ address: IPAddress) -> Bool {
        address.isLoopback || facts.local.contains(address) || facts.linkLocal.contains(address)
    }

    private func registerEnds() {
        let isWanted = addresses.contains(where: isHere)
        if let endRegistration, !isWanted || endTransport != transport {
            loop.unregister(endRegistration)
            self.endRegistration = nil
            ends = nil
        }
        guard isWanted, endRegistration == nil, let socket = try? ListenerEndSocket(port: 53, over: transport) else {
            return
        }
        // Without it, audits find out.
        endRegistration = try? loop.register(socket.descriptor, for: .readable) { [weak self] _ in self?.listenerEnded()
        }
        ends = consume socket
        endTransport = transport
    }

    private func listenerEnded() {
        ends?.drain()
        schedule.restart(isOther: false)
        rescan()
    }

    /// - Parameters:
    ///   - limit: How long to wait for answers here.
    ///   - isTimed: Whether only the time has come: then what is not due is not queried.
    private func rescan(waiting limit: Duration = .zero, isTimed: Bool = false) {
        let previous = facts
        facts = addresses.isEmpty ? LocalServerFacts() : read(addresses, transport)
        registerEnds()
        let now = loop.clock.boot
        for address in addresses {
            let (isListening, isLocal) = (facts.listening.contains(address), facts.local.contains(address))
            let isOther = isListening != previous.listening.contains(address)
            var server = schedule.servers[address] ?? LocalServer()
            if isOther || !isLocal {
                // Until it is queried, one without a socket is what it was.
                let isServed = isLocal && !isListening ? server.isServed : nil
                server = LocalServer(isServed: isServed, hadSocket: server.hadSocket)
            }
            if isListening { server.hadSocket = true }
            schedule.servers[address] = server
            let isDue = !isTimed || isOther || schedule.isDue(address, isKnown: server.isServed != nil, at: now)
            if isLocal, isDue, !server.isWaiting { query(address) }
        }
        let waiting = limit > .zero ? schedule.servers.filter(\.value.isWaiting) : [:]
        for (address, server) in waiting {
            guard let outcome = server.query?.socket.wait(until: now + limit), outcome != .waiting else { continue }
            record(address, outcome)
        }
        settle()
    }

    private func query(_ address: IPAddress) {
        schedule.begin(address)
        let query: PendingQuery
        do throws(Errno) {
            let kind = schedule.servers[address]?.kind
            query = PendingQuery(try LocalServerQuery(to: address, isStream: transport == .tcp, kind: kind), on: loop)
        } catch {
            // What this process lacks says nothing of the server.
            return error.isShortage || error.rawValue == ENOBUFS
                ? schedule.postpone(address, at: loop.clock.boot) : record(address, .refused)
        }
        schedule.servers[address]?.query = query
        let outcome = query.socket.outcome()
        guard outcome == .waiting else { return record(address, outcome) }
        let timeout = facts.listening.contains(address) ? Self.timeouts.listening : Self.timeouts.other
        query.start(timeout: timeout) { [weak self] outcome in
            self?.record(address, outcome)
            self?.settle()
        }
    }

    private func record(_ address: IPAddress, _ outcome: LocalServerQuery.Outcome) {
        let isListening = facts.listening.contains(address)
        schedule.record(outcome, of: address, isListening: isListening, at: loop.clock.boot)
    }

    private func settle() {
        let now = addresses.filter { schedule.servers[$0]?.isServed ?? facts.listening.contains($0) }
        plan(served: now)
        if isIdle { onIdle() }
        guard now != served else { return }
        served = now
        if isNotifying { onChange() }
    }

    private func plan(served: Set<IPAddress>) {
        if let timer { loop.cancel(timer) }
        timer = nil
        // A server of another machine is not missing here, nor is one with a link-local address that some interface has.
        let here = addresses.filter {
            isHere($0) && (!facts.linkLocal.contains($0) || schedule.servers[$0]?.hadSocket == true)
        }
        let missing = here.subtracting(served)
        let now = loop.clock.boot
        schedule.update(isSomeServed: missing.count < here.count, isSomeMissing: !missing.isEmpty, at: now)
        guard let next = schedule.next(lacksSocket: !missing.isSubset(of: facts.listening), at: now) else { return }
        timer = loop.schedule(at: next) { [weak self] in self?.rescan(isTimed: true) }
    }
}

/// A query to a name server on this machine that waits for its answer, until nothing refers to it.
final class PendingQuery {
    var socket: LocalServerQuery
    /// Whether its time is over: a process that hung may answer it all the same.
    var isLate = false

    private let loop: EventLoop
    private var registration: EventLoop.Registration?
    private var timers: [EventLoop.Timer] = []

    init(_ socket: consuming LocalServerQuery, on loop: EventLoop) {
        self.socket = socket
        self.loop = loop
    }

    deinit {
        if let registration { loop.unregister(registration) }
        for timer in timers { loop.cancel(timer) }
    }

    /// Calls `handler` when the outcome is known, and after `timeout`, which an answer may still follow.
    func start(timeout: Duration, handler: @escaping (LocalServerQuery.Outcome) -> Void) {
        registration = try? loop.register(socket.descriptor, for: socket.isStream ? .writable : .readable) {
            [weak self] _ in
            if let outcome = self?.socket.outcome(), outcome != .waiting { handler(outcome) }
        }
        let retry = loop.schedule(after: timeout / 3) { [weak self] in self?.socket.retry() }
        let deadline = loop.schedule(after: timeout) { [weak self] in
            guard let self else { return }
            let outcome = socket.outcome()
            handler(outcome == .waiting ? socket.atDeadline : outcome)
        }
        timers = [retry, deadline]
    }
}
