// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims
internal import Glibc

/// A UDP socket on the multicast DNS group of one interface and one family.
///
/// It is bound to the group's address, not to the wildcard, and shares port 5353 with other responders on this host:
/// each gets every multicast packet, and this one never receives their unicast packets. Packets leave from port 5353
/// with TTL or hop limit 255.
public struct MulticastSocket: ~Copyable {
    /// A received packet; its bytes are at the front of the caller's buffer.
    public struct Datagram: Hashable, Sendable {
        /// How many bytes of the buffer it fills.
        public let count: Int
        public let source: IPAddress
        /// To which address: the group's, or one of ours.
        public let destination: IPAddress
        /// From which port.
        public let port: UInt16
        public let interface: Int
        /// Its TTL or hop limit; `nil` when the kernel did not say.
        public let hopLimit: Int?
        /// How many packets this socket lost so far because its buffer was full.
        public let dropped: UInt32
        public let isTruncated: Bool
    }

    private let descriptor: FileDescriptor
    public let family: AddressFamily
    public let interface: Int

    /// Opens the socket and joins the group.
    ///
    /// Source: ip(7), ipv6(7); `SO_REUSEADDR`, `IP_MULTICAST_ALL` off, `IP_PKTINFO`, `SO_RXQ_OVFL`.
    /// - Throws: The kernel's error, such as `ENODEV` when the interface is gone or `EADDRINUSE` when another
    ///   program holds port 5353 without sharing it.
    public init(_ family: AddressFamily, interface: Int, receiveBuffer: Int = 1 << 20) throws(Errno) {
        guard let index = UInt32(exactly: interface) else { throw .invalid }
        let descriptor = FileDescriptor(owning: try Errno.check(nwp_multicast_open(family.socketFamily, index)))
        _ = nwp_multicast_buffer(descriptor.rawValue, Int32(clamping: receiveBuffer))
        _ = try Errno.check(nwp_multicast_join(descriptor.rawValue, family.socketFamily, index))
        self.descriptor = descriptor
        self.family = family
        self.interface = interface
    }

    /// The descriptor, to register with a loop.
    public var rawValue: Int32 { descriptor.rawValue }

    /// Sends one packet to the group; never blocks.
    /// - Throws: The kernel's error, such as `ENETUNREACH` or `ENETDOWN`; the socket stays usable.
    public borrowing func send(_ bytes: Span<UInt8>) throws(Errno) {
        let result = unsafe bytes.withUnsafeBytes { bytes in
            unsafe nwp_multicast_send(
                descriptor.rawValue,
                family.socketFamily,
                UInt32(truncatingIfNeeded: interface),
                bytes.baseAddress,
                bytes.count
            )
        }
        _ = try Errno.check(result)
    }

    /// Sends one packet to a host on the interface's link, from port 5353; never blocks.
    /// - Throws: The kernel's error, such as `EHOSTUNREACH`; the socket stays usable.
    public borrowing func send(_ bytes: Span<UInt8>, to host: IPAddress, port: UInt16) throws(Errno) {
        guard host.family == family else { throw .invalid }
        let address = host.bytes
        let result = unsafe bytes.withUnsafeBytes { bytes in
            unsafe nwp_multicast_send_to(
                descriptor.rawValue,
                family.socketFamily,
                UInt32(truncatingIfNeeded: interface),
                address,
                port,
                bytes.baseAddress,
                bytes.count
            )
        }
        _ = try Errno.check(result)
    }

    /// Receives one packet into `buffer`; never blocks.
    /// - Returns: The packet, or `nil` when there is none left.
    /// - Throws: The kernel's error.
    public borrowing func receive(into buffer: inout [UInt8]) throws(Errno) -> Datagram? {
        try Datagram(from: descriptor.rawValue, family, into: &buffer)
    }
}

/// A UDP socket on port 5353 of all addresses of one family, for packets that are sent to this host alone.
///
/// While other programs share the port, the kernel gives such packets to the one that came last: it is worth having
/// while nobody else has one (``isAlone(_:)``).
public struct UnicastSocket: ~Copyable {
    private let descriptor: FileDescriptor
    public let family: AddressFamily

    /// Opens the socket.
    ///
    /// Source: `SO_REUSEADDR`, `IP_MULTICAST_ALL` off, `IP_PKTINFO`.
    /// - Throws: The kernel's error, such as `EADDRINUSE` when another program holds the port without sharing it.
    public init(_ family: AddressFamily, receiveBuffer: Int = 1 << 20) throws(Errno) {
        descriptor = FileDescriptor(owning: try Errno.check(nwp_multicast_open_unicast(family.socketFamily)))
        _ = nwp_multicast_buffer(descriptor.rawValue, Int32(clamping: receiveBuffer))
        self.family = family
    }

    /// Whether no other socket receives what is sent to port 5353 of this host by this family.
    ///
    /// `own` is the ``inode`` of the one that may. Source: `/proc/net/udp` and `/proc/net/udp6`, without the sockets that
    /// are bound to a group.
    public static func isAlone(_ family: AddressFamily, besides own: UInt64? = nil) -> Bool {
        let sockets = PortOwner.datagramSockets(family, port: 5353)
        return sockets?.allSatisfy { $0.isOfGroup || $0.inode == own } ?? false
    }

    /// The number of the socket, as in `/proc/net/udp`.
    public var inode: UInt64? {
        var status = stat()
        return unsafe fstat(descriptor.rawValue, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    /// The descriptor, to register with a loop.
    public var rawValue: Int32 { descriptor.rawValue }

    /// Receives one packet into `buffer`; never blocks.
    /// - Returns: The packet, or `nil` when there is none left.
    /// - Throws: The kernel's error.
    public borrowing func receive(into buffer: inout [UInt8]) throws(Errno) -> MulticastSocket.Datagram? {
        try MulticastSocket.Datagram(from: descriptor.rawValue, family, into: &buffer)
    }
}

extension MulticastSocket.Datagram {
    fileprivate init?(from descriptor: Int32, _ family: AddressFamily, into buffer: inout [UInt8]) throws(Errno) {
        var raw = nwp_datagram()
        let result = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe nwp_multicast_receive(descriptor, bytes.baseAddress, bytes.count, &raw)
        }
        if result == -EAGAIN { return nil }
        let count = try Errno.check(result)
        func address(_ bytes: Span<UInt8>) -> IPAddress {
            IPAddress(bytes: bytes.extracting(0..<(family.bitWidth / 8))) ?? .v4(0)
        }
        var (source, destination) = (raw.source, raw.destination)
        let sourceBytes = unsafe withUnsafeBytes(of: &source) { unsafe Array($0) }
        let destinationBytes = unsafe withUnsafeBytes(of: &destination) { unsafe Array($0) }
        self.init(
            count: Int(count),
            source: address(sourceBytes.span),
            destination: address(destinationBytes.span),
            port: raw.port,
            interface: Int(raw.interface),
            hopLimit: raw.hop_limit < 0 ? nil : Int(raw.hop_limit),
            dropped: raw.dropped,
            isTruncated: raw.truncated != 0
        )
    }
}

extension AddressFamily {
    fileprivate var socketFamily: Int32 { self == .ipv4 ? AF_INET : AF_INET6 }
}
