// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import PathModel

/// What each provider says, side by side; ``merged(listening:)`` makes one truth of it.
public struct ProviderSnapshot: Hashable, Sendable {
    /// What resolv.conf says.
    public var resolver = DNSConfiguration()
    /// The servers systemd-resolved queries; `nil` when it does not report them.
    public var resolved: [DNSServer]?
    /// The servers NetworkManager's dnsmasq queries; `nil` when there is none.
    public var managerUpstream: [DNSServer]?
    /// What NetworkManager says about devices.
    public var devices: [Int: DeviceFacts] = [:]
    /// Whether NetworkManager is connecting something.
    public var isConnecting = false
    /// The radio switches as NetworkManager sees them.
    public var managerRadios = RadioFacts()
    /// The radio switches as the kernel sees them.
    public var radios = RadioFacts()
    /// What nl80211 says.
    public var wireless: [Int: WirelessFacts] = [:]
    /// What the ethtool family says.
    public var wired: [Int: WiredFacts] = [:]
    /// Tunnels that have no kind.
    public var tunnels: Set<Int> = []
    /// How teams send.
    public var teams: [Int: TeamFacts] = [:]
    /// What ModemManager says.
    public var cellular: [Int: CellularFacts] = [:]
    /// Whether ModemManager has a modem.
    public var hasModem = false
    /// Interfaces whose lease file says `ANDROID_METERED`.
    public var meteredLeases: Set<Int> = []

    /// Merges by the precedence of rules S35 and S37.
    ///
    /// systemd-resolved speaks for its own stub only, NetworkManager for its own dnsmasq only, and resolv.conf for
    /// everything else. A radio is off when anybody says so.
    /// - Parameter listening: At which of the given addresses a name server on this machine answers.
    /// - Returns: The facts a path is made of.
    public func merged(listening: (Set<IPAddress>) -> Set<IPAddress>) -> ProviderFacts {
        ProviderFacts(
            dns: mergedDNS(listening: listening),
            devices: mergedDevices,
            wireless: wireless,
            wired: wired,
            cellular: cellular,
            radios: RadioFacts(
                isWifiBlocked: managerRadios.isWifiBlocked || radios.isWifiBlocked,
                isWwanBlocked: managerRadios.isWwanBlocked || radios.isWwanBlocked,
                hasWifi: managerRadios.hasWifi || radios.hasWifi || !wireless.isEmpty,
                hasWwan: managerRadios.hasWwan || radios.hasWwan || hasModem,
                isWifiBlockedByHardware: radios.isWifiBlockedByHardware,
                blockedDevices: radios.blockedDevices
            ),
            teams: teams,
            isConnecting: isConnecting
        )
    }

    /// Where systemd-resolved listens: 127.0.0.53 and 127.0.0.54; another server of this machine is not its stub.
    private static let resolvedStubs: Set<IPAddress> = [.v4(0x7F00_0035), .v4(0x7F00_0036)]

    private func mergedDNS(listening: (Set<IPAddress>) -> Set<IPAddress>) -> DNSConfiguration {
        var dns = resolver
        let destinations = Set(dns.servers.map(\.destination))
        let stubs = destinations.intersection(Self.resolvedStubs)
        if !stubs.isEmpty {
            dns.stubs = stubs
            dns.upstream = resolved
            if resolved != nil { dns.source = "systemd-resolved" }
        } else if dns.servers.allSatisfy(\.destination.isLoopback), let managerUpstream {
            dns.stubs = destinations
            dns.upstream = managerUpstream
            dns.source = "NetworkManager"
        }
        let behind = (dns.upstream ?? []).filter { $0.port == nil && !$0.destination.isLoopback }
        let addresses = Set((dns.servers + behind).map(\.destination))
        dns.servedHere = listening(addresses).intersection(addresses)
        return dns
    }

    private var mergedDevices: [Int: DeviceFacts] {
        var merged = devices
        for index in tunnels where merged[index]?.role ?? .unspecified == .unspecified {
            merged[index, default: DeviceFacts()].role = .vpn
        }
        for index in meteredLeases { merged[index, default: DeviceFacts()].hasAndroidMeteredHint = true }
        return merged
    }
}
