// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The code a command leaves to its caller.
public struct ExitStatus: RawRepresentable, Hashable, Sendable {
    /// The code, from 0 to 255.
    public let rawValue: Int32

    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// 0: done, or the condition is true.
    public static let success = ExitStatus(rawValue: 0)
    /// 1: the condition is false, nothing was found, or a service failed while it ran.
    public static let negative = ExitStatus(rawValue: 1)
    /// 2: the command line or the configuration is wrong.
    public static let usage = ExitStatus(rawValue: 2)
    /// 3: timed out.
    public static let timedOut = ExitStatus(rawValue: 3)
    /// 4: the service cannot be reached.
    public static let unreachable = ExitStatus(rawValue: 4)
    /// 5: refused, for lack of permission.
    public static let refused = ExitStatus(rawValue: 5)
    /// 130: interrupted by Ctrl-C.
    public static let interrupted = ExitStatus(rawValue: 130)

    public var meaning: String {
        switch self {
        case .success: "done"
        case .negative: "the answer is no"
        case .usage: "wrong usage"
        case .timedOut: "timed out"
        case .unreachable: "the service cannot be reached"
        case .refused: "permission refused"
        case .interrupted: "interrupted"
        default: "exit status \(rawValue)"
        }
    }
}
