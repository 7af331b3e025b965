// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What is known about how well a link works (rule S39).
public enum LinkReading: Hashable, Sendable {
    case unknown
    /// The average signal of the access point, in dBm.
    case wireless(signal: Int)
    case cellular(percent: Int)
    /// The speed in Mbit/s of a cable.
    case wired(megabits: Int, isFullDuplex: Bool)
}

/// Derives from readings of one link a quality with hysteresis (rule S39).
///
/// A signal has to pass a border by the hysteresis before the quality changes, and changes are at least 30 s apart.
public struct LinkQualityMeter: Hashable, Sendable {
    /// The shortest time between two changes.
    public let holdTime: Duration
    /// How far a Wi-Fi signal has to pass a border, in dB.
    public static let hysteresis = 4
    public private(set) var quality: LinkQuality = .unknown
    /// Until when a change is held back, as time since boot; read again then.
    public private(set) var heldUntil: Duration?
    private var changed: Duration?

    /// Publishes at most one change per `holdTime`.
    public init(holdTime: Duration = .seconds(30)) {
        self.holdTime = holdTime
    }

    /// Records a reading.
    /// - Returns: The quality to publish now.
    public mutating func read(_ reading: LinkReading, at now: Duration) -> LinkQuality {
        let next = classify(reading)
        heldUntil = nil
        guard next != quality else { return quality }
        if let changed, now - changed < holdTime {
            heldUntil = changed + holdTime
            return quality
        }
        changed = quality == .unknown ? nil : now
        quality = next
        return quality
    }

    private func classify(_ reading: LinkReading) -> LinkQuality {
        switch reading {
        case .unknown: .unknown
        case .wireless(let signal): grade(signal, good: -60, moderate: -72, margin: Self.hysteresis)
        case .cellular(let percent): grade(percent, good: 60, moderate: 30, margin: Self.hysteresis)
        case .wired(let megabits, let isFullDuplex):
            switch (megabits, isFullDuplex) {
            case (100..., true): .good
            case (1...10, false): .minimal
            default: .unknown
            }
        }
    }

    /// Grades a level; the quality that stands is left only when a border is passed by half of the margin.
    private func grade(_ level: Int, good: Int, moderate: Int, margin: Int) -> LinkQuality {
        let half = margin / 2
        let (toGood, toModerate) =
            switch quality {
            case .good: (good - half, moderate - half)
            case .moderate: (good + half, moderate - half)
            case .minimal: (good + half, moderate + half)
            case .unknown: (good, moderate)
            }
        if level >= toGood { return .good }
        return level >= toModerate ? .moderate : .minimal
    }
}
