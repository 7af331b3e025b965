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
public final class LocalServerWatch {
    /// Which servers answer may have changed.
    public var onChange: () -> Void = {}
    /// The addresses of those followed that are served.
    public private(set) var served: Set<IPAddress> = []

    private let loop: EventLoop
    private let read: (Set<IPAddress>, Listener.Transport) -> LocalServerFacts
    private var addresses: Set<IPAddress> = []
    private var transport = Listener.Transport.udp
    private var facts = LocalServerFacts()
    /// Whether the last query to an address was answered, or left this machine.
    private var answers: [IPAddress: Bool] = [:]
    private var kinds: [IPAddress: LocalServerQuery.Kind] = [:]
    /// Those whose last query a router dropped.
    private var redirected: Set<IPAddress> = []
    /// Those followed that had a socket at some time.
    private var hadSocket: Set<IPAddress> = []
    private var queries: [IPAddress: Query] = [:]
    private var schedule = LocalServerSchedule()
    private var ends: ListenerEndSocket?
    private var endWatch: EventLoop.Watch?
    private var endTransport = Listener.Transport.udp
    private var timer: EventLoop.Timer?
    private var isNotifying = true
    /// No query waits for its answer.
    private var onIdle: () -> Void = {}
    private var isIdle: Bool { queries.values.allSatisfy(\.isLate) }

    /// A query that waits for its answer.
    private final class Query {
        var socket: LocalServerQuery
        var registration: EventLoop.Watch?
        var deadline: EventLoop.Timer?
        var retry: EventLoop.Timer?
        /// Whether its time is over: a process that hung may answer it all the same.
        var isLate = false

        init(to address: IPAddress, over transport: Listener.Transport, _ kind: LocalServerQuery.Kind?) throws(Errno) {
            socket = try LocalServerQuery(to: address, isStream: transport == .tcp, kind: kind)
        }
    }

    /// How long an answer may take, with a socket and without one: a process may be busy, a redirect needs no time.
    private static let timeouts = (listening: Duration.seconds(3), other: Duration.seconds(1))
    /// The same for the first ones, which the start waits for.
    private static let firstTimeout = Duration.milliseconds(100)

    /// - Parameters:
    ///   - loop: Serves the watch.
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
    /// when this returns, but for a server that takes long.
    public func follow(_ addresses: Set<IPAddress>, over transport: Listener.Transport = .udp) {
        guard addresses != self.addresses || transport != self.transport else { return }
        let isFirst = self.addresses.isEmpty
        if transport != self.transport { reset() }
        self.addresses = addresses
        self.transport = transport
        schedule.restart(isOther: true)
        for address in Set(answers.keys).union(queries.keys).subtracting(addresses) { forget(address) }
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
        reset()
        facts = LocalServerFacts()
        if let timer { loop.cancel(timer) }
        timer = nil
        watchEnds()
    }

    /// Finds out once, and waits for answers; all are queried at the same time.
    public static func served(
        _ addresses: Set<IPAddress>,
        over transport: Listener.Transport = .udp
    ) -> Set<IPAddress> {
        guard let loop = try? EventLoop() else { return LocalServerFacts(of: addresses, over: transport).listening }
        let servers = LocalServerWatch(loop: loop)
        servers.follow(addresses, over: transport)
        if !servers.isIdle {
            servers.onIdle = { [unowned loop] in loop.stop() }
            loop.run()
        }
        servers.stop()
        return servers.served
    }

    private func reset() {
        for address in addresses.union(queries.keys) { forget(address) }
    }

    /// Forgets what was found out about another socket, or another path.
    private func forget(_ address: IPAddress) {
        end(address)
        answers[address] = nil
        kinds[address] = nil
        redirected.remove(address)
        schedule.forget(address)
    }

    private func isHere(_ address: IPAddress) -> Bool {
        address.isLoopback || facts.local.contains(address) || facts.linkLocal.contains(address)
    }

    private func watchEnds() {
        let isWanted = addresses.contains(where: isHere)
        if let endWatch, !isWanted || endTransport != transport {
            loop.unwatch(endWatch)
            self.endWatch = nil
            ends = nil
        }
        guard isWanted, endWatch == nil, let socket = try? ListenerEndSocket(port: 53, over: transport) else { return }
        // Without it, audits find out.
        endWatch = try? loop.watch(socket.descriptor, for: .readable) { [weak self] _ in self?.listenerEnded() }
        ends = consume socket
        endTransport = transport
    }

    private func listenerEnded() {
        ends?.drain()
        schedule.restart(isOther: false)
        // What starts next may be another program, and what waits for an answer waits for the one that ended.
        kinds = [:]
        for address in queries.keys { end(address) }
        rescan()
    }

    /// - Parameters:
    ///   - limit: How long to wait for answers here.
    ///   - isTimed: Whether only the time has come: then what is not due is not queried.
    private func rescan(waiting limit: Duration = .zero, isTimed: Bool = false) {
        let previous = facts
        facts = addresses.isEmpty ? LocalServerFacts() : read(addresses, transport)
        hadSocket = hadSocket.union(facts.listening).intersection(addresses)
        watchEnds()
        let now = loop.clock.boot
        var due = facts.local.intersection(addresses)
        for address in addresses {
            let isOther = facts.listening.contains(address) != previous.listening.contains(address)
            let answer = answers[address]
            if isOther || !facts.local.contains(address) { forget(address) }
            // Until it is queried, one without a socket is what it was.
            if isOther, !facts.listening.contains(address), facts.local.contains(address) { answers[address] = answer }
            let isWaiting = queries[address].map { !$0.isLate } ?? false
            let isDue = !isTimed || isOther || schedule.isDue(address, isKnown: answers[address] != nil, at: now)
            if isWaiting || !isDue { due.remove(address) }
        }
        for address in due { query(address) }
        if limit > .zero { wait(until: now + limit) }
        settle()
    }

    /// Waits for answers to all queries.
    private func wait(until deadline: Duration) {
        for (address, query) in queries where !query.isLate {
            let outcome = query.socket.wait(until: deadline)
            if outcome != .waiting { record(address, outcome) }
        }
    }

    private func query(_ address: IPAddress) {
        schedule.begin(address)
        let query: Query
        do throws(Errno) {
            query = try Query(to: address, over: transport, kinds[address])
        } catch {
            // What this process lacks says nothing of the server.
            return error.isOfResources
                ? schedule.postpone(address, at: loop.clock.boot) : record(address, .refused)
        }
        end(address)
        queries[address] = query
        let outcome = query.socket.outcome()
        guard outcome == .waiting else { return record(address, outcome) }
        let isStream = query.socket.isStream
        query.registration = try? loop.watch(query.socket.descriptor, for: isStream ? .writable : .readable) {
            [weak self] _ in
            guard let self, let outcome = queries[address]?.socket.outcome(), outcome != .waiting else { return }
            record(address, outcome)
            settle()
        }
        let timeout = facts.listening.contains(address) ? Self.timeouts.listening : Self.timeouts.other
        query.retry = loop.schedule(after: timeout / 3) { [weak query] in query?.socket.retry() }
        query.deadline = loop.schedule(after: timeout) { [weak self] in
            guard let self, let query = queries[address] else { return }
            let outcome = query.socket.outcome()
            record(address, outcome == .waiting ? query.socket.atDeadline : outcome)
            settle()
        }
    }

    private func record(_ address: IPAddress, _ outcome: LocalServerQuery.Outcome) {
        // One error of the router may be lost, or left out where it limits their rate.
        let isRedirected = outcome == .silent && redirected.contains(address)
        if outcome == .redirected { redirected.insert(address) } else { redirected.remove(address) }
        answers[address] = outcome == .answered || outcome == .redirected || isRedirected
        let isThere = answers[address] == true || outcome == .withoutUpstream
        kinds[address] = isThere ? queries[address]?.socket.kind : nil
        let isListening = facts.listening.contains(address)
        schedule.record(outcome, of: address, isListening: isListening, at: loop.clock.boot)
        if outcome == .silent { queries[address]?.isLate = true } else { end(address) }
    }

    private func end(_ address: IPAddress) {
        guard let query = queries.removeValue(forKey: address) else { return }
        if let registration = query.registration { loop.unwatch(registration) }
        for timer in [query.deadline, query.retry].compactMap(\.self) { loop.cancel(timer) }
    }

    private func isServed(_ address: IPAddress) -> Bool { answers[address] ?? facts.listening.contains(address) }

    private func settle() {
        let now = addresses.filter(isServed)
        plan()
        if isIdle { onIdle() }
        guard now != served else { return }
        served = now
        if isNotifying { onChange() }
    }

    private func plan() {
        if let timer { loop.cancel(timer) }
        timer = nil
        // A server of another machine is not missing here, nor is one with a link-local address that some interface has.
        let here = addresses.filter { isHere($0) && (!facts.linkLocal.contains($0) || hadSocket.contains($0)) }
        let missing = here.filter { !isServed($0) }
        let now = loop.clock.boot
        schedule.update(isSomeServed: missing.count < here.count, isSomeMissing: !missing.isEmpty, at: now)
        guard let next = schedule.next(lacksSocket: !missing.isSubset(of: facts.listening), at: now) else { return }
        timer = loop.schedule(at: next) { [weak self] in self?.rescan(isTimed: true) }
    }
}

extension Errno {
    /// Whether a socket could not be made or bound for a lack of descriptors, memory or ports.
    fileprivate var isOfResources: Bool {
        switch rawValue {
        case EMFILE, ENFILE, ENOMEM, ENOBUFS, EADDRINUSE, EAGAIN: true
        default: false
        }
    }
}
