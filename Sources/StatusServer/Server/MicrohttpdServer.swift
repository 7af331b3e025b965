// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CLinuxShims
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
    var hosts: HostPolicy { didSet { repeated.forget() } }
    let handler: HTTPHandler
    let metrics: HTTPMetrics
    /// What is not to be expected of the library.
    let doubts: LibraryDoubts
    /// What serves the unix sockets, and TCP where it is not encrypted.
    private var plain: MicrohttpdLibrary?
    /// What serves new TCP connections, when they are encrypted.
    private var secure: MicrohttpdLibrary?
    /// Those that serve connections under settings of before.
    private var retiring: [MicrohttpdLibrary] = []
    private var tls: TLSSettings?
    private var deadlineTimer: (timer: EventLoop.Timer, deadline: Duration)?
    private var listeners: [Listener] = []
    private let refusals: Refusals
    private var connections: [ObjectIdentifier: HTTPConnection] = [:]
    /// Sockets handed to the library that it has not announced yet.
    private var incoming: [Int32: (listener: Listener, library: MicrohttpdLibrary)] = [:]
    private var stopCompletion: (() -> Void)?
    private var isStopping = false
    /// How many connections the process has descriptors for.
    private let room: Int
    /// What clients asked in this turn, and the last head.
    let repeated = RepeatedRequests()

    init(
        loop: EventLoop,
        limits: ServerLimits,
        hosts: HostPolicy,
        metrics: HTTPMetrics,
        doubts: LibraryDoubts = LibraryTrial.doubts,
        handler: @escaping HTTPHandler
    ) throws(StatusServerError) {
        self.loop = loop
        self.limits = limits
        self.hosts = hosts
        self.metrics = metrics
        self.doubts = doubts
        self.handler = handler
        room = Self.roomForConnections()
        refusals = Refusals(loop: loop, counter: metrics.connectionsRefused, capacity: min(64, room / 8))
        plain = try makeLibrary(tls: nil)
    }

    private func makeLibrary(tls: TLSSettings?) throws(StatusServerError) -> MicrohttpdLibrary {
        try unsafe MicrohttpdLibrary(
            loop: loop,
            server: Unmanaged.passUnretained(self).toOpaque(),
            // The library's own limit is never reached: ours answers.
            connectionLimit: min(room, limits.connections * 2) + 64,
            memoryLimit: limits.request.head + limits.request.target + 4096,
            tls: tls
        ) { [weak self] in self?.tookTurn() }
    }

    deinit {
        // Connections refer back to the server, so it cannot end them any more when it goes.
        precondition(plain == nil, "the HTTP server was dropped before it was closed")
    }

    func close() {
        isStopping = true
        finish()
    }

    /// Encrypts TCP connections from now on, or no more; those that are open stay as they are.
    /// - Throws: ``StatusServerError/libraryFailed``; everything stays as it is then.
    func encrypt(with tls: TLSSettings?) throws(StatusServerError) {
        guard tls != self.tls, plain != nil else { return }
        let new: MicrohttpdLibrary? = if let tls { try makeLibrary(tls: tls) } else { nil }
        if let secure { retiring.append(secure) }
        secure = new
        self.tls = tls
        closeRetired()
    }

    var addresses: [ListenAddress] { listeners.map(\.address) }

    var connectionCount: Int { connections.count }

    func listen(on address: ListenAddress) throws(StatusServerError) {
        try serve(ListeningSocket(address))
    }

    func listen(handed descriptor: consuming FileDescriptor, name: String) throws(StatusServerError) {
        try serve(ListeningSocket(handed: descriptor, name: name))
    }

    func renewSockets() -> [String] { isStopping ? [] : listeners.compactMap { $0.renew() } }

    private func serve(_ socket: consuming ListeningSocket) throws(StatusServerError) {
        let listener = try Listener(socket, loop: loop, refusals: refusals) { [weak self] descriptor, listener in
            self?.accept(descriptor, from: listener)
        }
        listeners.append(listener)
    }

    func flush() {
        plain?.flush()
        secure?.flush()
        for library in retiring { library.flush() }
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

    /// How many descriptors are not for connections.
    static let reserve = 64
    /// How many connections there is room for at least.
    static let leastRoom = 16

    /// How many descriptors the process may give to connections.
    private static func roomForConnections() -> Int {
        min(1 << 20, max(leastRoom, DescriptorLimit.current - reserve))
    }
}

// MARK: - The library's turn

extension MicrohttpdServer {
    private func tookTurn() {
        closeRetired()
        finishIfEmpty()
    }

    /// Gives a request to the handler, and keeps the answer for whoever asks the same in this turn.
    func handle(_ request: HTTPRequest, _ known: RepeatedRequests.Known, _ exchange: MicrohttpdExchange) {
        let isFirst = repeated.isEmpty
        handler(request, exchange)
        repeated.keep(exchange.ready, to: request, of: known)
        if isFirst, !repeated.isEmpty { loop.deferring { [repeated] in repeated.endTurn() } }
    }

    /// The library answered a request by itself, with an error.
    func refused(status: Int) {
        if !doubts.contains(.refusals) { metrics.refused(status: status) }
    }

    private func closeRetired() {
        for library in retiring where library.connections == 0 && !library.isBusy { library.close() }
        retiring.removeAll { $0.connections == 0 && !$0.isBusy }
    }

    private var libraries: [MicrohttpdLibrary] { [plain, secure].compactMap(\.self) + retiring }

    private func accept(_ descriptor: Int32, from listener: Listener) {
        let isTCP = listener.isTCP
        guard let library = isTCP ? secure ?? plain : plain, !isStopping else {
            Glibc.close(descriptor)
            return
        }
        // Whoever comes through the unix socket has room that a crowd at the TCP sockets cannot take.
        let crowd = listeners.filter { $0.isTCP == isTCP }.reduce(0) { $0 + $1.count }
        let most = isTCP ? min(limits.connections, room * 4 / 5) : limits.connections
        let isFull =
            crowd >= most || connections.count >= room || listener.count >= limits.connectionsPerListener
        guard !isFull else { return refusals.refuse(descriptor, isEncrypted: library.isSecure) }
        incoming[descriptor] = (listener, library)
        if !library.add(descriptor) { metrics.connectionsRefused.increment() }
        // Newer versions of the library announce a connection in their turn.
        library.run()
        incoming[descriptor] = nil
    }

    func opened(_ descriptor: Int32) -> HTTPConnection? {
        guard let (listener, library) = incoming.removeValue(forKey: descriptor) else { return nil }
        let connection = HTTPConnection(descriptor, listener: listener, library: library, server: self)
        listener.count += 1
        library.connections += 1
        connections[ObjectIdentifier(connection)] = connection
        setDeadline(of: connection, after: limits.headDeadline)
        return connection
    }

    func closed(_ connection: HTTPConnection) {
        connection.endWatch()
        connection.exchange = nil
        connection.listener.count -= 1
        connection.library.connections -= 1
        connections[ObjectIdentifier(connection)] = nil
    }

    /// Ends the server at once.
    private func finish() {
        guard plain != nil else { return }
        for listener in listeners { listener.close() }
        listeners = []
        refusals.close()
        for connection in connections.values { connection.breakOff() }
        let ending = libraries
        plain = nil
        secure = nil
        retiring = []
        for library in ending { library.close() }
        if let deadlineTimer { loop.cancel(deadlineTimer.timer) }
        connections = [:]
        let completion = stopCompletion
        stopCompletion = nil
        completion?()
    }

    private func finishIfEmpty() {
        guard isStopping, connections.isEmpty, plain != nil, !libraries.contains(where: \.isBusy) else { return }
        finish()
    }
}

// MARK: - Deadlines

extension MicrohttpdServer {
    /// Gives a connection until `delay` from now; `nil` lets it live.
    func setDeadline(of connection: HTTPConnection, after delay: Duration?) {
        guard let delay else { return connection.deadline = nil }
        let deadline = connection.library.now + delay
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
