// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import PathModel
import TestSupport
import Testing

@testable import Providers

/// The real NetworkManager on a private bus, with a veth whose peer hands out addresses by DHCP.
@Suite(.inNamespace, .serialized) struct NetworkManagerTests {
    private let here = Namespace.current
    private let loop = Namespace.current.loop
    private let bus: PrivateBus

    init() throws { bus = try PrivateBus() }

    private func startManager() throws -> RunningCommand {
        try RunningCommand(["nsenter", "--net=\(here.path)", fixtures + "/networkmanager.sh", bus.scratch.path])
    }

    /// The process of NetworkManager itself: the fixture's shells replace themselves with it.
    private func nmcli(_ words: String) throws {
        try Command.run(
            ["env", "DBUS_SYSTEM_BUS_ADDRESS=\(bus.address)", "nmcli"] + words.split(separator: " ").map(String.init)
        )
    }

    private func provide() -> (BusConnection, NetworkManagerProvider) {
        let connection = bus.connect(loop)
        let provider = NetworkManagerProvider(connection: connection, timing: .quick)
        provider.start()
        return (connection, provider)
    }

    private func waitForManager(_ provider: NetworkManagerProvider, _ index: Int) async {
        await loop.eventually(within: .seconds(20), "NetworkManager") {
            provider.health.state == .active && provider.devices[index]?.phase == .disconnected
        }
    }

    @Test func `tells metered, phases and switches of a device that the real NetworkManager activates`() async throws {
        let peer = try Namespace()
        try here.ip("link add v0 type veth peer name v1 netns \(peer.path)")
        try peer.ip("address add 192.0.2.1/24 dev v1")
        try peer.set("v1", isUp: true)
        let dhcp = try RunningCommand([
            "nsenter", "--net=\(peer.path)", "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0",
            "--interface=v1", "--bind-interfaces", "--dhcp-range=192.0.2.100,192.0.2.200,1h", "--user=root",
            "--group=root",
            "--dhcp-option-force=43,ANDROID_METERED", "--dhcp-leasefile=\(bus.scratch("leases"))", "--pid-file=",
        ])
        let index = try #require(InterfaceNames.kernel.index("v0"))
        let manager = try startManager()
        let (connection, provider) = provide()
        await waitForManager(provider, index)
        #expect(provider.devices[index]?.role == .unspecified)
        #expect(!provider.isConnecting)

        var phases: Set<DeviceFacts.Phase> = []
        provider.onChange = { [weak provider] in
            if let phase = provider?.devices[index]?.phase { phases.insert(phase) }
        }
        try nmcli("connection add type ethernet ifname v0 con-name c ipv6.method disabled autoconnect no")
        // Without waiting for its end: a loop that is held hears of all phases at once, and tells the last one.
        try nmcli("--wait 0 connection up c")
        await loop.eventually(within: .seconds(20), "\(phases)") { phases.isSuperset(of: [.connecting, .connected]) }
        #expect(provider.devices[index]?.phase == .connected)
        // The peer's DHCP option 43 says so.
        await loop.eventually { provider.devices[index]?.metered == .guessYes }

        for (word, expected) in [("yes", DeviceFacts.Metered.yes), ("no", .no), ("unknown", .guessYes)] {
            try nmcli("connection modify c connection.metered \(word)")
            try nmcli("device reapply v0")
            await loop.eventually(within: .seconds(10), word) { provider.devices[index]?.metered == expected }
        }

        try nmcli("radio wifi off")
        await loop.eventually { provider.radios.isWifiBlocked }
        #expect(!provider.radios.hasWifi)
        try nmcli("radio wifi on")
        await loop.eventually { !provider.radios.isWifiBlocked }
        connection.stop()
        _ = (manager.processID, dhcp.processID)
    }

    @Test func `outlives NetworkManager's death, hang and return`() async throws {
        try here.ip("link add v0 type veth peer name v1")
        let index = try #require(InterfaceNames.kernel.index("v0"))
        var manager = try startManager()
        let (connection, provider) = provide()
        await waitForManager(provider, index)

        manager.signal(SIGSTOP)
        await loop.eventually { provider.health.isStale }
        #expect(provider.devices[index]?.phase == .disconnected)
        #expect(provider.health.lastError == .timedOut)
        manager.signal(SIGCONT)
        await loop.eventually { provider.health.state == .active }

        manager.signal(SIGKILL)
        await loop.eventually { provider.health.isStale }
        #expect(provider.devices[index] != nil)
        await loop.eventually { provider.health.state == .absent }
        #expect(provider.devices.isEmpty)

        manager = try startManager()
        await waitForManager(provider, index)
        connection.stop()
    }

    @Test func `leaves the machine's resolv.conf alone`() throws {
        let before = try Command.run(["stat", "-L", "-c", "%i %Y %s", "/etc/resolv.conf"])
        let manager = try startManager()
        manager.signal(SIGTERM)
        _ = manager.wait()
        #expect(try Command.run(["stat", "-L", "-c", "%i %Y %s", "/etc/resolv.conf"]) == before)
    }
}
