// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Configuration

extension Configuration {
    /// What is in force after a reload: the old values of what only a restart puts into effect, so a later reload still
    /// says that a restart is needed.
    ///
    /// - Parameters:
    ///   - old: The configuration in force.
    ///   - isExposed: Whether others can reach a socket that is open; what guards it is not given up for nothing then, as
    ///     when the new configuration listens elsewhere.
    /// - Returns: What is to be in force.
    func inForce(after old: Configuration, isExposed: Bool) -> Configuration {
        var merged = keepingWhatNeedsRestart(of: old)
        if isExposed, !isProtected, old.isProtected, !old.insecure {
            (merged.tls, merged.users, merged.tokenFile) = (old.tls, old.users, old.tokenFile)
        }
        // With liveness itself its conditions wait as well.
        if gatewayLiveness.isEnabled != old.gatewayLiveness.isEnabled { merged.gatewayLiveness = old.gatewayLiveness }
        return merged
    }
}
