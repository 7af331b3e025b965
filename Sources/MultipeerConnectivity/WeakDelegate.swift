// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A program's delegate, which it may set and let go at any time and by any thread.
final class WeakDelegate<Delegate>: Sendable {
    private let lock = Mutex(())
    private nonisolated(unsafe) weak var stored: AnyObject?

    var value: Delegate? {
        get { lock.withLock { _ in unsafe stored } as? Delegate }
        set {
            let new = newValue.map { $0 as AnyObject }
            lock.withLock { _ in unsafe stored = new }
        }
    }
}
