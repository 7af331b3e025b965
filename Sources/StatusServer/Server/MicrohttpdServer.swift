// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CLinuxShims
internal import CMicrohttpdShims
internal import Glibc
internal import LinuxIO
internal import Metrics

/// HTTP through libmicrohttpd, without threads of its own: its epoll descriptor is watched by our loop.
///
/// Sockets are accepted here, so that limits answer with a 503 and peers are known; libmicrohttpd reads, parses and
/// writes. What it does not check is checked by ``RequestGuard`` from the bytes it kept, and absolute deadlines are
/// kept here, because its own timeout starts anew with every byte.
@safe final class MicrohttpdServer: HTTPServing {
    let loop: EventLoop
    let limits: ServerLimits
    var hosts: HostPolicy
    let handler: HTTPHandler
    let metrics: HTTPMetrics
    private var raw: OpaquePointer?
    private var watch: EventLoop.Watch?
    private var runTimer: EventLoop.Timer?
    private var deadlineTimer: (timer: EventLoop.Timer, deadline: Duration)?
    private var listeners: [Listener] = []
    private let refusals: Refusals
    private var connections: [ObjectIdentifier: HTTPConnection] = [:]
    /// Sockets handed to the library that it has not announced yet.
    private var incoming: [Int32: (listener: Listener, peer: HTTPPeer)] = [:]
    private var stopCompletion: (() -> Void)?
    private var isStopping = false
    private var isRunning = false
    private var mustRunAgain = false
    private let connectionLimit: Int

    init(
        loop: EventLoop,
        limits: ServerLimits,
        hosts: HostPolicy,
        metrics: HTTPMetrics,
        handler: @escaping HTTPHandler
    ) throws(StatusServerError) {
        self.loop = loop
        self.limits = limits
        self.hosts = hosts
        self.metrics = metrics
        self.handler = handler
        refusals = Refusals(loop: loop, counter: metrics.connectionsRefused)
        connectionLimit = min(limits.connections, Self.roomForConnections())
        var handlers = MicrohttpdCallbacks.table
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        // The library's own limit is never reached: ours answers.
        let memory = limits.request.head + limits.request.target + 4096
        unsafe raw = nwp_http_start(&handlers, context, UInt32(connectionLimit + 64), memory)
        guard let raw = unsafe raw else { throw .libraryFailed }
        do {
            watch = try loop.watch(unsafe nwp_http_epoll(raw), for: .readable) { [weak self] _ in self?.run() }
        } catch {
            unsafe nwp_http_stop(raw)
            unsafe self.raw = nil
            throw .libraryFailed
        }
    }

    deinit {
        // Connections refer back to the server, so it cannot end them any more when it goes.
        unsafe precondition(raw == nil, "the HTTP server was dropped before it was closed")
    }

    func close() {
        isStopping = true
        finish()
    }

    var addresses: [ListenAddress] { listeners.map(\.address) }

    var connectionCount: Int { connections.count }

    func listen(on address: ListenAddress) throws(StatusServerError) {
        try serve(ListeningSocket(address))
    }

    func listen(handed descriptor: consuming FileDescriptor, name: String) throws(StatusServerError) {
        try serve(ListeningSocket(handed: descriptor, name: name))
    }

    private func serve(_ socket: consuming ListeningSocket) throws(StatusServerError) {
        let listener = try Listener(socket, loop: loop, refusals: refusals) { [weak self] descriptor, listener in
            self?.accept(descriptor, from: listener)
        }
        listeners.append(listener)
    }

    func stop(within limit: Duration, completion: @escaping () -> Void) {
        guard !isStopping else { return completion() }
        isStopping = true
        stopCompletion = completion
        for listener in listeners { listener.close() }
        listeners = []
        for connection in connections.values where connection.exchange == nil { connection.breakOff() }
        loop.schedule(after: limit) { [weak self] in self?.finish() }
        finishIfEmpty()
    }

    /// How many descriptors the process may give to connections: all but 64.
    private static func roomForConnections() -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(7), &limit) == 0, limit.rlim_cur < 1 << 20 else { return 1 << 20 }
        return max(16, Int(limit.rlim_cur) - 64)
    }
}

// MARK: - The library's turn

extension MicrohttpdServer {
    /// Lets the library do what is to be done.
    func run() {
        guard let raw = unsafe raw, !isRunning else { return }
        isRunning = true
        mustRunAgain = false
        if let runTimer { loop.cancel(runTimer) }
        runTimer = nil
        _ = unsafe nwp_http_run(raw)
        isRunning = false
        let timeout = mustRunAgain ? 0 : unsafe nwp_http_timeout(raw)
        mustRunAgain = false
        if timeout >= 0 {
            runTimer = loop.schedule(after: .milliseconds(timeout)) { [weak self] in self?.run() }
        }
        finishIfEmpty()
    }

    /// Lets the library run soon, once for any number of connections that were resumed meanwhile.
    func runSoon() {
        guard !mustRunAgain, unsafe raw != nil else { return }
        mustRunAgain = true
        guard !isRunning else { return }
        loop.deferring { [weak self] in
            // The library may have had its turn by now.
            if let self, mustRunAgain { run() }
        }
    }

    private func accept(_ descriptor: Int32, from listener: Listener) {
        guard let raw = unsafe raw, !isStopping else {
            Glibc.close(descriptor)
            return
        }
        let isFull = connections.count >= connectionLimit || listener.count >= limits.connectionsPerListener
        guard !isFull else { return refusals.refuse(descriptor) }
        incoming[descriptor] = (listener, listener.peer(of: descriptor))
        let added = unsafe nwp_http_add(raw, descriptor)
        if added == 0 { metrics.connectionsRefused.increment() }
        incoming[descriptor] = nil
        run()
    }

    /// The library took a connection.
    func opened(_ descriptor: Int32) -> HTTPConnection? {
        guard let (listener, peer) = incoming.removeValue(forKey: descriptor) else { return nil }
        let connection = HTTPConnection(descriptor: descriptor, peer: peer, listener: listener, server: self)
        listener.count += 1
        connections[ObjectIdentifier(connection)] = connection
        setDeadline(of: connection, after: limits.headDeadline)
        return connection
    }

    /// The library is about to close a connection.
    func closed(_ connection: HTTPConnection) {
        connection.endWatch()
        connection.listener.count -= 1
        connections[ObjectIdentifier(connection)] = nil
    }

    /// Ends the server at once.
    private func finish() {
        guard let raw = unsafe raw else { return }
        for listener in listeners { listener.close() }
        listeners = []
        refusals.close()
        // A suspended connection must be resumed before the library may stop.
        for connection in connections.values { connection.breakOff() }
        _ = unsafe nwp_http_run(raw)
        _ = unsafe nwp_http_run(raw)
        if let watch { loop.unwatch(watch) }
        if let runTimer { loop.cancel(runTimer) }
        if let deadlineTimer { loop.cancel(deadlineTimer.timer) }
        unsafe self.raw = nil
        unsafe nwp_http_stop(raw)
        connections = [:]
        let completion = stopCompletion
        stopCompletion = nil
        completion?()
    }

    private func finishIfEmpty() {
        guard isStopping, connections.isEmpty, !isRunning, unsafe raw != nil else { return }
        finish()
    }
}

// MARK: - Deadlines

extension MicrohttpdServer {
    /// Gives a connection until `delay` from now; `nil` lets it live.
    func setDeadline(of connection: HTTPConnection, after delay: Duration?) {
        guard let delay else { return connection.deadline = nil }
        let deadline = loop.clock.boot + delay
        connection.deadline = deadline
        if let pending = deadlineTimer {
            guard deadline < pending.deadline else { return }
            loop.cancel(pending.timer)
        }
        armDeadlines(at: deadline)
    }

    private func armDeadlines(at deadline: Duration) {
        let timer = loop.schedule(at: deadline) { [weak self] in self?.sweep() }
        deadlineTimer = (timer, deadline)
    }

    /// Breaks off what is over its time; the next look is when the next deadline comes, 20 ms later at the earliest.
    private func sweep() {
        deadlineTimer = nil
        let now = loop.clock.boot
        var next: Duration?
        for connection in Array(connections.values) {
            guard let deadline = connection.deadline else { continue }
            if deadline <= now {
                metrics.connectionsTimedOut.increment()
                connection.deadline = nil
                connection.breakOff()
            } else {
                next = min(next ?? deadline, deadline)
            }
        }
        if let next { armDeadlines(at: max(next, now + .milliseconds(20))) }
    }
}
