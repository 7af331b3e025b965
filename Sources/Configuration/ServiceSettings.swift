// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Spelling

public struct MulticastSettings: Hashable, Sendable, ConfigurationSection {
    public var isEnabled = true
    /// How often all types are queried again.
    public var censusInterval = Duration.seconds(60)
    /// Interfaces to use, of those that can; empty is all.
    public var interfaces: [Glob] = []
    public var watched: [WatchedService] = []
    public var advertised: [AdvertisedService] = []
    /// So many service types are followed; more are counted and left out.
    public var maximumTypes = 256

    public init() {}

    static let settings: [Setting<MulticastSettings>] = [
        Setting("enabled", \.isEnabled, .boolean, needsRestart: true, "Take part in multicast DNS."),
        Setting(
            "census_interval",
            \.censusInterval,
            .duration(.seconds(10)...(.seconds(86_400))),
            needsRestart: true,
            "How often all types are queried again."
        ),
        Setting(
            "interfaces",
            \.interfaces,
            ValueForm.glob.list(upTo: 64),
            "Interfaces that take part, by name or pattern; an empty list is all that can."
        ),
        Setting(
            "watched",
            \.watched,
            ValueForm.watchedService.list(upTo: 256),
            "Services whose absence should raise an alert, such as [_ipp._tcp/Office Printer, _ssh._tcp]."
        ),
        Setting(
            list: "advertise",
            \.advertised,
            upTo: 64,
            example: "- type: _prometheus-http._tcp\n  port: 8353\n  txt: {path: /metrics}",
            "Services that this service advertises on the local network, under the host name or a name of their own."
        ),
        Setting(
            "max_types",
            \.maximumTypes,
            .integer(1...4096),
            needsRestart: true,
            "So many service types are followed; more are counted and left out."
        ),
    ]
}

public struct LimitSettings: Hashable, Sendable, ConfigurationSection {
    /// Open connections; more are refused.
    public var maximumConnections = 256
    /// Open event streams; more get the status 429.
    public var maximumStreams = 64
    /// The time a client has to send its request header.
    public var headerTimeout = Duration.seconds(10)
    /// The time a connection may rest between requests.
    public var idleTimeout = Duration.seconds(60)
    /// The largest request line with headers.
    public var maximumHeaderSize = ByteCount.kibibytes(8)

    static let settings: [Setting<LimitSettings>] = [
        Setting(
            "max_connections",
            \.maximumConnections,
            .integer(8...65_536),
            needsRestart: true,
            "Open connections; more are refused."
        ),
        Setting(
            "max_streams",
            \.maximumStreams,
            .integer(1...65_536),
            "Open event streams over TCP, and as many through the unix socket; more get the status 429."
        ),
        Setting(
            "header_timeout",
            \.headerTimeout,
            .duration(.milliseconds(100)...(.seconds(300))),
            needsRestart: true,
            "The time a client has to send its request header."
        ),
        Setting(
            "idle_timeout",
            \.idleTimeout,
            .duration(.seconds(1)...(.seconds(3600))),
            needsRestart: true,
            "The time a connection may rest between requests."
        ),
        Setting(
            "max_header_size",
            \.maximumHeaderSize,
            .size(.kibibytes(1)...(.mebibytes(1))),
            needsRestart: true,
            "The largest request line with its headers."
        ),
    ]
}
