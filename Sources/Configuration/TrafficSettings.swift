// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Whether this machine's own TCP connections are read; nothing is sent.
public struct TrafficSettings: Hashable, Sendable, ConfigurationSection {
    public var isEnabled = true

    static let settings: [Setting<TrafficSettings>] = [
        Setting(
            "enabled",
            \.isEnabled,
            .boolean,
            "Read the state of this machine's TCP connections from the kernel; nothing is sent."
        )
    ]
}
