// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Tracks since when a headline's state stands, and which change of it is to be reported.
///
/// A state is reported once it stood for a second: moving from one uplink to another is no outage of the Internet.
/// ``Headline/State/checking`` is shown, but never reported: what comes of it is dated from the first failed test, or the
/// first that answered again.
public struct HeadlineTracker: Hashable, Sendable {
    /// A state, or the cause of one, that is another one than was reported before.
    public struct Change: Hashable, Sendable {
        public let headline: Headline
        /// When the state began, as time since boot.
        public let since: Duration
        /// The headline that was reported before, as it was while its state stood last.
        public let previous: Headline
        /// When its state began; the same as `since` where the cause alone changed.
        public let previousSince: Duration

        /// How long the state before stood.
        public var previousDuration: Duration { since - previousSince }
    }

    private struct Reported: Hashable {
        var headline: Headline
        let since: Duration
        /// The cause that was reported; the headline may have lost it meanwhile.
        let cause: Headline.Cause?
    }

    /// The newest headline; `nil` before the first.
    public private(set) var headline: Headline?
    /// Since when its state stands, as time since boot.
    public private(set) var since = Duration.zero
    private var reported: Reported?
    /// When the state was found first, as time since boot.
    private var found = Duration.zero
    /// When the reported state was last found, as time since boot.
    private var lastFound = Duration.zero
    /// Since when the cause stands, where it is another one than was reported.
    private var causeSince: Duration?

    /// How long a state stands before it is reported.
    public static let holdDown = Duration.seconds(1)

    public init() {}

    /// Since when the state stands that was reported last.
    public var reportedSince: Duration { reported?.since ?? .zero }

    /// Applies the newest headline; the first of all is reported only if something is wrong.
    public mutating func apply(_ new: Headline, at now: Duration) {
        let old = headline
        headline = new
        guard let reported else {
            since = min(now, new.began ?? now)
            lastFound = now
            let first = new.state.isGood ? new : new.beforeTests
            return self.reported = Reported(headline: first, since: since, cause: first.cause)
        }
        guard reported.headline.state != new.state else {
            (since, lastFound) = (reported.since, now)
            let isClearer = new.cause?.isSpecific == true && new.cause != reported.cause && new.state.level == .bad
            causeSince = isClearer ? causeSince ?? now : nil
            if !isClearer { self.reported?.headline = new }
            return
        }
        causeSince = nil
        guard old?.state != new.state else { return }
        found = now
        // What follows from failing tests began with the first of them.
        let suspicion = old?.state == .checking && !new.state.isGood ? old?.began : nil
        // What was found when it was last evaluated did not end before that, unless failures began meanwhile.
        let earliest = new.state.isGood ? lastFound : reported.since
        since = max(earliest, [new.began ?? now, suspicion, now].compactMap(\.self).min() ?? now)
    }

    /// When to report a change; `nil` while there is none.
    public var due: Duration? {
        guard let headline, headline.state != .checking else { return nil }
        guard headline.state == reported?.headline.state else {
            // Another fault after one that was reported may be a part of the recovery.
            let isWrongStill = reported?.headline.state.isGood == false && !headline.state.isGood
            return (isWrongStill ? found : since) + Self.holdDown
        }
        return causeSince.map { $0 + Self.holdDown }
    }

    /// The change that is to be reported now.
    public mutating func dequeueChange(at now: Duration) -> Change? {
        guard let due, due <= now, let headline, let old = reported else { return nil }
        (reported, causeSince) = (Reported(headline: headline, since: since, cause: headline.cause), nil)
        return Change(headline: headline, since: since, previous: old.headline, previousSince: old.since)
    }
}

extension Headline {
    /// The same machine before anything was known.
    fileprivate var beforeTests: Headline {
        Headline(
            state: .checking,
            message: HeadlineText.noResultYet,
            hint: nil,
            cause: nil,
            began: nil,
            chain: chain
        )
    }
}
