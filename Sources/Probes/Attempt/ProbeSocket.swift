// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CLinuxShims
internal import Glibc
internal import LinuxIO
internal import Netlink

/// A socket that could not be made, and at which step.
struct SocketFailure: Error, Equatable {
    let error: Errno
    let step: SocketStep
}

/// A socket of one attempt: non-blocking, routed as the probe says, watched on the loop, closed once.
final class ProbeSocket {
    /// How many packets are read before others have their turn, whoever sends them.
    static let burst = 64

    enum Kind: Equatable {
        case stream
        case datagram
        /// An echo socket of the kernel's; `net.ipv4.ping_group_range` says who may have one.
        case echo
        /// A raw ICMP socket, for which CAP_NET_RAW is needed.
        case rawEcho
    }

    struct Arrival {
        /// The bytes; none at the end of a stream.
        let bytes: [UInt8]
        let hopLimit: Int?
        /// For how long the kernel has had a datagram: what this process was late does not count as the network's time.
        let age: Duration
    }

    let kind: Kind
    private let loop: EventLoop
    private let family: AddressFamily
    private let route: ProbeRoute
    private let descriptor: FileDescriptor
    private var watch: EventLoop.Watch?

    /// Makes a socket; nothing is sent.
    init(_ kind: Kind, family: AddressFamily, route: ProbeRoute, loop: EventLoop) throws(SocketFailure) {
        self.kind = kind
        self.loop = loop
        self.family = family
        self.route = route
        let type: __socket_type =
            switch kind {
            case .stream: SOCK_STREAM
            case .datagram, .echo: SOCK_DGRAM
            case .rawEcho: SOCK_RAW
            }
        let isEcho = kind == .echo || kind == .rawEcho
        let echo = family == .ipv4 ? Int32(IPPROTO_ICMP) : Int32(IPPROTO_ICMPV6)
        var raw = RawRoute.make(route)
        var step: Int32 = 0
        let result = unsafe nwp_probe_socket(
            family == .ipv4 ? AF_INET : AF_INET6,
            Int32(type.rawValue),
            isEcho ? echo : 0,
            &raw,
            &step
        )
        guard result >= 0 else {
            throw SocketFailure(error: Errno(result), step: SocketStep(rawValue: step) ?? .socket)
        }
        descriptor = FileDescriptor(owning: result)
        guard isEcho else { return }
        let code = nwp_probe_prepare_icmp(result, family == .ipv4 ? AF_INET : AF_INET6, kind == .rawEcho ? 1 : 0)
        guard code == 0 else { throw SocketFailure(error: Errno(code), step: .use) }
    }

    /// Makes a socket for echo requests: the kernel's, or a raw one where this process may not have that.
    static func forEcho(
        family: AddressFamily,
        route: ProbeRoute,
        loop: EventLoop
    ) throws(SocketFailure) -> ProbeSocket {
        do throws(SocketFailure) {
            return try ProbeSocket(.echo, family: family, route: route, loop: loop)
        } catch {
            guard error.step == .socket, error.error == .accessDenied || error.error == .notPermitted else {
                throw error
            }
            return try ProbeSocket(.rawEcho, family: family, route: route, loop: loop)
        }
    }

    static func make(
        for kind: TrainKind,
        family: AddressFamily,
        route: ProbeRoute,
        loop: EventLoop
    ) throws(SocketFailure) -> ProbeSocket {
        switch kind {
        case .echo: try forEcho(family: family, route: route, loop: loop)
        case .datagram: try ProbeSocket(.datagram, family: family, route: route, loop: loop)
        }
    }

    deinit { close() }

    /// Ends the watch; the descriptor closes with the object.
    func close() {
        if let watch { loop.unwatch(watch) }
        watch = nil
    }

    /// Lets packets come from an own address.
    func bind(to source: IPAddress) throws(SocketFailure) {
        let bytes = source.bytes
        let code = unsafe nwp_probe_bind(descriptor.rawValue, bytes, bytes.count)
        guard code == 0 else { throw SocketFailure(error: Errno(code), step: .source) }
    }

    /// Names the peer; a stream is connected later, when it becomes writable.
    func connect(to address: SocketAddress) throws(SocketFailure) {
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
        guard error.rawValue == EADDRNOTAVAIL, kind == .stream else { return error.rawValue == EADDRNOTAVAIL }
        return family == .ipv6 && Self.lacksSource(for: address, route: route, loop: loop)
    }

    /// Whether this machine has no address that packets to `address` could come from.
    static func lacksSource(for address: SocketAddress, route: ProbeRoute, loop: EventLoop) -> Bool {
        do throws(SocketFailure) {
            let family = address.address.address.family
            try ProbeSocket(.datagram, family: family, route: route, loop: loop).connect(to: address)
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
                loop.unwatch(watch)
                self.watch = nil
            }
            watch = try loop.watch(descriptor.rawValue, for: interest, handler: handler)
        } catch {
            throw SocketFailure(error: error, step: .use)
        }
    }

    /// Sends; less than all is an error, since all that probes send is short.
    func send(_ bytes: [UInt8]) throws(SocketFailure) {
        let count = unsafe bytes.withUnsafeBytes { unsafe nwp_send(descriptor.rawValue, $0.baseAddress, $0.count) }
        guard count == bytes.count else {
            throw SocketFailure(error: count < 0 ? Errno(Int32(count)) : .noBufferSpace, step: .use)
        }
    }

    /// Receives what is there.
    /// - Returns: `nil` when nothing is there.
    func receive(upTo capacity: Int) throws(SocketFailure) -> Arrival? {
        var arrival = nwp_probe_arrival()
        var result = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            result = unsafe nwp_probe_receive(descriptor.rawValue, buffer.baseAddress, capacity, &arrival)
            count = max(0, result)
        }
        if result == -Int(EAGAIN) { return nil }
        guard result >= 0 else { throw SocketFailure(error: Errno(Int32(result)), step: .use) }
        let hopLimit = arrival.hop_limit < 0 ? nil : Int(arrival.hop_limit)
        return Arrival(bytes: bytes, hopLimit: hopLimit, age: .nanoseconds(arrival.age))
    }

    /// Asks for what routers say of datagrams; echo sockets are told anyway.
    func tellFaults() throws(SocketFailure) {
        let code = nwp_probe_tell_faults(descriptor.rawValue, family == .ipv4 ? AF_INET : AF_INET6)
        guard code == 0 else { throw SocketFailure(error: Errno(code), step: .use) }
    }

    /// Keeps packets whole, even those that the kernel knows to be too big for the path.
    func keepWhole() throws(SocketFailure) {
        let code = nwp_probe_keep_whole(descriptor.rawValue, family == .ipv4 ? AF_INET : AF_INET6)
        guard code == 0 else { throw SocketFailure(error: Errno(code), step: .use) }
    }

    /// Lets packets come so many routers far.
    func limitHops(to hops: Int) throws(SocketFailure) {
        let code = nwp_probe_limit_hops(descriptor.rawValue, family == .ipv4 ? AF_INET : AF_INET6, Int32(hops))
        guard code == 0 else { throw SocketFailure(error: Errno(code), step: .use) }
    }

    /// Takes what a router said of a packet; `nil` when nothing is left.
    func nextFault() -> PacketFault? {
        var raw = nwp_probe_fault()
        guard unsafe nwp_probe_next_fault(descriptor.rawValue, &raw) == 1 else { return nil }
        let length = Int(min(raw.length, 16))
        let bytes = unsafe withUnsafeBytes(of: &raw.speaker) { unsafe Array($0.prefix(length)) }
        var fault = PacketFault(
            speaker: IPAddress(bytes: bytes.span),
            kind: raw.is_icmp == 0 ? .other : PacketFault.Kind(family, type: raw.type, code: raw.subtype)
        )
        if fault.kind == .tooBig && raw.info > 0 { fault.largest = Int(raw.info) }
        return fault
    }

    /// How many segments the kernel sent again, on a TCP connection; 0 where it does not say.
    var retransmissions: Int { max(0, Int(nwp_tcp_retransmissions(descriptor.rawValue))) }

    /// The error that is pending; `nil` without one.
    var pendingError: Errno? {
        let code = nwp_probe_error(descriptor.rawValue)
        return code == 0 ? nil : Errno(code)
    }
}

/// A route as the C shims take it.
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
