// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// Lets so many in at a time; the others wait without holding a thread.
///
/// Whoever came last goes first, so that a serialized suite that has begun need not queue again for each of its cases.
final class Turnstile: Sendable {
    /// For tests with a network namespace of their own.
    ///
    /// The kernel makes, changes and unmakes all network namespaces under one lock: hundreds at once keep each other,
    /// and the events they wait for, waiting for seconds. Four a core keep the machine busy while some tests wait.
    static let namespaces = Turnstile(width: 4 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(width: Int) { state = Mutex(State(free: width)) }

    /// Waits until there is room.
    func enter() async {
        await withCheckedContinuation { continuation in
            let hasRoom = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if hasRoom { continuation.resume() }
        }
    }

    /// Makes room for another one.
    func leave() {
        let next = state.withLock { state in
            if state.waiting.isEmpty { state.free += 1 }
            return state.waiting.popLast()
        }
        next?.resume()
    }
}
