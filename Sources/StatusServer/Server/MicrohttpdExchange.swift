// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import CMicrohttpdShims
internal import Glibc
internal import LinuxIO
internal import Metrics

/// One connection, between `opened` and `closed`; it, its request and the server hold each other meanwhile.
final class HTTPConnection {
    let descriptor: Int32
    let peer: HTTPPeer
    let listener: Listener
    let library: MicrohttpdLibrary
    let server: MicrohttpdServer
    /// When it is broken off, on the loop's clock.
    var deadline: Duration?
    var exchange: MicrohttpdExchange?
    private var watch: EventLoop.Registration?

    init(_ descriptor: Int32, listener: Listener, library: MicrohttpdLibrary, server: MicrohttpdServer) {
        self.descriptor = descriptor
        peer = listener.peer(of: descriptor)
        self.listener = listener
        self.library = library
        self.server = server
    }

    /// A request line was read.
    func begin(target: UnsafePointer<CChar>) -> MicrohttpdExchange {
        let now = server.loop.clock.boot
        let exchange = unsafe MicrohttpdExchange(
            target: MicrohttpdHead.copy(target, orShare: server.repeated),
            address: UInt(bitPattern: target),
            connection: self,
            at: now
        )
        self.exchange = exchange
        let patience = server.limits.headDeadline
        if deadline.map({ now + patience < $0 }) ?? true { server.setDeadline(of: self, after: patience) }
        return exchange
    }

    func end() {
        endWatch()
        exchange?.completed()
        exchange = nil
        server.setDeadline(of: self, after: server.limits.idleDeadline)
    }

    /// Notices a client that goes away while nothing is sent to it.
    func watchForHangUp() {
        guard watch == nil else { return }
        watch = try? server.loop.register(descriptor, for: .peerClosed) { [weak self] _ in self?.breakOff() }
    }

    /// Forgets the watch; must happen before the descriptor is closed.
    func endWatch() {
        if let watch { server.loop.unregister(watch) }
        watch = nil
    }

    /// Cuts the connection; the library then closes it.
    func breakOff() {
        endWatch()
        shutDown()
        library.endsConnections()
        exchange?.cancel()
    }

    /// Lets neither side send any more.
    func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

@safe final class MicrohttpdExchange: HTTPResponder {
    private enum Phase {
        case head
        case body
        case waiting
        case answered
    }

    private let target: [UInt8]
    /// Where the target lies in the library's buffer, to find bytes it hid.
    private let targetAddress: UInt
    private let connection: HTTPConnection
    private var raw: OpaquePointer?
    private var phase = Phase.head
    /// The request, where it was asked before.
    private var known: RepeatedRequests.Known?
    /// The request once somebody needs one of its own: the answer may be there already.
    private var request: HTTPRequest?
    private(set) var ready: ReadyAnswer?
    private var isSuspended = false
    private var isCancelled = false
    /// Whether the body exceeds the limit; the library lets nobody answer before its end.
    private var isTooLarge = false
    /// How many bytes of such a body were dropped, and how many may be.
    private var dropped = 0
    private static let mostDropped = 4 << 20
    private var stream: OutgoingStream?
    private var upgrade: HTTPUpgrade?
    private var upgraded: UpgradedConnection?
    private let began: Duration
    var onCancelled: (() -> Void)?

    init(target: [UInt8], address: UInt, connection: HTTPConnection, at began: Duration) {
        self.target = target
        targetAddress = address
        self.connection = connection
        self.began = began
    }

    /// The library's access handler.
    /// - Returns: 1, or 0 to close the connection.
    func proceed(_ raw: OpaquePointer, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>) -> Int32 {
        unsafe self.raw = raw
        switch phase {
        case .head:
            phase = .body
            return unsafe readHead(raw, method: method, version: version)
        case .body:
            guard let known else { return 0 }
            phase = .waiting
            if isTooLarge {
                let problem = Problem(status: 413, detail: "The body is too large.")
                ready = ReadyAnswer(HTTPResponse(problem, closes: true), route: "invalid")
                return answer()
            }
            if request == nil { ready = known.answer(for: connection.peer) }
            guard ready == nil else { return answer() }
            connection.server.handle(request ?? known.request(from: connection.peer), known, self)
            guard ready == nil else { return answer() }
            connection.server.setDeadline(of: connection, after: nil)
            suspend()
            return 1
        case .waiting: return ready == nil ? 0 : answer()
        case .answered: return 1
        }
    }

    /// Receives bytes of the body; those of one that is too large are dropped, up to a limit and its deadline.
    /// - Returns: `false` when the connection is to be closed.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard phase == .body, let known else { return phase == .answered }
        if request == nil { request = known.request(from: connection.peer) }
        guard !isTooLarge, let count = request?.body.count,
            count + bytes.count <= connection.server.limits.request.body
        else {
            isTooLarge = true
            request?.body = []
            dropped += bytes.count
            return dropped <= Self.mostDropped
        }
        unsafe request?.body.append(contentsOf: bytes)
        return true
    }

    func respond(_ response: HTTPResponse, route: String) {
        guard ready == nil else { return }
        ready = ReadyAnswer(response, route: route)
        resume()
    }

    /// The client is gone, or shall be.
    func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        if let stream {
            stream.abort()
        } else if phase == .waiting, ready == nil {
            let cancelled = onCancelled
            onCancelled = nil
            respond(HTTPResponse.empty(status: 503), route: "cancelled")
            cancelled?()
        }
        resume()
    }

    /// The library is done with the request.
    func finish() { connection.end() }

    /// Lets go of the library's request, however it ended.
    func completed() {
        unsafe raw = nil
        isSuspended = false
        let cancelled = phase == .waiting && ready == nil ? onCancelled : nil
        onCancelled = nil
        upgraded?.close()
        upgraded = nil
        upgrade = nil
        stream?.close()
        stream = nil
        cancelled?()
    }

    private func readHead(_ raw: OpaquePointer, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>) -> Int32 {
        let server = connection.server
        let head = unsafe MicrohttpdHead.read(
            raw,
            method: method,
            target: (target, targetAddress),
            version: version,
            tellsHidden: !server.doubts.contains(.distances)
        ) { parts in
            known = server.repeated.known(for: connection.peer, where: parts.equals)
            return known == nil ? parts.copy() : nil
        }
        if let head {
            let admission = HTTPAdmission(limits: server.limits.request, hosts: server.hosts)
            switch admission.admit(head, from: connection.peer) {
            case .admitted(let request): known = server.repeated.keep(request, of: head)
            case .refused(let problem):
                ready = ReadyAnswer(HTTPResponse(problem, closes: true), route: "invalid")
                request = HTTPRequest(method: String(decoding: head.method, as: UTF8.self), path: [])
                return answer()
            }
        }
        server.setDeadline(of: connection, after: server.limits.bodyDeadline)
        return 1
    }

    private func answer() -> Int32 {
        guard let ready, let raw = unsafe raw else { return 0 }
        phase = .answered
        let server = connection.server
        switch ready.response.body {
        case .stream(let stream):
            guard begin(stream) else { return 0 }
            server.setDeadline(of: connection, after: nil)
            connection.watchForHangUp()
        case .upgrade(let upgrade):
            guard begin(upgrade.stream) else { return 0 }
            self.upgrade = upgrade
            server.setDeadline(of: connection, after: server.limits.sendDeadline)
        case .bytes: server.setDeadline(of: connection, after: server.limits.sendDeadline)
        }
        let method = known?.request.method ?? request?.method ?? ""
        ready.count(in: server.metrics, method: method, after: server.loop.clock.boot - began)
        return unsafe ready.queue(on: raw, for: self)
    }

    /// Takes a stream into care.
    /// - Returns: `false` when the client is gone already.
    private func begin(_ stream: OutgoingStream) -> Bool {
        guard !isCancelled else {
            stream.close()
            return false
        }
        self.stream = stream
        let limits = connection.server.limits
        let patience = limits.streamAcknowledgement.nanoseconds / 1_000_000
        nwp_stream_limits(connection.descriptor, Int32(clamping: limits.streamSendBuffer), UInt32(clamping: patience))
        return true
    }

    /// The answer after which the connection is ours.
    func makeUpgrade() -> OpaquePointer? { unsafe connection.library.makeUpgrade() }

    /// The head of the 101 answer is sent.
    ///
    /// The descriptor need not be the client's: under TLS it is one end of a pair.
    func upgraded(_ descriptor: Int32, early: [UInt8], handle: OpaquePointer) {
        let server = connection.server
        server.setDeadline(of: connection, after: nil)
        guard let upgrade, !isCancelled else { return unsafe nwp_http_upgrade_close(handle) }
        upgraded = UpgradedConnection(
            descriptor,
            upgrade: upgrade,
            early: early,
            loop: server.loop,
            shutDown: { [weak connection = self.connection] in connection?.shutDown() },
            giveBack: { [weak library = connection.library] in
                unsafe nwp_http_upgrade_close(handle)
                library?.runSoon()
            }
        )
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let stream else { return -2 }
        switch unsafe stream.read(into: buffer) {
        case .bytes(let count): return count
        case .wait:
            suspend()
            return 0
        case .end: return -1
        case .broken: return -2
        }
    }

    func attach(_ stream: OutgoingStream) {
        stream.wake = { [weak self] in self?.resume() }
        stream.breakOff = { [weak self] in self?.connection.breakOff() }
    }

    private func suspend() {
        guard let raw = unsafe raw, !isSuspended else { return }
        isSuspended = true
        unsafe nwp_http_suspend(raw)
        connection.watchForHangUp()
    }

    private func resume() {
        guard let raw = unsafe raw, isSuspended else { return }
        isSuspended = false
        unsafe nwp_http_resume(raw)
        connection.library.runSoon()
    }
}
