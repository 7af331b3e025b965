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

    /// Whether a packet to `destination` would reach it; an IPv6 socket bound to any address is taken for one that
    /// serves IPv4 too, as is the default.
    public func serves(_ destination: IPAddress) -> Bool {
        if address == destination { return true }
        guard address.isUnspecified else { return false }
        return address.family == destination.family || address.family == .ipv6
    }
}

/// Owns a socket that asks which local sockets wait for traffic (sock_diag(7)); needs no privilege.
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
    /// A transport or family that the kernel cannot be asked about (`ENOENT`) has none.
    public mutating func listeners(port: UInt16) throws(NetlinkError) -> [Listener] {
        var listeners: [Listener] = []
        for transport in Listener.Transport.allCases {
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
    }
}

extension ListenerSocket {
    /// Which of the addresses somebody on this machine serves at a port; none where the kernel does not tell.
    public static func served(_ addresses: Set<IPAddress>, port: UInt16 = 53) -> Set<IPAddress> {
        guard !addresses.isEmpty, var socket = try? ListenerSocket(), let listeners = try? socket.listeners(port: port)
        else { return [] }
        return addresses.filter { address in listeners.contains { $0.serves(address) } }
    }
}

/// Owns a socket that hears when UDP sockets of a port are closed (`SKNLGRP_INET_UDP_DESTROY`); needs no privilege.
public struct ListenerEndSocket: ~Copyable {
    private var socket: NetlinkSocket

    /// Opens a socket in the network namespace of the calling thread; the kernel drops what is about other ports.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``.
    public init(port: UInt16) throws(NetlinkError) {
        let socket = try NetlinkSocket(family: NETLINK_SOCK_DIAG, capacity: 4096)
        // `struct nlmsghdr` has 16 bytes, and `idiag_sport` is the third member of `struct inet_diag_msg`.
        let program: [UInt64] = [
            UInt64(BPF_LD | BPF_H | BPF_ABS) << 48 | 20,
            UInt64(BPF_JMP | BPF_JEQ | BPF_K) << 48 | 1 << 32 | UInt64(port),
            UInt64(BPF_RET | BPF_K) << 48 | 0xFFFF_FFFF, UInt64(BPF_RET | BPF_K) << 48,
        ]
        let filtered = unsafe nwp_attach_filter(socket.descriptor, program, Int32(program.count))
        guard filtered >= 0 else { throw .noSocket(step: "SO_ATTACH_FILTER", code: -filtered) }
        // SKNLGRP_INET_UDP_DESTROY and SKNLGRP_INET6_UDP_DESTROY of linux/sock_diag.h.
        for group in [2, 4] as [Int32] {
            let code = nwp_netlink_option(socket.descriptor, NETLINK_ADD_MEMBERSHIP, group)
            guard code >= 0 else { throw .noSocket(step: "NETLINK_ADD_MEMBERSHIP", code: -code) }
        }
        self.socket = socket
    }

    /// The socket's number, for an event loop to watch.
    public var descriptor: Int32 { socket.descriptor }

    /// Reads what has been said, a bounded number of messages at a time.
    public mutating func drain() {
        for _ in 0..<64 {
            if case .nothing(let code) = socket.receive(waiting: false), code != .noBufferSpace { return }
        }
    }
}
