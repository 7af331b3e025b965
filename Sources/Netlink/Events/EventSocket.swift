// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import CNetlink
public import LinuxIO

/// Owns a socket that receives the kernel's notifications; reading never blocks.
public struct EventSocket: ~Copyable {
    public enum Received: Hashable, Sendable {
        /// A datagram; it was handed over.
        case datagram
        case nothing
        /// Messages were lost, because the receive buffer was full (`ENOBUFS`) or a datagram did not fit ours.
        case overrun
        /// A datagram that did not come from the kernel was passed over (rule S8).
        case foreign
        case failed(Errno)
    }

    private var socket: NetlinkSocket
    /// How many bytes of notifications the kernel keeps for us, as the kernel counts them.
    public let bufferSize: Int

    /// Opens a socket in the network namespace of the calling thread, and joins groups; needs no privilege.
    /// - Parameters:
    ///   - groups: The groups to join.
    ///   - bufferSize: The bytes to request; without `CAP_NET_ADMIN` the kernel gives at most `net.core.rmem_max`.
    ///   - filter: What is let through; `nil` is everything.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``.
    public init(
        groups: Set<EventGroup> = Set(EventGroup.allCases),
        bufferSize: Int = 8 << 20,
        filter: NotificationFilter? = NotificationFilter()
    ) throws(NetlinkError) {
        let socket = try NetlinkSocket(family: NETLINK_ROUTE, capacity: 65_536)
        let granted = nwp_receive_buffer(socket.descriptor, Int32(clamping: bufferSize))
        _ = try Self.check(granted, "SO_RCVBUF")
        if let filter { try Self.attach(filter, to: socket.descriptor) }
        for group in groups {
            let code = nwp_netlink_option(socket.descriptor, NETLINK_ADD_MEMBERSHIP, Int32(group.rawValue))
            _ = try Self.check(code, "NETLINK_ADD_MEMBERSHIP \(group.name)")
        }
        self.bufferSize = Int(granted)
        self.socket = socket
    }

    /// Lets other notifications through from now on.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``.
    public func attach(_ filter: NotificationFilter) throws(NetlinkError) {
        try Self.attach(filter, to: socket.descriptor)
    }

    private static func attach(_ filter: NotificationFilter, to descriptor: Int32) throws(NetlinkError) {
        let program = filter.program
        let code = unsafe nwp_attach_filter(descriptor, program, Int32(program.count))
        _ = try check(code, "SO_ATTACH_FILTER")
    }

    private static func check(_ code: Int32, _ step: String) throws(NetlinkError) -> Int32 {
        guard code >= 0 else { throw .noSocket(step: step, code: -code) }
        return code
    }

    /// The socket's number, to register with an event loop.
    public var descriptor: Int32 { socket.descriptor }

    /// The number that messages to this socket are addressed to, as `/proc/net/netlink` shows it.
    public var port: UInt32 { socket.port }

    /// Reads one datagram, if there is one, and hands it over with the group it was sent to.
    public mutating func receive(_ body: (Span<UInt8>, EventGroup?) -> Void) -> Received {
        switch socket.receive(waiting: false) {
        case .datagram(let count, let groups):
            body(socket.bytes(count), EventGroup(mask: groups))
            return .datagram
        case .truncated: return .overrun
        case .foreign: return .foreign
        case .nothing(.again): return .nothing
        case .nothing(.noBufferSpace): return .overrun
        case .nothing(let code): return .failed(code)
        }
    }

    /// Reads and forgets until there is nothing more, or `limit` datagrams are gone.
    /// - Returns: Whether there was nothing more.
    public mutating func discard(limit: Int = 20_000) -> Bool {
        for _ in 0..<limit {
            switch socket.receive(waiting: false) {
            case .datagram, .truncated, .foreign, .nothing(.noBufferSpace): continue
            case .nothing(let code): return code == .again
            }
        }
        return false
    }
}
