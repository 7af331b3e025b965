// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// How long a fault must be seen before it is raised, and be gone before it is cleared.
public struct HoldDown: Hashable, Sendable {
    /// In how many rounds it must be seen.
    public var rounds: Int
    /// Among how many of the last rounds.
    public var window: Int
    /// How long after it was first seen at the earliest.
    public var age: Duration
    /// After how many rounds without it, one after another, it is over.
    public var goodRounds: Int
}

extension HoldDown {
    /// What the kernel reports needs no second round; a lost packet does, unless many connections show the same.
    public init(for code: VerdictCode, isShownByTraffic: Bool = false) {
        switch code.layer {
        case .gateway where isShownByTraffic, .captive where isShownByTraffic, .wan where isShownByTraffic:
            self.init(rounds: 1, window: 1, age: .zero, goodRounds: 2)
        case _ where code.isOfTraffic:
            self.init(rounds: 1, window: 1, age: .zero, goodRounds: 1)
        case .performance: self.init(rounds: 3, window: 5, age: .seconds(30), goodRounds: 2)
        case .link where code == .linkLoss: self.init(rounds: 3, window: 5, age: .seconds(30), goodRounds: 2)
        // One answer to the group may be lost: radio links do not repeat what goes to all.
        case .link where code == .mdnsBlocked: self.init(rounds: 2, window: 2, age: .seconds(5), goodRounds: 2)
        // A host that is switched off or starts again does not answer for a while either.
        case .link where code == .linkClientIsolation:
            self.init(rounds: 3, window: 3, age: .seconds(10), goodRounds: 1)
        case .link, .address, .local: self.init(rounds: 1, window: 1, age: .zero, goodRounds: 1)
        case .gateway: self.init(rounds: 2, window: 2, age: .seconds(1), goodRounds: 2)
        case .captive, .wan, .dns, .transport, .application, .resolve, .route, .reach, .tcp, .tls, .http, .websocket:
            self.init(rounds: 2, window: 2, age: .seconds(5), goodRounds: 2)
        }
    }
}
