// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO

/// The sockets of one interface, and the directory they feed; confined to the loop's thread.
final class MulticastLink {
    private final class Socket {
        let socket: MulticastSocket
        let registration: EventLoop.Registration
        let addresses: Set<MulticastInterface.Address>
        var dropped: UInt32 = 0

        init(
            _ socket: consuming MulticastSocket,
            _ registration: EventLoop.Registration,
            _ addresses: Set<MulticastInterface.Address>
        ) {
            self.socket = socket
            self.registration = registration
            self.addresses = addresses
        }
    }

    /// A packet more than the longest, so that a longer one is seen to be.
    private static let bufferSize = 9001

    /// A packet's bytes are at the front of a buffer of this size.
    static func makeBuffer() -> [UInt8] { [UInt8](repeating: 0, count: bufferSize) }

    var directory: LinkDirectory
    /// The interface, as last set.
    var interface: MulticastInterface
    private let loop: EventLoop
    private var sockets: [AddressFamily: Socket] = [:]
    private var buffer = MulticastLink.makeBuffer()

    init(loop: EventLoop, interface: MulticastInterface, directory: LinkDirectory) {
        self.loop = loop
        self.interface = interface
        self.directory = directory
    }

    var index: Int { directory.index }
    var name: String { directory.name }
    var identity: LinkIdentity { LinkIdentity(index: index, name: name) }

    func isOpen(_ family: AddressFamily, with addresses: Set<MulticastInterface.Address>) -> Bool {
        sockets[family]?.addresses == addresses
    }

    /// Opens the family's socket, replacing the one it had.
    func open(
        _ family: AddressFamily,
        addresses: Set<MulticastInterface.Address>,
        onReadable: @escaping () -> Void
    ) throws(Errno) {
        close(family)
        let socket = try MulticastSocket(family, interface: directory.index)
        let registration = try loop.register(socket.rawValue, for: .readable) { _ in onReadable() }
        sockets[family] = Socket(socket, registration, addresses)
    }

    func close(_ family: AddressFamily) {
        guard let socket = sockets.removeValue(forKey: family) else { return }
        loop.unregister(socket.registration)
    }

    func closeAll() {
        for family in AddressFamily.allCases { close(family) }
    }

    func receive(_ family: AddressFamily, within readLimit: ReadLimit, counters: inout MulticastCounters) {
        // The handler of a packet may close the socket; this keeps it until the burst is read.
        guard let socket = sockets[family] else { return }
        var readLimit = readLimit
        while readLimit.allowsPacket() {
            let datagram: MulticastSocket.Datagram?
            do throws(Errno) {
                datagram = try socket.socket.receive(into: &buffer)
            } catch {
                // Such as ENETDOWN; link events follow.
                counters.lastError = error
                return
            }
            guard let datagram else { return }
            counters.dropped += UInt64(datagram.dropped &- socket.dropped)
            socket.dropped = datagram.dropped
            guard datagram.interface == directory.index || datagram.interface == 0 else { continue }
            handle(datagram, buffer, family, wasMulticast: true, at: readLimit.started, counters: &counters)
        }
    }

    /// Handles a packet that was sent to the group, or to this host alone.
    func handle(
        _ datagram: MulticastSocket.Datagram,
        _ bytes: [UInt8],
        _ family: AddressFamily,
        wasMulticast: Bool,
        at now: Duration,
        counters: inout MulticastCounters
    ) {
        counters.received += 1
        guard !datagram.isTruncated else {
            counters.malformed += 1
            return
        }
        let origin = PacketOrigin(
            source: datagram.source,
            port: datagram.port,
            wasMulticast: wasMulticast,
            isOnLink: interface.isOnLink(datagram.source)
        )
        let bytes = bytes.span.extracting(0..<datagram.count)
        switch directory.receive(bytes, family, from: origin, at: now) {
        case .echo: counters.echoes += 1
        case .malformed: counters.malformed += 1
        case .ignored:
            counters.ignored += 1
            if datagram.port != Zone.port, bytes.count > 2, bytes[2] & 0x80 != 0 { counters.wrongPort += 1 }
        case .query: break
        case .response:
            if let hopLimit = datagram.hopLimit, hopLimit != 255 { counters.wrongHopLimit += 1 }
        }
    }

    /// Sends packets back to back; one that fails does not stop the next.
    func send(_ packets: [OutgoingPacket], _ family: AddressFamily, counters: inout MulticastCounters) {
        guard let socket = sockets[family] else { return }
        for packet in packets {
            do throws(Errno) {
                switch packet.destination {
                case .group: try socket.socket.send(packet.bytes.span)
                case .host(let host, let port): try socket.socket.send(packet.bytes.span, to: host, port: port)
                }
                counters.sent += 1
            } catch {
                counters.sendFailures += 1
                counters.lastError = error
            }
        }
    }
}
