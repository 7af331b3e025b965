// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Why something said about events cannot be.
public enum EventHubError: Error, Hashable, Sendable {
    /// A pattern matches no event of the catalogue.
    case unknownEvent(String)
    /// A text is no position in an event stream, such as `7f3a.46`.
    case invalidPosition(String)
}

extension EventHubError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unknownEvent(let pattern): "'\(pattern)' matches no event; see nwpath-events(7) for their names"
        case .invalidPosition(let text): "'\(text)' is no event position; expected STREAM.SEQ such as 7f3a.46"
        }
    }
}
