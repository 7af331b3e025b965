// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import PathModel

/// The quality of every link that somebody measures, by interface index (rule S39).
struct QualityBook: Hashable, Sendable {
    private var meters: [Int: LinkQualityMeter] = [:]

    /// Until when the next change is held back, as time since boot.
    var nextCheck: Duration? { meters.values.compactMap(\.heldUntil).min() }

    /// Reads what providers measured last.
    /// - Returns: The qualities to publish; links that nobody measures are missing.
    mutating func read(_ facts: ProviderFacts, at now: Duration) -> [Int: LinkQuality] {
        // The rule where no device tells.
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
