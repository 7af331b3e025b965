// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import CMicrohttpdShims
internal import Glibc
internal import LinuxIO
internal import Metrics

/// One connection, between `opened` and `closed`.
final class HTTPConnection {
    let descriptor: Int32
    let peer: HTTPPeer
    let listener: Listener
    unowned let server: MicrohttpdServer
    /// When it is broken off, on the loop's clock.
    var deadline: Duration?
    /// The request in hand.
    var exchange: MicrohttpdExchange?
    private var watch: EventLoop.Watch?

    init(descriptor: Int32, peer: HTTPPeer, listener: Listener, server: MicrohttpdServer) {
        self.descriptor = descriptor
        self.peer = peer
        self.listener = listener
        self.server = server
    }

    /// A request line was read.
    func begin(target: [UInt8], address: UInt) -> MicrohttpdExchange {
        let exchange = MicrohttpdExchange(target: target, address: address, connection: self)
        self.exchange = exchange
        let deadline = server.loop.clock.boot + server.limits.headDeadline
        if self.deadline.map({ deadline < $0 }) ?? true {
            server.setDeadline(of: self, after: server.limits.headDeadline)
        }
        return exchange
    }

    /// The request in hand is over.
    func end() {
        endWatch()
        exchange?.completed()
        exchange = nil
        server.setDeadline(of: self, after: server.limits.idleDeadline)
    }

    /// Notices a client that goes away while nothing is sent to it.
    func watchForHangUp() {
        guard watch == nil else { return }
        watch = try? server.loop.watch(descriptor, for: .peerClosed) { [weak self] _ in self?.breakOff() }
    }

    /// Forgets the watch; must happen before the descriptor is closed.
    func endWatch() {
        if let watch { server.loop.unwatch(watch) }
        watch = nil
    }

    /// Cuts the connection; the library then closes it.
    func breakOff() {
        endWatch()
        shutdown(descriptor, Int32(SHUT_RDWR))
        exchange?.cancel()
    }
}

/// One request and its answer.
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
    private unowned let connection: HTTPConnection
    private var raw: OpaquePointer?
    private var phase = Phase.head
    private var request: HTTPRequest?
    private var response: (HTTPResponse, route: String)?
    private var isSuspended = false
    private var isCancelled = false
    private var stream: OutgoingStream?
    private let began: Duration
    var onCancelled: (() -> Void)?

    init(target: [UInt8], address: UInt, connection: HTTPConnection) {
        self.target = target
        targetAddress = address
        self.connection = connection
        began = connection.server.loop.clock.boot
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
            guard let request else { return 0 }
            phase = .waiting
            connection.server.setDeadline(of: connection, after: nil)
            connection.server.handler(request, self)
            if response == nil { suspend() }
            return response == nil ? 1 : answer()
        case .waiting: return response == nil ? 0 : answer()
        case .answered: return 1
        }
    }

    /// Takes bytes of the body.
    /// - Returns: `false` when it is too large.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard phase == .body, let count = request?.body.count else { return phase == .answered }
        guard count + bytes.count <= connection.server.limits.request.body else { return false }
        unsafe request?.body.append(contentsOf: bytes)
        return true
    }

    func respond(_ response: HTTPResponse, route: String) {
        guard self.response == nil else { return }
        self.response = (response, route)
        resume()
    }

    /// The client is gone, or shall be.
    func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        if let stream {
            stream.abort()
        } else if phase == .waiting, response == nil {
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
        let cancelled = phase == .waiting && response == nil ? onCancelled : nil
        onCancelled = nil
        stream?.close()
        stream = nil
        cancelled?()
    }

    private func readHead(_ raw: OpaquePointer, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>) -> Int32 {
        let head = unsafe MicrohttpdHead.read(
            raw,
            method: method,
            target: target,
            targetAddress: targetAddress,
            version: version
        )
        let server = connection.server
        switch HTTPAdmission(limits: server.limits.request, hosts: server.hosts).admit(head, from: connection.peer) {
        case .admitted(let request):
            self.request = request
            server.setDeadline(of: connection, after: server.limits.bodyDeadline)
            return 1
        case .refused(let problem):
            response = (HTTPResponse(problem, closes: true), "invalid")
            request = HTTPRequest(method: String(decoding: head.method, as: UTF8.self), path: [])
            return answer()
        }
    }

    private func answer() -> Int32 {
        guard let (response, route) = response, let raw = unsafe raw else { return 0 }
        phase = .answered
        let server = connection.server
        if case .stream(let stream) = response.body {
            guard !isCancelled else {
                stream.close()
                return 0
            }
            self.stream = stream
            server.setDeadline(of: connection, after: nil)
            let patience = server.limits.streamAcknowledgement.nanoseconds / 1_000_000
            nwp_stream_limits(
                connection.descriptor,
                Int32(clamping: server.limits.streamSendBuffer),
                UInt32(clamping: patience)
            )
            connection.watchForHangUp()
        } else {
            server.setDeadline(of: connection, after: server.limits.sendDeadline)
        }
        let method = request?.method ?? ""
        server.metrics.answered(
            route: route,
            method: method,
            status: response.status,
            after: server.loop.clock.boot - began
        )
        guard let native = unsafe MicrohttpdResponse.make(response, for: self) else { return 0 }
        let queued = unsafe nwp_http_queue(raw, UInt32(response.status), native)
        unsafe nwp_http_release(native)
        return queued
    }

    /// Fills the library's buffer from the stream.
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

    /// Connects a stream's wishes to this exchange.
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
        connection.server.runSoon()
    }
}
