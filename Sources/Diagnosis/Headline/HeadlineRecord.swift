// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What the facts until now showed: the headline, since when its state stands, and how long each state lasted.
///
/// Pure: only ``reevaluate(_:asleep:)`` and ``dequeueChange(at:)`` record; nothing that is read does.
public struct HeadlineRecord: Hashable, Sendable {
    private var tracker = HeadlineTracker()
    private var seconds = HeadlineSeconds()
    private var uplink = UplinkTracker()
    private var expiry: Duration?

    public init() {}

    /// The headline, and since when its state stands, as time since boot; `nil` before the first evaluation.
    public var current: (headline: Headline, since: Duration)? { tracker.headline.map { ($0, tracker.since) } }

    /// When to evaluate again although no fact changes, as time since boot: a change is to be reported, or an answer expires.
    public var due: Duration? { [tracker.due, expiry].compactMap(\.self).min() }

    /// Evaluates the facts of now and records what they show.
    /// - Parameters:
    ///   - facts: All but since when a gateway answers and a state is reported, which is recorded here.
    ///   - asleep: How long the machine was suspended until now.
    public mutating func reevaluate(_ facts: HeadlineFacts, asleep: Duration = .zero) {
        var facts = facts
        uplink.apply(facts.path, at: facts.now)
        facts.statusSince = max(facts.statusSince, uplink.since)
        facts.reportedSince = tracker.reportedSince
        let headline = HeadlineEvaluator(facts).headline
        tracker.apply(headline, at: facts.now)
        seconds.record(headline.state, since: tracker.since, at: facts.now, asleep: asleep)
        expiry = facts.expiry
    }

    /// The change that is to be reported now, once.
    public mutating func dequeueChange(at now: Duration) -> HeadlineTracker.Change? { tracker.dequeueChange(at: now) }

    /// How many seconds the headline was in a state; see ``HeadlineSeconds/seconds(of:at:asleep:)``.
    public func seconds(of state: Headline.State, at now: Duration, asleep: Duration = .zero) -> Double {
        seconds.seconds(of: state, at: now, asleep: asleep)
    }
}
