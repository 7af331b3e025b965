// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import PathModel
import Testing

@testable import Providers

/// Pure readers of what services say, fed with values of any kind.
@Suite struct ProviderReaderTests {
    private let names = InterfaceNames(index: { ["wwan0": 3, "wwan1": 4, "eth0": 2][$0] }, name: { _ in nil })

    /// Values that no property in question should have.
    ///
    /// Made anew each time: the leak sanitizer does not recognize the pointers inside an enumeration that is kept.
    private static var nonsense: [BusValue] {
        [
            .flag(true), .signed(-1), .unsigned(.max), .real(.nan), .text("no"), .bytes([0xFF]), .list([]),
            .list([.list([]), .table([:])]), .table(["x": .descriptor]), .descriptor,
        ]
    }

    private func objects(_ table: [String: [String: BusValue]], _ interfaces: Set<String>) throws -> BusObjects {
        var objects = BusObjects(interfaces: interfaces)
        try objects.replace(with: [.table(table.mapValues { .table($0) })])
        return objects
    }

    private func modems(_ modem: [String: BusValue], bearer: [String: BusValue] = [:]) throws -> [Int: CellularFacts] {
        typealias Reader = ModemManagerReader
        let table = ["/m/0": [Reader.modem: BusValue.table(modem)], "/b/0": [Reader.bearer: .table(bearer)]]
        return Reader(objects: try objects(table, [Reader.modem, Reader.bearer])).modems(names)
    }

    private func manager(_ properties: [String: BusValue]) throws -> NetworkManagerReader {
        typealias Reader = NetworkManagerReader
        let table = [Reader.path: [Reader.name: BusValue.table(properties)]]
        return Reader(objects: try objects(table, [Reader.name, Reader.device]), profileTypes: [:])
    }

    private func device(_ properties: [String: BusValue], profiles: [String: String] = [:]) throws -> DeviceFacts? {
        typealias Reader = NetworkManagerReader
        let properties = properties.merging(["Interface": .text("eth0")]) { $1 }
        let table = ["/d/1": [Reader.device: BusValue.table(properties)]]
        return Reader(objects: try objects(table, [Reader.device]), profileTypes: profiles).devices(names)[2]
    }

    @Test(
        arguments: [
            (0, .inactive), (10, .inactive), (20, .inactive), (30, .disconnected), (39, .inactive), (40, .connecting),
            (50, .connecting), (60, .connecting), (70, .connecting), (80, .connecting), (90, .connecting),
            (91, .inactive), (100, .connected), (110, .inactive), (120, .inactive), (9_999, .inactive),
        ] as [(UInt64, DeviceFacts.Phase)]
    )
    func `groups every state of a device`(state: UInt64, expected: DeviceFacts.Phase) throws {
        #expect(try device(["State": .unsigned(state)])?.phase == expected)
    }

    @Test(
        arguments: [
            ([:], .disconnected), (["/s/1": "gsm"], .activatable), (["/s/1": "802-3-ethernet"], .disconnected),
            (["/s/1": ""], .disconnected), (["/s/9": "gsm"], .disconnected),
            (["/s/1": "bridge", "/s/2": "wireguard"], .activatable),
        ] as [([String: String], DeviceFacts.Phase)]
    )
    func `knows what could be brought up on demand`(profiles: [String: String], expected: DeviceFacts.Phase) throws {
        let available: BusValue = .list([.text("/s/1"), .text("/s/2")])
        let facts = try device(["State": .unsigned(30), "AvailableConnections": available], profiles: profiles)
        #expect(facts?.phase == expected)
        // Only a disconnected device waits for somebody.
        let connected = try device(["State": .unsigned(100), "AvailableConnections": available], profiles: profiles)
        #expect(connected?.phase == .connected)
    }

    @Test(arguments: ["State", "Metered", "DeviceType", "AvailableConnections", "Dhcp4Config", "IpInterface"])
    func `knows little of a device from nonsense, and does not stumble`(key: String) throws {
        for value in Self.nonsense {
            let facts = try device([key: value])
            #expect(facts == DeviceFacts() || key == "DeviceType")
        }
    }

    @Test(arguments: [(0, false), (20, false), (30, false), (40, true), (50, false), (60, false), (70, false)])
    func `calls only the state CONNECTING connecting`(state: UInt64, expected: Bool) throws {
        #expect(try manager(["State": .unsigned(state)]).isConnecting == expected)
    }

    @Test(
        arguments: [
            ("WirelessEnabled", true, false), ("WirelessHardwareEnabled", true, false), ("WwanEnabled", false, true),
            ("WwanHardwareEnabled", false, true), ("NetworkingEnabled", false, false),
        ]
    )
    func `reads each switch`(key: String, wifi: Bool, wwan: Bool) throws {
        let off = try manager([key: .flag(false)]).radios
        #expect(off.isWifiBlocked == wifi && off.isWwanBlocked == wwan)
        #expect(try manager([key: .flag(true)]).radios == RadioFacts())
        for value in Self.nonsense where value != .flag(false) {
            #expect(try manager([key: value]).radios == RadioFacts())
        }
    }

    @Test func `knows which radios there are by the devices`() throws {
        typealias Reader = NetworkManagerReader
        for (type, wifi, wwan) in [(1, false, false), (2, true, false), (8, false, true)] as [(UInt64, Bool, Bool)] {
            let device: BusValue = .table(["DeviceType": .unsigned(type)])
            let reader = Reader(
                objects: try objects(["/d": [Reader.device: device]], [Reader.device]),
                profileTypes: [:]
            )
            #expect(reader.radios.hasWifi == wifi && reader.radios.hasWwan == wwan)
        }
    }

    @Test(
        arguments: [
            (0, 0), (1, 1), (100, 100), (101, nil), (4_294_967_295, nil),
        ] as [(UInt64, Int?)]
    )
    func `takes a percentage for a signal, and nothing else`(value: UInt64, expected: Int?) throws {
        let quality: BusValue = .list([.unsigned(value), .flag(true)])
        let facts = try modems(
            ["SignalQuality": quality, "Bearers": .list([.text("/b/0")])],
            bearer: ["Interface": .text("wwan0")]
        )
        #expect(facts == [3: CellularFacts(signalQuality: expected)])
    }

    @Test(
        arguments: [(0, false), (4, false), (32, true), (36, true), (64, false), (4_294_967_295, false)]
            as [(UInt64, Bool)]
    )
    func `calls Iridium satellite, and a modem that claims everything not`(capabilities: UInt64, expected: Bool) throws
    {
        let ports: BusValue = .list([.list([.text("wwan0"), .unsigned(2)])])
        let facts = try modems(["CurrentCapabilities": .unsigned(capabilities), "Ports": ports])
        #expect(facts[3]?.isSatellite == expected)
    }

    @Test func `finds the interfaces of a modem by its network ports and its bearers`() throws {
        let ports: BusValue = .list([
            .list([.text("ttyUSB0"), .unsigned(3)]), .list([.text("wwan0"), .unsigned(2)]), .list([.text("eth0")]),
            .list([.text("eth0"), .unsigned(5)]), .text("eth0"),
        ])
        let bearers: BusValue = .list([.text("/b/0"), .text("/b/9"), .unsigned(1)])
        let facts = try modems(["Ports": ports, "Bearers": bearers], bearer: ["Interface": .text("wwan1")])
        #expect(Set(facts.keys) == [3, 4])
    }

    @Test(arguments: ["SignalQuality", "CurrentCapabilities", "Ports", "Bearers"])
    func `does not stumble over a modem that tells nonsense`(key: String) throws {
        let ports: BusValue = .list([.list([.text("wwan0"), .unsigned(2)])])
        for value in Self.nonsense {
            let facts = try modems(["Ports": ports].merging([key: value]) { $1 })
            #expect(facts.values.allSatisfy { $0.signalQuality == nil && !$0.isSatellite })
        }
    }
}
