// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Configuration

extension Configuration {
    /// This configuration with the old values of everything that only a restart puts into effect.
    ///
    /// It is what is in force after a reload, so a later reload still says that a restart is needed.
    ///
    /// - Parameters:
    ///   - old: The configuration in force.
    ///   - isExposed: Whether others can reach a socket that is open; what guards it is not given up for nothing then, as
    ///     when the new configuration listens elsewhere.
    /// - Returns: What is to be in force.
    func keepingWhatNeedsRestart(of old: Configuration, isExposed: Bool = false) -> Configuration {
        var merged = self
        merged.listen = old.listen
        merged.insecure = old.insecure
        if isExposed, !isProtected, old.isProtected, !old.insecure {
            (merged.tls, merged.users, merged.tokenFile) = (old.tls, old.users, old.tokenFile)
        }
        merged.stateDirectory = old.stateDirectory
        merged.log.file = old.log.file
        merged.dns.resolverFile = old.dns.resolverFile
        merged.providers = old.providers
        merged.mdns.isEnabled = old.mdns.isEnabled
        merged.mdns.censusInterval = old.mdns.censusInterval
        merged.mdns.maximumTypes = old.mdns.maximumTypes
        let maximumStreams = limits.maximumStreams
        merged.limits = old.limits
        merged.limits.maximumStreams = maximumStreams
        if gatewayLiveness.isEnabled != old.gatewayLiveness.isEnabled { merged.gatewayLiveness = old.gatewayLiveness }
        return merged
    }
}
