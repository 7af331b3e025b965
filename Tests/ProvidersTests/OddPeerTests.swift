// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import PathModel
import TestSupport
import Testing

@testable import Providers

/// Peers that lie: answers that are right in form, or only half right (rule S51).
@Suite struct OddAnswerTests {
    private let interface = "org.example.Device"

    private func filled() throws -> BusObjects {
        var objects = BusObjects(interfaces: [interface])
        try objects.replace(with: [.table(["/d/1": .table([interface: .table(["State": .unsigned(30)])])])])
        return objects
    }

    @Test(
        arguments: [
            [], [.unsigned(1)], [.table(["/d/1": .text("no")])],
            [.table(["/d/2": .table([:]), "/d/3": .flag(true), "/d/4": .table([:])])],
        ] as [[BusValue]]
    )
    func `half an answer that is right does not replace what was known`(answer: [BusValue]) throws {
        var objects = try filled()
        let before = objects
        #expect(throws: ProviderError.self) { try objects.replace(with: answer) }
        #expect(objects == before)
        #expect(throws: ProviderError.self) { try objects.replace("/d/1", interface, with: [.list([])]) }
        #expect(objects == before)
    }

    @Test func `an interface that is no dictionary is passed over`() throws {
        var objects = try filled()
        try objects.replace(with: [
            .table([
                "/d/1": .table([interface: .text("no")]), "/d/2": .table([interface: .table([:])]),
                "/d/3": .table(["org.example.Other": .table([:])]),
            ])
        ])
        #expect(objects.all(interface).map(\.path) == ["/d/2"])
        #expect(objects.objects.keys.sorted() == ["/d/2"])
    }

    @Test func `an object that was known may change when the limit is reached, a new one is not taken`() throws {
        var objects = BusObjects(interfaces: [interface])
        let table = (0..<BusObjects.limit).map { ("/d/\($0)", BusValue.table([interface: .table([:])])) }
        try objects.replace(with: [.table(Dictionary(uniqueKeysWithValues: table))])
        func added(_ path: String) -> BusSignal {
            BusSignal(
                sender: ":1.1",
                path: "/",
                interface: "org.freedesktop.DBus.ObjectManager",
                member: "InterfacesAdded",
                arguments: [.text(path), .table([interface: .table(["State": .unsigned(1)])])]
            )
        }
        #expect(objects.apply(added("/new")) == .unchanged)
        #expect(objects.apply(added("/d/7")) == .changed)
        #expect(objects["/d/7", interface] == ["State": .unsigned(1)] && objects["/new", interface] == nil)
    }
}

/// What nl80211 might say, and what it never should.
@Suite struct OddWirelessTests {
    private typealias Message = GenericMessage

    private func message(_ attributes: [UInt16: [UInt8]], command: UInt8 = 7) -> Message {
        Message(type: 30, sequence: 1, command: command, code: nil, attributes: attributes)
    }

    @Test(
        arguments: [
            ([3: [5, 0, 0, 0], 5: [2, 0, 0, 0]], WirelessFacts(mode: 2)),
            ([3: [5, 0, 0, 0], 5: [2, 0, 0, 0], 52: []], WirelessFacts(mode: 2)),
            ([3: [5, 0, 0, 0], 5: [2, 0, 0, 0], 52: [UInt8](repeating: 65, count: 33)], WirelessFacts(mode: 2)),
            ([3: [5, 0, 0, 0], 5: [2, 0, 0, 0], 52: [0, 255]], WirelessFacts(mode: 2, ssid: [0, 255])),
            ([3: [5, 0, 0, 0], 5: [255, 255, 255, 255]], WirelessFacts(mode: .max)),
            // A P2P device has no interface.
            ([5: [10, 0, 0, 0]], nil), ([3: [5, 0, 0, 0]], nil), ([3: [5, 0], 5: [2, 0, 0, 0]], nil),
            ([3: [5, 0, 0, 0], 5: [2]], nil), ([:], nil),
        ] as [([UInt16: [UInt8]], WirelessFacts?)]
    )
    func `an interface has an index and a mode, and a name that can be one`(
        attributes: [UInt16: [UInt8]],
        facts: WirelessFacts?
    ) {
        #expect(WirelessMessage.interface(message(attributes))?.facts == facts)
    }

    @Test(
        arguments: [
            ([4, 0, 13, 0], nil), ([5, 0, 13, 0, 0x80, 0, 0, 0], -128), ([5, 0, 7, 0, 20, 0, 0, 0], 20),
            ([8, 0, 13, 0, 0xC4, 1, 2, 3], -60), ([5, 0, 13, 0], nil), ([], nil), ([255, 255, 13, 0, 1], nil),
            ([5, 0, 13, 0x80, 0xC4, 0, 0, 0, 5, 0, 13, 0, 0xC0], -64),
        ] as [([UInt8], Int?)]
    )
    func `a signal is one signed byte`(information: [UInt8], signal: Int?) {
        let station = message([3: [5, 0, 0, 0], 21: information], command: 19)
        #expect(WirelessMessage.signal(station)?.signal == signal)
        #expect(WirelessMessage.signal(message([21: information], command: 19)) == nil)
    }

    @Test func `a family has a name even without its end, and none without the attribute`() {
        #expect(message([2: Array("nl80211".utf8)]).familyName == "nl80211")
        #expect(message([2: [0, 65]]).familyName == "")
        #expect(message([:]).familyName == nil)
    }

    @Test func `an end and a refusal have their code, whole or not`() {
        let header: [UInt8] = [20, 0, 0, 0, 3, 0, 2, 0, 9, 0, 0, 0, 0, 0, 0, 0]
        #expect(GenericMessage.parse((header + [0xF0, 0xFF, 0xFF, 0xFF])[...]).map(\.code) == [-16])
        let bare: [UInt8] = [16, 0, 0, 0, 3, 0, 2, 0, 9, 0, 0, 0, 0, 0, 0, 0]
        let parsed = GenericMessage.parse(bare[...])
        #expect(parsed.map(\.code) == [0] && parsed.first?.sequence == 9)
    }
}

@Suite(.inNamespace) struct RefusingKernelTests {
    private let loop = Namespace.current.loop

    @Test func `a family that knows no interfaces is asked, and its refusal is told (S51)`() async throws {
        // Every kernel has this family, which knows nothing of the command.
        let provider = WirelessProvider(loop: loop, intervals: .init(open: .milliseconds(5)), familyName: "nlctrl")
        var changes = 0
        provider.onChange = { changes += 1 }
        provider.start()
        await loop.eventually { provider.health.isStale }
        guard case .system(call: "nlctrl", code: _)? = provider.health.lastError else {
            Issue.record("\(provider.health)")
            return
        }
        #expect(provider.interfaces.isEmpty && changes == 1)
        // It may be asked again, and sampled, as often as anybody likes.
        provider.refresh()
        await loop.eventually { changes == 2 }
        provider.isSampling = true
        provider.isSampling = false
        provider.stop()
        provider.refresh()
        await loop.sleep(for: .milliseconds(10))
        #expect(changes == 2)
    }

    @Test func `sysfs entries that are no switches, or lack their files, are passed over`() throws {
        let scratch = try Scratch()
        for name in ["rfkill0", "rfkillx", "rfkill1", "rfkill2", "rfkill3"] {
            try Command.run(["mkdir", "-p", scratch("sys/\(name)")])
        }
        let files = [
            "rfkill0/type": "bluetooth\n", "rfkill0/soft": "1\n", "rfkillx/type": "wlan\n", "rfkillx/soft": "1\n",
            "rfkill1/type": "wwan\n", "rfkill1/soft": "1\n", "rfkill1/hard": "0\n", "rfkill2/soft": "1\n",
            "rfkill3/type": "wlan", "rfkill3/soft": "2\n", "rfkill3/hard": "",
        ]
        for (name, text) in files { try scratch.write(text, to: "sys/" + name) }
        let provider = RadioSwitchProvider(loop: loop, device: scratch("none"), sysfs: scratch("sys"))
        provider.start()
        #expect(provider.facts == RadioFacts(isWwanBlocked: true, hasWifi: true, hasWwan: true))
        #expect(provider.health.state == .active)
        provider.stop()
    }

    @Test func `signals are sampled while somebody wants them`() throws {
        let bus = try PrivateBus(running: false)
        var options = ProviderSet.Options()
        options.busAddress = bus.address
        options.enabled = [.nl80211]
        let set = ProviderSet(loop: loop, options: options) { _, _ in LocalServerFacts() }
        #expect(!set.samplesSignals)
        set.samplesSignals = true
        set.start()
        #expect(set.samplesSignals)
        set.samplesSignals = false
        #expect(!set.samplesSignals)
        set.stop()
    }
}

/// Services that change without a word, hide what is asked for, or hand out descriptors.
@Suite(.inNamespace) struct OddServiceTests {
    private let loop = Namespace.current.loop
    private let bus: PrivateBus
    private let connection: BusConnection

    init() throws {
        bus = try PrivateBus()
        connection = bus.connect(Namespace.current.loop)
    }

    private func fake(_ name: String) async throws -> RunningCommand {
        let fake = try bus.fake(name)
        await loop.eventually(within: .seconds(15)) { (try? bus.tell(name, "pass")) != nil }
        return fake
    }

    @Test func `what changes without a word between two questions is learnt by the second`() async throws {
        let (name, interface) = ("org.freedesktop.ModemManager1", "org.nwpath.Thing")
        let fake = try await fake(name)
        try bus.tell(name, "add('/t/1', org_nwpath_Thing={'State': dbus.UInt32(1)})")
        let mirror = ObjectMirror(
            connection: connection,
            name: name,
            source: .objects(
                manager: "/org/freedesktop",
                checkPath: "/t/1",
                checkInterface: interface,
                checkProperty: "State"
            ),
            interfaces: [interface],
            timing: ServiceTiming(grace: .seconds(60), check: .seconds(60), retry: .milliseconds(20))
        )
        mirror.start()
        func state() -> Int? { mirror.objects["/t/1", interface]?["State"]?.number }
        await loop.eventually { state() == 1 }
        mirror.reload()
        try bus.tell(name, "nodes['/t/1'].interfaces['\(interface)']['State'] = dbus.UInt32(2)")
        // The first answer is still to come, and may be older.
        mirror.reload()
        mirror.reload()
        await loop.eventually { state() == 2 }
        #expect(mirror.health.state == .active)
        connection.stop()
        _ = fake.processID
    }

    @Test func `a profile that cannot be seen makes nothing of a device that could be brought up (S23)`() async throws {
        let name = "org.freedesktop.NetworkManager"
        try Namespace.current.ip("link add v0 type veth peer name v1")
        let index = try #require(InterfaceNames.kernel.index("v0"))
        let fake = try await fake(name)
        let provider = NetworkManagerProvider(connection: connection, timing: .quick)
        provider.start()
        let hidden = "dbus.Array([dbus.ObjectPath('/hidden')], signature='o')"
        try bus.tell(
            name,
            "add('/org/freedesktop/NetworkManager/Devices/1', org_freedesktop_NetworkManager_Device="
                + "{'Interface': 'v0', 'State': dbus.UInt32(30), 'AvailableConnections': \(hidden)})"
        )
        await loop.eventually { provider.devices[index]?.phase == .disconnected }
        await loop.sleep(for: .milliseconds(50))
        #expect(provider.devices[index]?.phase == .disconnected)
        connection.stop()
        _ = fake.processID
    }
}
