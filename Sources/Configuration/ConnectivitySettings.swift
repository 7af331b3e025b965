// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What the service tests all the time without being given names or addresses.
public struct ConnectivitySettings: Hashable, Sendable, ConfigurationSection {
    public enum Check: String, Hashable, Sendable, CaseIterable {
        /// Gateways in use and configured name servers, which this machine queries anyway.
        case local
        /// Also hosts of well-known operators on the Internet.
        case `public`
        case off
    }

    public var check = Check.local

    static let settings: [Setting<ConnectivitySettings>] = [
        Setting(
            "check",
            \.check,
            .choice,
            "local: the gateways and name servers in use; public: also well-known hosts on the Internet; off: nothing."
        )
    ]
}
