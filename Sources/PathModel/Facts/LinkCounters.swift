// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What the kernel counted of a link since it was made (`IFLA_STATS64`, struct rtnl_link_stats64 in linux/if_link.h).
public struct LinkCounters: Hashable, Sendable {
    public var received: UInt64 = 0
    public var sent: UInt64 = 0
    /// All errors that the driver counts when it receives.
    public var receiveErrors: UInt64 = 0
    /// All errors that the driver counts when it sends.
    public var transmitErrors: UInt64 = 0
    /// Frames with a wrong checksum.
    public var crcErrors: UInt64 = 0
    /// Frames that do not end with a whole byte.
    public var frameErrors: UInt64 = 0
    /// Frames that the card had no room for: the greater one of `rx_fifo_errors` and `rx_missed_errors`, which drivers use
    /// for the same.
    public var overruns: UInt64 = 0
    /// Collisions after the first 64 bytes (`tx_window_errors`).
    public var lateCollisions: UInt64 = 0
    /// What the driver counts of its MAC layer; `nil` where it has no such counters, or they were not read.
    public var mac: MACCounters?
    /// The queue for packets to be sent; `nil` where the link has none, or it could not be read.
    public var queue: QueueCounters?
    /// Whether the queue could be read.
    public var isQueueKnown = true

    public init() {}

    /// Growth from this on is a counter that was set back.
    private static let mostGrowth: UInt64 = 1 << 40
    /// Likewise of errors: a device that does not answer gives ones, which some drivers add at each reading.
    private static let mostErrors: UInt64 = 0xFFFF_FFFF

    /// What was counted since an earlier reading; `nil` after a counter was set back, as by a driver that was loaded anew.
    public func growth(since earlier: LinkCounters) -> LinkCounters? {
        var growth = preferringMAC(as: earlier)
        let before = earlier.preferringMAC(as: self)
        let packets: [WritableKeyPath<LinkCounters, UInt64>] = [\.received, \.sent]
        let errors: [WritableKeyPath<LinkCounters, UInt64>] = [
            \.receiveErrors, \.transmitErrors, \.crcErrors, \.frameErrors, \.overruns, \.lateCollisions,
        ]
        for (counters, most) in [(packets, Self.mostGrowth), (errors, Self.mostErrors)] {
            for counter in counters {
                let now = growth[keyPath: counter]
                guard let grown = Self.growth(now, since: before[keyPath: counter], most: most) else { return nil }
                growth[keyPath: counter] = grown
            }
        }
        growth.mac = nil
        growth.queue = earlier.queue.flatMap { queue?.growth(since: $0) }
        return growth
    }

    /// Whether the queue is that of an earlier reading; `nil` when unknown.
    public func hasSameQueue(as earlier: LinkCounters) -> Bool? {
        guard isQueueKnown, earlier.isQueueKnown else { return nil }
        guard let new = queue, let old = earlier.queue else { return queue == nil && earlier.queue == nil }
        return new.growth(since: old) != nil
    }

    /// The counters, those of the MAC layer rather than the kernel's.
    public var preferringMAC: LinkCounters { preferringMAC(as: self) }

    /// Likewise of counters that another reading has, too; drivers bring the two up to date at different times.
    private func preferringMAC(as other: LinkCounters) -> LinkCounters {
        var counters = self
        func prefer(_ value: KeyPath<MACCounters, UInt64?>, over counter: WritableKeyPath<LinkCounters, UInt64>) {
            guard let own = mac?[keyPath: value], other.mac?[keyPath: value] != nil else { return }
            counters[keyPath: counter] = own
        }
        prefer(\.crcErrors, over: \.crcErrors)
        prefer(\.frameErrors, over: \.frameErrors)
        prefer(\.lateCollisions, over: \.lateCollisions)
        return counters
    }

    static func growth(_ now: UInt64, since earlier: UInt64, most: UInt64 = mostGrowth) -> UInt64? {
        now >= earlier && now - earlier < most ? now - earlier : nil
    }
}

/// What a driver counts of its MAC layer, by IEEE 802.3 clause 30 (`ethtool -S DEVICE --groups eth-mac`); `nil` where it does
/// not count it.
public struct MACCounters: Hashable, Sendable {
    /// `FrameCheckSequenceErrors`.
    public var crcErrors: UInt64?
    /// `AlignmentErrors`.
    public var frameErrors: UInt64?
    /// `LateCollisions`.
    public var lateCollisions: UInt64?

    public init(crcErrors: UInt64? = nil, frameErrors: UInt64? = nil, lateCollisions: UInt64? = nil) {
        self.crcErrors = crcErrors
        self.frameErrors = frameErrors
        self.lateCollisions = lateCollisions
    }
}

/// What the queueing disciplines of a link counted (tc(8)).
public struct QueueCounters: Hashable, Sendable {
    /// The kind of the root, such as `tbf`.
    public var kind: String
    public var sent: UInt64
    public var drops: UInt64
    /// How many bytes wait now.
    public var backlog: UInt64
    /// Whether packets are dropped only when the queue is full; others, such as fq_codel, drop to keep it short.
    public var isTailDrop: Bool
    /// Whether it, or a queue below it, is there to limit the rate.
    public var isShaped = false

    public init(kind: String, sent: UInt64 = 0, drops: UInt64 = 0, backlog: UInt64 = 0, isTailDrop: Bool = true) {
        self.kind = kind
        self.sent = sent
        self.drops = drops
        self.backlog = backlog
        self.isTailDrop = isTailDrop
    }

    /// The growth; `nil` for another queue, or one that was made anew.
    func growth(since earlier: QueueCounters) -> QueueCounters? {
        guard kind == earlier.kind, let sent = LinkCounters.growth(sent, since: earlier.sent),
            let drops = LinkCounters.growth(drops, since: earlier.drops)
        else { return nil }
        var growth = self
        (growth.sent, growth.drops) = (sent, drops)
        return growth
    }
}

/// What a Wi-Fi client counted since it was associated with its access point (`NL80211_ATTR_STA_INFO`).
public struct RadioCounters: Hashable, Sendable {
    /// The access point's hardware address.
    public var accessPoint: [UInt8]
    /// The average signal in dBm.
    public var signal: Int?
    /// The counters; `nil` where the driver has none.
    public var sent: UInt32?
    public var retries: UInt32?
    public var failures: UInt32?
    /// How often several beacons in a row were missing.
    public var beaconLosses: UInt32?

    public init(
        accessPoint: [UInt8],
        signal: Int? = nil,
        sent: UInt32? = nil,
        retries: UInt32? = nil,
        failures: UInt32? = nil,
        beaconLosses: UInt32? = nil
    ) {
        self.accessPoint = accessPoint
        self.signal = signal
        self.sent = sent
        self.retries = retries
        self.failures = failures
        self.beaconLosses = beaconLosses
    }

    /// The growth; `nil` with another access point, or after another association with it.
    public func growth(since earlier: RadioCounters) -> RadioCounters? {
        let counters: [KeyPath<RadioCounters, UInt32?>] = [\.sent, \.retries, \.failures, \.beaconLosses]
        let isSame = accessPoint == earlier.accessPoint
        guard isSame, counters.allSatisfy({ self[keyPath: $0] ?? 0 >= earlier[keyPath: $0] ?? 0 }) else { return nil }
        func growth(_ counter: KeyPath<RadioCounters, UInt32?>) -> UInt32? {
            guard let now = self[keyPath: counter], let before = earlier[keyPath: counter] else { return nil }
            return now - before
        }
        return RadioCounters(
            accessPoint: accessPoint,
            signal: signal,
            sent: growth(\.sent),
            retries: growth(\.retries),
            failures: growth(\.failures),
            beaconLosses: growth(\.beaconLosses)
        )
    }
}
