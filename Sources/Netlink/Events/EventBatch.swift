// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO

/// Notifications that were read together.
public struct EventBatch: Hashable, Sendable {
    /// What the kernel said, in its order.
    public var notices: [KernelNotice]
    /// When they were read, on `CLOCK_BOOTTIME`.
    public var boot: Duration
    /// When they were read, by the calendar.
    public var wall: WallTime

    public init(notices: [KernelNotice], boot: Duration, wall: WallTime) {
        self.notices = notices
        self.boot = boot
        self.wall = wall
    }
}

/// What a monitor has counted since it was made.
public struct EventStatistics: Hashable, Sendable {
    public init() {}

    public internal(set) var messages: [EventGroup: Int] = [:]
    /// How often messages were lost.
    public internal(set) var overruns = 0
    /// Messages of kinds that say nothing about paths.
    public internal(set) var ignored = 0
    /// Messages that were not what their type promises.
    public internal(set) var undecodable = 0
    /// Datagrams that other processes sent.
    public internal(set) var foreign = 0
    /// How often reading failed for another reason than an overrun.
    public internal(set) var failures = 0
}

/// Decodes datagrams into notifications and counts what it cannot use.
struct EventDecoder {
    private(set) var notices: [KernelNotice] = []
    var statistics = EventStatistics()

    mutating func decode(_ datagram: Span<UInt8>, from group: EventGroup?) {
        var messages = MessageReader(datagram)
        while messages.advance() {
            if let group { statistics.messages[group, default: 0] += 1 }
            switch DecodedNotice.decode(type: messages.type, messages.body) {
            case .notice(let notice): notices.append(notice)
            case .ignored: statistics.ignored += 1
            case .malformed: statistics.undecodable += 1
            }
        }
        if messages.isMalformed { statistics.undecodable += 1 }
    }

    mutating func drain() -> [KernelNotice] {
        defer { notices = [] }
        return notices
    }
}
