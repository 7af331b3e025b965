// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The code a command leaves to its caller.
struct ExitStatus: RawRepresentable, Hashable, Sendable {
    /// The code, from 0 to 255.
    let rawValue: Int32

    /// 0: done, or the condition is true.
    static let success = ExitStatus(rawValue: 0)
    /// 1: the condition is false, nothing was found, or a service failed while it ran.
    static let negative = ExitStatus(rawValue: 1)
    /// 2: the command line or the configuration is wrong.
    static let usage = ExitStatus(rawValue: 2)
    /// 3: timed out.
    static let timedOut = ExitStatus(rawValue: 3)
    /// 4: the service cannot be reached.
    static let unreachable = ExitStatus(rawValue: 4)
    /// 5: refused, for lack of permission.
    static let refused = ExitStatus(rawValue: 5)
    /// 130: interrupted by Ctrl-C.
    static let interrupted = ExitStatus(rawValue: 130)

    var meaning: String {
        switch self {
        case .success: "done"
        case .negative: "negative result"
        case .usage: "wrong usage"
        case .timedOut: "timed out"
        case .unreachable: "the service cannot be reached"
        case .refused: "permission refused"
        case .interrupted: "interrupted"
        default: "exit status \(rawValue)"
        }
    }
}
