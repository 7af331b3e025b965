// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import MulticastDNS
import Synchronization
import TestSupport

/// A packet seen on the wire.
struct TappedPacket: Sendable {
    let time: Duration
    let family: AddressFamily
    let datagram: MulticastSocket.Datagram
    /// Whether it was sent to the group; else to the tap alone.
    let wasMulticast: Bool
    let message: Message

    var isResponse: Bool { message.flags.contains(.response) }
    var isProbe: Bool { !isResponse && !message.authorities.isEmpty }
    var records: [ResourceRecord] { message.answers + message.additionals }

    /// Whether it is a response with records of this type, not a goodbye.
    func tells(_ type: RecordType) -> Bool { isResponse && records.contains { $0.type == type && $0.timeToLive > 0 } }
}

/// Another host of the link: it writes down all that others send, and says what it is told to.
final class PacketTap: Sendable {
    private let namespace: Namespace
    private let interface: Int
    private let own: Set<IPAddress>
    private let seen = Mutex<[TappedPacket]>([])
    private let script = Mutex<(@Sendable (TappedPacket) -> [Message])?>(nil)

    init(in namespace: Namespace, interface name: String) throws {
        self.namespace = namespace
        let link = try namespace.multicastInterface(name)
        interface = link.index
        own = Set(link.addresses.map(\.address))
        for family in AddressFamily.allCases { listen(family) }
    }

    /// What others sent so far.
    var packets: [TappedPacket] { seen.withLock { $0 } }
    var probes: [TappedPacket] { packets.filter(\.isProbe) }
    var responses: [TappedPacket] { packets.filter(\.isResponse) }

    func packets(_ family: AddressFamily) -> [TappedPacket] { packets.filter { $0.family == family } }

    /// Forgets what was sent so far.
    func forget() { seen.withLock { $0 = [] } }

    /// Reacts to each packet as `script` says, by the packet's family.
    func react(_ script: @escaping @Sendable (TappedPacket) -> [Message]) { self.script.withLock { $0 = script } }

    /// Has records: answers questions and probes for their names.
    func own(_ records: [ResourceRecord]) {
        react { packet in
            guard !packet.isResponse else { return [] }
            let answers = records.filter { record in packet.message.questions.contains { $0.isAnswered(by: record) } }
            return answers.isEmpty ? [] : [Message(flags: [.response, .authoritative], answers: answers)]
        }
    }

    /// Sends a message to the group, or to one host.
    func send(_ message: Message, by families: [AddressFamily] = AddressFamily.allCases, to host: IPAddress? = nil) {
        guard let bytes = message.encoded() else { return }
        namespace.multicast(bytes, from: interface, by: families, to: host)
    }

    private func listen(_ family: AddressFamily) {
        let (interface, loop) = (interface, namespace.loop)
        loop.perform { [weak self] in
            // The registrations, and with them the sockets, live as long as the namespace.
            if let socket = try? MulticastSocket(family, interface: interface) {
                let ear = GroupEar(socket)
                _ = try? loop.register(ear.descriptor, for: .readable) { _ in
                    while let packet = ear.next() { self?.take(packet, ear) }
                }
            }
            if let socket = try? UnicastSocket(family) {
                let ear = HostEar(socket)
                _ = try? loop.register(ear.descriptor, for: .readable) { _ in
                    while let packet = ear.next() { self?.take(packet, nil) }
                }
            }
        }
    }

    private func take(_ packet: TappedPacket, _ ear: GroupEar?) {
        guard !own.contains(packet.datagram.source) else { return }
        seen.withLock { $0.append(packet) }
        guard let ear, let script = script.withLock({ $0 }) else { return }
        for message in script(packet) { ear.send(message) }
    }
}

private func parse(
    _ buffer: [UInt8],
    _ datagram: MulticastSocket.Datagram,
    _ family: AddressFamily,
    toGroup: Bool
)
    -> TappedPacket?
{
    guard let message = try? Message(parsing: buffer.span.extracting(0..<datagram.count)) else { return nil }
    return TappedPacket(
        time: KernelClock().boot,
        family: family,
        datagram: datagram,
        wasMulticast: toGroup,
        message: message
    )
}

/// A socket on the group, confined to the tap's loop.
private final class GroupEar {
    private let socket: MulticastSocket
    private var buffer = [UInt8](repeating: 0, count: 9001)

    init(_ socket: consuming MulticastSocket) { self.socket = socket }

    var descriptor: Int32 { socket.rawValue }

    func next() -> TappedPacket? {
        while let datagram = try? socket.receive(into: &buffer) {
            if let packet = parse(buffer, datagram, socket.family, toGroup: true) { return packet }
        }
        return nil
    }

    func send(_ message: Message) {
        guard let bytes = message.encoded() else { return }
        try? socket.send(bytes.span)
    }
}

/// A socket for what is sent to the tap alone, confined to its loop.
private final class HostEar {
    private let socket: UnicastSocket
    private var buffer = [UInt8](repeating: 0, count: 9001)

    init(_ socket: consuming UnicastSocket) { self.socket = socket }

    var descriptor: Int32 { socket.rawValue }

    func next() -> TappedPacket? {
        while let datagram = try? socket.receive(into: &buffer) {
            if let packet = parse(buffer, datagram, socket.family, toGroup: false) { return packet }
        }
        return nil
    }
}
