// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// How a provider is doing, for people and the API; it never decides a status (rule S51).
public struct ProviderHealth: Hashable, Sendable {
    public enum State: Hashable, Sendable {
        case disabled
        /// The service, device or kernel part is not there.
        case absent
        /// Its facts are current.
        case active
        /// Its facts are the last it reported; it went away, hangs or answers nonsense since then (time since boot).
        case stale(since: Duration)
    }

    public internal(set) var state = State.absent
    /// The last thing that went wrong; kept after recovery, so that people find it.
    public internal(set) var lastError: ProviderError?

    /// Whether the facts are older than they should be.
    public var isStale: Bool {
        if case .stale = state { true } else { false }
    }

    mutating func succeed() { state = .active }

    /// Something went wrong: facts there were become stale, and stay stale since the first time.
    mutating func fail(_ error: ProviderError, at now: Duration) {
        lastError = error
        if state == .active { state = .stale(since: now) }
    }
}
