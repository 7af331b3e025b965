// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import PathModel
import TestSupport
import Testing

@testable import Providers

@Suite struct ProviderSnapshotTests {
    private let stub = DNSServer(ScopedAddress(.v4(0x7F00_0035)))
    private let local = DNSServer(ScopedAddress(.v4(0x7F00_0001)))
    private let far = DNSServer(ScopedAddress(.v4(0xC000_0201)))

    private func dns(_ servers: [DNSServer], _ change: (inout ProviderSnapshot) -> Void = { _ in }) -> DNSConfiguration
    {
        var snapshot = ProviderSnapshot()
        snapshot.resolver = DNSConfiguration(servers: servers, source: "/etc/resolv.conf")
        change(&snapshot)
        return snapshot.merged { $0 }.dns
    }

    @Test func `takes systemd-resolved's servers for its stub only`() {
        let behind = dns([stub]) { $0.resolved = [far] }
        #expect(behind.upstream == [far] && behind.source == "systemd-resolved")
        let beside = dns([far]) { $0.resolved = [local] }
        #expect(beside.upstream == nil && beside.source == "/etc/resolv.conf")
        let unknown = dns([stub])
        #expect(unknown.upstream == nil && unknown.source == "/etc/resolv.conf")
        let empty = dns([stub]) { $0.resolved = [] }
        #expect(empty.upstream == [])
    }

    @Test func `another server of this machine is not the stub of systemd-resolved (S35)`() {
        #expect(dns([local]) { $0.resolved = [far] }.upstream == nil)
        let both = dns([stub, local]) { $0.resolved = [far] }
        #expect(both.upstream == [far] && both.stubs == [stub.destination] && both.used == [far, local])
        #expect(dns([stub, far]) { $0.resolved = [far] }.used == [far])
    }

    @Test func `takes NetworkManager's servers for its own local server only`() {
        let behind = dns([local]) { $0.managerUpstream = [far] }
        #expect(behind.upstream == [far] && behind.source == "NetworkManager" && behind.stubs == [local.destination])
        #expect(dns([local, far]) { $0.managerUpstream = [far] }.upstream == nil)
        #expect(dns([stub]) { $0.managerUpstream = [far] }.upstream == nil)
    }

    @Test func `asks which of its servers are on this machine`() {
        var asked: [Set<IPAddress>] = []
        var snapshot = ProviderSnapshot()
        snapshot.resolver = DNSConfiguration(servers: [far, local])
        let facts = snapshot.merged {
            asked.append($0); return [.v4(0x7F00_0001), .v4(1)]
        }
        #expect(asked == [[far.address.address, .v4(0x7F00_0001)]])
        #expect(facts.dns.servedHere == [.v4(0x7F00_0001)])
    }

    @Test func `adds the hint of a lease to what the manager says`() {
        var snapshot = ProviderSnapshot()
        snapshot.devices = [2: DeviceFacts(metered: .no, phase: .connected)]
        snapshot.meteredLeases = [2, 3]
        let devices = snapshot.merged { $0 }.devices
        #expect(devices[2] == DeviceFacts(metered: .no, phase: .connected, hasAndroidMeteredHint: true))
        #expect(devices[3] == DeviceFacts(hasAndroidMeteredHint: true))
    }

    @Test(arguments: [(false, false), (true, false), (false, true), (true, true)])
    func `calls a radio off when anybody does`(manager: Bool, kernel: Bool) {
        var snapshot = ProviderSnapshot()
        snapshot.managerRadios = RadioFacts(isWifiBlocked: manager, isWwanBlocked: kernel)
        snapshot.radios = RadioFacts(isWifiBlocked: kernel, isWwanBlocked: manager)
        let radios = snapshot.merged { $0 }.radios
        #expect(radios.isWifiBlocked == (manager || kernel))
        #expect(radios.isWwanBlocked == (manager || kernel))
        #expect(!radios.hasWifi && !radios.hasWwan)
        snapshot.wireless = [2: WirelessFacts(mode: 2)]
        snapshot.hasModem = true
        #expect(snapshot.merged { $0 }.radios.hasWifi)
        #expect(snapshot.merged { $0 }.radios.hasWwan)
    }
}

@Suite struct NetworkManagerReaderTests {
    private func reader(_ table: [String: [String: BusValue]]) throws -> NetworkManagerReader {
        typealias Reader = NetworkManagerReader
        var objects = BusObjects(interfaces: [Reader.name, Reader.device, Reader.dhcp, Reader.dns])
        try objects.replace(with: [.table(table.mapValues { .table($0) })])
        return NetworkManagerReader(objects: objects, profileTypes: [:])
    }

    private let names = InterfaceNames(index: { ["eth0": 2, "wwan0": 3][$0] }, name: { _ in nil })

    @Test func `finds the hint in the DHCP options`() throws {
        let device: BusValue = .table(["Interface": .text("eth0"), "Dhcp4Config": .text("/dhcp/1")])
        for (key, value) in [
            ("private_43", "ANDROID_METERED"), ("vendor_encapsulated_options", "41:4e"), ("x", "ANDROID_METERED"),
        ] {
            let options: BusValue = .table(["Options": .table([key: .text(value)])])
            let reader = try reader([
                "/d/1": [NetworkManagerReader.device: device], "/dhcp/1": [NetworkManagerReader.dhcp: options],
            ])
            #expect(reader.devices(names)[2]?.hasAndroidMeteredHint == (key == "private_43"))
        }
    }

    @Test func `prefers the interface that carries packets, and leaves out devices without one`() throws {
        let modem: BusValue = .table(["Interface": .text("eth0"), "IpInterface": .text("wwan0")])
        let idle: BusValue = .table(["Interface": .text("cdc-wdm0"), "IpInterface": .text("")])
        let reader = try reader([
            "/d/1": [NetworkManagerReader.device: modem], "/d/2": [NetworkManagerReader.device: idle],
        ])
        #expect(Array(reader.devices(names).keys) == [3])
    }

    @Test(
        arguments: [(1, .unspecified), (2, .wifi), (5, .bluetooth), (8, .modem), (29, .vpn), (30, .wifi)]
            as [(UInt64, DeviceFacts.Role)]
    )
    func `knows the kind of a device`(type: UInt64, role: DeviceFacts.Role) throws {
        let device: BusValue = .table(["Interface": .text("eth0"), "DeviceType": .unsigned(type)])
        #expect(try reader(["/d/1": [NetworkManagerReader.device: device]]).devices(names)[2]?.role == role)
    }

    @Test func `tells the servers behind its dnsmasq, the administrator's first`() throws {
        let entry: BusValue = .table([
            "nameservers": .list([.text("192.0.2.1"), .text("no")]), "interface": .text("eth0"),
        ])
        func manager(_ mode: String, _ global: BusValue) -> [String: [String: BusValue]] {
            let dns: BusValue = .table(["Mode": .text(mode), "Configuration": .list([entry])])
            return [
                NetworkManagerReader.dnsPath: [NetworkManagerReader.dns: dns],
                NetworkManagerReader.path: [NetworkManagerReader.name: .table(["GlobalDnsConfiguration": global])],
            ]
        }
        let own = try reader(manager("dnsmasq", .table([:]))).upstream(names)
        #expect(own?.map(\.description) == ["192.0.2.1"] && own?.first?.interfaceIndex == 2)
        let servers: BusValue = .table(["servers": .list([.text("192.0.2.9")])])
        let global: BusValue = .table(["domains": .table(["*": servers])])
        #expect(try reader(manager("dnsmasq", global)).upstream(names)?.map(\.description) == ["192.0.2.9"])
        #expect(try reader(manager("default", global)).upstream(names) == nil)
    }
}

@Suite(.inNamespace) struct ProviderSetTests {
    private let loop = Namespace.current.loop

    private func options(_ bus: PrivateBus) throws -> ProviderSet.Options {
        var options = ProviderSet.Options()
        options.busAddress = bus.address
        options.busTiming.limit = .seconds(2)
        options.busTiming.shortestPause = .milliseconds(20)
        options.serviceTiming = .quick
        options.resolvConf = bus.scratch("resolv.conf")
        options.resolvedDirectory = bus.scratch("resolve")
        options.networkdLeases = bus.scratch("netif")
        options.dhclientLeases = bus.scratch("dhcp")
        options.rfkillDevice = bus.scratch("rfkill")
        options.rfkillDirectory = bus.scratch("sys")
        return options
    }

    @Test func `works from files alone while there is no bus`() async throws {
        let bus = try PrivateBus(running: false)
        try bus.scratch.write("nameserver 192.0.2.1\n", to: "resolv.conf")
        let set = ProviderSet(loop: loop, options: try options(bus)) { _, _ in LocalServerFacts() }
        var told: [(ProviderFacts, String)] = []
        set.onChange = { told.append(($0, $1)) }
        set.start()
        #expect(set.facts.dns.servers.map(\.description) == ["192.0.2.1"])
        #expect(set.health[.networkManager]?.state == .absent)
        #expect(set.health[.resolvConf]?.state == .active)
        await loop.eventually { set.connection.lastError != nil }
        try bus.scratch.replace("resolv.conf", with: "nameserver 192.0.2.2\n")
        await loop.eventually { told.count == 1 }
        #expect(told.first?.1 == "resolv.conf")
        #expect(told.first?.0 == set.facts)
        // The same contents again are no change.
        try bus.scratch.replace("resolv.conf", with: "nameserver 192.0.2.2\n")
        set.refresh()
        await loop.sleep(for: .milliseconds(150))
        #expect(told.count == 1)
        set.stop()
    }

    @Test func `merges the services, and keeps the facts of the kernel whatever they do`() async throws {
        let bus = try PrivateBus()
        try bus.scratch.write("nameserver 127.0.0.53\n", to: "resolv.conf")
        let name = "org.freedesktop.NetworkManager"
        let fake = try bus.fake(name, "org.freedesktop.resolve1", "org.freedesktop.login1")
        await loop.eventually { (try? bus.tell(name, "pass")) != nil }
        let entry = "(dbus.Int32(0), dbus.Int32(2), dbus.ByteArray(bytes([192,0,2,53])), dbus.UInt16(0), '')"
        try bus.tell(
            name,
            "add('/org/freedesktop/resolve1', org_freedesktop_resolve1_Manager="
                + "{'DNSEx': dbus.Array([\(entry)], signature='(iiayqs)')}); "
                + "add('/org/freedesktop/NetworkManager', org_freedesktop_NetworkManager={'State': dbus.UInt32(40)})"
        )
        let set = ProviderSet(loop: loop, options: try options(bus)) { servers, _ in
            LocalServerFacts(listening: servers)
        }
        var causes: Set<String> = []
        var resumes = 0
        set.onChange = { causes.insert($1) }
        set.onResume = { resumes += 1 }
        set.start()
        await loop.eventually { set.facts.isConnecting && set.facts.dns.upstream?.count == 1 }
        #expect(set.facts.dns.source == "systemd-resolved")
        #expect(set.facts.dns.servedHere == [.v4(0x7F00_0035), .v4(0xC000_0235)])
        #expect(causes.isSubset(of: ["NetworkManager", "systemd-resolved"]) && !causes.isEmpty)
        try bus.tell(name, "sleep(False)")
        await loop.eventually { resumes == 1 }

        fake.signal(SIGSTOP)
        await loop.eventually { set.health[.networkManager]?.isStale == true && set.health[.resolved]?.isStale == true }
        #expect(set.facts.isConnecting)
        fake.signal(SIGCONT)
        await loop.eventually { set.health[.networkManager]?.state == .active }
        bus.kill()
        await loop.eventually { set.health[.networkManager]?.state == .absent && !set.facts.isConnecting }
        #expect(set.facts.dns.upstream == nil)
        #expect(set.facts.dns.servers.map(\.description) == ["127.0.0.53"])
        set.stop()
    }

    @Test func `leaves out what is not enabled`() throws {
        let bus = try PrivateBus(running: false)
        try bus.scratch.write("nameserver 192.0.2.1\n", to: "resolv.conf")
        var options = try options(bus)
        options.enabled = []
        let set = ProviderSet(loop: loop, options: options) { _, _ in LocalServerFacts() }
        set.start()
        #expect(set.facts == ProviderFacts())
        #expect(set.health.values.allSatisfy { $0.state == .disabled })
        #expect(set.connection.lastError == nil)
        set.stop()
    }

    @Test func `is freed after it stopped`() async throws {
        let bus = try PrivateBus()
        weak var freed: ProviderSet?
        do {
            let set = ProviderSet(loop: loop, options: try options(bus)) { _, _ in LocalServerFacts() }
            freed = set
            set.start()
            await loop.eventually { set.connection.isReady }
            set.stop()
        }
        #expect(freed == nil)
    }
}
