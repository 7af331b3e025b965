// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

/// `stream.reset`: what a reader missed cannot be replayed, so it must fetch the present state; only on streams.
public struct StreamReset: EventBody {
    /// Why the past is incomplete.
    public enum Reason: String, Encodable, Sendable, CaseIterable {
        /// The position is older than ring and log.
        case stale
        /// The position is of another stream: the log was lost meanwhile.
        case streamChanged = "stream_changed"
        /// The position is ahead of the log.
        case ahead
        /// The reader was too slow and fell out of its bound.
        case slow
    }

    struct Reset: Encodable, Sendable {
        let reason: Reason
        @Nullable var requested: String?
        let resumesAfter: UInt64

        private enum CodingKeys: String, CodingKey {
            case reason
            case requested
            case resumesAfter = "resumes_after"
        }
    }

    let reset: Reset

    /// Describes the reset.
    ///
    /// - Parameters:
    ///   - reason: Why the past is incomplete.
    ///   - requested: The position the reader asked for, as it gave it.
    ///   - resumesAfter: The last number the reader does not get.
    public init(reason: Reason, requested: EventPosition?, resumesAfter: UInt64) {
        reset = Reset(reason: reason, requested: requested?.description, resumesAfter: resumesAfter)
    }

    /// Which kind of event it is.
    public var name: EventName { .streamReset }
    /// How much it matters.
    public var severity: Severity { .warning }
    /// One sentence for people.
    public var message: String {
        switch reset.reason {
        case .stale: "Events before \(reset.resumesAfter + 1) are no longer kept; fetch the present state"
        case .streamChanged: "The event log was lost and began anew; fetch the present state"
        case .ahead: "The position lies in the future; fetch the present state"
        case .slow: "The reader was too slow; fetch the present state"
        }
    }

    private enum CodingKeys: String, CodingKey {
        case reset
    }
}
