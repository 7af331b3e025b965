// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Remembers since when a headline's state stands, and which change of it is to be told.
///
/// A state is told once it stood for a second: moving from one uplink to another is no outage of the Internet.
public struct HeadlineKeeper: Hashable, Sendable {
    /// A state that is another one than was told before.
    public struct Change: Hashable, Sendable {
        public let headline: Headline
        /// When the state began, as time since boot.
        public let since: Duration
        /// The headline that was told before, as it was judged last while its state stood.
        public let previous: Headline
        /// How long its state stood.
        public let previousDuration: Duration
    }

    private struct Told: Hashable {
        var headline: Headline
        let since: Duration
    }

    /// The headline as it was judged last; `nil` before the first.
    public private(set) var headline: Headline?
    /// Since when its state stands, as time since boot.
    public private(set) var since = Duration.zero
    private var told: Told?

    /// How long a state stands before it is told.
    public static let patience = Duration.seconds(1)

    public init() {}

    /// Takes what was judged now; the first is told by nobody.
    public mutating func note(_ new: Headline, at now: Duration) {
        if headline?.state != new.state { since = now }
        headline = new
        guard let told else { return self.told = Told(headline: new, since: now) }
        if told.headline.state == new.state { self.told?.headline = new }
    }

    /// When to look whether a change is to be told; `nil` while there is none.
    public var due: Duration? {
        guard let headline, headline.state != told?.headline.state else { return nil }
        return since + Self.patience
    }

    /// The change that is to be told now.
    public mutating func takeChange(at now: Duration) -> Change? {
        guard let due, due <= now, let headline, let old = told else { return nil }
        told = Told(headline: headline, since: since)
        return Change(
            headline: headline,
            since: since,
            previous: old.headline,
            previousDuration: since - old.since
        )
    }
}
