// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The latest events, bounded in number and bytes, for readers that come back.
struct ReplayRing {
    /// How many events are kept at most.
    let maximumCount: Int
    /// How many bytes their lines may have together.
    let maximumBytes: Int
    private(set) var bytes = 0
    /// A circular buffer: `count` events from `head` on.
    private var slots: [Event?] = []
    private var head = 0
    private(set) var count = 0

    init(maximumCount: Int, maximumBytes: Int) {
        self.maximumCount = max(1, maximumCount)
        self.maximumBytes = maximumBytes
    }

    /// Adds the newest event and forgets the oldest ones over the bounds; the newest itself always stays.
    mutating func append(_ event: Event) {
        while count > 0 && (count >= maximumCount || bytes + event.line.count > maximumBytes) { removeOldest() }
        if count == slots.count { grow() }
        slots[(head + count) % slots.count] = event
        count += 1
        bytes += event.line.count
    }

    /// The events after a sequence number, oldest first.
    func events(after sequence: UInt64) -> [Event] {
        var found: [Event] = []
        for offset in (0..<count).reversed() {
            guard let event = slots[(head + offset) % slots.count], event.sequence > sequence else { break }
            found.append(event)
        }
        return found.reversed()
    }

    private mutating func removeOldest() {
        bytes -= slots[head]?.line.count ?? 0
        slots[head] = nil
        head = (head + 1) % slots.count
        count -= 1
    }

    private mutating func grow() {
        let ordered = (0..<count).map { slots[(head + $0) % slots.count] }
        let capacity = min(maximumCount, max(16, 2 * count))
        slots = ordered + Array(repeating: nil, count: capacity - count)
        head = 0
    }
}
