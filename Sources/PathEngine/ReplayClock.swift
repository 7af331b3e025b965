// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
public import Netlink
internal import Synchronization

/// The time of a replay: it stands until the replay moves it, and knows the calendar of the recording.
public final class ReplayClock: TimeSource {
    private let now: Mutex<Duration>
    /// What the calendar showed at boot.
    private let origin: WallTime

    /// Stands at the first frame of a recording.
    public init(_ recording: NetlinkRecording) {
        let start = recording.entries.first?.boot ?? .zero
        now = Mutex(start)
        origin = recording.wall(at: .zero)
    }

    /// Time since the boot of the recorded machine.
    public var boot: Duration { now.withLock { $0 } }
    /// The same: a recording does not contain sleep.
    public var awake: Duration { boot }
    public var wall: WallTime { origin + boot }

    /// Moves to a later time; never back.
    func move(to time: Duration) { now.withLock { $0 = max($0, time) } }
}
