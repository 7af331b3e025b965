// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import Spelling

/// Everything an operator can set.
///
/// Each section declares its keys once, in its `settings` table: reading, defaults, documentation, JSON Schema,
/// the printed default file and the effective dump are derived from it.
public struct Configuration: Hashable, Sendable {
    public var listen: [ListenAddress]
    /// Host names that requests may carry besides `localhost` and address literals.
    public var hosts: [String] = []
    /// Whether addresses that others can reach may be listened on without protection.
    public var insecure = false
    /// Whether pages of other sites may show the badge.
    public var embedsBadge = false
    public var tls = TLSServerSettings()
    /// Who may read through TCP, with a password.
    public var users: [PasswordUser] = []
    /// The file of the token that lets programs read and change through TCP.
    public var tokenFile: String?
    public var stateDirectory: String
    public var log: LogSettings
    /// How changes are gathered (rule S42).
    public var debounce = DebounceSettings()
    /// How often everything is read again without an event (rule S9); zero is never.
    public var auditInterval = Duration.seconds(30)
    /// How long a path must stay satisfied before that is published (rule S43).
    public var recoveryHold = Duration.zero
    /// What is tested without being named.
    public var connectivity = ConnectivitySettings()
    /// Addresses whose routes are looked up; nothing is sent to them (rule S20).
    public var probes = ProbeSettings()
    /// Interfaces that are left out everywhere (rule S15).
    public var ignore: [Glob] = []
    /// What the operator says of interfaces, by name or pattern.
    public var interfaces: [Named<InterfaceSettings>] = []
    /// Monitors besides the one called `default`.
    public var monitors: [Named<MonitorSettings>] = []
    /// Paths as seen by marked or bound traffic (rule S29).
    public var views: [Named<ViewSettings>] = []
    /// Whether gateways must answer (rule S52).
    public var gatewayLiveness = GatewayLivenessSettings()
    public var dns = DNSSettings()
    /// Other programs that are queried for details (rule S51).
    public var providers = ProviderSettings()
    /// What is shown of Wi-Fi networks.
    public var wifi = WirelessSettings()
    /// Whether a path without a VPN counts as unsatisfied (rule S22).
    public var requireVPN = false
    public var mdns = MulticastSettings()
    public var diagnosis = TargetSettings()
    /// Whether the machine's own connections are read.
    public var traffic = TrafficSettings()
    public var limits = LimitSettings()

    public static let defaultMonitor = "default"

    public static let defaultPort: UInt16 = 8353

    public init(paths: StandardPaths) {
        listen = [
            .unix(path: paths.socket), .tcp(ScopedAddress(.v4(0x7F00_0001)), port: Self.defaultPort),
            .tcp(ScopedAddress(.v6(1)), port: Self.defaultPort),
        ]
        stateDirectory = paths.stateDirectory
        log = LogSettings(file: paths.logFile)
    }
}

extension Configuration: ConfigurationSection {
    static let settings: [Setting<Configuration>] = [
        Setting(
            "listen",
            \.listen,
            ValueForm.listenAddress.list(upTo: 16, atLeast: 1),
            needsRestart: true,
            "Where the API listens. Addresses that others can reach need TLS, passwords, a token, or `insecure: true`."
        ),
        Setting(
            "hosts",
            \.hosts,
            ValueForm.host.list(upTo: 64),
            "Host names that requests may carry besides localhost and address literals; others are refused."
        ),
        Setting(
            "insecure",
            \.insecure,
            .boolean,
            needsRestart: true,
            "Listen on addresses that others can reach, without encryption or passwords."
        ),
        Setting(
            "embed_badge",
            \.embedsBadge,
            .boolean,
            "Let pages of other sites show the badge; any site opened in a browser here can then learn the state."
        ),
        Setting(section: "tls_server_config", \.tls, "How TCP connections are encrypted; unix sockets never are."),
        Setting(
            "basic_auth_users",
            \.users,
            .passwordUsers,
            "Who may read through TCP: names with bcrypt hashes of their passwords, as htpasswd -nB writes them."
        ),
        Setting(
            "token_file",
            \.tokenFile,
            ValueForm.path.optional,
            example: "/etc/nwpath/token",
            "The file of a bearer token that lets programs read and reload through TCP. Read again at each reload."
        ),
        Setting(
            "state_dir",
            \.stateDirectory,
            .path,
            needsRestart: true,
            "The directory of what survives a restart."
        ),
        Setting(section: "log", \.log, "The event log: one JSON object per line."),
        Setting(section: "debounce", \.debounce, "How a burst of changes becomes one event."),
        Setting(
            "audit_interval",
            \.auditInterval,
            .duration(.seconds(1)...(.seconds(86_400)), zero: "off"),
            "How often everything is read again from the kernel, in case a notification was missed."
        ),
        Setting(
            "recovery_hold",
            \.recoveryHold,
            .duration(.milliseconds(1)...(.seconds(3600)), zero: "off"),
            "How long a path must stay satisfied before that is published. Loss is always published at once."
        ),
        Setting(section: "connectivity", \.connectivity, "What is tested continuously by default."),
        Setting(
            section: "probes",
            \.probes,
            "What stands for the Internet when routes are looked up, without sending anything, and active probes."
        ),
        Setting(
            "ignore",
            \.ignore,
            ValueForm.glob.list(upTo: 64),
            "Interfaces that are ignored everywhere, by name or pattern, such as [docker*, veth*]."
        ),
        Setting(
            map: "interfaces",
            \.interfaces,
            names: .interfacePattern,
            upTo: 128,
            example: "wwan*:\n  expensive: true\neth0:\n  required: true",
            "Properties of interfaces, by name or pattern. The exact name counts, else the first pattern that matches."
        ),
        Setting(
            map: "monitors",
            \.monitors,
            names: .name,
            example: "wired:\n  required_type: wiredEthernet\nfree:\n  prohibited_types: [cellular]",
            "Paths besides `default`, each with conditions of its own."
        ),
        Setting(
            map: "views",
            \.views,
            names: .name,
            example: "vpn:\n  mark: 0xca6c\nlte:\n  oif: wwan0",
            "Paths as seen by traffic with a firewall mark, of a user, or bound to an interface or VRF."
        ),
        Setting(
            section: "gateway_liveness",
            \.gatewayLiveness,
            "Whether the gateways in use answer ARP and neighbour discovery."
        ),
        Setting(section: "dns", \.dns, "Name resolution."),
        Setting(
            section: "providers",
            \.providers,
            "Programs and interfaces that are queried for details. The status never depends on them."
        ),
        Setting(section: "wifi", \.wifi, "What is shown of Wi-Fi networks."),
        Setting(
            "require_vpn",
            \.requireVPN,
            .boolean,
            "Count a path that does not go through a VPN as unsatisfied."
        ),
        Setting(section: "mdns", \.mdns, "The census of services on the local network, by multicast DNS."),
        Setting(
            section: "diagnosis",
            \.diagnosis,
            "Targets of nwpath diagnose beyond the local link; without anchors, well-known public hosts."
        ),
        Setting(section: "traffic", \.traffic, "How well packets of this machine's own TCP connections get through."),
        Setting(section: "limits", \.limits, "Bounds that keep the API responsive."),
    ]
}
