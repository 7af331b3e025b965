// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import PathModel

/// Reads NetworkManager's objects (NetworkManager's D-Bus reference, nm-dbus-interface.h).
struct NetworkManagerReader {
    static let name = "org.freedesktop.NetworkManager"
    static let path = "/org/freedesktop/NetworkManager"
    static let device = "org.freedesktop.NetworkManager.Device"
    static let dhcp = "org.freedesktop.NetworkManager.DHCP4Config"
    static let dns = "org.freedesktop.NetworkManager.DnsManager"
    static let dnsPath = "/org/freedesktop/NetworkManager/DnsManager"
    static let settings = "org.freedesktop.NetworkManager.Settings.Connection"

    let objects: BusObjects
    /// The type of each profile that was queried, such as `gsm`, by its path.
    let profileTypes: [String: String]

    private var manager: BusObjects.Properties { objects[Self.path, Self.name] ?? [:] }

    /// Whether the manager is connecting something (NM_STATE_CONNECTING).
    var isConnecting: Bool { manager["State"]?.number == 40 }

    /// The radio switches, hard and soft together, and whether there are radios at all.
    var radios: RadioFacts {
        let types = Set(objects.all(Self.device).compactMap { $0.properties["DeviceType"]?.number })
        func isOff(_ switches: String...) -> Bool { switches.contains { manager[$0]?.flag == false } }
        return RadioFacts(
            isWifiBlocked: isOff("WirelessEnabled", "WirelessHardwareEnabled"),
            isWwanBlocked: isOff("WwanEnabled", "WwanHardwareEnabled"),
            hasWifi: types.contains(2),
            hasWwan: types.contains(8)
        )
    }

    /// The devices by interface index; what has no interface yet is left out.
    func devices(_ names: InterfaceNames) -> [Int: DeviceFacts] {
        var facts: [Int: DeviceFacts] = [:]
        for (_, properties) in objects.all(Self.device) {
            // A modem's Interface is its control port; IpInterface is what carries packets.
            let candidates = ["IpInterface", "Interface"].compactMap { properties[$0]?.text }
            guard let index = candidates.lazy.compactMap(names.index).first else { continue }
            facts[index] = device(properties)
        }
        return facts
    }

    /// The profiles whose types rule S23 needs: those a disconnected device could activate.
    var profilesInQuestion: Set<String> {
        var paths: Set<String> = []
        for (_, properties) in objects.all(Self.device) where properties["State"]?.number == 30 {
            paths.formUnion((properties["AvailableConnections"]?.list ?? []).prefix(64).compactMap(\.text))
        }
        return paths
    }

    /// The servers behind NetworkManager's own dnsmasq, or the global ones the administrator set; `nil` when unknown.
    func upstream(_ names: InterfaceNames) -> [DNSServer]? {
        guard let manager = objects[Self.dnsPath, Self.dns], manager["Mode"]?.text == "dnsmasq" else { return nil }
        if let global = globalServers { return global }
        var servers: [DNSServer] = []
        for entry in (manager["Configuration"]?.list ?? []).prefix(64) {
            guard let entry = entry.table else { continue }
            let interface = entry["interface"]?.text
            for text in (entry["nameservers"]?.list ?? []).prefix(16).compactMap(\.text) {
                guard let address = IPAddress(text) else { continue }
                let index = interface.flatMap(names.index)
                servers.append(DNSServer(ScopedAddress(address, scope: interface), interfaceIndex: index))
            }
        }
        return servers
    }

    private var globalServers: [DNSServer]? {
        guard let domains = manager["GlobalDnsConfiguration"]?.table?["domains"]?.table,
            let texts = domains["*"]?.table?["servers"]?.list?.compactMap(\.text)
        else { return nil }
        return texts.prefix(64).compactMap { ScopedAddress(literal: $0) }.map { DNSServer($0) }
    }

    private func device(_ properties: BusObjects.Properties) -> DeviceFacts {
        let metered = properties["Metered"]?.number.flatMap { UInt32(exactly: $0) }
        return DeviceFacts(
            metered: metered.flatMap(DeviceFacts.Metered.init) ?? .unknown,
            phase: phase(properties),
            role: Self.role(properties["DeviceType"]?.number ?? 0),
            hasAndroidMeteredHint: hasHint(properties["Dhcp4Config"]?.text)
        )
    }

    /// NM_DEVICE_STATE_*, grouped.
    private func phase(_ properties: BusObjects.Properties) -> DeviceFacts.Phase {
        switch properties["State"]?.number ?? 0 {
        case 30:
            let profiles = (properties["AvailableConnections"]?.list ?? []).compactMap(\.text)
            let isActivatable = profiles.contains { profileTypes[$0].map(Self.activatableTypes.contains) ?? false }
            return isActivatable ? .activatable : .disconnected
        case 40...90: return .connecting
        case 100: return .connected
        default: return .inactive
        }
    }

    private static let activatableTypes: Set<String> = ["gsm", "cdma", "vpn", "wireguard"]

    /// NM_DEVICE_TYPE_*, where the kernel does not know.
    private static func role(_ type: Int) -> DeviceFacts.Role {
        switch type {
        case 2, 30: .wifi
        case 5: .bluetooth
        case 8: .modem
        case 29: .vpn
        default: .unspecified
        }
    }

    private func hasHint(_ path: String?) -> Bool {
        guard let path, let options = objects[path, Self.dhcp]?["Options"]?.table else { return false }
        return options.contains { key, value in
            VendorOption.names.contains(key) && (value.text.map(VendorOption.isAndroidMetered) ?? false)
        }
    }
}
