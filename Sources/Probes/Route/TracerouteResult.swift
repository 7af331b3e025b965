// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import Addressing

/// What came back of the packets that were sent with one hop limit.
package struct TracerouteHop: Hashable, Sendable {
    package enum Answer: Hashable, Sendable {
        /// A router at which the hop limit ended.
        case router(IPAddress)
        case destination
        /// A router, or this machine, that reports that the packet gets no further.
        case obstacle(PacketObstacle, IPAddress)
    }

    package struct Packet: Hashable, Sendable {
        let round: Int
        let departure: Duration
        package fileprivate(set) var answer: Answer?
        package fileprivate(set) var roundTrip = Duration.zero

        func speaker(_ destination: IPAddress) -> IPAddress? {
            switch answer {
            case .router(let address), .obstacle(_, let address): address
            case .destination: destination
            case nil: nil
            }
        }
    }

    /// How many routers away it is, the gateway being 1.
    package let distance: Int
    /// In the order of their departure.
    package fileprivate(set) var packets: [Packet] = []

    package var sent: Int { packets.count }
    package var received: Int { answered.count }
    package var answered: [Packet] { packets.filter { $0.answer != nil } }
    /// The round trips, the shortest first.
    package var roundTrips: [Duration] { answered.map(\.roundTrip).sorted() }

    /// Who answered and how often, the most frequent first.
    package func speakers(_ destination: IPAddress) -> [(address: IPAddress, count: Int)] {
        let counts = Dictionary(answered.compactMap { $0.speaker(destination) }.map { ($0, 1) }, uniquingKeysWith: +)
        return counts.map { ($0.key, $0.value) }.sorted { ($1.count, $0.address) < ($0.count, $1.address) }
    }
}

/// Who reports that packets get no further, and why.
package struct TracerouteRefusal: Hashable, Sendable {
    package let distance: Int
    package let speaker: IPAddress
    package let obstacle: PacketObstacle
}

package struct TracerouteResult: Hashable, Sendable {
    package let destination: IPAddress
    /// All hop limits with which packets were sent, from 1 on.
    package private(set) var hops: [TracerouteHop] = []
    /// Whether this machine was too busy to receive answers, or lacked what sending needs.
    package var isDelayed = false
    /// Whether it was ended before everything was sent and awaited.
    package var isCut = false
    /// Why packets could not be sent; `nil` when nothing kept them back.
    package var failure: ProbeResult.Outcome?

    package init(destination: IPAddress) { self.destination = destination }

    // MARK: - What follows

    /// The shortest distance at which the destination answered.
    package var destinationDistance: Int? { hops.first { $0.packets.contains { $0.answer == .destination } }?.distance }

    package var isArrived: Bool { destinationDistance != nil }

    /// The nearest router, or this machine, that reports that packets get no further.
    package var refusal: TracerouteRefusal? { refusals.first }

    private var refusals: [TracerouteRefusal] {
        hops.flatMap { hop in
            hop.packets.compactMap { packet in
                guard case .obstacle(let obstacle, let speaker)? = packet.answer else { return nil }
                return TracerouteRefusal(distance: hop.distance, speaker: speaker, obstacle: obstacle)
            }
        }
    }

    /// The routers between which packets go round, in their order, and where one answers again.
    ///
    /// Only packets of one round are compared, since those of another one may go by other routers. Even those are no one
    /// flow where each hop has a socket, so that twice the same router is a loop only where the destination is not reached.
    package func loop(answering times: Int) -> (routers: [IPAddress], end: Int)? {
        for round in Set(hops.flatMap { $0.packets.map(\.round) }).sorted() {
            let passed = hops.compactMap { hop -> (distance: Int, router: IPAddress)? in
                guard case .router(let router)? = hop.packets.first(where: { $0.round == round })?.answer else {
                    return nil
                }
                return (hop.distance, router)
            }
            for (index, last) in passed.enumerated() {
                let before = passed[..<index]
                guard before.count(where: { $0.router == last.router }) >= times - 1,
                    let first = before.firstIndex(where: { $0.router == last.router }),
                    before[first...].contains(where: { $0.router != last.router })
                else { continue }
                var routers: [IPAddress] = []
                for entry in before[first...] where !routers.contains(entry.router) { routers.append(entry.router) }
                return (routers, last.distance)
            }
        }
        return nil
    }

    /// The distance beyond which nothing is found out; `nil` where the path goes on, or nothing answers.
    package var end: Int? {
        destinationDistance ?? [refusal?.distance, loop(answering: 3)?.end].compactMap(\.self).min()
    }

    /// The largest distance at which anything answered; 0 for none.
    package var lastAnswered: Int { hops.last { $0.received > 0 }?.distance ?? 0 }

    /// The first router that answered at each distance, the nearest first.
    package var routers: [(distance: Int, address: IPAddress)] {
        hops.compactMap { hop in
            for case .router(let router)? in hop.packets.map(\.answer) { return (hop.distance, router) }
            return nil
        }
    }

    /// Who reports that there is no route further, or that it is forbidden.
    package var unreachableFrom: IPAddress? { refusals.first { $0.obstacle != .port }?.speaker }

    // MARK: - Recording

    mutating func depart(_ round: Int, distance: Int, at now: Duration) {
        while hops.count < distance { hops.append(TracerouteHop(distance: hops.count + 1)) }
        hops[distance - 1].packets.append(TracerouteHop.Packet(round: round, departure: now))
    }

    /// Forgets a round, which begins again.
    mutating func forget(_ round: Int) {
        for index in hops.indices { hops[index].packets.removeAll { $0.round == round } }
        hops = hops.reversed().drop { $0.packets.isEmpty }.reversed()
    }

    /// Whether an answer to this packet is awaited.
    func awaits(_ round: Int, distance: Int) -> Bool {
        guard hops.indices.contains(distance - 1) else { return false }
        return hops[distance - 1].packets.contains { $0.round == round && $0.answer == nil }
    }

    /// Records an answer; a second one to the same packet says nothing.
    mutating func record(_ answer: TracerouteHop.Answer, _ round: Int, distance: Int, at time: Duration) {
        guard awaits(round, distance: distance) else { return }
        for index in hops[distance - 1].packets.indices where hops[distance - 1].packets[index].round == round {
            let departure = hops[distance - 1].packets[index].departure
            hops[distance - 1].packets[index].answer = answer
            hops[distance - 1].packets[index].roundTrip = max(.zero, time - departure)
        }
    }

    /// Records an ICMP error about a packet.
    mutating func record(
        _ fault: PacketFault,
        _ obstacle: PacketObstacle?,
        _ round: Int,
        distance: Int,
        at time: Duration
    ) {
        guard let speaker = fault.speaker else { return }
        switch fault.kind {
        case .hopLimit: record(.router(speaker), round, distance: distance, at: time)
        case .portClosed where speaker == destination, .unreachable where speaker == destination:
            record(.destination, round, distance: distance, at: time)
        case .portClosed: record(.obstacle(.port, speaker), round, distance: distance, at: time)
        case .unreachable: record(.obstacle(obstacle ?? .other, speaker), round, distance: distance, at: time)
        case .tooBig, .other: break
        }
    }
}
