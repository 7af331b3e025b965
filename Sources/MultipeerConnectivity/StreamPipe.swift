// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// Bytes in transit between a stream of the program and the engine, on threads of their own.
final class StreamPipe: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var offset = 0
        /// Nothing is written any more.
        var isEnded = false
        var error: MCError?
        var onChange: @Sendable () -> Void = {}

        var count: Int { bytes.count - offset }
    }

    private let condition = NSCondition()
    private nonisolated(unsafe) var state = State()
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    private func withState<Value>(_ body: (inout State) -> Value) -> Value {
        condition.lock()
        let onChange: @Sendable () -> Void
        let value: Value
        value = unsafe body(&state)
        onChange = unsafe state.onChange
        condition.broadcast()
        condition.unlock()
        onChange()
        return value
    }

    private func inspect<Value>(_ body: (State) -> Value) -> Value {
        condition.lock()
        defer { condition.unlock() }
        return unsafe body(state)
    }

    /// Called, by any thread, whenever something is different.
    func setOnChange(_ onChange: @escaping @Sendable () -> Void) {
        condition.lock()
        unsafe state.onChange = onChange
        condition.unlock()
        onChange()
    }

    var hasBytes: Bool { inspect { $0.count > 0 } }
    var hasRoom: Bool { inspect { $0.count < capacity && $0.error == nil } }
    /// Whether everything was read that there will be.
    var isOver: Bool { inspect { $0.isEnded && $0.count == 0 } }
    /// Whether nothing is written any more.
    var isEnded: Bool { inspect { $0.isEnded } }
    var error: MCError? { inspect { $0.error } }

    /// Writes what there is room for; waits for some where there is none.
    /// - Returns: How many bytes were accepted, or -1 when nobody reads any more.
    func write(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        condition.lock()
        while unsafe state.count >= capacity, unsafe state.error == nil { condition.wait() }
        condition.unlock()
        return withState { state in
            guard state.error == nil else { return -1 }
            let count = min(capacity - state.count, bytes.count)
            unsafe state.bytes.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[..<count]))
            return count
        }
    }

    /// Writes without a limit: its sender keeps to one.
    func put(_ bytes: [UInt8]) { withState { $0.bytes += bytes } }

    /// Reads what there is; waits for something where `waits`.
    /// - Returns: Nothing at the end, or when there is nothing.
    func read(upTo limit: Int, waits: Bool) -> [UInt8] {
        condition.lock()
        while waits, unsafe state.count == 0, unsafe !state.isEnded, unsafe state.error == nil { condition.wait() }
        condition.unlock()
        return withState { state in
            let count = min(limit, state.count)
            let bytes = Array(state.bytes[state.offset..<state.offset + count])
            state.offset += count
            if state.offset == state.bytes.count {
                state.bytes.removeAll(keepingCapacity: true)
                state.offset = 0
            } else if state.offset > 1 << 16 {
                state.bytes.removeFirst(state.offset)
                state.offset = 0
            }
            return bytes
        }
    }

    /// Nothing is written any more.
    func end() { withState { $0.isEnded = true } }

    func fail(_ error: MCError) { withState { $0.error = $0.error ?? error } }
}
