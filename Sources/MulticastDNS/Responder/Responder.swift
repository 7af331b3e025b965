// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

/// What became of a published set.
enum ResponderEvent: Hashable, Sendable {
    /// Nobody objected to its names: it is announced and answered for.
    case established(RecordSet.ID)
    /// Another host has the name; the set is silent until it is published with another one.
    case conflict(RecordSet.ID, name: DomainName)
    /// Another responder on this machine answers for its names, and it gave way.
    case yielded(RecordSet.ID)
}

/// The records this host owns on one interface by one family: probing, announcing, answering, defending, goodbyes.
struct Responder: Sendable {
    let family: AddressFamily
    /// The most bytes of a packet: the MTU less the headers.
    let payloadLimit: Int
    /// Whether answers by unicast would reach us: only as the sole owner of port 5353 (rule Q19).
    var welcomesUnicast = false
    private var random: RandomSource
    private var events: [ResponderEvent] = []

    init(family: AddressFamily, payloadLimit: Int, random: RandomSource) {
        self.family = family
        self.payloadLimit = payloadLimit
        self.random = random
    }

    /// When ``packets(at:)`` is to be called next.
    var nextDeadline: Duration? { nil }

    /// Sets the interface's addresses, and those of the machine's other interfaces.
    mutating func setAddresses(
        _ own: [IPAddress],
        ofOtherFamily: [IPAddress],
        elsewhere: Set<IPAddress> = [],
        at now: Duration
    ) {}

    /// Publishes a set, or replaces it when its names are others now.
    mutating func publish(_ set: RecordSet, at now: Duration) {}

    /// Changes the data of a set (rule P11).
    mutating func update(_ set: RecordSet, at now: Duration) {}

    /// Says goodbye to a set (rule P14).
    mutating func withdraw(_ id: RecordSet.ID, at now: Duration) {}

    /// Probes and announces everything again, after link up or wake (rule P1).
    mutating func restart(at now: Duration) {}

    /// Plans the answers to a query.
    mutating func receive(query: Message, from origin: PacketOrigin, at now: Duration) {}

    /// Watches what others say about our names.
    mutating func receive(response: Message, from origin: PacketOrigin, at now: Duration) {}

    /// The packets that are due now.
    mutating func packets(at now: Duration) -> [OutgoingPacket] { [] }

    /// Takes what happened since the last call, in order.
    mutating func takeEvents() -> [ResponderEvent] {
        defer { events = [] }
        return events
    }
}
