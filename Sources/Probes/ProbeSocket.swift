// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import Addressing
internal import CLinuxShims
internal import Glibc
internal import LinuxIO
internal import Netlink

/// A socket that could not be made or used, and at which step.
package struct SocketFailure: Error, Equatable {
    let error: Errno
    let step: SocketStep
}

/// What a socket of a probe is, and whom it speaks to.
package enum ProbeSocketKind {
    case stream(to: SocketAddress, ProbeRoute = ProbeRoute(), ProbeSocketOptions = ProbeSocketOptions())
    case datagram(to: SocketAddress, ProbeRoute = ProbeRoute(), ProbeSocketOptions = ProbeSocketOptions())
    /// An echo socket of the kernel's (icmp(7)), or a raw one where this process may not have that.
    case echo(to: ScopedAddress, ProbeRoute = ProbeRoute(), ProbeSocketOptions = ProbeSocketOptions())
    /// One that speaks to everybody on the link of an interface; needs CAP_NET_RAW but for multicast DNS.
    case link(LinkProtocol, interface: UInt32)
    /// What a classic BPF program passes of the traffic of all interfaces; needs CAP_NET_RAW.
    case capture([UInt64])

    var isStream: Bool { if case .stream = self { true } else { false } }
    /// How many bytes of a packet are read.
    var capacity: Int { if case .capture = self { CaptureProgram.length } else { 65_536 } }
    var reportsFaults: Bool {
        switch self {
        case .stream(_, _, let options), .datagram(_, _, let options), .echo(_, _, let options): options.reportsFaults
        case .link, .capture: false
        }
    }
    var route: ProbeRoute {
        switch self {
        case .stream(_, let route, _), .datagram(_, let route, _), .echo(_, let route, _): route
        case .link, .capture: ProbeRoute()
        }
    }
}

package struct ProbeSocketOptions: Equatable {
    /// Whether ICMP errors are reported one by one (`IP_RECVERR`), in place of the next call's error.
    package var reportsFaults = false
    /// Whether packets stay whole, even those that the kernel knows to be too big for the path (`IP_PMTUDISC_PROBE`).
    package var isUnfragmented = false
    /// How many routers packets may pass, and the one that drops them; `nil` is the kernel's default.
    package var hopLimit: Int?
}

package enum LinkProtocol: Equatable {
    case arp
    /// Neighbour solicitations to a group.
    case neighborDiscovery(group: IPAddress)
    case routerDiscovery
    case dhcp
    /// Port 5353, which it shares with other programs, and the group.
    case multicastDNS(AddressFamily)
}

/// A socket of a probe: non-blocking, routed as the probe says, on the loop, closed once.
final class ProbeSocket {
    /// How many packets are read before other events are handled, whoever sends them.
    static let burst = 64

    let kind: ProbeSocketKind
    private let loop: EventLoop
    private let family: AddressFamily
    private let descriptor: FileDescriptor
    private let isRaw: Bool
    private var watch: EventLoop.Registration?

    /// Makes a socket and names its peer; a stream is connected later, when it becomes writable.
    init(_ kind: ProbeSocketKind, loop: EventLoop) throws(SocketFailure) {
        self.kind = kind
        self.loop = loop
        switch kind {
        case .stream(let peer, let route, let options), .datagram(let peer, let route, let options):
            family = peer.address.address.family
            isRaw = false
            descriptor = try Self.make(kind.isStream ? SOCK_STREAM : SOCK_DGRAM, family, route)
            if options.reportsFaults { try use(nwp_probe_receive_errors(descriptor.rawValue, rawFamily)) }
            try apply(options, route.source)
            try connect(to: peer)
        case .echo(let peer, let route, let options):
            family = peer.address.family
            var isRaw = false
            descriptor = try Self.makeEcho(family, route, &isRaw)
            self.isRaw = isRaw
            try use(nwp_probe_prepare_icmp(descriptor.rawValue, rawFamily, isRaw ? 1 : 0))
            try apply(options, route.source)
            try connect(to: SocketAddress(peer, port: 0))
        case .link(let link, let interface):
            family = link.family
            isRaw = false
            descriptor = try link.open(interface)
        case .capture(let program):
            family = .ipv4
            isRaw = false
            let result = unsafe nwp_capture_open(program, Int32(program.count))
            guard result >= 0 else { throw SocketFailure(error: Errno(result), step: .socket) }
            descriptor = FileDescriptor(owning: result)
        }
    }

    private var rawFamily: Int32 { family.rawFamily }

    private static func make(
        _ type: __socket_type,
        _ family: AddressFamily,
        _ route: ProbeRoute,
        isEcho: Bool = false
    ) throws(SocketFailure) -> FileDescriptor {
        var raw = RawRoute.make(route)
        var step: Int32 = 0
        let icmp = family == .ipv4 ? Int32(IPPROTO_ICMP) : Int32(IPPROTO_ICMPV6)
        let type = Int32(type.rawValue)
        let result = unsafe nwp_probe_socket(family.rawFamily, type, isEcho ? icmp : 0, &raw, &step)
        guard result >= 0 else {
            throw SocketFailure(error: Errno(result), step: SocketStep(rawValue: step) ?? .socket)
        }
        return FileDescriptor(owning: result)
    }

    private static func makeEcho(
        _ family: AddressFamily,
        _ route: ProbeRoute,
        _ isRaw: inout Bool
    ) throws(SocketFailure) -> FileDescriptor {
        do throws(SocketFailure) {
            return try make(SOCK_DGRAM, family, route, isEcho: true)
        } catch {
            guard error.step == .socket, error.error == .accessDenied || error.error == .notPermitted else {
                throw error
            }
            isRaw = true
            return try make(SOCK_RAW, family, route, isEcho: true)
        }
    }

    private func use(_ code: Int32, _ step: SocketStep = .use) throws(SocketFailure) {
        guard code == 0 else { throw SocketFailure(error: Errno(code), step: step) }
    }

    private func apply(_ options: ProbeSocketOptions, _ source: IPAddress?) throws(SocketFailure) {
        if options.isUnfragmented { try use(nwp_probe_keep_whole(descriptor.rawValue, rawFamily)) }
        if let limit = options.hopLimit { try limitHops(limit) }
        guard let source = source?.bytes else { return }
        try use(unsafe nwp_probe_bind(descriptor.rawValue, source, source.count), .source)
    }

    /// Lets packets pass so many routers less one.
    func limitHops(_ limit: Int) throws(SocketFailure) {
        try use(nwp_probe_limit_hops(descriptor.rawValue, rawFamily, Int32(limit)))
    }

    /// The local port of a socket of TCP or UDP.
    var port: UInt16? {
        switch kind {
        case .stream, .datagram: nwp_probe_port(descriptor.rawValue)
        case .echo, .link, .capture: nil
        }
    }

    var state: SocketState { SocketState(isRaw: isRaw, retransmissions: kind.isStream ? retransmissions : 0) }

    deinit { close() }

    /// Ends the watch; the descriptor closes with the object.
    func close() {
        if let watch { loop.unregister(watch) }
        watch = nil
    }

    private func connect(to address: SocketAddress) throws(SocketFailure) {
        let bytes = address.address.address.bytes
        let scope = InterfaceScope.index(of: address.address.scope)
        let code = unsafe nwp_probe_connect(descriptor.rawValue, bytes, bytes.count, scope, address.port)
        guard code == 0 || code == -EINPROGRESS else {
            throw SocketFailure(error: Errno(code), step: lacksSource(Errno(code), for: address) ? .source : .connect)
        }
    }

    /// Whether connecting failed for want of an own address.
    ///
    /// Of connections over IPv6 the same error also means that no local port is left; of datagrams another one does.
    private func lacksSource(_ error: Errno, for address: SocketAddress) -> Bool {
        guard error.rawValue == EADDRNOTAVAIL, kind.isStream else { return error.rawValue == EADDRNOTAVAIL }
        return family == .ipv6 && Self.lacksSource(for: address, route: kind.route, loop: loop)
    }

    /// Whether this machine has no address that packets to `address` could come from.
    static func lacksSource(for address: SocketAddress, route: ProbeRoute, loop: EventLoop) -> Bool {
        do throws(SocketFailure) {
            _ = try ProbeSocket(.datagram(to: address, route), loop: loop)
            return false
        } catch {
            return error.step == .source
        }
    }

    /// Calls a handler whenever the socket is ready.
    func whenReady(
        _ interest: EventLoop.Interest,
        _ handler: @escaping (EventLoop.Readiness) -> Void
    ) throws(SocketFailure) {
        do throws(Errno) {
            if let watch {
                loop.unregister(watch)
                self.watch = nil
            }
            watch = try loop.register(descriptor.rawValue, for: interest, handler: handler)
        } catch {
            throw SocketFailure(error: error, step: .use)
        }
    }

    /// Sends; less than all is an error, since all that probes send is short.
    func send(_ bytes: [UInt8]) throws(SocketFailure) {
        let count = unsafe bytes.withUnsafeBytes { buffer in
            switch kind {
            case .link(let link, let interface):
                return unsafe link.send(buffer, from: descriptor.rawValue, on: interface)
            case .stream, .datagram, .echo, .capture:
                return unsafe nwp_send(descriptor.rawValue, buffer.baseAddress, buffer.count)
            }
        }
        guard count == bytes.count else {
            throw SocketFailure(error: count < 0 ? Errno(Int32(count)) : .noBufferSpace, step: .use)
        }
    }

    /// Receives what is there.
    /// - Returns: `nil` when nothing is there.
    func receive() throws(SocketFailure) -> ReceivedPacket? {
        var packet = ReceivedPacket(bytes: [])
        var result = 0
        packet.bytes = unsafe [UInt8](unsafeUninitializedCapacity: kind.capacity) { buffer, count in
            let memory = UnsafeMutableRawBufferPointer(buffer)
            result = unsafe receive(into: memory, &packet)
            count = max(0, result)
        }
        if result == -Int(EAGAIN) { return nil }
        guard result >= 0 else { throw SocketFailure(error: Errno(Int32(result)), step: .use) }
        return packet
    }

    private func receive(into buffer: UnsafeMutableRawBufferPointer, _ packet: inout ReceivedPacket) -> Int {
        if case .capture = kind {
            var origin = nwp_capture_origin()
            let count = unsafe nwp_capture_receive(descriptor.rawValue, buffer.baseAddress, buffer.count, &origin)
            packet.isOutgoing = origin.is_outgoing != 0
            packet.interface = Int(origin.interface)
            packet.hasGap = origin.has_gap != 0
            return count
        }
        guard case .link(let link, let interface) = kind else {
            return unsafe Self.receive(into: buffer, from: descriptor.rawValue, &packet)
        }
        return unsafe link.receive(into: buffer, from: descriptor.rawValue, on: interface, &packet)
    }

    static func receive(
        into buffer: UnsafeMutableRawBufferPointer,
        from descriptor: Int32,
        _ packet: inout ReceivedPacket
    ) -> Int {
        var arrival = nwp_probe_metadata()
        let count = unsafe nwp_probe_receive(descriptor, buffer.baseAddress, buffer.count, &arrival)
        packet.hopLimit = arrival.hop_limit < 0 ? nil : Int(arrival.hop_limit)
        packet.age = .nanoseconds(arrival.age)
        return count
    }

    /// Dequeues an ICMP error; `nil` when none is left.
    func nextFault() -> (error: PacketFault, details: FaultDetails)? {
        var raw = nwp_probe_fault()
        guard unsafe nwp_probe_next_fault(descriptor.rawValue, &raw) == 1 else { return nil }
        let length = Int(min(raw.length, 16))
        let bytes = unsafe withUnsafeBytes(of: &raw.speaker) { unsafe Array($0.prefix(length)) }
        var fault = PacketFault(
            speaker: IPAddress(bytes: bytes.span),
            kind: raw.is_icmp == 0 ? .other : PacketFault.Kind(family, type: raw.type, code: raw.subtype)
        )
        if fault.kind == .tooBig && raw.info > 0 { fault.largest = Int(raw.info) }
        var details = FaultDetails(age: .nanoseconds(raw.age))
        if raw.is_icmp != 0 { details.obstacle = PacketObstacle(family, type: raw.type, code: raw.subtype) }
        let quoted = Int(min(raw.quoted, 64))
        details.quote = unsafe withUnsafeBytes(of: &raw.quote) { unsafe Array($0.prefix(quoted)) }
        return (fault, details)
    }

    /// How many segments the kernel sent again, on a TCP connection; 0 where it does not say.
    private var retransmissions: Int { max(0, Int(nwp_tcp_retransmissions(descriptor.rawValue))) }

    /// The error that is pending; `nil` without one.
    var pendingError: Errno? {
        let code = nwp_probe_error(descriptor.rawValue)
        return code == 0 ? nil : Errno(code)
    }
}

extension AddressFamily {
    var rawFamily: Int32 { self == .ipv4 ? AF_INET : AF_INET6 }
}

/// A route for the C shims.
enum RawRoute {
    static func make(_ route: ProbeRoute) -> nwp_probe_route {
        var raw = nwp_probe_route()
        raw.mark = route.mark ?? 0
        raw.user = route.userID ?? UInt32.max
        // No interface has the name "/", so that binding to one that is missing fails.
        let bindable = route.interface.map { InterfaceLookup.bindableName(of: $0) ?? "/" }
        let name = Array((bindable ?? "").utf8.prefix(15))
        unsafe withUnsafeMutableBytes(of: &raw.interface) { bytes in
            for (index, byte) in name.enumerated() { unsafe bytes[index] = byte }
        }
        return raw
    }
}

enum InterfaceScope {
    /// The index behind a scope, which is a name or a number; 0 when there is none.
    static func index(of scope: String?) -> UInt32 {
        guard let scope else { return 0 }
        return UInt32(scope) ?? InterfaceLookup.index(named: scope).map { UInt32(clamping: $0) } ?? 0
    }
}
