// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetworkShims
internal import FoundationEssentials
internal import Glibc
internal import LinuxIO
internal import PathEngine
internal import PathModel

/// What engines do for one listener; confined to their thread.
final class ListenerSession: EngineSession {
    /// The events for the listener.
    enum Event: Sendable {
        /// It listens at this port; 0 for unix sockets.
        case ready(UInt16)
        case failed(NWError)
        case service(NWListener.ServiceRegistrationChange)
        /// A connection, whose session has this number.
        case accepted(UInt64, NWEndpoint)
    }

    private let engines: Engines
    private let settings: FlowSettings
    private let port: UInt16
    private let sink: (Event) -> Void
    /// Whether one connection more is wanted; counts it.
    private let admit: () -> Bool
    private var number: Int32 = -1
    private var path: String?
    private var registration: EventLoop.Registration?
    private var pause: EventLoop.Timer?
    private var datagrams: DatagramPort?
    /// Who lets clients of DTLS in; `nil` for other protocols.
    private var door: DTLSDoor?
    private var advertisement: ServiceAdvertisement?

    /// How many connections may wait to be accepted; the kernel's limit is often lower.
    private static let backlog: Int32 = 4096
    /// How long it waits for a descriptor to become free.
    private static let longestPause = Duration.milliseconds(100)

    /// Prepares to listen.
    init(
        _ settings: FlowSettings,
        port: UInt16,
        engines: Engines,
        admit: @escaping () -> Bool,
        sink: @escaping (Event) -> Void
    ) {
        self.settings = settings
        self.port = port
        self.engines = engines
        self.admit = admit
        self.sink = sink
    }

    /// Begins to listen, and reports that, or why not.
    func start(advertising service: NWListener.Service?) {
        do throws(NWError) {
            door = try settings.checkServer()
            let port = try Result { () throws(Errno) in try open() }.mapError { NWError($0) }.get()
            sink(.ready(port))
            let interface = settings.values.requiredInterface?.name
            let advertisement = ServiceAdvertisement(port: port, interface: interface, engines: engines) {
                [unowned self] event in
                switch event {
                case .changed(let change): sink(.service(change))
                case .failed(let error): sink(.failed(error))
                }
            }
            self.advertisement = advertisement
            advertisement.set(service)
        } catch {
            sink(.failed(error))
        }
    }

    /// Advertises another service, or another text.
    func advertise(_ service: NWListener.Service?) { advertisement?.set(service) }

    /// Accepts connections again, after the limit was raised.
    func resume() {
        guard let registration else { return }
        try? engines.loop.change(registration, to: .readable)
    }

    func end() {
        advertisement?.withdraw()
        advertisement = nil
        datagrams?.stopAccepting()
        datagrams = nil
        if let pause { engines.loop.cancel(pause) }
        pause = nil
        if let registration { engines.loop.unregister(registration) }
        registration = nil
        if number >= 0 { _ = Glibc.close(number) }
        number = -1
        if let path { unsafe unlink(path) }
        path = nil
    }

    // MARK: - Opening

    private func open() throws(Errno) -> UInt16 {
        if settings.limitsPath || settings.values.acceptLocalOnly { _ = engines.followPath() }
        if case .unix(let path)? = settings.values.requiredLocalEndpoint {
            guard settings.isStream else { throw .invalid }
            number = try ConnectAttempt.checked(nwp_flow_open(0, 1))
            _ = try ConnectAttempt.checked(unsafe nwp_flow_bind_path(number, path))
            self.path = path
            try listen()
            return 0
        }
        let local = try bind()
        guard !settings.isStream else {
            try listen()
            return local.port
        }
        let owned = number
        number = -1
        let port = try DatagramPort(
            owning: owned,
            local: local,
            loop: engines.loop,
            buffer: engines.buffer,
            prepare: { [settings] number, isIPv6 throws(Errno) in
                try Self.prepareDatagrams(number, settings, isIPv6: isIPv6)
            }
        )
        port.onPeer = { [unowned self] peer, datagram in
            guard isWanted(local: peer.local, remote: peer.peer), isReachable(peer, datagram), admit() else {
                return false
            }
            accept(peer, from: peer.peer.endpoint)
            return true
        }
        datagrams = port
        return local.port
    }

    /// Opens a socket at the wanted address; by default one for both families, where there are both.
    private func bind() throws(Errno) -> SocketEnd {
        let families: [AddressFamily]
        switch settings.internet.version {
        case .any: families = [.ipv6, .ipv4]
        case .v4: families = [.ipv4]
        case .v6: families = [.ipv6]
        }
        var port = port
        if let endpoint = settings.values.requiredLocalEndpoint {
            guard var wanted = SocketEnd(endpoint) else { throw .invalid }
            if port != 0 { wanted.port = port }
            guard wanted.address.isUnspecified else { return try bind(to: wanted) }
            port = wanted.port
        }
        for family in families {
            do throws(Errno) {
                return try bind(to: .any(family, port: port))
            } catch {
                // A kernel without IPv6 has IPv4 still.
                let isMissing = [EAFNOSUPPORT, EADDRNOTAVAIL].contains(error.rawValue)
                guard isMissing, family != families.last else { throw error }
                if number >= 0 { _ = Glibc.close(number) }
                number = -1
            }
        }
        throw Errno(EAFNOSUPPORT)
    }

    private func bind(to end: SocketEnd) throws(Errno) -> SocketEnd {
        let isIPv6 = end.family == .ipv6
        number = try ConnectAttempt.checked(nwp_flow_open(isIPv6 ? 16 : 4, settings.isStream ? 1 : 0))
        if isIPv6 {
            let isAlone = settings.internet.version == .v6 || !end.address.isUnspecified
            _ = nwp_flow_option(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, isAlone ? 1 : 0)
        }
        if settings.isStream {
            settings.apply(to: number, isIPv6: isIPv6)
            // Connections of an earlier listener in TIME_WAIT do not keep the port; another listener does.
            _ = nwp_flow_option(number, SOL_SOCKET, SO_REUSEADDR, 1)
            try Self.limit(number, settings)
        } else {
            try Self.prepareDatagrams(number, settings, isIPv6: isIPv6)
        }
        var shim = end.shim
        _ = try ConnectAttempt.checked(unsafe nwp_flow_bind(number, &shim))
        _ = try ConnectAttempt.checked(unsafe nwp_flow_end(number, 0, &shim))
        return SocketEnd(shim) ?? end
    }

    private static func prepareDatagrams(_ number: Int32, _ settings: FlowSettings, isIPv6: Bool) throws(Errno) {
        settings.apply(to: number, isIPv6: isIPv6)
        Datagrams.prepare(number, isIPv6: isIPv6)
        try limit(number, settings)
    }

    /// Limits a socket to the interface that is required.
    private static func limit(_ number: Int32, _ settings: FlowSettings) throws(Errno) {
        guard let device = settings.values.requiredInterface?.name else { return }
        _ = try ConnectAttempt.checked(unsafe nwp_flow_device(number, device))
    }

    private func listen() throws(Errno) {
        guard Glibc.listen(number, Self.backlog) == 0 else { throw .current }
        registration = try engines.loop.register(number, for: .readable) { [unowned self] _ in acceptAll() }
    }

    // MARK: - Accepting

    private func acceptAll() {
        // Other sources of the loop come first; readiness is level-triggered.
        for _ in 0..<64 {
            guard let registration else { return }
            guard admit() else {
                // Those who come wait in the backlog until the limit is raised.
                try? engines.loop.change(registration, to: [])
                return
            }
            var peer = nwp_end()
            let accepted = unsafe nwp_flow_accept(number, &peer)
            guard accepted >= 0 else {
                release()
                return rest(Errno(accepted), registration)
            }
            handle(accepted, SocketEnd(peer))
        }
    }

    /// Gives back what ``admit`` counted.
    var release: () -> Void = {}

    private func rest(_ error: Errno, _ registration: EventLoop.Registration) {
        guard error != .again else { return }
        // No descriptor is free: others close theirs before long.
        try? engines.loop.change(registration, to: [])
        pause = engines.loop.schedule(after: Self.longestPause) { [unowned self] in
            pause = nil
            resume()
        }
    }

    private func handle(_ accepted: Int32, _ remote: SocketEnd?) {
        settings.apply(to: accepted, isIPv6: remote?.family == .ipv6)
        guard
            let flow = try? SocketFlow(
                owning: accepted,
                isStream: true,
                isInternet: path == nil,
                loop: engines.loop,
                buffer: engines.buffer
            )
        else { return release() }
        guard isWanted(local: flow.local, remote: flow.remote) else {
            flow.close(isAbrupt: true)
            return release()
        }
        accept(flow, from: path.map { .unix(path: $0) } ?? flow.remote?.endpoint ?? .hostPort(host: "", port: .any))
    }

    /// Whether it is a client of UDP, or one of DTLS that has shown that datagrams reach it.
    private func isReachable(_ peer: PeerFlow, _ datagram: Data) -> Bool {
        door?.admits(datagram, from: peer.peer) { _ = try? peer.write($0) } ?? true
    }

    private func accept(_ flow: any Flow, from endpoint: NWEndpoint) {
        let id = EngineThread.makeID()
        engines.add(
            ConnectionSession(id, to: endpoint, settings: settings, engines: engines, accepted: flow),
            as: id
        )
        sink(.accepted(id, endpoint))
    }

    /// Whether parameters allow a connection between these ends.
    private func isWanted(local: SocketEnd?, remote: SocketEnd?) -> Bool {
        guard settings.limitsPath || settings.values.acceptLocalOnly, let core = engines.paths.core else { return true }
        let evaluator = FlowRouteEvaluator(state: core.state, classifier: core.classifier, lookup: engines.paths.lookup)
        if settings.values.acceptLocalOnly, let remote, !evaluator.isOnLink(remote) { return false }
        let route = evaluator.route(local: local, remote: remote)
        guard settings.limitsPath, let interface = route.interface else { return true }
        return InterfaceFilter(settings.values).allows(NWInterface(interface))
    }
}
