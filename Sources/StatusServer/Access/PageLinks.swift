// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// One-time links to the page, and the sessions that they begin; pure but for the secrets.
///
/// The secret of a link stands in the fragment of its address, which browsers send to no server. A page exchanges it
/// once for the token of a session, which may start tests and nothing else.
struct PageLinks {
    static let linkLifetime = Duration.seconds(60)
    static let sessionLifetime = Duration.seconds(3600)
    /// The most of each; the oldest one goes first.
    static let most = 16

    /// Secrets by their digests, so that the time of a comparison reveals nothing.
    private struct Secrets {
        private var entries: [(digest: [UInt8], end: Duration)] = []

        mutating func add(at now: Duration, for lifetime: Duration) -> String {
            let secret = (0..<16).map { _ in UInt8.random(in: 0...UInt8.max) }.hexadecimal()
            entries = Array(entries.filter { $0.end > now }.suffix(PageLinks.most - 1))
            entries.append((Self.digest(secret), now + lifetime))
            return secret
        }

        func holds(_ secret: String, at now: Duration) -> Bool {
            let digest = Self.digest(secret)
            return entries.contains { SHA256.areEqual($0.digest, digest) && $0.end > now }
        }

        mutating func remove(_ secret: String) {
            let digest = Self.digest(secret)
            entries.removeAll { SHA256.areEqual($0.digest, digest) }
        }

        private static func digest(_ secret: String) -> [UInt8] { SHA256.digest(of: Array(secret.utf8)) }
    }

    private var links = Secrets()
    private var sessions = Secrets()

    /// A new link: 128 random bits, in hexadecimal.
    mutating func issue(at now: Duration) -> String { links.add(at: now, for: Self.linkLifetime) }

    /// Exchanges the secret of a link for the token of a session; `nil` when it was used, is too old, or never was one.
    mutating func redeem(_ secret: String, at now: Duration) -> String? {
        guard links.holds(secret, at: now) else { return nil }
        links.remove(secret)
        return sessions.add(at: now, for: Self.sessionLifetime)
    }

    func isSession(_ token: String, at now: Duration) -> Bool { sessions.holds(token, at: now) }
}
