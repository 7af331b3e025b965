// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO
internal import Documents
internal import OrderedJSON
internal import Probes

/// The answer of `nwpath trace`, as JSON shows it and as text is rendered from.
struct TraceDocument: MemberDeclaring {
    enum State: String, CaseIterable {
        case arrived
        /// A router, or this machine, reports that packets get no further.
        case unreachable
        case loop
        /// Nothing answers beyond a hop.
        case silent
        /// Nothing could be sent.
        case unsent
    }

    struct Speaker: MemberDeclaring {
        let address: IPAddress
        var name: String?
        let answers: Int

        static let members = Members<Self>.object()
            .member("address") { "\($0.address)" }
            .member("name", "Its name, with `--names`; `null` without one.") { $0.name }
            .member("answers", as: .count, "How many packets it answered.") { $0.answers }
    }

    struct Refusal: MemberDeclaring {
        let address: IPAddress
        let reason: PacketObstacle

        static let members = Members<Self>.object("An ICMP error of the type \"destination unreachable\".")
            .member("address", "Who reports it.") { "\($0.address)" }
            .member("reason", as: .oneOf(PacketObstacle.self), "What is unreachable; `prohibited` by a packet filter.")
        {
            $0.reason.rawValue
        }
    }

    struct Hop: MemberDeclaring {
        let distance: Int
        var speakers: [Speaker]
        let sent: Int
        let received: Int
        let best: Duration?
        let median: Duration?
        let worst: Duration?
        let refusals: [Refusal]

        /// The share of packets without an answer, in percent.
        var loss: Double { sent == 0 ? 0 : (Double(sent - received) * 10_000 / Double(sent)).rounded() / 100 }

        private static func seconds(_ duration: Duration) -> Double { (duration.seconds * 1e6).rounded() / 1e6 }

        static let members = Members<Self>.object("The answers to packets with one hop limit.")
            .member("distance", as: .integer(from: 1, to: 64), "The hop limit; the gateway is 1.") { $0.distance }
            .member("addresses", "Who answered, the most frequent first.") { $0.speakers }
            .member("sent", as: .count) { $0.sent }
            .member("received", as: .count, "How many packets were answered.") { $0.received }
            .member("loss_percent", as: .percent) { $0.loss }
            .member("best_seconds", as: .seconds, "The shortest round trip; `null` without an answer.") {
                $0.best.map(Self.seconds)
            }
            .member("median_seconds", as: .seconds) { $0.median.map(Self.seconds) }
            .member("worst_seconds", as: .seconds) { $0.worst.map(Self.seconds) }
            .member("unreachable", "Who reports that packets get no further.") { $0.refusals }
    }

    let target: String
    let address: ScopedAddress
    let method: String
    let port: Int?
    let state: State
    /// The first line of the text.
    let message: String
    let hint: String?
    var hops: [Hop]

    static let members = Members<Self>.document("Trace", "The path to a host, hop by hop.")
        .member("target") { $0.target }
        .member("address", "The address that packets were sent to.") { "\($0.address)" }
        .member("family", as: .family) { $0.address.address.family.rawValue }
        .member("method", as: .words("udp", "tcp", "icmp")) { $0.method }
        .member("port", as: .integer(from: 1, to: 65535), "The first port; `null` with ICMP.") { $0.port }
        .member(
            "state",
            as: .oneOf(State.self),
            "`silent` where nothing answers beyond a hop, `unsent` where this machine sends nothing."
        ) { $0.state.rawValue }
        .member("message", "One sentence for people.") { $0.message }
        .member("hint", "What is no problem.") { $0.hint }
        .member("hops", "All that packets were sent to, up to where they end.") { $0.hops }

    /// Sums up a traceroute.
    ///
    /// - Parameters:
    ///   - target: What the user gave.
    ///   - address: Its address.
    ///   - plan: What was sent.
    ///   - result: What came back.
    ///   - own: The address that packets came from.
    init(
        _ target: String,
        _ address: ScopedAddress,
        _ plan: TraceroutePlan,
        _ result: TracerouteResult,
        own: IPAddress?
    ) {
        self.target = target
        self.address = address
        switch plan.method {
        case .udp(let port): (method, self.port) = ("udp", Int(port ?? TraceroutePlan.firstPort))
        case .tcp(let port): (method, self.port) = ("tcp", Int(port))
        case .icmp: (method, port) = ("icmp", nil)
        }
        let hops = result.hops.prefix(result.end ?? .max).map { Hop($0, result.destination) }
        self.hops = hops
        (state, message) = TraceSummary(target: target, address, plan, result, hops, own: own).sentence
        hint = state == .arrived || state == .silent ? Self.hint(hops) : nil
    }

    /// All that answered, each once.
    var addresses: [IPAddress] {
        var seen: Set<IPAddress> = []
        return hops.flatMap(\.speakers).map(\.address).filter { seen.insert($0).inserted }
    }

    mutating func name(by names: [IPAddress: String]) {
        for hop in hops.indices {
            for index in hops[hop].speakers.indices {
                hops[hop].speakers[index].name = names[hops[hop].speakers[index].address]
            }
        }
    }

    /// Where later hops lose less, packets got past.
    private static func hint(_ hops: [Hop]) -> String? {
        let harmless = hops.indices.dropLast().filter { index in
            hops[index].received < hops[index].sent && hops[(index + 1)...].contains { $0.loss < hops[index].loss }
        }
        guard !harmless.isEmpty else { return nil }
        let numbers = harmless.map { "\(hops[$0].distance)" }
        let list =
            numbers.count == 1 ? numbers[0] : numbers.dropLast().joined(separator: ", ") + " and \(numbers.last ?? "")"
        return "the loss at hop\(numbers.count == 1 ? "" : "s") \(list) is no problem: hops beyond lose less; "
            + "routers limit ICMP errors"
    }
}

extension TraceDocument.Hop {
    init(_ hop: TracerouteHop, _ destination: IPAddress) {
        distance = hop.distance
        speakers = hop.speakers(destination).map { TraceDocument.Speaker(address: $0.address, answers: $0.count) }
        sent = hop.sent
        received = hop.received
        let trips = hop.roundTrips
        (best, worst) = (trips.first, trips.last)
        median = trips.isEmpty ? nil : trips[(trips.count - 1) / 2]
        var refusals: [TraceDocument.Refusal] = []
        for case .obstacle(let obstacle, let speaker)? in hop.packets.map(\.answer)
        where !refusals.contains(where: { $0.address == speaker && $0.reason == obstacle }) {
            refusals.append(TraceDocument.Refusal(address: speaker, reason: obstacle))
        }
        self.refusals = refusals
    }
}
