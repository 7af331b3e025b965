// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// Writes answers into packets (rules A15, A19, F1, F3 to F6).
enum AnswerWriter {
    /// An answer and what comes along with it, kept in one packet.
    struct Group: Sendable {
        var answers: [ResourceRecord]
        var additionals: [ResourceRecord] = []
    }

    /// The longest packet less the longest headers, for a record that fits into none of the usual length.
    static let ceiling = Message.maximumLength - 48
    /// A plain resolver keeps an answer so long at most, since it receives no goodbye.
    static let legacyLifetime: UInt32 = 10

    /// Packets of at most `limit` bytes, to be sent back to back.
    ///
    /// A group that does not fit beside others begins the next packet; of one that is too long by itself the answers go
    /// on in further packets, and additional records that do not fit are left out.
    static func packets(_ groups: [Group], id: UInt16 = 0, limit: Int) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var pending: [Group] = []
        // The maximum size of `pending`: compressed against each other, groups are never longer than each by itself.
        var length = 0
        for group in groups {
            let alone = encode([group], id: id, limit: limit)
            if let alone, length + alone.count <= limit {
                pending.append(group)
                length += alone.count
                continue
            }
            if alone != nil, let together = encode(pending + [group], id: id, limit: limit) {
                pending.append(group)
                length = together.count
                continue
            }
            if let full = encode(pending, id: id, limit: limit) { packets.append(full) }
            (pending, length) = (alone == nil ? [] : [group], alone?.count ?? 0)
            if alone == nil { packets += split(group, id: id, limit: limit) }
        }
        if let last = encode(pending, id: id, limit: limit) { packets.append(last) }
        return packets
    }

    /// Whether a group goes whole, with all that comes along.
    static func fits(_ group: Group, limit: Int) -> Bool { encode([group], id: 0, limit: limit) != nil }

    /// The answer to a plain resolver: with its id and question, and nothing that only multicast DNS understands.
    static func legacyPacket(_ groups: [Group], to asker: Asker, limit: Int) -> [UInt8] {
        var encoder = MessageEncoder(
            id: asker.id,
            flags: [.response, .authoritative],
            limit: min(limit, max(asker.limit, 512)),
            compressesServiceTargets: false
        )
        for question in asker.questions {
            _ = encoder.append(Question(question.name, question.type, classCode: question.classCode))
        }
        for (section, records) in [
            (MessageEncoder.Section.answer, groups.flatMap(\.answers)), (.additional, groups.flatMap(\.additionals)),
        ] {
            for var record in records {
                record.flushesCache = false
                record.timeToLive = min(record.timeToLive, legacyLifetime)
                _ = encoder.append(record, to: section)
            }
        }
        return encoder.finish()
    }

    /// One packet of groups; `nil` when they do not fit, or are none.
    private static func encode(_ groups: [Group], id: UInt16, limit: Int) -> [UInt8]? {
        guard !groups.isEmpty else { return nil }
        var encoder = MessageEncoder(id: id, flags: [.response, .authoritative], limit: limit)
        for record in groups.flatMap(\.answers) where !encoder.append(record) { return nil }
        for record in groups.flatMap(\.additionals) where !encoder.append(record, to: .additional) { return nil }
        return encoder.finish()
    }

    private static func split(_ group: Group, id: UInt16, limit: Int) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var encoder = MessageEncoder(id: id, flags: [.response, .authoritative], limit: limit)
        for record in group.answers where !encoder.append(record) {
            if encoder.count > 0 { packets.append(encoder.finish()) }
            encoder = MessageEncoder(id: id, flags: [.response, .authoritative], limit: limit)
            guard !encoder.append(record) else { continue }
            // Too long for the link: it goes alone, in fragments.
            if let alone = encode([Group(answers: [record])], id: id, limit: ceiling) { packets.append(alone) }
        }
        // Records that come along never go alone.
        guard encoder.count > 0 else { return packets }
        for record in group.additionals { _ = encoder.append(record, to: .additional) }
        return packets + [encoder.finish()]
    }
}
