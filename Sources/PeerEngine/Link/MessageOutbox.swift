// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Messages of a program for one peer, between any thread and the loop.
///
/// A peer that reads nothing costs capacity and an error.
package final class MessageOutbox: Sendable {
    package enum Failure: Error, Hashable, Sendable {
        /// As much waits for the peer already as may.
        case full
        /// The peer is gone.
        case closed
    }

    private struct State: Sendable {
        var reliable: [[UInt8]] = []
        /// The latest replaces one that waits.
        var unreliable: [[UInt8]] = []
        var unreliableCount = 0
        /// What waits here, on the loop and in the connection.
        var waiting = 0
        var isAwake = false
        /// Whether what is left waits for room, and not for the loop.
        var isHeld = false
        var isClosed = false
    }

    /// How long a message may be.
    package static let maximumMessage = 16 << 20
    /// How many bytes wait for a peer at most: one of the longest messages.
    package static let capacity = maximumMessage + overhead
    /// How many messages that may be lost wait for the loop at most, of ``capacity`` in all.
    private static let mostUnreliable = 1024
    /// What an entry costs besides its bytes, so that empty messages are bounded, too.
    static let overhead = 32

    private let state = Mutex(State())
    private let wake: @Sendable () -> Void

    /// Calls `wake`, on any thread, when there is something for the loop.
    init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    /// Whether a message of this length can be queued now.
    package func hasRoom(for count: Int) -> Bool {
        state.withLock { !$0.isClosed && $0.waiting + count + Self.overhead <= Self.capacity }
    }

    /// Queues a message that arrives in order, or not at all with the connection.
    package func add(_ message: [UInt8]) throws(Failure) {
        let mustWake = try state.withLock { state throws(Failure) in
            guard !state.isClosed else { throw .closed }
            let cost = message.count + Self.overhead
            guard state.waiting + cost <= Self.capacity else { throw .full }
            state.waiting += cost
            state.reliable.append(message)
            defer { state.isAwake = true }
            return !state.isAwake
        }
        if mustWake { wake() }
    }

    /// Queues a message that may be lost.
    package func addUnreliable(_ message: [UInt8]) throws(Failure) {
        let mustWake = try state.withLock { state throws(Failure) in
            guard !state.isClosed else { throw .closed }
            let mustWake = !state.isAwake || (state.isHeld && state.unreliable.isEmpty)
            state.unreliable.append(message)
            state.unreliableCount += message.count
            // Lost at once: they would be too late anyhow.
            while state.unreliable.count > Self.mostUnreliable
                || (state.unreliable.count > 1 && state.unreliableCount > Self.maximumMessage)
            {
                state.unreliableCount -= state.unreliable.removeFirst().count
            }
            state.isAwake = true
            return mustWake
        }
        if mustWake { wake() }
    }

    /// Removes and returns what the loop has room for, and all that may be lost.
    func dequeue(room: Int) -> (reliable: [[UInt8]], unreliable: [[UInt8]]) {
        state.withLock { state in
            var (count, bytes) = (0, 0)
            while count < state.reliable.count, bytes < room {
                bytes += state.reliable[count].count + Self.overhead
                count += 1
            }
            let sent = Array(state.reliable.prefix(count))
            state.reliable.removeFirst(count)
            let others = state.unreliable
            state.unreliable = []
            state.unreliableCount = 0
            // What is left is fetched when there is room, without a call.
            state.isAwake = !state.reliable.isEmpty
            state.isHeld = state.isAwake
            return (sent, others)
        }
    }

    /// So many bytes, and messages, have gone to the kernel.
    func gone(_ bytes: Int) { state.withLock { $0.waiting = max($0.waiting - bytes, 0) } }

    /// How many bytes wait, with what their entries cost.
    package var waiting: Int { state.withLock { $0.waiting } }

    func close() {
        state.withLock { state in
            state.isClosed = true
            state.reliable = []
            state.unreliable = []
            state.unreliableCount = 0
        }
    }
}
