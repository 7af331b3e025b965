// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Knows our own packets when the kernel loops them back: each comes once, soon after it was sent.
///
/// By fingerprints with a secret seed, so that a packet costs the same however many were sent, and nobody can make
/// one that passes for ours.
struct EchoMemory: Sendable {
    /// How many packets are waited for at most, and how long.
    static let limit = 1024
    static let lifetime = Duration.seconds(5)

    private let seed: UInt64
    private var awaited: [UInt64: Int] = [:]
    private var sent: [(print: UInt64, time: Duration)] = []

    init(seed: UInt64) { self.seed = seed }

    var count: Int { sent.count }

    mutating func note(_ packet: [UInt8], at now: Duration) {
        if sent.count >= Self.limit || sent.first.map({ now - $0.time > Self.lifetime }) == true { dropOld(at: now) }
        let print = fingerprint(packet.span)
        awaited[print, default: 0] += 1
        sent.append((print, now))
    }

    /// Whether this is a packet of ours, for the first time.
    mutating func consume(_ packet: Span<UInt8>, at now: Duration) -> Bool {
        guard !awaited.isEmpty else { return false }
        if sent.first.map({ now - $0.time > Self.lifetime }) == true { dropOld(at: now) }
        let print = fingerprint(packet)
        guard let count = awaited[print] else { return false }
        awaited[print] = count > 1 ? count - 1 : nil
        if let index = sent.firstIndex(where: { $0.print == print }) { sent.remove(at: index) }
        return true
    }

    private mutating func dropOld(at now: Duration) {
        var gone = sent.prefix { now - $0.time > Self.lifetime }.count
        if sent.count - gone >= Self.limit { gone += Self.limit / 4 }
        for (print, _) in sent.prefix(gone) {
            guard let count = awaited[print] else { continue }
            awaited[print] = count > 1 ? count - 1 : nil
        }
        sent.removeFirst(gone)
    }

    private func fingerprint(_ bytes: Span<UInt8>) -> UInt64 {
        var print = seed ^ UInt64(bytes.count)
        var word: UInt64 = 0
        for index in bytes.indices {
            word = word << 8 | UInt64(bytes[index])
            if index & 7 == 7 { print = Self.mix(print ^ word) }
        }
        return Self.mix(print ^ word)
    }

    private static func mix(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low &+ 0xD1B5_4A32_D192_ED03
    }
}
