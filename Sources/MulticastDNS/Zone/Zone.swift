// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

/// Everything known and planned on one interface by one family: RFC 6762 section 20 calls the two families zones.
///
/// The querier (`cache`, `schedule`) and the responder (`responder`) see the same messages in `receive` and put
/// their packets out together.
struct Zone: Sendable {
    enum Reception: Sendable {
        /// Our own packet, looped back; of a response, what other clients on this machine learn from it.
        case echo(Message?, changed: [ResourceRecord])
        /// Not a DNS message.
        case malformed(WireError)
        /// A message that must be ignored: another operation, an error code, a response from the wrong port, or one
        /// that was sent to us alone without our request.
        case ignored
        case query(Message)
        /// Somebody's records, and the ones among them that changed the cache.
        case response(Message, changed: [ResourceRecord])
    }

    static let port: UInt16 = 5353
    /// How long an answer by unicast may be delayed (rule Q15).
    static let unicastTimeout = Duration.seconds(2)

    /// How long an answer to the group may be delayed: 120 ms, and 500 ms more when known answers fill further packets
    /// (RFC 6762 sections 6 and 7.2); and transit.
    static let answerTimeout = Duration.milliseconds(150)
    static let truncatedAnswerTimeout = Duration.milliseconds(650)

    let family: AddressFamily
    /// The most bytes of a query: the MTU less the headers.
    let payloadLimit: Int
    var cache: RecordCache
    var schedule: QuestionSchedule
    var responder: Responder
    private var random: RandomSource
    private var echoes: EchoMemory
    private var knownAnswerLimit = KnownAnswerLimit()
    /// Whether answers by unicast would reach us: only as the sole owner of port 5353 (rule Q19).
    private var welcomesUnicast = false
    /// Whether the next questions are the first ones since the link came up (rule Q9).
    private var isFirstBatch = false
    /// When the answers to the last questions are here.
    private(set) var answersUntil = Duration.zero
    /// The questions that may be answered by unicast, and until when.
    private var unicast: (questions: [Question], until: Duration)?

    init(_ family: AddressFamily, settings: MulticastSettings, mtu: Int, random: RandomSource) {
        self.family = family
        payloadLimit = max(512, min(mtu, Message.maximumLength) - (family == .ipv4 ? 28 : 48))
        cache = RecordCache(CacheBounds(records: settings.maximumRecords))
        schedule = QuestionSchedule(rate: settings.questionsPerSecond)
        var random = random
        echoes = EchoMemory(seed: random.next())
        self.random = random
        // Of its own, so that the delays of questions do not depend on what is answered.
        var seed = random
        responder = Responder(family: family, payloadLimit: payloadLimit, random: RandomSource(seed: ~seed.next()))
    }

    var nextDeadline: Duration? {
        earliest(earliest(cache.nextDeadline, schedule.nextDeadline), responder.nextDeadline)
    }

    mutating func query(
        _ question: Question,
        times: Int,
        within delay: ClosedRange<Int> = QuestionSchedule.firstDelay,
        isResponseTriggered: Bool = false,
        at now: Duration
    ) {
        schedule.query(
            question,
            times: times,
            within: delay,
            isResponseTriggered: isResponseTriggered,
            at: now,
            random: &random
        )
    }

    /// Queries records that expire or are disputed, besides other queries; see ``QuestionSchedule/renew``.
    mutating func renew(_ question: Question, times: Int = 1, at now: Duration) {
        schedule.renew(question, times: times, at: now, random: &random)
    }

    /// The link came up, or its addresses changed: the next questions may be answered by unicast, if that reaches us.
    mutating func linkCameUp(welcomesUnicast: Bool, at now: Duration) {
        schedule.restart(at: now, random: &random)
        self.welcomesUnicast = welcomesUnicast
        responder.welcomesUnicast = welcomesUnicast
        isFirstBatch = welcomesUnicast
    }

    /// From now on answers by unicast reach us, or somebody else.
    mutating func welcomeUnicast(_ isWelcome: Bool) {
        welcomesUnicast = isWelcome
        responder.welcomesUnicast = isWelcome
        isFirstBatch = isFirstBatch && isWelcome
    }

    mutating func resume(at now: Duration) {
        linkCameUp(welcomesUnicast: welcomesUnicast, at: now)
        responder.restart(at: now)
    }

    mutating func receive(
        _ bytes: Span<UInt8>,
        from origin: PacketOrigin,
        at now: Duration,
        activeQueries: ActiveQueries
    ) -> Reception {
        let isEcho = origin.wasMulticast && echoes.consume(bytes, at: now)
        if !isEcho {
            knownAnswerLimit.received(bytes.count)
            schedule.responseTriggered.received(bytes.count)
        }
        let message: Message
        do { message = try Message(parsing: bytes) } catch { return .malformed(error) }
        guard message.flags.operation == 0, message.flags.responseCode == 0 else { return .ignored }
        guard message.flags.contains(.response) else {
            if !isEcho, origin.port == Self.port, origin.wasMulticast { observe(message, at: now) }
            // Our own questions are answered for other programs' sake and our own, our own probes are not.
            if !isEcho || message.authorities.isEmpty { responder.receive(query: message, from: origin, at: now) }
            return isEcho ? .echo(nil, changed: []) : .query(message)
        }
        guard origin.port == Self.port else { return .ignored }
        // The responder decides itself what may come by unicast: answers to its probes.
        if !isEcho { responder.receive(response: message, from: origin, at: now) }
        guard origin.wasMulticast || isAwaited(message, origin, at: now) else { return .ignored }
        var changed: [ResourceRecord] = []
        insert(message.answers, from: origin, at: now, activeQueries, &changed)
        insert(message.additionals, from: origin, at: now, activeQueries, &changed)
        return isEcho ? .echo(message, changed: changed) : .response(message, changed: changed)
    }

    private mutating func insert(
        _ records: [ResourceRecord],
        from origin: PacketOrigin,
        at now: Duration,
        _ activeQueries: ActiveQueries,
        _ changed: inout [ResourceRecord]
    ) {
        for record in records {
            let outcome = cache.insert(
                record,
                from: origin.source,
                at: now,
                activeQueries: activeQueries,
                random: &random
            )
            if outcome == .added { changed.append(record) }
        }
    }

    /// Whether a response that was sent to us alone answers a recent query of ours, from this link (rules Q15 and Q16).
    private func isAwaited(_ message: Message, _ origin: PacketOrigin, at now: Duration) -> Bool {
        guard origin.isOnLink, let unicast, now <= unicast.until else { return false }
        return message.answers.contains { record in unicast.questions.contains { $0.isAnswered(by: record) } }
    }

    /// The packets that are due now; `activeQueries` says which records a reported service stands on.
    mutating func packets(at now: Duration, activeQueries: ActiveQueries = ActiveQueries()) -> [OutgoingPacket] {
        let groups = schedule.due(at: now)
        var packets: [OutgoingPacket] = []
        if !groups.isEmpty {
            let wantsUnicast = isFirstBatch
            isFirstBatch = false
            if wantsUnicast { expectUnicast(groups.flatMap(\.self), at: now) }
            knownAnswerLimit.advance(to: now)
            for questions in groups {
                packets += QueryWriter.packets(questions, wantsUnicast: wantsUnicast, limit: payloadLimit) { question in
                    knownAnswers(to: question, activeQueries, at: now)
                }.map { OutgoingPacket(bytes: $0) }
            }
            let isTruncated = packets.count > groups.count
            answersUntil = now + (isTruncated ? Self.truncatedAnswerTimeout : Self.answerTimeout)
        }
        let own = responder.packets(at: now)
        if welcomesUnicast {
            for packet in own { awaitAnswers(to: packet, at: now) }
        }
        packets += own
        for packet in packets where packet.destination == .group { echoes.note(packet.bytes, at: now) }
        return packets
    }

    /// Those of reported services first; the others, which may be made up, go as far as others pay for them.
    private mutating func knownAnswers(
        to question: Question,
        _ activeQueries: ActiveQueries,
        at now: Duration
    ) -> [ResourceRecord] {
        var (reported, others): ([ResourceRecord], [ResourceRecord]) = ([], [])
        for record in cache.knownAnswers(to: question, at: now) {
            if activeQueries.protects(record) { reported.append(record) } else { others.append(record) }
        }
        return knownAnswerLimit.spend(on: reported)
            + others.prefix { schedule.responseTriggered.spend(CacheBounds.size(of: $0)) }
    }

    private mutating func expectUnicast(_ questions: [Question], at now: Duration) {
        let queried = unicast.map { now <= $0.until ? $0.questions : [] } ?? []
        unicast = (queried + questions, now + Self.unicastTimeout)
    }

    /// Probes welcome unicast answers too.
    private mutating func awaitAnswers(to packet: OutgoingPacket, at now: Duration) {
        guard packet.bytes.count > 2, packet.bytes[2] & 0x80 == 0,
            let message = try? Message(parsing: packet.bytes.span)
        else { return }
        let questions = message.questions.filter(\.wantsUnicast)
        if !questions.isEmpty { expectUnicast(questions, at: now) }
    }

    /// Learns from another host's query; its known answers are not cached (rule C2).
    private mutating func observe(_ message: Message, at now: Duration) {
        guard !message.flags.contains(.truncated), message.authorities.isEmpty else { return }
        let known = Dictionary(grouping: message.answers, by: \.name)
        // The same question once, however often it stands there: each goes through all records of a name.
        var seen: Set<RecordKey> = []
        for question in message.questions
        where !question.wantsUnicast && seen.insert(RecordKey(question.name, question.type)).inserted {
            let theirs = (known[question.name] ?? []).filter { question.isAnswered(by: $0) }
            if schedule.isPending(question), theirs.allSatisfy({ cache.lists($0, at: now) }) {
                schedule.observe(question, at: now)
            }
            cache.observe(question, knownAnswers: theirs, at: now)
        }
    }
}

/// The earlier of two times, of which either may never come.
func earliest(_ left: Duration?, _ right: Duration?) -> Duration? {
    guard let left, let right else { return left ?? right }
    return min(left, right)
}
