// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The next deadline of each of many keys; every change costs a logarithm.
///
/// A heap in which outdated slots stay until they come up, or until they outnumber the others.
struct DeadlineQueue<Key: Hashable & Sendable>: Sendable {
    private struct Slot: Sendable {
        let deadline: Duration
        let key: Key
    }

    private var deadlines: [Key: Duration] = [:]
    private var heap: [Slot] = []

    var count: Int { deadlines.count }

    /// How many slots there are, outdated ones included.
    var slots: Int { heap.count }

    var next: Duration? { heap.first?.deadline }

    var keys: some Collection<Key> { deadlines.keys }

    /// The deadline of a key; `nil` removes it.
    subscript(key: Key) -> Duration? {
        get { deadlines[key] }
        set {
            guard Self.replace(&deadlines[key], newValue) else { return }
            if let newValue { push(Slot(deadline: newValue, key: key)) }
            tidy()
        }
    }

    /// Sets a deadline unless the key has an earlier one.
    mutating func lower(_ key: Key, to deadline: Duration) {
        guard Self.replace(&deadlines[key], deadline, unless: { $0 <= deadline }) else { return }
        push(Slot(deadline: deadline, key: key))
        tidy()
    }

    /// Sets a value, with one table lookup for reading and writing.
    /// - Returns: Whether it is another one.
    private static func replace(
        _ value: inout Duration?,
        _ new: Duration?,
        unless isKept: (Duration) -> Bool = { _ in false }
    ) -> Bool {
        guard value != new, !(value.map(isKept) ?? false) else { return false }
        value = new
        return true
    }

    private mutating func tidy() {
        if heap.count > 2 * deadlines.count + 64 {
            heap = deadlines.map { Slot(deadline: $0.value, key: $0.key) }.sorted { $0.deadline < $1.deadline }
        }
        dropOutdated()
    }

    /// Removes the keys that are due, the earliest first.
    mutating func removeDue(at now: Duration) -> [Key] {
        var due: [Key] = []
        while let first = heap.first, first.deadline <= now {
            pop()
            // A key that was set to the same time again has a slot for each; the first one counts.
            guard deadlines[first.key] == first.deadline else { continue }
            deadlines[first.key] = nil
            due.append(first.key)
        }
        dropOutdated()
        return due
    }

    private mutating func dropOutdated() {
        while let first = heap.first, deadlines[first.key] != first.deadline { pop() }
    }

    private mutating func push(_ slot: Slot) {
        heap.append(slot)
        var child = heap.count - 1
        while child > 0, heap[child].deadline < heap[(child - 1) / 2].deadline {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func pop() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < heap.count else { return }
            if child + 1 < heap.count, heap[child + 1].deadline < heap[child].deadline { child += 1 }
            guard heap[child].deadline < heap[parent].deadline else { return }
            heap.swapAt(child, parent)
            parent = child
        }
    }
}
