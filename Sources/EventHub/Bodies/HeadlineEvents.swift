// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import Diagnosis
public import LinuxIO
public import OrderedJSON

/// `headline.changed`: the uplink as a whole is in another state.
public struct HeadlineChanged: EventBody, MemberDeclaring {
    struct Previous: MemberDeclaring, Sendable {
        let headline: HeadlineDocument
        let durationSeconds: Double

        static let members = Members<Self>(HeadlineDocument.form.extended) { $0.headline }
            .member("duration_seconds", as: .seconds) { $0.durationSeconds }
    }

    let headline: HeadlineDocument
    let chain: [ChainElementDocument]
    let previous: Previous
    private let change: HeadlineTracker.Change
    private let since: WallTime

    /// Describes a change whose state began at `since`, and the one before at `previousSince`.
    public init(_ change: HeadlineTracker.Change, since: WallTime, previousSince: WallTime) {
        headline = HeadlineDocument(change.headline, since: since)
        chain = change.headline.chain.map(ChainElementDocument.init)
        previous = Previous(
            headline: HeadlineDocument(change.previous, since: previousSince),
            durationSeconds: Rounded.seconds(change.previousDuration)
        )
        self.change = change
        self.since = since
    }

    public var name: EventName { .headlineChanged }
    public var severity: Severity {
        switch change.headline.state.level {
        case .good, .untested: .info
        case .worse: .warning
        case .bad: .error
        }
    }
    public var message: String {
        let state = change.headline.state
        guard state.isGood, !change.previous.state.isGood else { return "\(state.word): \(headline.message)" }
        let seconds = Int(change.previousDuration / .seconds(1))
        return "\(state.word) after \(seconds) s of \(change.previous.state.word): \(headline.message)"
    }
    /// Such as `Online -> No Internet since 13:57:02: nothing beyond 192.0.2.1 answers`, in local time.
    public var line: String {
        let (word, old) = (change.headline.state.word, change.previous.state.word)
        let clock = LocalTime(since)?.clock ?? "\(since)"
        return "\(old == word ? "" : "\(old) -> ")\(word) since \(clock): \(headline.message)"
    }

    public static let members = Members<Self>.object()
        .member("headline") { $0.headline }
        .member("chain") { $0.chain }
        .member("previous", "The headline as it was, and for how long.") { $0.previous }
}
