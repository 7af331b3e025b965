// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

/// Everything known and planned on one interface by one family: RFC 6762 section 20 calls the two families zones.
///
/// What is asked (`cache`, `schedule`) and what is answered (`responder`) see the same messages in `receive` and put
/// their packets out by the same way.
struct Zone: Sendable {
    /// What a packet was.
    enum Reception: Sendable {
        /// Our own packet, looped back.
        case echo
        /// Not a DNS message.
        case malformed(WireError)
        /// A message that must be ignored: another operation, an error code, or a response from the wrong port.
        case ignored
        /// Somebody's question.
        case query(Message)
        /// Somebody's records, and the ones among them that changed the cache.
        case response(Message, changed: [ResourceRecord])
    }

    static let port: UInt16 = 5353
    private static let echoMemory = 256

    let family: AddressFamily
    /// The most bytes of a query: the MTU less the headers.
    let payloadLimit: Int
    var cache: RecordCache
    var schedule: QuestionSchedule
    var responder: Responder
    private var random: RandomSource
    private var sent: [[UInt8]] = []

    init(_ family: AddressFamily, settings: MulticastSettings, mtu: Int, random: RandomSource) {
        self.family = family
        payloadLimit = max(512, min(mtu, Message.maximumLength) - (family == .ipv4 ? 28 : 48))
        cache = RecordCache(limit: settings.maximumRecords)
        schedule = QuestionSchedule(budget: settings.questionsPerSecond)
        self.random = random
        // Of its own, so that the delays of questions do not depend on what is answered.
        var seed = random
        responder = Responder(family: family, payloadLimit: payloadLimit, random: RandomSource(seed: ~seed.next()))
    }

    var nextDeadline: Duration? {
        [cache.nextDeadline, schedule.nextDeadline, responder.nextDeadline].compactMap(\.self).min()
    }

    mutating func ask(_ question: Question, times: Int, at now: Duration) {
        schedule.ask(question, times: times, at: now, random: &random)
    }

    /// Reads a packet.
    mutating func receive(
        _ bytes: Span<UInt8>,
        from origin: PacketOrigin,
        at now: Duration,
        interest: Interest
    ) -> Reception {
        if isEcho(bytes) { return .echo }
        let message: Message
        do { message = try Message(parsing: bytes) } catch { return .malformed(error) }
        guard message.flags.operation == 0, message.flags.responseCode == 0 else { return .ignored }
        guard message.flags.contains(.response) else {
            if origin.port == Self.port, origin.wasMulticast { hear(message, at: now) }
            responder.receive(query: message, from: origin, at: now)
            return .query(message)
        }
        guard origin.port == Self.port else { return .ignored }
        responder.receive(response: message, from: origin, at: now)
        var changed: [ResourceRecord] = []
        for record in message.answers + message.additionals {
            switch cache.insert(record, at: now, interest: interest, random: &random) {
            case .added: changed.append(record)
            case .refreshed, .leaving, .ignored: break
            }
        }
        return .response(message, changed: changed)
    }

    /// The packets that are due now.
    mutating func packets(at now: Duration) -> [OutgoingPacket] {
        let questions = schedule.due(at: now)
        let queries = QueryWriter.packets(questions, limit: payloadLimit) { cache.knownAnswers(to: $0, at: now) }
        let packets = queries.map { OutgoingPacket(bytes: $0) } + responder.packets(at: now)
        let looped = packets.filter { $0.destination == .group }
        if !looped.isEmpty { sent = Array((sent + looped.map(\.bytes)).suffix(Self.echoMemory)) }
        return packets
    }

    /// Learns from another host's query; its known answers are not cached (rule C2).
    private mutating func hear(_ message: Message, at now: Duration) {
        guard !message.flags.contains(.truncated), message.authorities.isEmpty else { return }
        for question in message.questions where !question.wantsUnicast {
            let theirs = message.answers.filter { question.isAnswered(by: $0) }
            let ours = Set(cache.knownAnswers(to: question, at: now).map(\.data))
            if theirs.allSatisfy({ ours.contains($0.data) }) { schedule.heard(question, at: now) }
            cache.heard(question, knownAnswers: theirs, at: now)
        }
    }

    /// Whether this is a packet of ours; each comes back once.
    private mutating func isEcho(_ bytes: Span<UInt8>) -> Bool {
        let index = sent.firstIndex { packet in
            packet.count == bytes.count && packet.indices.allSatisfy { packet[$0] == bytes[$0] }
        }
        guard let index else { return false }
        sent.remove(at: index)
        return true
    }
}
