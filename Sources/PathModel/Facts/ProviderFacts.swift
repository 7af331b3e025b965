// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// What the optional providers know beyond the kernel.
///
/// Anything may be missing; nothing here makes or breaks a status
/// except where a rule says so (rule S51).
public struct ProviderFacts: Hashable, Sendable {
    public var dns: DNSConfiguration
    /// What a connection manager says about a device, by interface index.
    public var devices: [Int: DeviceFacts]
    /// What nl80211 says, by interface index.
    public var wireless: [Int: WirelessFacts]
    /// What the ethtool family says, by interface index.
    public var wired: [Int: WiredFacts]
    /// What ModemManager says, by interface index.
    public var cellular: [Int: CellularFacts]
    public var radios: RadioFacts
    /// How teams send, by interface index, where that may be read.
    public var teams: [Int: TeamFacts]
    /// Whether a connection manager is about to connect something (NetworkManager's state CONNECTING, rule S23).
    public var isConnecting: Bool

    /// Knows nothing beyond the C library's default name server.
    public init(
        dns: DNSConfiguration = DNSConfiguration(),
        devices: [Int: DeviceFacts] = [:],
        wireless: [Int: WirelessFacts] = [:],
        wired: [Int: WiredFacts] = [:],
        cellular: [Int: CellularFacts] = [:],
        radios: RadioFacts = RadioFacts(),
        teams: [Int: TeamFacts] = [:],
        isConnecting: Bool = false
    ) {
        self.dns = dns
        self.devices = devices
        self.wireless = wireless
        self.wired = wired
        self.cellular = cellular
        self.radios = radios
        self.teams = teams
        self.isConnecting = isConnecting
    }
}

/// The name server configuration of the machine (rule S35).
public struct DNSConfiguration: Hashable, Sendable {
    /// The servers the C library queries, in order.
    public var servers: [DNSServer]
    /// The servers behind a local stub resolver; `nil` when there is no stub or its upstream is unknown.
    public var upstream: [DNSServer]?
    /// The destinations of `servers` that `upstream` is behind.
    public var stubs: Set<IPAddress>
    /// Domains appended to short names.
    public var search: [String]
    /// How many dots make a name be tried as it is first (resolv.conf(5)).
    public var ndots: Int
    public var options: [String]
    /// Where this was read: a path, `systemd-resolved` or `NetworkManager`.
    public var source: String
    /// Why the file could not be read, such as `Permission denied (EACCES)`; `nil` where it was, or does not exist.
    public var unreadable: String?
    /// Whether resolv.conf has no server, so that `servers` are those the C library queries without one.
    public var isWithoutServer = false
    /// Whether the C library queries `servers` over TCP.
    public var usesTCP: Bool { servers.contains(where: \.isQueriedOverTCP) }
    /// Those of the destinations of `servers` and `upstream` that a name server on this machine answers at, should they lead here.
    public var servedHere: Set<IPAddress>

    /// The servers that programs query in the end, in order: instead of a stub those behind it.
    public var used: [DNSServer] {
        guard let upstream else { return servers }
        var used: [DNSServer] = []
        for server in servers.flatMap({ stubs.contains($0.destination) ? upstream : [$0] }) where !used.contains(server)
        {
            used.append(server)
        }
        return used
    }

    /// Describes a configuration, where the loopback servers are the stub; the default is the C library's for a missing
    /// resolv.conf: 127.0.0.1.
    public init(
        servers: [DNSServer] = [DNSServer(ScopedAddress(.v4(0x7F00_0001)))],
        upstream: [DNSServer]? = nil,
        search: [String] = [],
        ndots: Int = 1,
        options: [String] = [],
        source: String = "",
        servedHere: Set<IPAddress> = [],
        unreadable: String? = nil
    ) {
        self.servers = servers
        self.upstream = upstream
        stubs = upstream == nil ? [] : Set(servers.map(\.destination).filter(\.isLoopback))
        self.search = search
        self.ndots = ndots
        self.options = options
        self.source = source
        self.servedHere = servedHere
        self.unreadable = unreadable
    }
}

public struct DNSServer: Hashable, Sendable, CustomStringConvertible {
    public var address: ScopedAddress
    /// Its port, when it is not 53.
    public var port: UInt16?
    /// The interface it belongs to, where the source says so.
    public var interfaceIndex: Int?
    /// Whether a stub uses it for names below some domains only.
    public var isForDomainsOnly = false
    /// Whether it is queried over TCP (`options use-vc` of resolv.conf(5)).
    public var isQueriedOverTCP = false

    public init(_ address: ScopedAddress, port: UInt16? = nil, interfaceIndex: Int? = nil) {
        self.address = address
        self.port = port
        self.interfaceIndex = interfaceIndex
    }

    /// Where packets to it go: connect(2) reads an IPv4-mapped address as IPv4, and `0.0.0.0` and `::` as loopback.
    public var destination: IPAddress {
        let address = address.address.unmapped
        guard address.isUnspecified else { return address }
        return address.family == .ipv4 ? .v4(0x7F00_0001) : .v6(1)
    }

    /// Such as `192.0.2.53` or `[2001:db8::53]:5353`.
    public var description: String {
        guard let port else { return "\(address)" }
        return address.address.family == .ipv4 ? "\(address):\(port)" : "[\(address)]:\(port)"
    }
}

public struct DeviceFacts: Hashable, Sendable {
    public var metered: Metered
    public var phase: Phase
    /// The manager's own kind of device.
    public var role: Role
    /// Whether DHCP option 43 carries Android's `ANDROID_METERED`.
    public var hasAndroidMeteredHint: Bool

    /// NetworkManager's NM_METERED_* values.
    public enum Metered: UInt32, Hashable, Sendable, CaseIterable {
        case unknown = 0
        case yes = 1
        case no = 2
        case guessYes = 3
        case guessNo = 4
    }

    /// NetworkManager's device states, grouped as rule S23 needs them.
    public enum Phase: Hashable, Sendable, CaseIterable {
        /// Not managed, not available, failed, or unknown.
        case inactive
        /// Disconnected, and nothing could be activated.
        case disconnected
        /// Disconnected, and a modem or VPN profile could be activated.
        case activatable
        /// Connecting (40 to 90).
        case connecting
        /// Activated (100).
        case connected
    }

    /// What the manager knows a device to be where the kernel does not know.
    public enum Role: Hashable, Sendable, CaseIterable {
        case unspecified
        case modem
        case bluetooth
        case wifi
        case vpn
    }

    /// Describes a device; nothing is known by default.
    public init(
        metered: Metered = .unknown,
        phase: Phase = .inactive,
        role: Role = .unspecified,
        hasAndroidMeteredHint: Bool = false
    ) {
        self.metered = metered
        self.phase = phase
        self.role = role
        self.hasAndroidMeteredHint = hasAndroidMeteredHint
    }
}

/// What the kernel's ethtool family says about one cable that is in use.
public struct WiredFacts: Hashable, Sendable {
    /// The speed in Mbit/s.
    public var megabits: Int
    /// Whether both ends may send at the same time.
    public var isFullDuplex: Bool
    /// Whether both ends negotiated it, rather than that somebody set it by hand.
    public var isNegotiated: Bool
    /// The greatest speed in Mbit/s that both ends of a copper cable offer; `nil` when unknown.
    public var offered: Int?

    public init(megabits: Int, isFullDuplex: Bool, isNegotiated: Bool = true, offered: Int? = nil) {
        self.megabits = megabits
        self.isFullDuplex = isFullDuplex
        self.isNegotiated = isNegotiated
        self.offered = offered
    }
}

/// How a team sends.
public struct TeamFacts: Hashable, Sendable {
    /// Whether a daemon has given it a mode; without one the kernel drops all packets.
    public var hasMode: Bool
    /// The index of the only port that sends, where the mode has one.
    public var activePort: Int?
    /// Whether the active port has no carrier, and the daemon has had time to change to another one.
    public var isStuck: Bool

    public init(hasMode: Bool = true, activePort: Int? = nil, isStuck: Bool = false) {
        self.hasMode = hasMode
        self.activePort = activePort
        self.isStuck = isStuck
    }
}

/// What ModemManager says about one modem.
public struct CellularFacts: Hashable, Sendable {
    /// The signal in percent, when known.
    public var signalQuality: Int?
    /// Whether the access technology is satellite (NTN).
    public var isSatellite: Bool

    public init(signalQuality: Int? = nil, isSatellite: Bool = false) {
        self.signalQuality = signalQuality
        self.isSatellite = isSatellite
    }
}

/// Radio switches, hard (on the case) and soft (in software) combined.
public struct RadioFacts: Hashable, Sendable {
    /// Whether Wi-Fi is switched off.
    public var isWifiBlocked: Bool
    /// Whether a switch or a key of the device does that, which no command undoes.
    public var isWifiBlockedByHardware: Bool
    public var isWwanBlocked: Bool
    /// The Wi-Fi devices that are blocked, by their number in nl80211, and whether a switch of the device does it.
    public var blockedDevices: [Int: Bool]
    /// Whether the machine has a Wi-Fi device at all, even a blocked one without an interface.
    public var hasWifi: Bool
    public var hasWwan: Bool

    /// Describes switches; everything is on by default.
    public init(
        isWifiBlocked: Bool = false,
        isWwanBlocked: Bool = false,
        hasWifi: Bool = false,
        hasWwan: Bool = false,
        isWifiBlockedByHardware: Bool = false,
        blockedDevices: [Int: Bool] = [:]
    ) {
        self.isWifiBlocked = isWifiBlocked
        self.isWifiBlockedByHardware = isWifiBlockedByHardware
        self.blockedDevices = blockedDevices
        self.isWwanBlocked = isWwanBlocked
        self.hasWifi = hasWifi
        self.hasWwan = hasWwan
    }
}
