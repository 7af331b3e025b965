// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims
internal import CNetlink
internal import LinuxIO

/// A socket of some process that waits for datagrams or connections.
public struct Listener: Hashable, Sendable {
    public enum Transport: UInt8, Hashable, Sendable, CaseIterable {
        case tcp = 6
        case udp = 17
    }

    public var transport: Transport
    /// The address it is bound to; unspecified means any.
    public var address: IPAddress
    public var port: UInt16
    /// The interface it is bound to, if to one.
    public var index: Int?
    /// Whether it is an IPv6 socket that receives no IPv4 packets (`IPV6_V6ONLY`).
    public var isIPv6Only = false

    /// Whether a packet of this machine to `destination`, one of its own addresses, would reach it.
    ///
    /// Such packets count as arriving by the interface that has the address (measured).
    ///
    /// - Parameters:
    ///   - destination: The address.
    ///   - interfaces: The indexes of that interface, and of the VRF that their sender is bound to.
    /// - Returns: Whether it would.
    public func serves(_ destination: IPAddress, arrivingBy interfaces: Set<Int> = [Self.loopback]) -> Bool {
        if let index, !interfaces.contains(index) { return false }
        if address.unmapped == destination { return true }
        guard address.isUnspecified else { return false }
        return address.family == destination.family || address.family == .ipv6 && !isIPv6Only
    }

    /// The index of the loopback interface, the first one of each network namespace.
    public static let loopback = 1
}

/// Owns a socket that queries which local sockets listen (sock_diag(7)); needs no privilege.
public struct ListenerSocket: ~Copyable {
    private var socket: NetlinkSocket
    private var sequence: UInt32 = 0

    /// Opens a socket in the network namespace of the calling thread.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``.
    public init() throws(NetlinkError) {
        let socket = try NetlinkSocket(family: NETLINK_SOCK_DIAG, capacity: 65_536)
        try socket.limitWaiting(to: .seconds(2))
        self.socket = socket
    }

    /// The sockets that wait on a port: TCP ones that listen and UDP ones without a peer, of both families.
    ///
    /// A transport or family that the kernel does not know (`ENOENT`) has none.
    public mutating func listeners(
        port: UInt16,
        over transports: [Listener.Transport] = Listener.Transport.allCases
    ) throws(NetlinkError) -> [Listener] {
        var listeners: [Listener] = []
        for transport in transports {
            for family in AddressFamily.allCases {
                do { listeners += try dump(transport, family, port: port) } catch {
                    guard error.code == 2 else { throw error }
                }
            }
        }
        return listeners
    }

    private mutating func dump(
        _ transport: Listener.Transport,
        _ family: AddressFamily,
        port: UInt16
    ) throws(NetlinkError) -> [Listener] {
        var found: [Listener] = []
        sequence &+= 1
        try socket.exchange(Question.listeners(transport, family, port: port), sequence: sequence) { _, body in
            if let listener = Listener(decoding: body, transport), listener.port == port { found.append(listener) }
        }
        return found
    }
}

extension Question {
    /// `struct inet_diag_req_v2` for the sockets that wait on a port.
    fileprivate static func listeners(
        _ transport: Listener.Transport,
        _ family: AddressFamily,
        port: UInt16
    ) -> Question {
        // TCP_LISTEN is 10; a UDP socket without a peer is in TCP_CLOSE, 7.
        let states: UInt32 = transport == .tcp ? 1 << 10 : 1 << 7
        var body: [UInt8] = [family.kernelNumber, transport.rawValue, 0, 0]
        body += bytes(of: states) + bytes(of: port.bigEndian) + [UInt8](repeating: 0, count: 46)
        // SOCK_DIAG_BY_FAMILY of linux/sock_diag.h.
        return Question(type: 20, flags: dump, body: body)
    }
}

extension Listener {
    /// Reads `struct inet_diag_msg`.
    /// - Returns: `nil` when the bytes are not one of IPv4 or IPv6.
    init?(decoding body: Span<UInt8>, _ transport: Transport) {
        guard body.count >= 72, let family = AddressFamily(kernel: body[0]) else { return nil }
        let width = family.bitWidth / 8
        guard let address = IPAddress(bytes: body.extracting(8..<8 + width)) else { return nil }
        let index = body.index(at: 40)
        self.init(
            transport: transport,
            address: address,
            port: body.host16(at: 4).bigEndian,
            index: index > 0 ? index : nil
        )
        var attributes = AttributeReader(body, from: 72)
        // INET_DIAG_SKV6ONLY of linux/inet_diag.h.
        while attributes.advance() {
            if attributes.kind == 11 { isIPv6Only = attributes.byte != 0 }
        }
    }
}

extension ListenerSocket {
    /// Which of the addresses have a socket on this machine at a port, which packets of this process would reach; none where
    /// the kernel does not list sockets.
    public static func served(
        _ addresses: Set<IPAddress>,
        port: UInt16 = 53,
        over transport: Listener.Transport = .udp
    ) -> Set<IPAddress> {
        guard !addresses.isEmpty, var socket = try? ListenerSocket(),
            let listeners = try? socket.listeners(port: port, over: [transport]), !listeners.isEmpty
        else { return [] }
        let areBound = listeners.contains { $0.index != nil }
        return addresses.filter { address in
            let interfaces = areBound ? LocalDestinations.interfaces(of: address) : []
            return listeners.contains { $0.serves(address, arrivingBy: interfaces) }
        }
    }
}

/// Owns a socket that receives a message when a socket of a port is closed (`SKNLGRP_INET_UDP_DESTROY` and the like); needs no
/// privilege.
public struct ListenerEndSocket: ~Copyable {
    private var socket: NetlinkSocket

    /// Opens a socket in the network namespace of the calling thread; the kernel drops what is about other ports.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``.
    public init(port: UInt16, over transport: Listener.Transport = .udp) throws(NetlinkError) {
        let socket = try NetlinkSocket(family: NETLINK_SOCK_DIAG, capacity: 4096)
        // `struct nlmsghdr` has 16 bytes, and `idiag_sport` is the third member of `struct inet_diag_msg`.
        let program: [UInt64] = [
            UInt64(BPF_LD | BPF_H | BPF_ABS) << 48 | 20,
            UInt64(BPF_JMP | BPF_JEQ | BPF_K) << 48 | 3 << 32 | UInt64(port),
            // A socket with a peer is a connection that the server accepted: `idiag_dport`.
            UInt64(BPF_LD | BPF_H | BPF_ABS) << 48 | 22, UInt64(BPF_JMP | BPF_JEQ | BPF_K) << 48 | 1 << 32,
            UInt64(BPF_RET | BPF_K) << 48 | 0xFFFF_FFFF, UInt64(BPF_RET | BPF_K) << 48,
        ]
        let filtered = unsafe nwp_attach_filter(socket.descriptor, program, Int32(program.count))
        guard filtered >= 0 else { throw .noSocket(step: "SO_ATTACH_FILTER", code: -filtered) }
        // SKNLGRP_INET_TCP_DESTROY, SKNLGRP_INET6_TCP_DESTROY and the same of UDP, of linux/sock_diag.h.
        let groups: [Int32] = transport == .tcp ? [1, 3] : [2, 4]
        for group in groups {
            let code = nwp_netlink_option(socket.descriptor, NETLINK_ADD_MEMBERSHIP, group)
            guard code >= 0 else { throw .noSocket(step: "NETLINK_ADD_MEMBERSHIP", code: -code) }
        }
        self.socket = socket
    }

    /// The socket's number, to register with an event loop.
    public var descriptor: Int32 { socket.descriptor }

    /// Reads what has been said, a bounded number of messages at a time.
    public mutating func drain() {
        for _ in 0..<64 {
            if case .nothing(let code) = socket.receive(waiting: false), code != .noBufferSpace { return }
        }
    }
}
