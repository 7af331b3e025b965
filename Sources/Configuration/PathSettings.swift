// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import PathModel

/// How a burst of changes becomes one event (rule S42).
public struct DebounceSettings: Hashable, Sendable, ConfigurationSection {
    /// A burst is over when nothing happened for so long; zero publishes every change.
    public var quiet = Duration.milliseconds(100)
    /// A burst that does not end is published after so long.
    public var cap = Duration.seconds(1)

    static let settings: [Setting<DebounceSettings>] = [
        Setting(
            "quiet",
            \.quiet,
            .duration(.milliseconds(1)...(.seconds(10)), zero: "publish every change"),
            "A burst ends after this time without changes."
        ),
        Setting(
            "cap",
            \.cap,
            .duration(.milliseconds(1)...(.seconds(60)), zero: "as quiet"),
            "A burst that does not end is published after this time."
        ),
    ]
}

/// Addresses whose routes are looked up (rule S20), and active probes.
public struct ProbeSettings: Hashable, Sendable, ConfigurationSection {
    /// IPv4 addresses far apart in the address space.
    public var ipv4 = PathPolicy.defaultProbes[.ipv4] ?? []
    /// IPv6 addresses of the same kind.
    public var ipv6 = PathPolicy.defaultProbes[.ipv6] ?? []
    /// Active probes by name; nothing is sent unless there are some.
    public var active: [Named<ActiveProbeSettings>] = []

    static let settings: [Setting<ProbeSettings>] = [
        Setting(
            "ipv4",
            \.ipv4,
            ValueForm.probe(.ipv4).list(upTo: 16, atLeast: 1),
            "At least one; three that are far apart distinguish a host route from a default route."
        ),
        Setting("ipv6", \.ipv6, ValueForm.probe(.ipv6).list(upTo: 16, atLeast: 1), "The same for IPv6."),
        Setting(
            map: "active",
            \.active,
            names: .name,
            example: """
                gateway:
                  target: gateway
                  interval: 10s
                portal:
                  target: http://probe.example.test/generate_204
                  expect_status: [204]
                """,
            "Probes that send packets, by name; none by default."
        ),
    ]
}

/// Whether gateways must answer (rule S52).
public struct GatewayLivenessSettings: Hashable, Sendable, ConfigurationSection {
    /// Whether neighbour states are monitored.
    public var isEnabled = false
    /// Whether a silent gateway makes the path unsatisfied.
    public var isStrict = false
    /// How often an idle gateway is probed.
    public var interval = Duration.seconds(30)

    static let settings: [Setting<GatewayLivenessSettings>] = [
        Setting(
            "enabled",
            \.isEnabled,
            .boolean,
            needsRestart: true,
            "Watch the neighbour entries of the gateways in use."
        ),
        Setting("strict", \.isStrict, .boolean, "Count a path as unsatisfied when none of its gateways answers."),
        Setting(
            "interval",
            \.interval,
            .duration(.seconds(1)...(.seconds(3600))),
            "How often a gateway without received packets is probed."
        ),
    ]
}

public struct DNSSettings: Hashable, Sendable, ConfigurationSection {
    /// The resolver configuration that is monitored (rule S36).
    public var resolverFile = "/etc/resolv.conf"

    static let settings: [Setting<DNSSettings>] = [
        Setting("resolv_conf", \.resolverFile, .path, needsRestart: true, "The resolver file that is watched.")
    ]
}

/// Parts of the system that are queried for details (rule S51).
public struct ProviderSettings: Hashable, Sendable, ConfigurationSection {
    /// NetworkManager over D-Bus: metered, connecting.
    public var networkManager = true
    /// systemd-resolved over D-Bus: DNS servers per link.
    public var resolved = true
    /// ModemManager over D-Bus: signal and access technology.
    public var modemManager = true
    /// The kernel's wireless interface: type and signal.
    public var nl80211 = true
    /// The kernel's ethtool interface: speed and duplex of cables.
    public var ethtool = true

    static let settings: [Setting<ProviderSettings>] = [
        Setting(
            "networkmanager",
            \.networkManager,
            .boolean,
            needsRestart: true,
            "NetworkManager: metered, on-demand connections."
        ),
        Setting("resolved", \.resolved, .boolean, needsRestart: true, "systemd-resolved: DNS servers per link."),
        Setting("modemmanager", \.modemManager, .boolean, needsRestart: true, "ModemManager: signal of modems."),
        Setting("nl80211", \.nl80211, .boolean, needsRestart: true, "The kernel's Wi-Fi interface: type and signal."),
        Setting("ethtool", \.ethtool, .boolean, needsRestart: true, "The kernel's ethtool interface: speed of cables."),
    ]
}

/// What is shown of Wi-Fi networks.
public struct WirelessSettings: Hashable, Sendable, ConfigurationSection {
    /// Whether names (SSIDs) and addresses (BSSIDs) are left out everywhere.
    public var isRedacted = false

    static let settings: [Setting<WirelessSettings>] = [
        Setting(
            "redact",
            \.isRedacted,
            .boolean,
            "Leave names (SSIDs) and addresses (BSSIDs) of Wi-Fi networks out of the API, events, log and metrics."
        )
    ]
}
