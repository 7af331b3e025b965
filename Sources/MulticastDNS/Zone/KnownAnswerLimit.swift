// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// How many bytes of known answers about reported services may leave, so that a flood of records does not come back with
/// every question.
///
/// What others send earns half as much as it is long, since the other half pays for what is not reported
/// (``ResponseTriggeredLimit``); besides there is a start and a little with time. A network of a thousand services,
/// which repeats 35 kB of answers a few times a minute, stays below it. When it is spent the lists are shorter, with
/// those records that have been known longest, and owners answer what they need not: that earns more.
struct KnownAnswerLimit: Sendable {
    static let most = 256 << 10
    /// Bytes per second.
    static let rate = 2048

    private(set) var bytes = Self.most
    private var last: Duration?

    /// Others sent so many bytes.
    mutating func received(_ count: Int) { bytes = min(bytes + count / ResponseTriggeredLimit.share, Self.most) }

    mutating func advance(to now: Duration) {
        guard let last, now > last else {
            last = now
            return
        }
        let seconds = (now - last).components.seconds
        bytes = min(bytes + Int(min(seconds, Int64(Self.most / Self.rate))) * Self.rate, Self.most)
        self.last = last + .seconds(seconds)
    }

    /// The first records of a list, as many as may go.
    mutating func spend(on records: [ResourceRecord]) -> [ResourceRecord] {
        var count = 0
        for record in records {
            let size = CacheBounds.size(of: record)
            guard size <= bytes else { break }
            bytes -= size
            count += 1
        }
        return Array(records.prefix(count))
    }
}
