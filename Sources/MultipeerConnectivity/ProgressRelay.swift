// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization

/// Brings figures of the engine to a `Progress`, on the session's queue and no more often than that has time for.
final class ProgressRelay: Sendable {
    /// How many bytes there are, where that is known beforehand.
    let total: UInt64
    private let progress: Progress
    private let queue: DispatchQueue
    private let latest = Mutex<(count: Int64, total: Int64)?>(nil)

    init(_ progress: Progress, total: UInt64 = 0, queue: DispatchQueue) {
        self.progress = progress
        self.total = total
        self.queue = queue
    }

    /// So many bytes of so many; may be called by any thread.
    func set(_ count: UInt64, of total: UInt64) {
        let isFirst = latest.withLock { latest in
            defer { latest = (Int64(clamping: count), Int64(clamping: total)) }
            return latest == nil
        }
        guard isFirst else { return }
        queue.async { [self] in
            guard
                let (count, total) = latest.withLock({ latest in
                    defer { latest = nil }
                    return latest
                })
            else { return }
            if progress.totalUnitCount != total { progress.totalUnitCount = total }
            if progress.completedUnitCount != count { progress.completedUnitCount = count }
        }
    }
}
