// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import PathModel
import TestSupport
import Testing

@testable import Providers

/// Values that only hardware gives, told by a fake on a private bus.
@Suite(.inNamespace) struct FakeServiceTests {
    private let here = Namespace.current
    private let loop = Namespace.current.loop
    private let bus: PrivateBus
    private let connection: BusConnection
    private let index: Int

    init() throws {
        bus = try PrivateBus()
        connection = bus.connect(Namespace.current.loop)
        try Namespace.current.ip("link add v0 type veth peer name v1")
        index = try #require(InterfaceNames.kernel.index("v0"))
    }

    private func ready(_ name: String) async {
        await loop.eventually { (try? bus.tell(name, "pass")) != nil }
    }

    private let manager = "org.freedesktop.NetworkManager"
    private let device = "/org/freedesktop/NetworkManager/Devices/1"

    private func addDevice(_ more: String) -> String {
        "add('\(device)', org_freedesktop_NetworkManager_Device={'Interface': 'cdc-wdm0', 'IpInterface': 'v0', \(more)})"
    }

    private func put(_ name: String, _ value: String) -> String {
        "put('\(device)', 'org.freedesktop.NetworkManager.Device', '\(name)', \(value))"
    }

    @Test func `takes all five values of metered, and nothing else for one`() async throws {
        let fake = try bus.fake(manager)
        await ready(manager)
        let provider = NetworkManagerProvider(connection: connection, timing: .quick)
        provider.start()
        try bus.tell(manager, addDevice("'Metered': dbus.UInt32(0), 'DeviceType': dbus.UInt32(8)"))
        await loop.eventually { provider.devices[index]?.role == .modem }
        for value in DeviceFacts.Metered.allCases.reversed() {
            try bus.tell(manager, put("Metered", "dbus.UInt32(\(value.rawValue))"))
            await loop.eventually { provider.devices[index]?.metered == value }
        }
        try bus.tell(manager, put("Metered", "dbus.UInt32(1)"))
        await loop.eventually { provider.devices[index]?.metered == .yes }
        for nonsense in ["dbus.UInt32(99)", "'yes'", "dbus.Array([], signature='s')"] {
            try bus.tell(manager, put("Metered", nonsense))
            await loop.eventually { provider.devices[index]?.metered == .unknown }
        }
        try bus.tell(manager, "remove('\(device)')")
        await loop.eventually { provider.devices.isEmpty }
        connection.stop()
        _ = fake.processID
    }

    @Test(
        arguments: [
            (0, "gsm", .inactive), (10, "gsm", .inactive), (20, "gsm", .inactive), (120, "gsm", .inactive),
            (30, "gsm", .activatable), (30, "cdma", .activatable), (30, "vpn", .activatable),
            (30, "wireguard", .activatable), (30, "802-3-ethernet", .disconnected), (40, "gsm", .connecting),
            (90, "gsm", .connecting), (100, "gsm", .connected),
        ] as [(Int, String, DeviceFacts.Phase)]
    )
    func `groups the states of a device`(state: Int, profile: String, expected: DeviceFacts.Phase) async throws {
        let fake = try bus.fake(manager)
        await ready(manager)
        let provider = NetworkManagerProvider(connection: connection, timing: .quick)
        provider.start()
        let path = "/org/freedesktop/NetworkManager/Settings/1"
        try bus.tell(manager, "add('\(path)', '\(profile)')")
        let profiles = "dbus.Array([dbus.ObjectPath('\(path)')], signature='o')"
        try bus.tell(manager, addDevice("'State': dbus.UInt32(\(state)), 'AvailableConnections': \(profiles)"))
        await loop.eventually { provider.devices[index]?.phase == expected }
        if state == 30 {
            // The profile becomes something else.
            try bus.tell(manager, "nodes['\(path)'].profile = 'bridge'; nodes['\(path)'].Updated()")
            await loop.eventually { provider.devices[index]?.phase == .disconnected }
        }
        connection.stop()
        _ = fake.processID
    }

    @Test func `keeps the last facts while the service answers nonsense, and recovers`() async throws {
        let fake = try bus.fake(manager)
        await ready(manager)
        try bus.tell(manager, addDevice("'Metered': dbus.UInt32(1)"))
        let provider = NetworkManagerProvider(connection: connection, timing: .quick)
        provider.start()
        await loop.eventually { provider.devices[index]?.metered == .yes }
        // The check asks for a property the fake does not have, so it fails from the start.
        await loop.eventually { provider.health.isStale }
        #expect(provider.devices[index]?.metered == .yes)
        try bus.tell(manager, "garbage = True")
        provider.refresh()
        await loop.eventually { provider.health.lastError == .refused(name: "org.nwpath.Garbage") }
        #expect(provider.devices[index]?.metered == .yes)
        let manager = "/org/freedesktop/NetworkManager"
        let state = "add('\(manager)', org_freedesktop_NetworkManager={'State': dbus.UInt32(40)})"
        try bus.tell(self.manager, "garbage = False; \(state)")
        await loop.eventually { provider.health.state == .active && provider.isConnecting }
        connection.stop()
        _ = fake.processID
    }

    @Test func `tells modems by bearer and port`() async throws {
        let name = "org.freedesktop.ModemManager1"
        let fake = try bus.fake(name)
        await ready(name)
        let provider = ModemManagerProvider(connection: connection, timing: .quick)
        provider.start()
        let modem = "org_freedesktop_ModemManager1_Modem"
        try bus.tell(
            name,
            "add('/m/0', \(modem)={'SignalQuality': dbus.Struct((dbus.UInt32(71), True), signature='ub'), "
                + "'CurrentCapabilities': dbus.UInt32(4), 'Bearers': dbus.Array(['/b/0'], signature='o')})"
        )
        await loop.eventually { provider.hasModem }
        #expect(provider.modems.isEmpty)
        try bus.tell(name, "add('/b/0', org_freedesktop_ModemManager1_Bearer={'Interface': 'v0'})")
        await loop.eventually { provider.modems[index] == CellularFacts(signalQuality: 71) }
        try bus.tell(name, "put('/m/0', 'org.freedesktop.ModemManager1.Modem', 'CurrentCapabilities', dbus.UInt32(36))")
        await loop.eventually { provider.modems[index]?.isSatellite == true }
        let ports = "dbus.Array([('ttyUSB0', dbus.UInt32(3)), ('v1', dbus.UInt32(2))], signature='(su)')"
        try bus.tell(name, "put('/m/0', 'org.freedesktop.ModemManager1.Modem', 'Ports', \(ports))")
        await loop.eventually { provider.modems.count == 2 }
        connection.stop()
        _ = fake.processID
    }

    @Test func `tells the machine waking up, and nothing else, as a resume`() async throws {
        let name = "org.freedesktop.login1"
        let fake = try bus.fake(name)
        await ready(name)
        let provider = LoginSleepProvider(connection: connection)
        var resumes = 0
        provider.onResume = { resumes += 1 }
        provider.start()
        await loop.eventually { provider.health.state == .active }
        try bus.tell(name, "sleep(True)")
        try bus.tell(name, "sleep(False)")
        await loop.eventually { resumes == 1 }
        fake.signal(SIGKILL)
        await loop.eventually { provider.health.state == .absent }
        #expect(resumes == 1)
        connection.stop()
    }

    @Test func `takes signals only from the owner of the name`() async throws {
        let name = "org.freedesktop.login1"
        let fake = try bus.fake(name)
        let forger = try bus.fake("org.nwpath.Forger")
        await ready(name)
        await ready("org.nwpath.Forger")
        let provider = LoginSleepProvider(connection: connection)
        var resumes = 0
        provider.onResume = { resumes += 1 }
        provider.start()
        await loop.eventually { provider.health.state == .active }
        try bus.tell("org.nwpath.Forger", "sleep(False)")
        try bus.tell(name, "sleep(False)")
        await loop.eventually { resumes == 1 }
        connection.stop()
        _ = (fake.processID, forger.processID)
    }
}
