// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

/// A packet that a responder sent, and when.
struct SentPacket {
    let seconds: Double
    let message: Message
    let destination: OutgoingPacket.Destination
    let length: Int

    var isResponse: Bool { message.flags.contains(.response) }
    var isProbe: Bool { !isResponse && !message.authorities.isEmpty }
    /// Whether it is a response in which all answers say goodbye.
    var isGoodbye: Bool { isResponse && message.answers.allSatisfy { $0.timeToLive == 0 } }
    var records: [ResourceRecord] { message.answers + message.additionals }
}

/// A responder with a clock, whose packets are written down.
struct ResponderBench {
    static let ownAddress = IPAddress.v4(0xC000_0201)
    static let ownAddress6 = IPAddress("fe80::1") ?? .v6(1)
    static let stranger = IPAddress.v4(0xC000_0209)

    var responder: Responder
    private(set) var now = time(0)
    private(set) var sent: [SentPacket] = []
    private(set) var events: [ResponderEvent] = []

    init(
        _ family: AddressFamily = .ipv4,
        limit: Int = 1472,
        seed: UInt64 = 3,
        own: [IPAddress] = [ownAddress],
        other: [IPAddress] = [ownAddress6]
    ) {
        responder = Responder(family: family, payloadLimit: limit, random: RandomSource(seed: seed))
        responder.setAddresses(own, ofOtherFamily: other, at: now)
    }

    /// A responder whose sets are announced, with a quiet minute behind it.
    init(established first: RecordSet, _ rest: RecordSet..., limit: Int = 1472, seed: UInt64 = 3) {
        self.init(limit: limit, seed: seed)
        for set in [first] + rest { responder.publish(set, at: now) }
        run(to: 60)
        forget()
    }

    var seconds: Double { (now - time(0)) / .seconds(1) }

    /// Lets time pass, and does everything at its time.
    mutating func run(to seconds: Double) {
        var steps = 0
        act()
        while let deadline = responder.nextDeadline, deadline <= time(seconds), steps < 10_000 {
            now = max(now, deadline)
            act()
            steps += 1
        }
        #expect(steps < 10_000, "the responder does not come to rest")
        now = time(seconds)
        act()
    }

    mutating func run(for seconds: Double) { run(to: self.seconds + seconds) }

    mutating func act() {
        for packet in responder.packets(at: now) {
            guard let message = try? Message(parsing: packet.bytes.span) else {
                Issue.record("the responder sent what cannot be read")
                continue
            }
            sent.append(
                SentPacket(
                    seconds: seconds,
                    message: message,
                    destination: packet.destination,
                    length: packet.bytes.count
                )
            )
        }
        events += responder.drainEvents()
    }

    /// Forgets what was sent and reported.
    mutating func forget() {
        sent = []
        events = []
    }

    /// Forgets what was sent, because it was delivered.
    mutating func forgetPackets() { sent = [] }

    mutating func publish(_ set: RecordSet) {
        responder.publish(set, at: now)
        act()
    }

    mutating func update(_ set: RecordSet) {
        responder.update(set, at: now)
        act()
    }

    mutating func withdraw(_ set: RecordSet) {
        responder.withdraw(set.id, at: now)
        act()
    }

    mutating func hear(
        _ message: Message,
        from source: IPAddress = stranger,
        port: UInt16 = 5353,
        multicast: Bool = true,
        onLink: Bool = true
    ) {
        // By way of bytes, as a socket would bring it.
        guard let bytes = message.encoded(), let message = try? Message(parsing: bytes.span) else {
            Issue.record("a test's message cannot be written")
            return
        }
        let origin = PacketOrigin(source: source, port: port, wasMulticast: multicast, isOnLink: onLink)
        if message.flags.contains(.response) {
            responder.receive(response: message, from: origin, at: now)
        } else {
            responder.receive(query: message, from: origin, at: now)
        }
        act()
    }

    mutating func ask(_ questions: Question..., knowing known: [ResourceRecord] = [], from source: IPAddress = stranger)
    {
        hear(Message(questions: questions, answers: known), from: source)
    }

    mutating func hear(records: [ResourceRecord], from source: IPAddress = stranger) {
        hear(Message(flags: [.response, .authoritative], answers: records), from: source)
    }

    var probes: [SentPacket] { sent.filter(\.isProbe) }
    var responses: [SentPacket] { sent.filter(\.isResponse) }
    var answers: [ResourceRecord] { responses.flatMap(\.message.answers) }
}

extension RecordSet {
    /// The records of a made-up service; its addresses are the interface's.
    static func service(
        _ service: MadeUpService = MadeUpService(),
        id: Int = 1,
        subtype: String? = nil
    ) -> RecordSet {
        var set = RecordSet(id: ID(rawValue: id))
        set.unique = [service.location, service.textRecord]
        set.shared = [service.pointer]
        set.common = [service.enumeration]
        if let subtype, let name = DomainName("\(subtype)._sub.\(service.type).local") {
            set.shared.append(ResourceRecord(name, .ptr, .pointer(service.instance), timeToLive: 4500))
        }
        return set
    }

    /// A host that has the interface's addresses.
    static func host(_ name: String = "lamp.local", id: Int = 100, yields: Bool = false) -> RecordSet {
        var set = RecordSet(id: ID(rawValue: id))
        set.hosts = [DomainName(name) ?? DomainName()]
        set.yieldsToNeighbour = yields
        return set
    }
}

/// A question, by the text of its name.
func ask(_ name: String, _ type: RecordType, unicast: Bool = false, code: UInt16 = 1) -> Question {
    Question(DomainName(name) ?? DomainName(), type, classCode: code, wantsUnicast: unicast)
}

/// Whether two numbers of seconds are the same to a millisecond.
func isAbout(_ left: Double, _ right: Double) -> Bool { abs(left - right) < 0.0015 }
