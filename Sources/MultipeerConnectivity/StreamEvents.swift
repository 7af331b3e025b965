// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import FoundationBonjour
internal import Synchronization

/// Notifies the delegate of a stream, on the run loops that it is scheduled in.
final class StreamEvents: Sendable {
    private let runLoopQueue: RunLoopQueue<Void>
    private let flag: PostedFlag

    /// `handler` is called on those run loops after something may have happened.
    init(_ handler: @escaping () -> Void) {
        let posted = PostedFlag()
        flag = posted
        runLoopQueue = RunLoopQueue { _ in
            posted.clear()
            handler()
        }
    }

    /// Whether the run loops were woken: events until then are handled in the same call.
    private final class PostedFlag: Sendable {
        private let isSet = Mutex(false)

        /// - Returns: Whether it was not set.
        func set() -> Bool {
            isSet.withLock { isSet in
                defer { isSet = true }
                return !isSet
            }
        }

        func clear() { isSet.withLock { $0 = false } }
    }

    /// Something may have happened; may be called by any thread.
    func post() { if flag.set() { runLoopQueue.post(()) } }

    func schedule(in loop: RunLoop, forMode mode: RunLoop.Mode) { runLoopQueue.schedule(in: loop, forMode: mode) }

    func remove(from loop: RunLoop, forMode mode: RunLoop.Mode) { runLoopQueue.remove(from: loop, forMode: mode) }
}
