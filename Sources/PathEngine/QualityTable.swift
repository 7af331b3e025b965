// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import PathModel

/// The quality of every link that somebody measures, by interface index (rule S39).
struct QualityTable: Hashable, Sendable {
    private var meters: [Int: LinkQualityMeter] = [:]
    /// What was read last; `nil` before.
    private var last: [Int: LinkQuality]?

    /// Until when the next change is held back, as time since boot.
    private(set) var nextCheck: Duration?

    /// Reads what providers measured last.
    /// - Parameters:
    ///   - facts: What they measured.
    ///   - isNew: Whether it may differ from what was read before.
    ///   - now: The time since boot.
    /// - Returns: The qualities to publish; links that nobody measures are missing.
    mutating func read(_ facts: ProviderFacts, isNew: Bool, at now: Duration) -> [Int: LinkQuality] {
        // The same readings give the same again until a change that is held back is due.
        if let last, !isNew, nextCheck.map({ now < $0 }) ?? true { return last }
        let qualities = read(facts, at: now)
        last = qualities
        nextCheck = meters.values.compactMap(\.heldUntil).min()
        return qualities
    }

    private mutating func read(_ facts: ProviderFacts, at now: Duration) -> [Int: LinkQuality] {
        // The usual case: no device reports a quality.
        if facts.cellular.isEmpty && facts.wireless.isEmpty && facts.wired.isEmpty && meters.isEmpty {
            return Dictionary()
        }
        var readings = facts.wired.mapValues { cable in
            LinkReading.wired(megabits: cable.megabits, isFullDuplex: cable.isFullDuplex)
        }
        for (index, modem) in facts.cellular {
            if let percent = modem.signalQuality { readings[index] = .cellular(percent: percent) }
        }
        for (index, radio) in facts.wireless where radio.isStation {
            if let signal = radio.signal { readings[index] = .wireless(signal: signal) }
        }
        for index in Array(meters.keys) where readings[index] == nil { meters[index] = nil }
        return readings.reduce(into: [:]) { qualities, entry in
            qualities[entry.key] = meters[entry.key, default: LinkQualityMeter()].read(entry.value, at: now)
        }
    }
}
