// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CMicrohttpdShims
internal import LinuxIO

/// One daemon object of libmicrohttpd on our loop: connections in the clear, or all under the same TLS settings.
///
/// New TLS settings are a new object for new connections; the old one serves its own to their end.
@safe final class MicrohttpdLibrary {
    let isSecure: Bool
    var connections = 0
    private let loop: EventLoop
    private var raw: OpaquePointer?
    private var watch: EventLoop.Registration?
    private var runTimer: EventLoop.Timer?
    private var isRunning = false
    private var turn = Duration.zero
    private var mustRunAgain = false
    /// When to run again after connections were cut, the last first: the library closes them in a later turn than the one
    /// in which it sees that, and does not say that it needs one (measured: up to 64 stay open until the next request).
    private var endingTurns: [Int64] = []
    private let afterTurn: () -> Void

    /// Starts it; `server` is what the callbacks get, and outlives it.
    /// - Throws: ``StatusServerError/libraryFailed``.
    init(
        loop: EventLoop,
        server: UnsafeMutableRawPointer,
        connectionLimit: Int,
        memoryLimit: Int,
        tls: TLSSettings?,
        afterTurn: @escaping () -> Void
    ) throws(StatusServerError) {
        self.loop = loop
        self.afterTurn = afterTurn
        isSecure = tls != nil
        let limits = (UInt32(connectionLimit), memoryLimit)
        unsafe raw = Self.start(server, limits: limits, tls: tls)
        guard let raw = unsafe raw else { throw .libraryFailed }
        do {
            watch = try loop.register(unsafe nwp_http_epoll(raw), for: .readable) { [weak self] _ in self?.run() }
        } catch {
            unsafe nwp_http_stop(raw)
            unsafe self.raw = nil
            throw .libraryFailed
        }
    }

    private static func start(
        _ server: UnsafeMutableRawPointer,
        limits: (connections: UInt32, memory: Int),
        tls: TLSSettings?
    ) -> OpaquePointer? {
        var handlers = MicrohttpdCallbacks.table
        guard let tls else { return unsafe nwp_http_start(&handlers, server, limits.connections, limits.memory, nil) }
        let authorities = tls.clientAuthorities.map { text($0) }
        return unsafe text(tls.certificate).withUnsafeBufferPointer { certificate in
            unsafe text(tls.key).withUnsafeBufferPointer { key in
                unsafe tls.minimumVersion.priorities.withCString { priorities in
                    unsafe (authorities ?? []).withUnsafeBufferPointer { authorityBytes in
                        var settings = unsafe nwp_http_tls()
                        unsafe settings.certificate = certificate.baseAddress
                        unsafe settings.key = key.baseAddress
                        unsafe settings.authorities = authorities == nil ? nil : authorityBytes.baseAddress
                        unsafe settings.priorities = priorities
                        unsafe settings.requests_certificate = tls.clientAuthentication == .none ? 0 : 1
                        let requires: [TLSSettings.ClientAuthentication] = [.requireAny, .requireAndVerify]
                        unsafe settings.requires = requires.contains(tls.clientAuthentication) ? 1 : 0
                        unsafe settings.verifies = tls.clientAuthentication.verifies ? 1 : 0
                        return unsafe nwp_http_start(&handlers, server, limits.connections, limits.memory, &settings)
                    }
                }
            }
        }
    }

    private static func text(_ bytes: [UInt8]) -> [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }

    deinit {
        unsafe precondition(raw == nil, "an HTTP library was dropped before it was closed")
    }

    func run() {
        guard let raw = unsafe raw, !isRunning else { return }
        isRunning = true
        turn = loop.clock.boot
        mustRunAgain = false
        if let runTimer { loop.cancel(runTimer) }
        runTimer = nil
        _ = unsafe nwp_http_run(raw)
        isRunning = false
        var timeout = mustRunAgain ? 0 : unsafe nwp_http_timeout(raw)
        if let delay = endingTurns.popLast() { timeout = timeout < 0 ? delay : min(timeout, delay) }
        mustRunAgain = false
        if timeout >= 0 {
            runTimer = loop.schedule(after: .milliseconds(timeout)) { [weak self] in self?.run() }
        }
        afterTurn()
    }

    /// Has connections closed that were cut, without waiting for the next request.
    func endsConnections() { endingTurns = [1000, 100, 0, 0] }

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

    /// Runs now, if it is to run soon.
    func flush() {
        if mustRunAgain { run() }
    }

    /// The time of the loop's clock; during a turn that at which it began, which is good enough for deadlines.
    var now: Duration { isRunning ? turn : loop.clock.boot }

    /// Whether the library is at work right now, and must not be closed.
    var isBusy: Bool { isRunning }

    /// Hands an accepted socket over.
    /// - Returns: Whether the library took it; it closes the socket in either case.
    func add(_ descriptor: Int32) -> Bool {
        guard let raw = unsafe raw else { return false }
        return unsafe nwp_http_add(raw, descriptor) != 0
    }

    /// The answer after which a connection is no longer HTTP; `nil` without memory.
    func makeUpgrade() -> OpaquePointer? {
        guard let raw = unsafe raw else { return nil }
        return unsafe nwp_http_upgrade(raw)
    }

    /// Ends it; its connections must be broken off.
    func close() {
        guard let raw = unsafe raw else { return }
        // A suspended connection must be resumed before the library may stop.
        _ = unsafe nwp_http_run(raw)
        _ = unsafe nwp_http_run(raw)
        if let watch { loop.unregister(watch) }
        if let runTimer { loop.cancel(runTimer) }
        unsafe self.raw = nil
        unsafe nwp_http_stop(raw)
    }
}
