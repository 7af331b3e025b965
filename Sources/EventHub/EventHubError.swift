// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Why something said about events cannot be.
public enum EventHubError: Error, Hashable, Sendable {
    /// A text is no position in an event stream, such as `7f3a.46`.
    case invalidPosition(String)
}

extension EventHubError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .invalidPosition(let text): "'\(text)' is no event position; expected STREAM.SEQ such as 7f3a.46"
        }
    }
}
