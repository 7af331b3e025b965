// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// The targets of a diagnosis: the `diagnosis` section, and the whole of a file of targets.
public struct TargetSettings: Hashable, Sendable, ConfigurationSection {
    /// Whether the service examines the network by itself when something fails.
    public var isEnabled = true
    /// How often it tests anchors of its own with a few packets while nothing fails; zero is never.
    public var interval = Duration.seconds(60)
    /// Hosts that normally answer, best two or more in different networks.
    public var anchors: [AnchorSettings] = []
    /// The page of an anchor that answers with status 204.
    public var path = "/generate_204"
    /// Where it is served without encryption.
    public var httpPort = 80
    public var httpsPort = 443
    /// Where anchors send datagrams back.
    public var echoPort: Int?
    public var names = NameTargetSettings()
    public var timeServers: [IPAddress] = []
    /// Certificates that those of the anchors must verify against.
    public var authorities: String?
    public var load = LoadTargetSettings()
    /// Hosts on the local link that normally answer.
    public var peers: [IPAddress] = []
    public var budgets = BudgetSettings()

    public init() {}

    static let settings: [Setting<TargetSettings>] = [
        Setting(
            "enabled",
            \.isEnabled,
            .boolean,
            "Examine the network when connections, a gateway or a probe fail, and until they work again."
        ),
        Setting(
            "interval",
            \.interval,
            .duration(.seconds(10)...(.seconds(86_400)), zero: "off"),
            "With anchors, how often a few packets test them while nothing fails and no connection shows it."
        ),
        Setting(
            list: "anchors",
            \.anchors,
            upTo: 16,
            example: """
                - {name: a, host: a.example.test, addr4: 192.0.2.80, addr6: "2001:db8::80"}
                - {name: b, host: b.example.test, addr4: 198.51.100.80}
                """,
            "Hosts in other networks that normally answer; two or more separate a fault of one from a fault of the network."
        ),
        Setting("http_path", \.path, .pagePath, "The page of an anchor that answers with status 204."),
        Setting("http_port", \.httpPort, .integer(1...65_535), "Where it is served without encryption."),
        Setting("https_port", \.httpsPort, .integer(1...65_535), "Where it is served with encryption."),
        Setting(
            "udp_echo_port",
            \.echoPort,
            ValueForm.integer(1...65_535).optional,
            "The port where anchors echo UDP datagrams (RFC 862); without it UDP is not tested."
        ),
        Setting(section: "dns", \.names, "The names that each name server is queried for."),
        Setting("ntp", \.timeServers, ValueForm.host(nil).list(upTo: 8), "Time servers, by address."),
        Setting(
            "ca",
            \.authorities,
            ValueForm.path.optional,
            "Certificates that those of the anchors must verify against; the system's if left out."
        ),
        Setting(section: "nq", \.load, "What a load test of nwpath diagnose loads; without it there is none."),
        Setting("peers", \.peers, ValueForm.host(nil).list(upTo: 16), "Hosts on the local link that normally answer."),
        Setting(section: "budgets", \.budgets, "Limits of acceptable performance."),
    ]
}

/// A host in another network.
public struct AnchorSettings: Hashable, Sendable, ConfigurationEntry {
    public var name = ""
    public var host: String?
    /// Its IPv4 address.
    public var ipv4: IPAddress?
    /// Its IPv6 address.
    public var ipv6: IPAddress?

    /// A host of which nothing is known.
    public init() {}

    static let required = ["name"]

    static let settings: [Setting<AnchorSettings>] = [
        Setting("name", \.name, .name, "What verdicts call it."),
        Setting("host", \.host, ValueForm.host.optional, "Its host name, for HTTP, TLS and name servers."),
        Setting("addr4", \.ipv4, ValueForm.host(.ipv4).optional, "Its IPv4 address, which is used without a lookup."),
        Setting("addr6", \.ipv6, ValueForm.host(.ipv6).optional, "Its IPv6 address."),
    ]
}

public struct NameTargetSettings: Hashable, Sendable, ConfigurationSection {
    /// A zone in which every name has one address.
    public var wildcard: String?
    public var wildcardAddress: IPAddress?
    /// A zone in which random names do not exist.
    public var nonexistentZone: String?
    /// A name with a text of 3 kB.
    public var bigText: String?

    static let settings: [Setting<NameTargetSettings>] = [
        Setting(
            "wildcard",
            \.wildcard,
            ValueForm.host.optional,
            "A zone in which every name has the address wildcard_a, so that no cache knows the answer."
        ),
        Setting("wildcard_a", \.wildcardAddress, ValueForm.host(.ipv4).optional, "The address of every name in it."),
        Setting("nx_zone", \.nonexistentZone, ValueForm.host.optional, "A zone in which random names do not exist."),
        Setting("big_txt", \.bigText, ValueForm.host.optional, "A name with a TXT record of 3 kB."),
    ]
}

public struct LoadTargetSettings: Hashable, Sendable, ConfigurationSection {
    /// A large page.
    public var download: String?
    /// A page that accepts any POST.
    public var upload: String?
    /// A small page.
    public var small: String?
    public var maximumBytes = 40_000_000
    public var maximumSeconds = 5

    static let settings: [Setting<LoadTargetSettings>] = [
        Setting("download", \.download, ValueForm.page.optional, "A large page."),
        Setting("upload", \.upload, ValueForm.page.optional, "A page that accepts any POST."),
        Setting("small", \.small, ValueForm.page.optional, "A small page, requested under load."),
        Setting(
            "max_bytes",
            \.maximumBytes,
            .integer(1_000_000...40_000_000),
            "The bytes that a load test may move, both ways together."
        ),
        Setting("max_seconds", \.maximumSeconds, .integer(1...6), "The seconds that a load test may take."),
    ]
}

public struct BudgetSettings: Hashable, Sendable, ConfigurationSection {
    /// The median round trip, in milliseconds.
    public var roundTrip = Decimal(250)
    /// The spread of round trips, in milliseconds.
    public var jitter = Decimal(30)
    /// The loss, in percent.
    public var loss = Decimal(3)
    /// The least throughput towards us, in Mbit/s.
    public var down: Decimal?
    /// The least throughput from us, in Mbit/s.
    public var up: Decimal?
    /// Round trips per minute under load.
    public var roundTripsPerMinute = 300

    static let settings: [Setting<BudgetSettings>] = [
        Setting("rtt_ms", \.roundTrip, .decimal(upTo: 60_000), "The median round trip beyond which it is a fault."),
        Setting("jitter_ms", \.jitter, .decimal(upTo: 60_000), "The spread of round trips beyond which it is one."),
        Setting("loss_pct", \.loss, .decimal(upTo: 100), "The loss from which on it is one, in percent."),
        Setting(
            "down_mbps",
            \.down,
            ValueForm.decimal(upTo: 1_000_000).optional,
            "The least acceptable download throughput."
        ),
        Setting(
            "up_mbps",
            \.up,
            ValueForm.decimal(upTo: 1_000_000).optional,
            "The least acceptable upload throughput."
        ),
        Setting("rpm", \.roundTripsPerMinute, .integer(1...100_000), "The least round trips per minute under load."),
    ]
}
