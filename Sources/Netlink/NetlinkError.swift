// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Why a request to the kernel failed.
public enum NetlinkError: Error, Hashable, Sendable {
    /// No socket: `step` failed with the positive errno `code`.
    case noSocket(step: String, code: Int32)
    /// The kernel refused `request` with the positive errno `code`; `detail` is its own explanation, if it gave one.
    case refused(request: MessageType, code: Int32, detail: String?)
    /// The request needs a privilege, here `CAP_NET_ADMIN`, that the process lacks (`EPERM`).
    case notPermitted(request: MessageType)
    /// The kernel did not answer within the limit.
    case timedOut(request: MessageType)
    case malformedAnswer(request: MessageType)
    /// The recording that replaces the kernel has no answer to this.
    case notRecorded(request: MessageType)

    /// Whether the kernel, or a sandbox that replaces it, has no notifications to join.
    public var isWithoutNotifications: Bool {
        if case .noSocket(let step, _) = self { step.hasPrefix("NETLINK_ADD_MEMBERSHIP") } else { false }
    }

    /// The positive errno behind the error.
    public var code: Int32 {
        switch self {
        case .noSocket(_, let code), .refused(_, let code, _): code
        case .notPermitted: 1
        case .timedOut: 110
        case .malformedAnswer: 74
        case .notRecorded: 61
        }
    }
}
