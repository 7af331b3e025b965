// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// Writes questions and known answers into packets (rules Q8, Q12, Q13, F1, F6).
enum QueryWriter {
    /// Packets of at most `limit` bytes, to be sent back to back.
    ///
    /// Known answers that do not fit go on in packets without questions; all but the last of such a run are marked as
    /// truncated. With `wantsUnicast` every question welcomes a unicast answer (QU).
    static func packets(
        _ questions: [Question],
        wantsUnicast: Bool = false,
        limit: Int,
        knownAnswers: (Question) -> [ResourceRecord]
    ) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var rest = questions[...]
        while !rest.isEmpty {
            var encoder = MessageEncoder(flags: [], limit: limit)
            var queried: [Question] = []
            while let question = rest.first {
                var written = question
                if wantsUnicast { written.wantsUnicast = true }
                guard encoder.append(written) else { break }
                queried.append(question)
                rest.removeFirst()
            }
            guard !queried.isEmpty else {
                // No packet of this size can hold it.
                rest.removeFirst()
                continue
            }
            for record in queried.flatMap(knownAnswers) where !encoder.append(record) {
                var next = MessageEncoder(flags: [], limit: limit)
                guard next.append(record) else { continue }
                packets.append(encoder.finish(truncated: true))
                encoder = next
            }
            packets.append(encoder.finish())
        }
        return packets
    }
}
