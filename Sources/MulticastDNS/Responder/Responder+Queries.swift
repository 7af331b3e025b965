// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

/// An answer to one host, and when it goes.
struct UnicastReply: Sendable {
    let asker: Asker
    var keys: [OwnRecords.Key]
    let due: Duration
}

extension Responder {
    static let maximumReplies = 64
    /// A record that was multicast within this part of its TTL may be sent by unicast (rule A13).
    static let recently = 4

    mutating func receive(query: Message, from origin: PacketOrigin, at now: Duration) {
        guard !holdings.isEmpty, origin.port != 0 else { return }
        let isLegacy = origin.port != Zone.port
        // What is answered by unicast must come from this link; a reply to elsewhere could be used for amplification.
        guard origin.isOnLink || (origin.wasMulticast && !isLegacy) else { return }
        var probed: Set<DomainName> = []
        if !isLegacy, !query.authorities.isEmpty {
            probed = Set(query.authorities.map(\.name))
            receiveProbe(query, from: origin, at: now)
        }
        let isTruncated = query.flags.contains(.truncated) && !isLegacy && origin.wasMulticast
        let known = KnownAnswers(isLegacy ? [] : query.answers)
        if !isLegacy {
            truncated.receive(known, isTruncated: isTruncated, from: origin.source, at: now, random: &random)
        }
        let answers = answers(to: query, known: known, probed: probed, isDirect: !origin.wasMulticast, at: now)
        guard !answers.isEmpty else { return }
        var asker = Asker(address: origin.source, port: origin.port, id: query.id, isOnLink: origin.isOnLink)
        if isLegacy {
            asker.isLegacy = true
            asker.questions = query.questions
            asker.limit = query.additionals.first { $0.type == .opt }.map { Int($0.classCode) } ?? 512
        }
        if isTruncated {
            let evicted = truncated.hold(answers, for: asker, at: now, random: &random)
            if let evicted { answer(evicted.answers, to: evicted.asker, at: now, isAlreadyDelayed: true) }
        } else {
            answer(answers, to: asker, at: now)
        }
    }

    /// The answers to all questions together, each unit once, without known answers.
    private mutating func answers(
        to query: Message,
        known: KnownAnswers,
        probed: Set<DomainName>,
        isDirect: Bool,
        at now: Duration
    ) -> [WantedAnswer] {
        var answers: [WantedAnswer] = []
        var positions: [OwnRecords.Key: Int] = [:]
        let hasOneQuestion = query.questions.count == 1
        var seen: Set<Question> = []
        var again: [DomainName: Bool] = [:]
        for question in query.questions where seen.insert(question).inserted {
            let isDefence = probed.contains(question.name)
            for key in records.answers(to: question) {
                guard let unit = records[key] else { continue }
                // Requested both by unicast and multicast is multicast, and so is one whose prober missed our answer.
                var isUnicast = question.wantsUnicast || isDirect
                if isDefence, isUnicast {
                    let isAgain = again[question.name] ?? isProbedAgain(question.name, at: now)
                    again[question.name] = isAgain
                    if isAgain { isUnicast = false }
                }
                if let position = positions[key] {
                    if !isUnicast { answers[position].isUnicast = false }
                    continue
                }
                let unknown = unit.records.filter { !known.contains($0) }
                guard !unknown.isEmpty else { continue }
                positions[key] = answers.count
                answers.append(
                    WantedAnswer(
                        key: key,
                        unknown: unknown,
                        isUnicast: isUnicast,
                        isDefence: isDefence,
                        isDelayed: key.data != nil || !hasOneQuestion
                    )
                )
            }
        }
        return answers
    }

    /// Schedules answers: by unicast or to all, at once or after a delay (rules A2, A6, A13 to A15, A20).
    mutating func answer(
        _ answers: [WantedAnswer],
        to asker: Asker,
        at now: Duration,
        isAlreadyDelayed: Bool = false
    ) {
        let delayed = isAlreadyDelayed ? now : queue.delayedTime(at: now, random: &random)
        var direct: [OwnRecords.Key] = []
        var directDue = now
        for answer in answers {
            guard let unit = records[answer.key] else { continue }
            let due = answer.isDelayed && !answer.isDefence ? delayed : now
            if asker.isLegacy || (answer.isUnicast && asker.isOnLink && wasMulticastRecently(unit, at: now)) {
                direct.append(answer.key)
                directDue = max(directDue, due)
            } else {
                plan(unit, due: due, isDefence: answer.isDefence, at: now)
            }
        }
        guard !direct.isEmpty else { return }
        if replies.count < Self.maximumReplies, unicastLimit.allows(asker.address, at: now) {
            replies.append(UnicastReply(asker: asker, keys: direct, due: directDue))
        } else if !asker.isLegacy {
            // Too many by unicast: to all then, which has a limit of its own.
            for unit in direct.compactMap({ records[$0] }) { plan(unit, due: delayed, isDefence: false, at: now) }
        }
    }

    private mutating func plan(_ unit: OwnRecords.Unit, due: Duration, isDefence: Bool, at now: Duration) {
        let gap = isDefence ? AnswerQueue.defenceGap : AnswerQueue.gap
        queue.plan(unit.key, at: now, due: due, lastMulticast: unit.lastMulticast, gap: gap)
    }

    private func wasMulticastRecently(_ unit: OwnRecords.Unit, at now: Duration) -> Bool {
        guard let last = unit.lastMulticast else { return false }
        return now - last <= .seconds(Int64(unit.timeToLive)) / Self.recently
    }

    // MARK: - Packets

    mutating func multicastAnswers(at now: Duration) -> [OutgoingPacket] {
        let keys = queue.due(at: now).filter { records[$0] != nil }
        guard !keys.isEmpty else { return [] }
        let groups = groups(of: keys) { $0.mayBeMulticast(at: now) }
        for key in keys + groups.flatMap(\.additionalKeys) { records.noteMulticast(key, at: now) }
        for (group, along) in groups { withdrawPlans(of: along, in: group, at: now) }
        return AnswerWriter.packets(groups.map(\.group), limit: payloadLimit).map { OutgoingPacket(bytes: $0) }
    }

    /// What comes along with another answer is not sent again when it is due itself; or only a second later, when it
    /// may not have found room.
    private mutating func withdrawPlans(of along: [OwnRecords.Key], in group: AnswerWriter.Group, at now: Duration) {
        for key in along where queue.isPlanned(key) {
            queue.drop(key)
            guard !AnswerWriter.fits(group, limit: payloadLimit) else { continue }
            queue.plan(key, at: now, due: now, lastMulticast: now)
        }
    }

    mutating func unicastAnswers(at now: Duration) -> [OutgoingPacket] {
        let due = replies.filter { $0.due <= now }
        guard !due.isEmpty else { return [] }
        replies.removeAll { $0.due <= now }
        return due.flatMap { reply -> [OutgoingPacket] in
            let groups = groups(of: reply.keys.filter { records[$0] != nil }) { _ in true }.map(\.group)
            guard !groups.isEmpty else { return [] }
            let packets =
                reply.asker.isLegacy
                ? [AnswerWriter.legacyPacket(groups, to: reply.asker, limit: payloadLimit)]
                : AnswerWriter.packets(groups, id: reply.asker.id, limit: payloadLimit)
            let destination = OutgoingPacket.Destination.host(reply.asker.address, port: reply.asker.port)
            return packets.map { OutgoingPacket(bytes: $0, destination: destination) }
        }
    }

    /// Answers with what comes along with each; nothing twice.
    private func groups(
        of keys: [OwnRecords.Key],
        admits: (OwnRecords.Unit) -> Bool
    ) -> [(group: AnswerWriter.Group, additionalKeys: [OwnRecords.Key])] {
        var seen = Set(keys)
        return keys.map { key in
            let along = records.additionals(to: key).filter { other in
                records[other].map(admits) == true && seen.insert(other).inserted
            }
            let group = AnswerWriter.Group(
                answers: records[key]?.records ?? [],
                additionals: along.flatMap { records[$0]?.records ?? [] }
            )
            return (group, along)
        }
    }
}
