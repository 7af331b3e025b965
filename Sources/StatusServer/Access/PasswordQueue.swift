// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Decides which passwords are checked when; pure.
///
/// A bcrypt check is meant to be slow, and anybody may ask for one. One runs at a time, and after it the processor rests
/// for three times as long as it took, so that checks never take more than a quarter of one; a bounded number waits.
/// Those that were right are remembered by a code under a key of this process, so that a scraper costs one check.
struct PasswordQueue {
    /// Names a check: the code of user, hash and password.
    typealias Key = [UInt8]

    struct Check: Equatable {
        let key: Key
        let password: [UInt8]
        let hash: String
    }

    enum Answer: Equatable {
        case right
        case waits
        case full
    }

    /// The most checks that wait.
    static let capacity = 16
    static let longestRest = Duration.seconds(1)

    private let secret: [UInt8]
    private let capacity: Int
    /// What was right, by user.
    private var known: [String: Key] = [:]
    private var waiting: [Check] = []
    private var running: Key?
    private var restUntil = Duration.zero

    init(secret: [UInt8], capacity: Int = PasswordQueue.capacity) {
        self.secret = secret
        self.capacity = capacity
    }

    func key(user: String, password: [UInt8], hash: String) -> Key {
        // No part but the last can hold a NUL.
        SHA256.code(of: Array(user.utf8) + [0] + Array(hash.utf8) + [0] + password, key: secret)
    }

    /// Takes a question; the same question is asked once.
    mutating func ask(_ check: Check, user: String) -> Answer {
        if let key = known[user], SHA256.areEqual(key, check.key) { return .right }
        if running == check.key || waiting.contains(where: { $0.key == check.key }) { return .waits }
        guard waiting.count < capacity else { return .full }
        waiting.append(check)
        return .waits
    }

    /// The check to begin now; `nil` when one is running, none waits, or the processor rests.
    mutating func next(at now: Duration) -> Check? {
        guard running == nil, !waiting.isEmpty, now >= restUntil else { return nil }
        let check = waiting.removeFirst()
        running = check.key
        return check
    }

    /// When to ask for the next check; `nil` when something else will.
    var nextMoment: Duration? { running == nil && !waiting.isEmpty ? restUntil : nil }

    /// Takes the end of the running check.
    mutating func finished(user: String?, isRight: Bool, took duration: Duration, at now: Duration) {
        if isRight, let user, let running { known[user] = running }
        running = nil
        restUntil = now + min(duration * 3, Self.longestRest)
    }

    /// Forgets what was right, for new users or passwords.
    mutating func forget() { known = [:] }
}
