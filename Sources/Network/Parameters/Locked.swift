// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A value under a lock, so that an object with settings may be used by any thread.
final class Locked<Value: Sendable>: Sendable {
    private let storage: Mutex<Value>

    init(_ value: Value) { storage = Mutex(value) }

    /// A copy of the value.
    var value: Value { storage.withLock { $0 } }

    /// One part of it.
    subscript<Part: Sendable>(_ path: any WritableKeyPath<Value, Part> & Sendable) -> Part {
        get { storage.withLock { $0[keyPath: path] } }
        set { storage.withLock { $0[keyPath: path] = newValue } }
    }
}
