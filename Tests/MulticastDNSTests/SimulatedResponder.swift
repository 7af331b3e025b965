// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import MulticastDNS
import Synchronization
import TestSupport
import Testing

/// A packet that a simulated responder heard.
struct HeardPacket: Sendable {
    let time: Duration
    let family: AddressFamily
    let origin: MulticastSocket.Datagram
    let message: Message
}

/// A responder that answers with the records it is given, and sends what it is told, by both families.
final class SimulatedResponder: Sendable {
    private let namespace: Namespace
    private let interface: Int
    private let records = Mutex<[ResourceRecord]>([])
    private let heard = Mutex<[HeardPacket]>([])
    private let script = Mutex<(@Sendable (HeardPacket) -> [Message])?>(nil)
    private let answersByUnicast = Mutex(false)
    private let families: [AddressFamily]
    private let own: Set<IPAddress>

    init(
        in namespace: Namespace,
        interface name: String = "v1",
        families: [AddressFamily] = AddressFamily.allCases
    ) throws {
        self.namespace = namespace
        self.families = families
        let link = try namespace.multicastInterface(name)
        interface = link.index
        own = Set(link.addresses.map(\.address))
        for family in families { listen(family) }
    }

    /// The records it answers with.
    func set(_ new: [ResourceRecord]) { records.withLock { $0 = new } }

    /// Answers each query as `script` says, instead of with records.
    func answer(_ script: @escaping @Sendable (HeardPacket) -> [Message]) { self.script.withLock { $0 = script } }

    /// From now on sends answers to the asker alone, when it welcomes that.
    func answerByUnicast() { answersByUnicast.withLock { $0 = true } }

    /// The queries it has heard.
    var queries: [Message] { packets.map(\.message) }

    /// The queries it has heard, with their circumstances.
    var packets: [HeardPacket] { heard.withLock { $0 } }

    /// When a question came in by a family.
    func times(of question: Question, by family: AddressFamily = .ipv4) -> [Duration] {
        packets.filter { packet in
            packet.family == family
                && packet.message.questions.contains { $0.name == question.name && $0.type == question.type }
        }.map(\.time)
    }

    /// Sends a response with these records.
    func announce(_ records: [ResourceRecord]) {
        send(Message(flags: [.response, .authoritative], answers: records))
    }

    /// Says goodbye to these records, and answers with them no more.
    func goodbye(_ records: [ResourceRecord]) {
        self.records.withLock { own in
            own.removeAll { mine in records.contains { $0.name == mine.name && $0.data == mine.data } }
        }
        announce(
            records.map { record in
                var record = record
                record.timeToLive = 0
                return record
            }
        )
    }

    func send(_ message: Message) {
        guard let bytes = message.encoded() else { return }
        sendBytes(bytes)
    }

    /// Sends bytes to the group, or to one host alone.
    func sendBytes(_ bytes: [UInt8], to host: IPAddress? = nil) {
        namespace.multicast(bytes, from: interface, by: families, to: host)
    }

    private func listen(_ family: AddressFamily) {
        let (interface, loop) = (interface, namespace.loop)
        loop.perform { [weak self] in
            guard let socket = try? MulticastSocket(family, interface: interface) else { return }
            let listener = Listener(socket)
            // The registration, and with it the socket, lives as long as the namespace.
            _ = try? loop.register(listener.descriptor, for: .readable) { _ in
                while let packet = listener.next() { self?.answer(packet, listener) }
            }
        }
    }

    private func answer(_ packet: HeardPacket, _ listener: Listener) {
        let query = packet.message
        guard !query.flags.contains(.response), !own.contains(packet.origin.source) else { return }
        heard.withLock { $0.append(packet) }
        let isWelcome = query.questions.contains(where: \.wantsUnicast)
        let host = isWelcome && answersByUnicast.withLock { $0 } ? packet.origin.source : nil
        if let script = script.withLock({ $0 }) {
            for message in script(packet) { listener.send(message, to: host) }
            return
        }
        let answers = records.withLock { records in
            records.filter { record in
                query.questions.contains { $0.isAnswered(by: record) }
                    && !query.answers.contains { $0.name == record.name && $0.data == record.data }
            }
        }
        guard !answers.isEmpty else { return }
        listener.send(Message(flags: [.response, .authoritative], answers: answers), to: host)
    }
}

/// A socket confined to the peer's loop.
private final class Listener {
    private let socket: MulticastSocket
    private var buffer = [UInt8](repeating: 0, count: 9001)

    init(_ socket: consuming MulticastSocket) { self.socket = socket }

    var descriptor: Int32 { socket.rawValue }

    func next() -> HeardPacket? {
        while let datagram = try? socket.receive(into: &buffer) {
            guard let message = try? Message(parsing: buffer.span.extracting(0..<datagram.count)) else { continue }
            let now = KernelClock().boot
            return HeardPacket(time: now, family: socket.family, origin: datagram, message: message)
        }
        return nil
    }

    func send(_ message: Message, to host: IPAddress?) {
        guard let bytes = message.encoded() else { return }
        if let host { try? socket.send(bytes.span, to: host, port: 5353) } else { try? socket.send(bytes.span) }
    }
}

/// The records of a made-up service.
struct MadeUpService {
    var name = "Lamp"
    var type = "_test._tcp"
    var host = "lamp.local"
    var address = IPAddress.v4(0xC000_0232)
    var port: UInt16 = 80
    var text = ["a=1"]
    var lifetime: UInt32 = 120
    var subtype = "_color"

    var typeName: DomainName { DomainName("\(type).local") ?? DomainName() }
    var instance: DomainName {
        (try? DomainName(labels: [Array(name.utf8)]).appending(typeName)) ?? DomainName()
    }
    var hostName: DomainName { DomainName(host) ?? DomainName() }

    var enumeration: ResourceRecord {
        let name = DomainName("_services._dns-sd._udp.local") ?? DomainName()
        return ResourceRecord(name, .ptr, .pointer(typeName), timeToLive: 4500)
    }
    var pointer: ResourceRecord { ResourceRecord(typeName, .ptr, .pointer(instance), timeToLive: 4500) }
    var subtypeName: DomainName { DomainName("\(subtype)._sub.\(type).local") ?? DomainName() }
    var subtypePointer: ResourceRecord {
        ResourceRecord(subtypeName, .ptr, .pointer(instance), timeToLive: 4500)
    }
    var location: ResourceRecord {
        let data = RecordData.service(ServiceLocation(port: port, target: hostName))
        return ResourceRecord(instance, .srv, data, timeToLive: lifetime, flushesCache: true)
    }
    var textRecord: ResourceRecord {
        let data = TextRecord(strings: text.map { Array($0.utf8) }).data
        return ResourceRecord(instance, .txt, .text(data), timeToLive: 4500, flushesCache: true)
    }
    var addressRecord: ResourceRecord {
        let type: RecordType = address.family == .ipv4 ? .a : .aaaa
        return ResourceRecord(hostName, type, .address(address), timeToLive: lifetime, flushesCache: true)
    }
    /// Says that the instance has no text.
    var textDenial: ResourceRecord {
        ResourceRecord(
            instance,
            .nsec,
            .nextSecure(next: instance, types: [.srv]),
            timeToLive: lifetime,
            flushesCache: true
        )
    }
    /// Says that the host has this family alone.
    var denial: ResourceRecord {
        let types: [RecordType] = [address.family == .ipv4 ? .a : .aaaa]
        let data = RecordData.nextSecure(next: hostName, types: types)
        return ResourceRecord(hostName, .nsec, data, timeToLive: lifetime, flushesCache: true)
    }

    var all: [ResourceRecord] { [enumeration, pointer, location, textRecord, addressRecord, denial] }
}
