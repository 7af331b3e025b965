// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO

/// The sockets for packets that are sent to this host alone, one per family; confined to the loop's thread.
///
/// They are open only while nobody else has port 5353: the kernel gives such packets to the socket that came last.
final class UnicastPort {
    private final class Socket {
        let socket: UnicastSocket
        let registration: EventLoop.Registration

        init(_ socket: consuming UnicastSocket, _ registration: EventLoop.Registration) {
            self.socket = socket
            self.registration = registration
        }
    }

    private let loop: EventLoop
    private var sockets: [AddressFamily: Socket] = [:]
    private var buffer: [UInt8] = []

    init(loop: EventLoop) { self.loop = loop }

    func isOpen(_ family: AddressFamily) -> Bool { sockets[family] != nil }

    /// Opens the family's socket where nobody else would get such packets, and closes it where somebody does; without it
    /// there are no answers by unicast, and none are requested.
    func follow(_ family: AddressFamily, onReadable: @escaping () -> Void) {
        guard UnicastSocket.isAlone(family, besides: sockets[family]?.socket.inode) else { return close(family) }
        guard sockets[family] == nil, let socket = try? UnicastSocket(family),
            let registration = try? loop.register(socket.rawValue, for: .readable, handler: { _ in onReadable() })
        else { return }
        sockets[family] = Socket(socket, registration)
    }

    func close(_ family: AddressFamily) {
        guard let socket = sockets.removeValue(forKey: family) else { return }
        loop.unregister(socket.registration)
    }

    func closeAll() {
        for family in AddressFamily.allCases { close(family) }
        buffer = []
    }

    /// Reads what has arrived; what was sent to a group is for the links' sockets.
    func receive(
        _ family: AddressFamily,
        within readLimit: ReadLimit,
        _ body: (MulticastSocket.Datagram, [UInt8]) -> Void
    ) {
        guard let socket = sockets[family] else { return }
        if buffer.isEmpty { buffer = MulticastLink.makeBuffer() }
        var readLimit = readLimit
        while readLimit.allowsPacket() {
            guard let datagram = try? socket.socket.receive(into: &buffer) else { return }
            if !datagram.destination.isMulticast { body(datagram, buffer) }
        }
    }
}
