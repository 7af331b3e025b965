// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// How long one iteration of the loop reads packets: a flood must not delay the kernel's messages, signals and clients.
///
/// What is left stays in the socket, and the loop comes back for it.
struct ReadLimit {
    static let limit = Duration.milliseconds(2)
    /// Packets that cost next to nothing are counted.
    static let packets = 256

    let started: Duration
    private let clock: any TimeSource
    private var left = Self.packets

    init(_ clock: any TimeSource) {
        self.clock = clock
        started = clock.boot
    }

    /// Counts a packet, of which there is always one.
    /// - Returns: Whether another one may be read.
    mutating func allowsPacket() -> Bool {
        guard left > 0, left == Self.packets || clock.boot - started < Self.limit else { return false }
        left -= 1
        return true
    }
}
