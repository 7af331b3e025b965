// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetworkShims
internal import Glibc
internal import LinuxIO

/// One attempt to connect to one address; confined to the thread of its engines.
final class ConnectAttempt {
    /// An open flow, or why there is none.
    typealias Outcome = Result<any Flow, NWError>

    /// What is connected to.
    let end: SocketEnd
    private let settings: FlowSettings
    private let device: String?
    private let engines: Engines
    private let opened: SharedDescriptor?
    private var number: Int32 = -1
    private var began = Duration.zero
    private var hasWaited = false
    private var registration: EventLoop.Registration?
    private var limit: EventLoop.Timer?
    private var completion: (Outcome) -> Void = { _ in }

    /// Prepares an attempt, bound to an interface where one is named, by a socket of the end's family if there is one.
    init(
        to end: SocketEnd,
        settings: FlowSettings,
        device: String?,
        engines: Engines,
        opened: SharedDescriptor? = nil
    ) {
        self.opened = opened
        self.end = end
        self.settings = settings
        self.device = device
        self.engines = engines
    }

    deinit { cancel() }

    /// Begins; `completion` is called once, perhaps within this call, unless the attempt is cancelled.
    func start(completion: @escaping (Outcome) -> Void) {
        self.completion = completion
        do throws(Errno) {
            if let opened = opened?.release() { number = opened } else { number = try Self.open(end.family, settings) }
            var code = try connect()
            if code == 0, !settings.isStream, isConnectedToItself { code = try connectAnew() }
            hasWaited = code == -EINPROGRESS
            guard hasWaited else {
                _ = try Self.checked(code)
                return succeed()
            }
            registration = try engines.loop.register(number, for: .writable) { [unowned self] _ in finish() }
            limit = settings.attemptLimit.map { time in
                engines.loop.schedule(after: time) { [unowned self] in fail(.timedOut) }
            }
        } catch {
            fail(error)
        }
    }

    /// Opens a socket of a family.
    static func open(_ family: AddressFamily, _ settings: FlowSettings) throws(Errno) -> Int32 {
        try checked(nwp_flow_open(family == .ipv4 ? 4 : 16, settings.isStream ? 1 : 0))
    }

    /// Cancels; no more events.
    func cancel() {
        if let registration { engines.loop.unregister(registration) }
        if let limit { engines.loop.cancel(limit) }
        (registration, limit) = (nil, nil)
        if number >= 0 { _ = Glibc.close(number) }
        number = -1
        completion = { _ in }
    }

    /// Connects to a unix socket.
    static func connect(toPath path: String, engines: Engines) throws(NWError) -> any Flow {
        do throws(Errno) {
            let number = try checked(nwp_flow_open(0, 1))
            do throws(Errno) {
                _ = try checked(unsafe nwp_flow_connect_path(number, path))
            } catch {
                _ = Glibc.close(number)
                throw error
            }
            return try SocketFlow(
                owning: number,
                isStream: true,
                isInternet: false,
                loop: engines.loop,
                buffer: engines.buffer
            )
        } catch {
            throw NWError(error)
        }
    }

    /// Converts the result of a shim into a value or a throw.
    static func checked(_ result: Int32) throws(Errno) -> Int32 {
        guard result >= 0 else { throw Errno(result) }
        return result
    }

    // MARK: - Internal

    /// What the handshake of TCP was, seen as it is over; `nil` for UDP.
    func handshake(of flow: any Flow) -> HandshakeRecord? {
        guard settings.isStream else { return nil }
        let duration = engines.loop.clock.boot - began
        // A peer that answers at once is on this machine: the call was the round trip.
        let roundTrip = hasWaited ? flow.transport?.smoothedRoundTrip : duration
        return HandshakeRecord(definition: NWProtocolTCP.definition, duration: duration, roundTrip: roundTrip ?? .zero)
    }

    /// - Returns: 0, or a negative errno.
    private func connect() throws(Errno) -> Int32 {
        try prepare()
        var shim = end.shim
        began = engines.loop.clock.boot
        return unsafe nwp_flow_connect(number, &shim)
    }

    /// Whether the kernel chose the peer's own port for us, as it may where nobody listens on it: what is sent would come
    /// back, and nobody could listen there any more.
    private var isConnectedToItself: Bool {
        let wanted = settings.values.requiredLocalEndpoint.flatMap { SocketEnd($0) }
        var (near, far) = (nwp_end(), nwp_end())
        guard wanted?.port ?? 0 == 0, unsafe nwp_flow_end(number, 0, &near) >= 0,
            unsafe nwp_flow_end(number, 1, &far) >= 0,
            let local = SocketEnd(near)
        else { return false }
        return local == SocketEnd(far)
    }

    /// Connects a second datagram socket; the first one keeps the port until then, so that it has another one.
    private func connectAnew() throws(Errno) -> Int32 {
        let first = number
        defer { _ = Glibc.close(first) }
        number = -1
        number = try Self.open(end.family, settings)
        return try connect()
    }

    private func prepare() throws(Errno) {
        let isIPv6 = end.family == .ipv6
        settings.apply(to: number, isIPv6: isIPv6)
        if !settings.isStream { Datagrams.prepare(number, isIPv6: isIPv6) }
        if let device { _ = try Self.checked(unsafe nwp_flow_device(number, device)) }
        guard let wanted = settings.values.requiredLocalEndpoint else { return }
        var local = try Self.localEnd(wanted, family: end.family).shim
        // TIME_WAIT of an earlier connection does not keep the port, as in every client that binds.
        if settings.isStream { _ = nwp_flow_option(number, SOL_SOCKET, SO_REUSEADDR, 1) }
        _ = try Self.checked(unsafe nwp_flow_bind(number, &local))
    }

    /// The end that parameters want to come from, in the family of the peer.
    private static func localEnd(_ endpoint: NWEndpoint, family: AddressFamily) throws(Errno) -> SocketEnd {
        guard let end = SocketEnd(endpoint) else { throw .invalid }
        guard end.family != family else { return end }
        guard end.address.isUnspecified else { throw Errno(EAFNOSUPPORT) }
        return .any(family, port: end.port)
    }

    private func finish() {
        let code = nwp_flow_value(number, SOL_SOCKET, SO_ERROR)
        guard code == 0 else { return fail(Errno(code)) }
        succeed()
    }

    private func succeed() {
        if settings.isStream, isConnectedToItself {
            // Nobody listens; a FIN would keep the port in TIME_WAIT.
            nwp_flow_abort(number)
            return fail(Errno(ECONNREFUSED))
        }
        if let registration { engines.loop.unregister(registration) }
        registration = nil
        let open = number
        number = -1
        let outcome: Outcome
        do throws(Errno) {
            let flow = try SocketFlow(
                owning: open,
                isStream: settings.isStream,
                isInternet: true,
                remote: end.address.isUnspecified ? nil : end,
                loop: engines.loop,
                buffer: engines.buffer
            )
            outcome = .success(flow)
        } catch {
            outcome = .failure(NWError(error))
        }
        complete(outcome)
    }

    private func fail(_ error: Errno) { complete(.failure(NWError(error))) }

    private func complete(_ outcome: Outcome) {
        let completion = completion
        cancel()
        completion(outcome)
    }
}
