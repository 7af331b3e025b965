// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO

/// Why a provider knows nothing, or nothing new.
public enum ProviderError: Error, Hashable, Sendable {
    /// There is no connection to the bus.
    case disconnected
    /// The service did not answer within its limit.
    case timedOut
    /// The service answered with a D-Bus error of this name.
    case refused(name: String)
    /// The service answered with something else than its interface promises.
    case malformed(what: String)
    case system(call: String, code: Errno)
}

extension ProviderError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .disconnected: "no connection to the bus"
        case .timedOut: "no answer in time"
        case .refused(let name): "refused with \(name)"
        case .malformed(let what): "a malformed answer: \(what)"
        case .system(let call, let code): "\(call): \(code)"
        }
    }
}
