// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetworkShims
internal import FoundationEssentials
internal import Glibc
internal import LinuxIO

/// What parameters say about sockets, as one value that later changes do not touch.
struct FlowSettings: Sendable {
    /// What is on top of the Internet Protocol.
    enum Transport: Hashable, Sendable {
        case tcp(NWProtocolTCP.Options.Values)
        case udp(NWProtocolUDP.Options.Values)
    }

    /// A protocol upon the transport.
    enum Application: Sendable {
        case tls(sec_protocol_options_t.Values)
        case webSocket(NWProtocolWebSocket.Options.Values)
    }

    let values: NWParameters.Values
    let transport: Transport
    /// What is upon the transport: the protocol nearest to the program comes last.
    let applications: [Application]
    let internet: NWProtocolIP.Options.Values

    /// Reads parameters.
    /// - Returns: `nil` when they have no transport, another protocol than TLS upon UDP, or one upon WebSocket.
    init?(_ parameters: NWParameters) {
        values = parameters.values
        let stack = parameters.defaultProtocolStack
        switch stack.transportProtocol {
        case let tcp as NWProtocolTCP.Options: transport = .tcp(tcp.values)
        case let udp as NWProtocolUDP.Options: transport = .udp(udp.values)
        default: return nil
        }
        var applications: [Application] = []
        for options in stack.applicationProtocols.reversed() {
            if case .webSocket? = applications.last { return nil }
            switch options {
            case let tls as NWProtocolTLS.Options: applications.append(.tls(tls.securityProtocolOptions.values))
            case let webSocket as NWProtocolWebSocket.Options: applications.append(.webSocket(webSocket.values))
            default: return nil
            }
        }
        self.applications = applications
        internet = (stack.internetProtocol as? NWProtocolIP.Options)?.values ?? NWProtocolIP.Options.Values()
        guard isStream || applications.isEmpty || (hasTLS && applications.count == 1) else { return nil }
    }

    /// Whether the transport is a stream.
    var isStream: Bool {
        if case .tcp = transport { true } else { false }
    }

    /// Whether content comes and goes in messages, rather than as bytes of a stream.
    var hasMessages: Bool {
        if case .webSocket? = applications.last { true } else { !isStream }
    }

    private var hasTLS: Bool {
        if case .tls? = applications.first { true } else { false }
    }

    /// Puts the protocols of the program upon a flow.
    /// - Throws: What is wrong with their options.
    func stack(
        upon flow: any Flow,
        to endpoint: NWEndpoint,
        isServer: Bool,
        loop: EventLoop
    ) throws(NWError) -> any Flow {
        var flow = flow
        for application in applications {
            switch application {
            case .tls(let options):
                let kind = isStream ? TLSFlow.self : DTLSFlow.self
                flow = try kind.init(
                    flow,
                    options: options,
                    peerName: endpoint.peerName,
                    isServer: isServer,
                    loop: loop
                )
            case .webSocket(let options):
                let address = isServer ? nil : WebSocketAddress(endpoint, remote: flow.remote, isSecure: hasTLS)
                flow = try WebSocketFlow(flow, options: options, address: address, loop: loop)
            }
        }
        return flow
    }

    /// Checks what a server must have, before the first client comes.
    /// - Returns: Who lets clients of DTLS in; `nil` for other protocols.
    /// - Throws: ``errSSLBadConfiguration`` without a certificate, or when the options of TLS make no sense.
    func checkServer() throws(NWError) -> DTLSDoor? {
        for case .tls(let options) in applications {
            guard options.identity != nil else { throw .tls(errSSLBadConfiguration) }
            guard isStream else { return try DTLSDoor(options) }
            _ = try TLSSession(options, peerName: nil, isServer: true)
        }
        return nil
    }

    /// Opens the socket to connect to an endpoint with, if nothing has to be looked up, read or computed before.
    func openAtOnce(to endpoint: NWEndpoint) -> SharedDescriptor? {
        guard applications.isEmpty, !limitsPath, let end = SocketEnd(endpoint), allows(end.family) else { return nil }
        return (try? ConnectAttempt.open(end.family, self)).map { SharedDescriptor(owning: $0) }
    }

    /// Whether addresses of a family may be used.
    func allows(_ family: AddressFamily) -> Bool {
        switch internet.version {
        case .any: true
        case .v4: family == .ipv4
        case .v6: family == .ipv6
        }
    }

    /// The timeout of an attempt; `nil` leaves it to the kernel.
    var attemptLimit: Duration? {
        guard case .tcp(let tcp) = transport, tcp.connectionTimeout > 0 else { return nil }
        return .seconds(tcp.connectionTimeout)
    }

    /// Whether there are limits on interfaces, so that the path decides where packets may go.
    var limitsPath: Bool {
        limitsInterfaces || values.prohibitExpensivePaths || values.prohibitConstrainedPaths
    }

    private var limitsInterfaces: Bool {
        values.requiredInterface != nil || values.requiredInterfaceType != .other
            || values.prohibitedInterfaces?.isEmpty == false || values.prohibitedInterfaceTypes?.isEmpty == false
    }

    /// The question for the path.
    var pathQuestion: PathQuestion {
        guard limitsInterfaces else { return PathQuestion() }
        let filter = InterfaceFilter(values)
        return PathQuestion(
            requiredType: filter.requiredType,
            prohibitedTypes: filter.prohibitedTypes,
            interface: filter.required?.name
        )
    }
}

extension FlowSettings {
    /// Sets the options of an Internet socket; one of IPv6 gets those of both families, and what an old kernel does
    /// not know is left out.
    func apply(to descriptor: Int32, isIPv6: Bool) {
        let socket = SocketOptions(descriptor: descriptor)
        if values.allowLocalEndpointReuse {
            socket.set(SOL_SOCKET, SO_REUSEADDR, 1)
            socket.set(SOL_SOCKET, SO_REUSEPORT, 1)
        }
        if internet.shouldCalculateReceiveTime { socket.set(SOL_SOCKET, SO_TIMESTAMPNS, 1) }
        applyAddressOptions(to: socket, isIPv6: isIPv6)
        switch transport {
        case .tcp(let tcp): socket.apply(tcp, fastOpen: values.allowFastOpen)
        case .udp(let udp):
            socket.set(SOL_SOCKET, SO_BROADCAST, 1)
            if udp.preferNoChecksum { socket.set(SOL_SOCKET, SO_NO_CHECK, 1) }
        }
    }

    private func applyAddressOptions(to socket: SocketOptions, isIPv6: Bool) {
        let (v4, v6) = (Int32(IPPROTO_IP), Int32(IPPROTO_IPV6))
        if internet.hopLimit > 0 {
            let hops = Int32(internet.hopLimit)
            socket.set(v4, IP_TTL, hops)
            socket.set(v4, IP_MULTICAST_TTL, hops)
            if isIPv6 {
                socket.set(v6, IPV6_UNICAST_HOPS, hops)
                socket.set(v6, IPV6_MULTICAST_HOPS, hops)
            }
        }
        let trafficClass = Int32(values.serviceClass.codePoint) << 2
        if trafficClass > 0 {
            socket.set(v4, IP_TOS, trafficClass)
            if isIPv6 { socket.set(v6, IPV6_TCLASS, trafficClass) }
        }
        if internet.disableFragmentation {
            socket.set(v4, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
            if isIPv6 { socket.set(v6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO) }
        }
        if internet.disableMulticastLoopback {
            socket.set(v4, IP_MULTICAST_LOOP, 0)
            if isIPv6 { socket.set(v6, IPV6_MULTICAST_LOOP, 0) }
        }
        guard isIPv6 else { return }
        if internet.useMinimumMTU { socket.set(v6, IPV6_MTU, 1280) }
        switch internet.localAddressPreference {
        case .default: break
        case .temporary: socket.set(v6, Self.addressPreferences, 0x1)
        case .stable: socket.set(v6, Self.addressPreferences, 0x2)
        }
    }

    /// `IPV6_ADDR_PREFERENCES`, linux/in6.h: 1 prefers temporary addresses, 2 public ones (RFC 5014).
    private static let addressPreferences: Int32 = 72
}

/// The options of one socket.
private struct SocketOptions {
    let descriptor: Int32

    func set(_ level: Int32, _ option: Int32, _ value: Int32) { _ = nwp_flow_option(descriptor, level, option, value) }

    func apply(_ tcp: NWProtocolTCP.Options.Values, fastOpen: Bool) {
        let level = Int32(IPPROTO_TCP)
        if tcp.noDelay { set(level, TCP_NODELAY, 1) }
        if tcp.noPush { set(level, TCP_CORK, 1) }
        if tcp.enableKeepalive {
            set(SOL_SOCKET, SO_KEEPALIVE, 1)
            if tcp.keepaliveCount > 0 { set(level, TCP_KEEPCNT, Int32(clamping: tcp.keepaliveCount)) }
            if tcp.keepaliveIdle > 0 { set(level, TCP_KEEPIDLE, Int32(clamping: tcp.keepaliveIdle)) }
            if tcp.keepaliveInterval > 0 { set(level, TCP_KEEPINTVL, Int32(clamping: tcp.keepaliveInterval)) }
        }
        if tcp.maximumSegmentSize > 0 { set(level, TCP_MAXSEG, Int32(clamping: tcp.maximumSegmentSize)) }
        if tcp.connectionDropTime > 0 {
            let limit = tcp.connectionDropTime.multipliedReportingOverflow(by: 1000)
            set(level, TCP_USER_TIMEOUT, limit.overflow ? .max : Int32(clamping: limit.partialValue))
        }
        if tcp.disableAckStretching { set(level, TCP_QUICKACK, 1) }
        if tcp.enableFastOpen || fastOpen { set(level, TCP_FASTOPEN_CONNECT, 1) }
    }
}

extension NWEndpoint {
    /// The name, or the address as text, that the certificate of the peer must have; `nil` when there is none.
    var peerName: String? {
        switch self {
        case .hostPort(let host, _):
            switch host {
            case .name(let name, _): name.hasSuffix(".") ? String(name.dropLast()) : name
            case .ipv4(let address): address.raw.description
            case .ipv6(let address): address.raw.description
            }
        case .url(let url): url.host()
        case .service, .unix: nil
        }
    }
}
