// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// Writes probes for names (rules P3, P4, F1).
enum ProbeWriter {
    struct Proposal: Sendable {
        let name: DomainName
        var records: [ResourceRecord]
    }

    /// Queries of at most `limit` bytes; each has a question of type ANY for every name in it, and in its authority
    /// section all records proposed for these names, without the cache-flush bit.
    static func packets(_ proposals: [Proposal], wantsUnicast: Bool, limit: Int) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var pending: [Proposal] = []
        var encoded: [UInt8]?
        for proposal in proposals {
            if let together = encode(pending + [proposal], wantsUnicast, limit) {
                pending.append(proposal)
                encoded = together
                continue
            }
            if let encoded { packets.append(encoded) }
            encoded = encode([proposal], wantsUnicast, limit)
            pending = encoded == nil ? [] : [proposal]
            if encoded == nil, let alone = encode([proposal], wantsUnicast, AnswerWriter.ceiling) {
                packets.append(alone)
            }
        }
        if let encoded { packets.append(encoded) }
        return packets
    }

    private static func encode(_ proposals: [Proposal], _ wantsUnicast: Bool, _ limit: Int) -> [UInt8]? {
        var encoder = MessageEncoder(flags: [], limit: limit)
        for proposal in proposals
        where !encoder.append(Question(proposal.name, .any, wantsUnicast: wantsUnicast)) { return nil }
        for var record in proposals.flatMap(\.records) {
            record.flushesCache = false
            guard encoder.append(record, to: .authority) else { return nil }
        }
        return encoder.finish()
    }
}
