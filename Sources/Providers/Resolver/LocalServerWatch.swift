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

    public init(listening: Set<IPAddress> = [], local: Set<IPAddress> = []) {
        self.listening = listening
        self.local = local
    }

    /// Reads both from the kernel.
    public init(of addresses: Set<IPAddress>, over transport: Listener.Transport) {
        let packets: Transport = transport == .tcp ? .dnsOverTCP : .dns
        self.init(
            listening: ListenerSocket.served(addresses, over: transport),
            local: LocalDestinations.among(addresses, as: packets)
        )
    }
}

/// Follows which name servers on this machine answer (rule S35).
///
/// A socket on port 53 indicates one, and the kernel announces when it is closed. Each address that packets do not leave this
/// machine for is queried as well: one without a socket may be served by a redirect, as Docker's 127.0.0.11 is, and a
/// filter may keep queries from a socket. Where a socket answers, that is repeated at each audit only; an answer that no
/// socket stands behind is requested again while it is in use, and a missing server every second at first. Confined to
/// the loop's thread.
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
    /// Whether the last query to an address was answered.
    private var answers: [IPAddress: Bool] = [:]
    private var queries: [IPAddress: Query] = [:]
    private var ends: ListenerEndSocket?
    private var endWatch: EventLoop.Watch?
    private var endTransport = Listener.Transport.udp
    private var timer: EventLoop.Timer?
    /// How many rescans followed one another because a server was missing.
    private var rescans = 0
    private var hasServed = false
    private var isNotifying = true

    /// A query that waits for its answer.
    private final class Query {
        var socket: LocalServerQuery
        var watch: EventLoop.Watch?
        var deadline: EventLoop.Timer?
        var retry: EventLoop.Timer?

        init(to address: IPAddress, over transport: Listener.Transport) throws(Errno) {
            socket = try LocalServerQuery(to: address, isStream: transport == .tcp)
        }
    }

    /// How long an answer may take, with a socket and without one: a process may be busy, a redirect needs no time.
    private static let timeouts = (listening: Duration.seconds(3), other: Duration.seconds(1))
    /// The same for the first one, which the start waits for.
    private static let firstTimeout = Duration.milliseconds(100)
    /// How often an answer that no socket stands behind is requested again, and a missing server looked up.
    private static let pace = Duration.seconds(5)
    /// How often a missing server is looked up at first, and how many times: at the start, since it starts after this
    /// service as a rule, and after it was there, since it is about to be started again.
    private static let hurry = (pace: Duration.seconds(1), atStart: 30, afterEnd: 600)

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
        rescans = 0
        hasServed = false
        answers = answers.filter { addresses.contains($0.key) }
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

    /// Finds out once, and waits for answers.
    public static func served(
        _ addresses: Set<IPAddress>,
        over transport: Listener.Transport = .udp
    ) -> Set<IPAddress> {
        let facts = LocalServerFacts(of: addresses, over: transport)
        return addresses.filter { address in
            let isListening = facts.listening.contains(address)
            guard facts.local.contains(address) else { return isListening }
            let limit = isListening ? timeouts.listening : timeouts.other
            do throws(Errno) {
                let query = try Query(to: address, over: transport)
                let outcome = query.socket.wait(atMost: limit, retries: true)
                return outcome == .answered || outcome == .waiting && query.socket.isAnswering
            } catch {
                return isListening && error.isOfResources
            }
        }
    }

    private func reset() {
        for address in queries.keys { end(address) }
        answers = [:]
    }

    private func watchEnds() {
        let isWanted = addresses.contains { $0.isLoopback || facts.local.contains($0) }
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
        rescans = 0
        rescan()
    }

    /// - Parameter limit: How long to wait for answers here.
    private func rescan(waiting limit: Duration = .zero) {
        let previous = facts
        facts = addresses.isEmpty ? LocalServerFacts() : read(addresses, transport)
        watchEnds()
        for address in addresses {
            // What was found out about another socket, or another path, counts no longer.
            let isOther = facts.listening.contains(address) != previous.listening.contains(address)
            if isOther || !facts.local.contains(address) { end(address) }
            let isNew = isOther && facts.listening.contains(address)
            if isNew || !facts.local.contains(address) { answers[address] = nil }
        }
        for address in queries.keys where !addresses.contains(address) { end(address) }
        for address in facts.local.intersection(addresses) where queries[address] == nil {
            query(address, waiting: limit)
        }
        settle()
    }

    private func query(_ address: IPAddress, waiting limit: Duration) {
        let query: Query
        do throws(Errno) {
            query = try Query(to: address, over: transport)
        } catch {
            // What this process lacks says nothing of the server.
            return error.isOfResources ? () : record(address, .refused)
        }
        let outcome = query.socket.wait(atMost: limit)
        guard outcome == .waiting else { return record(address, outcome) }
        queries[address] = query
        let isStream = query.socket.isStream
        query.watch = try? loop.watch(query.socket.descriptor, for: isStream ? .writable : .readable) { [weak self] _ in
            guard let self, let outcome = queries[address]?.socket.outcome(), outcome != .waiting else { return }
            finish(address, outcome)
        }
        let timeout = facts.listening.contains(address) ? Self.timeouts.listening : Self.timeouts.other
        query.retry = loop.schedule(after: timeout / 3) { [weak query] in query?.socket.retry() }
        query.deadline = loop.schedule(after: timeout) { [weak self] in
            let isAnswering = self?.queries[address]?.socket.isAnswering ?? false
            self?.finish(address, isAnswering ? .answered : .refused)
        }
    }

    private func finish(_ address: IPAddress, _ outcome: LocalServerQuery.Outcome) {
        end(address)
        record(address, outcome)
        settle()
    }

    private func record(_ address: IPAddress, _ outcome: LocalServerQuery.Outcome) {
        answers[address] = outcome == .answered
    }

    private func end(_ address: IPAddress) {
        guard let query = queries.removeValue(forKey: address) else { return }
        if let watch = query.watch { loop.unwatch(watch) }
        for timer in [query.deadline, query.retry].compactMap(\.self) { loop.cancel(timer) }
    }

    private func isServed(_ address: IPAddress) -> Bool { answers[address] ?? facts.listening.contains(address) }

    private func settle() {
        let now = addresses.filter(isServed)
        schedule()
        guard now != served else { return }
        served = now
        if isNotifying { onChange() }
    }

    private func schedule() {
        if let timer { loop.cancel(timer) }
        timer = nil
        // A server of another machine is not missing here.
        let here = addresses.filter { $0.isLoopback || facts.local.contains($0) }
        let missing = here.filter { !isServed($0) }
        if missing.count < here.count { hasServed = true }
        if missing.isEmpty { rescans = 0 }
        guard !missing.isEmpty || !here.isSubset(of: facts.listening) else { return }
        let isHurried = !missing.isEmpty && rescans < (hasServed ? Self.hurry.afterEnd : Self.hurry.atStart)
        timer = loop.schedule(after: isHurried ? Self.hurry.pace : Self.pace) { [weak self] in
            self?.rescans += 1
            self?.rescan()
        }
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
