// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import EventHub
public import LinuxIO

/// That a daemon was alive at a moment, as a record of fixed length.
///
/// It is the only trace of the last seconds of a daemon that was killed: an idle one logs nothing for minutes.
public struct SignOfLife: Equatable, Sendable {
    /// The kernel's name of the boot, 32 hexadecimal digits; `nil` when it is unreadable.
    public var bootID: String?
    /// Time since boot, asleep or not.
    public var boot: Duration
    /// The same moment by the calendar.
    public var time: WallTime
    /// The last event that was published by then.
    public var position: EventPosition
    /// Whether it is the last sign of a daemon that ended in order, with its log on the disk.
    public var isFinal = false
}

extension SignOfLife {
    /// How many bytes the record has.
    static let length = 256
    private static let magic = "nwpath-alive"
    private static let version = "1"

    /// One line of text, filled up with spaces and ended by its checksum.
    var record: [UInt8] {
        let words = [
            Self.magic, Self.version, bootID ?? "-", "\(boot.nanoseconds)", "\(time.nanoseconds)",
            "\(position.stream)", "\(position.sequence)", isFinal ? "final" : "running",
        ]
        var bytes = Array(words.joined(separator: " ").utf8.prefix(Self.textLength))
        bytes += [UInt8](repeating: 0x20, count: Self.textLength - bytes.count)
        return bytes + Array("\(Self.checksum(bytes[...]))\n".utf8)
    }

    /// Reads a record; `nil` when it is none, of another version, or damaged.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length, bytes.last == 0x0A,
            bytes[Self.textLength..<Self.length - 1].elementsEqual(Self.checksum(bytes[..<Self.textLength]).utf8)
        else { return nil }
        let words = String(decoding: bytes[..<Self.textLength], as: UTF8.self).split(separator: " ").map(String.init)
        guard words.count == 8, words[0] == Self.magic, words[1] == Self.version, let boot = Int64(words[3]), boot >= 0,
            let time = Int64(words[4]), let stream = StreamID(words[5]), let sequence = UInt64(words[6])
        else { return nil }
        bootID = words[2] == "-" ? nil : words[2]
        self.boot = .nanoseconds(boot)
        self.time = WallTime(nanoseconds: time)
        position = EventPosition(stream: stream, sequence: sequence)
        isFinal = words[7] == "final"
    }

    /// Whether bytes begin as a record does, damaged or not.
    static func isOurs(_ bytes: [UInt8]) -> Bool { bytes.starts(with: "\(magic) ".utf8) }

    /// Where numbers go on, by what the log ends with and what an earlier run left: a number is given out once.
    ///
    /// Clients may have got what the log lost: on a full disk, with a tail that was cut off, or in the last second before
    /// a power cut, of which this boot knows nothing.
    /// - Returns: `nil` where a new stream must begin.
    static func continuation(
        of log: EventPosition?,
        after sign: SignOfLife?,
        bootID: String?
    ) -> EventPosition? {
        // Of another log, or of a daemon before this file was thought of: nothing speaks against the log.
        guard let log, let sign, sign.position.stream == log.stream else { return log }
        guard sign.position.sequence <= log.sequence else { return nil }
        let isOfThisBoot = sign.bootID != nil && sign.bootID == bootID
        return sign.isFinal || isOfThisBoot ? log : nil
    }

    /// Whether it is a sign of the daemon whose log ends with the record at `last`.
    ///
    /// One that published more than the log holds may have seen what nobody knows any more.
    public func isOfRun(endingAt last: EventPosition?) -> Bool {
        guard let last else { return false }
        return position.stream == last.stream && position.sequence <= last.sequence
    }

    /// For how long nobody watched until `boot`; `nil` when that was another boot.
    func unwatched(until boot: Duration, of bootID: String?) -> Duration? {
        guard let bootID, bootID == self.bootID, boot >= self.boot else { return nil }
        return boot - self.boot
    }

    private static let textLength = length - 17

    /// FNV-1a of 64 bits as 16 digits: a torn or edited record does not pass.
    private static func checksum(_ bytes: ArraySlice<UInt8>) -> String {
        let sum = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let digits = String(sum, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// Decides when the next sign of life is due.
struct Pulse {
    /// More turns of the loop within this time leave one sign.
    static let interval = Duration.seconds(1)

    private var last: (boot: Duration, step: CalendarStep)?

    /// - Returns: Whether a turn of the loop at this moment leaves a sign; at once after a step of the calendar, so that
    ///   the last sign is never one of an earlier calendar.
    mutating func isDue(wall: WallTime, boot: Duration) -> Bool {
        if let (before, step) = last, boot - before < Self.interval {
            var step = step
            guard step.observe(wall: wall, boot: boot) != nil else { return false }
        }
        last = (boot, CalendarStep(wall: wall, boot: boot))
        return true
    }
}

/// Finds out that the process did not run although it wanted to: it was stopped, starved or busy.
struct StallDetector {
    /// Shorter ones are a busy machine's.
    static let threshold = Duration.seconds(5)

    private var seen: (asleep: Duration, lateness: Duration)?

    /// Compares with the last turn of the loop.
    /// - Parameters:
    ///   - asleep: For how long the machine slept since it was started.
    ///   - lateness: For how long timers came late so far; where the machine slept, that is told apart.
    /// - Returns: For how long the process did not run until now, or `nil`.
    mutating func observe(asleep: Duration, lateness: Duration) -> Duration? {
        defer { seen = (asleep, lateness) }
        guard let seen else { return nil }
        let stalled = (lateness - seen.lateness) - max(.zero, asleep - seen.asleep)
        return stalled >= Self.threshold ? stalled : nil
    }
}
